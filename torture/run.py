"""make torture: attacks that take minutes, one line of JSON per finding. Exits with 1 if a promise is broken.

Each other file in this folder is one attack. It prints lines such as
{"attack": "formats", "case": "csv", "files": 300, "failures": 0, "ok": true} and takes `--short`, which
`make test` uses.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def lines(script: Path, options: list[str]) -> list[dict[str, object]]:
    done = subprocess.run([sys.executable, str(script), *options], stdout=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode and all(line.get("ok") for line in found):
        found.append({"attack": script.stem, "ok": False, "error": f"exit code {done.returncode}"})
    return found


def main() -> None:
    options = [o for o in sys.argv[1:] if o.startswith("--")]
    named = {o for o in sys.argv[1:] if not o.startswith("--")}
    kept = True
    for script in sorted(HERE.glob("*.py")):
        if script.stem == "run" or script.stem.startswith("_") or (named and script.stem not in named):
            continue
        for line in lines(script, options):
            print(json.dumps(line), flush=True)
            kept = kept and bool(line.get("ok"))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
