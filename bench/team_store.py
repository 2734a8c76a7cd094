"""20,000 answers into a store in PostgreSQL and into a file, by turns, and read back; the medians of three rounds.

The server runs on this machine (pgserver), so that this is the cost of the store and not of a network.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres_server

from unwaver.answers.shared_store import open_store
from unwaver.types import Answer

ANSWERS, BATCH, ROUNDS = 20_000, 256, 3
MOST = 10.0


def seconds(place: str) -> tuple[float, float]:
    """To write them all, to read them all."""
    made = [
        (f"{n:064x}", Answer(text=f"The answer is {n}.", usage=(200, 8), finish="stop")) for n in range(ANSWERS)
    ]
    with closing(open_store(place)) as store:
        start = time.perf_counter()
        for n in range(0, ANSWERS, BATCH):
            store.put(made[n : n + BATCH])
        written = time.perf_counter()
        assert store.answers([key for key, _ in made]) == dict(made)
        return written - start, time.perf_counter() - written


def main() -> None:
    if told := postgres_server.missing():
        print(told, file=sys.stderr)
        return
    team, file = [], []
    with postgres_server.server() as server:
        for n in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                file.append(seconds(f"{folder}/all.sqlite"))
            team.append(seconds(server.new(f"round{n}")))
    for what, number in (("write", 0), ("read", 1)):
        ours, plain = (statistics.median(times[number] for times in rounds) for rounds in (team, file))
        line = {"bench": f"{what} {ANSWERS} answers, PostgreSQL / file", "ratio": round(ours / plain, 2)}
        figures = {"postgres_s": round(ours, 2), "file_s": round(plain, 2)}
        print(json.dumps({**line, **figures, "target": f"<= {MOST:g}", "ok": ours <= MOST * plain}))


if __name__ == "__main__":
    main()
