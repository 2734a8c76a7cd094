"""`unwaver --help` against a bare interpreter: under max(0.3 s, 8 times the interpreter)."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time


def seconds(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    bare, shown = [], []
    for _ in range(9):
        bare.append(seconds(sys.executable, "-c", "pass"))
        shown.append(seconds(sys.executable, "-m", "unwaver.cli.main", "--help"))
    limit = max(0.3, 8 * statistics.median(bare))
    took = statistics.median(shown)
    figures = {"seconds": round(took, 3), "bare_interpreter_s": round(statistics.median(bare), 3)}
    print(json.dumps({"bench": "unwaver --help", **figures, "target": f"< {limit:.2f} s", "ok": took < limit}))


if __name__ == "__main__":
    main()
