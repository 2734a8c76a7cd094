"""Eight processes that start together on one store, one of them killed in the middle: each request is asked once.

    python torture/claims.py [--short]

A server on the loopback logs what it is asked. It may see each distinct request once, and those that were in
flight in the killed process once more.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from server import Server

CONCURRENCY = 8


def questions(path: Path, count: int) -> None:
    """`count` distinct requests: pairs of questions."""
    lines = [f"Is {n} a number?,Would you call {n} a number?" for n in range(count // 2)]
    path.write_text("\n".join(["question,paraphrase", *lines]) + "\n")


def start(folder: Path, url: str, number: int) -> subprocess.Popen[bytes]:
    command = ["run", "q.csv", "--model", "openai/m", "--model-arg", f"base_url={url}", "--store", "shared.sqlite"]
    command += ["--model-arg", f"concurrency={CONCURRENCY}", "--out", f"run{number}", "--json", "--label", "yes"]
    command += ["--label", "no"]
    with (folder / f"{number}.json").open("wb") as out, (folder / f"{number}.err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "unwaver.cli.main", *command], cwd=folder, stdout=out, stderr=err,
            env={**os.environ, "OPENAI_API_KEY": ""},
        )  # fmt: skip


def prompts(server: Server) -> Counter[str]:
    return Counter(body["messages"][-1]["content"] for body in list(server.bodies))


def share(processes: int, requests: int, seed: int, kill: bool) -> dict[str, Any]:
    """Let them share the work; kill one when a random part of it is done."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, Server(lambda _: "yes", slow=0.05) as server:
        folder = Path(name)
        questions(folder / "q.csv", requests)
        began = time.monotonic()
        working = [start(folder, server.url, n) for n in range(processes)]
        at = draw.randrange(requests // 10, requests // 2)
        if kill:
            while len(server.bodies) < at and all(p.poll() is None for p in working):
                time.sleep(0.005)
            working[draw.randrange(processes)].send_signal(signal.SIGKILL)
        codes = [p.wait(timeout=300) for p in working]
        seconds = round(time.monotonic() - began, 1)
        asked = prompts(server)
        ended = [json.loads((folder / f"{n}.json").read_text()) for n, code in enumerate(codes) if code == 0]
        killed = codes.count(-signal.SIGKILL)
        whole = all(run["scores"][0]["counted"] == requests // 2 for run in ended)
        again = sum(asked.values()) - requests
        return {
            "attack": "claims",
            "case": f"{processes} processes{', one killed' if kill else ''}",
            "seed": seed,
            "distinct": len(asked),
            "asked": sum(asked.values()),
            "killed": killed,
            "killed_at": at if kill else None,
            "by_process": [run["run"]["spent"]["calls"] for run in ended],
            "seconds": seconds,
            "errors": [(folder / f"{n}.err").read_text() for n, code in enumerate(codes) if code > 0],
            "ok": len(ended) == processes - killed and killed <= kill and whole and len(asked) == requests
            and again <= killed * CONCURRENCY,
        }  # fmt: skip


def main() -> None:
    short = "--short" in sys.argv
    rounds = [(3, 60, 1, True)] if short else [(8, 470, seed, seed > 0) for seed in range(6)]
    kept = True
    for processes, requests, seed, kill in rounds:
        found = share(processes, requests, seed, kill)
        print(json.dumps(found), flush=True)
        kept = kept and bool(found["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
