"""A run of 100,000 groups (200,000 requests) to a model that answers at once, and the same run again.

    plan, ask and store     below 60 µs of the processor for each request
    again, nothing to ask   below 8 s of the processor in all; beside it, where all scores are computed again
    --limit 6               builds six groups: below a third of the time of all of them

    a million groups        less than 2 GB, also if the run is stopped in the middle and taken up again

The last line takes six minutes; `--quick` leaves it out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MOST_MICROSECONDS, MOST_SECONDS, MOST_GB = 60.0, 8.0, 2.0


def written(path: Path, groups: int) -> Path:
    with path.open("w") as file:
        for n in range(groups):
            premise = f"A man with the number {n} walks along the street with a red umbrella."
            texts = ("A person is outside.", f"Somebody is outdoors, case {n % 97}.")
            items = [
                {"fields": {"premise": premise, "hypothesis": text}, "accepted": ["entailment"]} for text in texts
            ]
            file.write(json.dumps({"task": "snli", "kind": "semantic", "items": items}) + "\n")
    return path


def run(path: str, out: str, calls: str) -> None:
    """One run in this process, with the time that planning and asking take."""
    import unwaver.asking.panel as panel
    import unwaver.engine.runs as runs
    from unwaver.config import Config

    spent = {"plan": 0.0, "ask": 0.0}

    def timed(name: str, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*given, **named)
            finally:
                spent[name] += time.process_time() - start

        return call

    panel.Panel.plan = timed("plan", panel.Panel.plan)  # type: ignore[method-assign]
    runs.ask = timed("ask", runs.ask)  # type: ignore[attr-defined]
    config = Config((path,), ("fake/random",), out=out, max_calls=int(calls) or None)
    result = runs.go(config).result
    print(json.dumps({**spent, "calls": result.run["spent"]["calls"]}))


def commanded(path: Path, out: Path, *options: str) -> dict[str, float]:
    """What a user waits for: the command as a whole."""
    command = [sys.executable, "-m", "unwaver", "run", str(path), "--model", "fake/random", "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--json", *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    return {"calls": said["run"]["spent"]["calls"], **used_by(process, start)}


def used_by(process: subprocess.Popen[str], start: float) -> dict[str, float]:
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "gb": round(used.ru_maxrss / 1e6, 2),
    }


def measured(path: Path, out: Path, calls: int = 0) -> dict[str, float]:
    command = [sys.executable, __file__, "run", str(path), str(out), str(calls)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    asked = said["plan"] + said["ask"]
    each = round(1e6 * asked / said["calls"], 1) if said["calls"] else 0.0
    return {"calls": said["calls"], "microseconds_a_request": each, **used_by(process, start)}


def line(name: str, good: bool, target: str, **figures: Any) -> None:
    print(json.dumps({"bench": name, **figures, "target": target, "ok": good}), flush=True)


def main() -> None:
    with TemporaryDirectory(prefix="unwaver-bench-") as name:
        place = Path(name)
        path = written(place / "groups.jsonl", 100_000)
        first, again = measured(path, place / "run"), commanded(path, place / "run")
        kept = first["microseconds_a_request"] < MOST_MICROSECONDS
        line("plan, ask and store", kept and first["calls"] == 200_000, "< 60 µs a request", first=first)
        (place / "run" / "finished.json").unlink()
        anew = commanded(path, place / "run")
        good = again["cpu_seconds"] < MOST_SECONDS and not again["calls"] + anew["calls"]
        line("run again", good, "< 8 s", again=again, computed_again=anew)
        six = commanded(path, place / "six", "--limit", "6")
        good = six["calls"] == 12 and six["cpu_seconds"] < anew["cpu_seconds"] / 3
        line("--limit 6", good, "12 requests, < 1/3 of the time of all", six=six, all_of_them=anew)
        if "--quick" in sys.argv:
            return
        path = written(place / "million.jsonl", 1_000_000)
        half, rest = measured(path, place / "huge", 1_000_000), measured(path, place / "huge")
        most, calls = max(half["gb"], rest["gb"]), (half["calls"], rest["calls"])
        good = most < MOST_GB and calls == (1_000_000, 1_000_000)
        line("a million groups", good, "< 2 GB, nothing asked twice", half=half, rest=rest)


if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1:2] == ["run"] else main()
