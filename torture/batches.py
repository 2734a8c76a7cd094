"""Batches whose commands are killed: every request is accounted for, and none is submitted twice.

    python torture/batches.py [--short]

A command with 2,000 requests is killed with SIGKILL at random moments and started again, until the batch is
collected. The server has OpenAI's end points; of the requests 5 % fail, 5 % expire, and results are shuffled.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from batch_server import BatchServer

ROUNDS, ITEMS = 4, 1000
LONGEST = 8.0  # seconds before a kill


def attacked(seed: int, items: int) -> dict[str, object]:
    drawn = random.Random(seed)
    with (
        tempfile.TemporaryDirectory() as place,
        BatchServer(failing=0.05, expiring=0.05, polls=2, slow=0.3, seed=seed) as server,
    ):
        folder = Path(place)
        rows = [f"Is {n} an even number?,Would you call {n} even?" for n in range(items)]
        (folder / "q.csv").write_text("\n".join(["question,paraphrase", *rows]) + "\n")
        command = [
            sys.executable,
            "-m",
            "unwaver.cli.main",
            "run",
            "q.csv",
            "--kind",
            "semantic",
            "--label",
            "Yes",
        ]
        command += ["--label", "No", "--model", f"openai/m,base_url={server.url}", "--batch", "--out", "r", "-q"]
        kills = 0
        while not _is_collected(folder):
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(drawn.uniform(0.3, LONGEST))
            except subprocess.TimeoutExpired:
                kills += 1
                process.kill()
                process.wait()
        answers, failures = _counts(folder)
        once = set(server.submitted.values()) == {1}
        whole = answers + failures == len(server.submitted) == 2 * items
    found = {"requests": 2 * items, "answers": answers, "failures": failures, "kills": kills}
    return {
        "attack": "batches",
        "case": f"seed {seed}",
        **found,
        "once": once,
        "ok": once and whole and failures > 0,
    }


def _counts(folder: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(folder / "r" / "answers.sqlite")) as store:
        (answers,) = store.execute("SELECT count(*) FROM answers").fetchone()
        (failures,) = store.execute("SELECT count(*) FROM failures").fetchone()
    return answers, failures


def _is_collected(folder: Path) -> bool:
    """Whether there was a batch, and its results are stored."""
    path = folder / "r" / "answers.sqlite"
    if not path.exists():
        return False
    with closing(sqlite3.connect(path)) as store:
        try:
            (left,) = store.execute("SELECT count(*) FROM batches").fetchone()
            (answers,) = store.execute("SELECT count(*) FROM answers").fetchone()
        except sqlite3.OperationalError:  # not made yet
            return False
    return answers > 0 and left == 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    kept = True
    for seed in range(1 if short else ROUNDS):
        line = attacked(seed, 100 if short else ITEMS)
        print(json.dumps(line), flush=True)
        kept = kept and bool(line["ok"])
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
