"""make bench: every promise of speed, one line of JSON each. Exits with 1 if one is not kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LM_EVAL = HERE.parent / ".venv-lm-eval" / "bin" / "python"


def lines(python: str | Path, script: str) -> list[dict[str, object]]:
    done = subprocess.run([str(python), str(HERE / script)], stdout=subprocess.PIPE, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode and all(line.get("ok") for line in found):
        found.append({"bench": script, "ok": False, "error": f"exit code {done.returncode}"})
    return found


def main() -> None:
    scripts: list[tuple[str | Path, str]] = [(sys.executable, "startup.py"), (sys.executable, "million.py")]
    names = (
        "very_many.py",
        "large_table.py",
        "check.py",
        "logs.py",
        "report_page.py",
        "view.py",
        "connections.py",
        "team_store.py",
        "ray_replicas.py",
    )
    scripts += [(sys.executable, name) for name in names]
    if os.environ.get("UNWAVER_DATA") and os.environ.get("UNWAVER_MODELS"):
        names = ("builders.py", "negation.py", "rules.py", "generation.py", "pairs.py", "train.py", "overhead.py")
        scripts += [(sys.executable, name) for name in names] + [(LM_EVAL, "lm_eval_side_by_side.py")]
    else:
        print("UNWAVER_DATA or UNWAVER_MODELS is not set: benches on real data are left out", file=sys.stderr)
    kept = True
    for python, script in scripts:
        for line in lines(python, script):
            print(json.dumps(line), flush=True)
            kept = kept and bool(line.get("ok"))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
