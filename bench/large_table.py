"""Scores of 1 and 10 million groups in a .parquet table, all label metrics with intervals, by the command line:

    unwaver score TABLE.parquet             10 million: at most 10.5 times as long as 1 million, and less than 4 GB
    unwaver score TABLE.parquet --stream    memory does not grow with the table

Times are compared by the processor, as the machine may have other work. The one limit in seconds is on the clock,
of a machine with two free cores. With `--huge`, also 30 million.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from million import table

MILLION = 1_000_000
MOST_TIMES, MOST_GB, MOST_SECONDS = 10.5, 4.0, 9.3


def written(place: Path, millions: int) -> Path:
    """Pairs of answers; every three groups share an original."""
    parts = place / f"parts-{millions}"
    parts.mkdir()
    for n in range(millions):
        shifted = [pl.col("group") + n * MILLION, pl.col("cluster") + n * MILLION]
        table(MILLION, seed=n).with_columns(shifted).write_parquet(parts / f"{n:03}.parquet")
    path = place / f"{millions}.parquet"
    pl.scan_parquet(parts / "*.parquet").sink_parquet(path)
    return path


def measured(path: Path, *options: str) -> dict[str, float]:
    """Seconds on the clock and of the processor, and the most memory, of one command."""
    command = [sys.executable, "-m", "unwaver", "score", str(path), "--json", *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{command} ended with {status}"
    clock, processor = time.perf_counter() - start, used.ru_utime + used.ru_stime
    return {"seconds": round(clock, 1), "cpu_seconds": round(processor, 1), "gb": round(used.ru_maxrss / 1e6, 2)}


def line(name: str, figures: dict[int, dict[str, float]], target: str, good: bool) -> None:
    shown = {f"{millions}_million": found for millions, found in figures.items()}
    print(json.dumps({"bench": name, **shown, "target": target, "ok": good}), flush=True)


def main() -> None:
    sizes = (1, 10, 30) if "--huge" in sys.argv else (1, 10)
    with TemporaryDirectory(prefix="unwaver-bench-") as name:
        paths = {millions: written(Path(name), millions) for millions in sizes}
        kept = {millions: measured(paths[millions]) for millions in (1, 10)}
        streamed = {millions: measured(paths[millions], "--stream") for millions in sizes}
    times = kept[10]["cpu_seconds"] / kept[1]["cpu_seconds"]
    good = times <= MOST_TIMES and kept[10]["gb"] < MOST_GB
    target = f"<= {MOST_TIMES} times as long, < {MOST_GB:g} GB"
    line("score 10 million groups", kept, target, good)
    fast = kept[10]["seconds"] <= MOST_SECONDS
    line("time of 10 million groups", kept, f"<= {MOST_SECONDS} s on two cores", fast)
    most = max(found["gb"] for found in streamed.values())
    line("score --stream", streamed, "as much memory for 10 million as for 1", most < 1.5 * streamed[1]["gb"])


if __name__ == "__main__":
    main()
