"""Runs that are killed again and again: nothing is lost, and only what was in flight is asked twice.

    python torture/kills.py [--short] [--kills N]

A run is killed with SIGKILL at random moments and started again with the same command until it ends; then the next
one begins. Two kinds of run take turns: a Python function and a server, whose free texts a judge compares; and a
function with labels, whose groups are built. After each kill the store passes SQLite's integrity check and lacks
no more of what was asked than was in flight. A run that has ended has the scores of one that was never disturbed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _listening import Listening, Sent, chat
from _zygote import Child, Zygote

KILLS, SHORT = 1000, 12
BATCH, CONCURRENCY = 4, 4
GROUPS = 40
SLOW = 0.02  # seconds that the function takes for a batch, and the server for a reply

MODEL = f"""
import hashlib, os, time

def drawn(prompt, among):
    return among[hashlib.sha256(prompt.encode()).digest()[0] % len(among)]

def told(requests):
    with open("asked.log", "a") as log:
        log.write("".join(str(r["id"]) + "\\n" for r in requests))
    time.sleep({SLOW})

def texts(requests):
    told(requests)
    return [drawn(r["prompt"], ["the red house", "a blue car", "nobody knows"]) for r in requests]

def labels(requests):
    told(requests)
    return [drawn(r["prompt"], r["choices"]) for r in requests]
"""


def reply(body: dict[str, Any]) -> Sent:
    prompt = body["messages"][-1]["content"]
    number = hashlib.sha256(prompt.encode()).digest()[0]
    if body["model"] == "judge":
        return Sent(chat("Yes" if number % 2 else "No"), after=SLOW)
    return Sent(chat(("the red house", "a blue car", "nobody knows")[number % 3]), after=SLOW)


@dataclass
class Told:
    """What was found: kills, runs that ended, what was asked twice, and what is wrong."""

    kills: int = 0
    ended: int = 0
    asked: int = 0
    twice: int = 0
    most_lost: int = 0
    checks: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Case:
    """A folder with questions, and the command that is killed."""

    def __init__(self, name: str, folder: Path, server: Listening, zygote: Zygote):
        self.name, self.folder, self.server, self.zygote = name, folder, server, zygote
        self.found = Told()
        self.in_flight = BATCH if name == "labels" else max(BATCH, CONCURRENCY)
        (folder / "model.py").write_text(MODEL)
        if name == "labels":
            pairs = [f"A man sleeps {n}.,He is at rest {n}.,entailment" for n in range(GROUPS)]
            (folder / "q.csv").write_text("\n".join(["premise,hypothesis,label", *pairs]) + "\n")
        else:
            pairs = [f"What is {n}?,Tell me what {n} is." for n in range(GROUPS)]
            (folder / "q.csv").write_text("\n".join(["question,paraphrase", *pairs]) + "\n")

    def command(self, out: str) -> list[str]:
        if self.name == "labels":
            more = ["--task", "snli", "--variants", "swap,surface_case,surface_typo"]
            model = [f"python/model:labels,batch={BATCH}"]
        else:
            more = ["--agree", f"judge=openai/judge,{self.service}"]
            model = [f"python/model:texts,batch={BATCH}", f"openai/m,{self.service}"]
        return ["run", "q.csv", *more, *[p for m in model for p in ("--model", m)], "--out", out, "-q"]

    @property
    def service(self) -> str:
        return f"base_url={self.server.url},concurrency={CONCURRENCY}"

    def asked(self) -> Counter[str]:
        log = self.folder / "asked.log"
        found = Counter(f"python {line}" for line in (log.read_text().split() if log.exists() else ()))
        return found + Counter({f"{model} {prompt}": n for (model, prompt), n in self.server.asked.items()})

    def undisturbed(self) -> float:
        """The scores that all others must have, the requests of one run, and how long it takes."""
        self.forget()
        began = time.monotonic()
        code = self.zygote.run(self.command("whole"), self.folder)
        took = time.monotonic() - began
        if code != 0:
            raise RuntimeError(f"{self.name}: the undisturbed run ends with {code}: {self.said()}")
        self.scores = scores(self.folder / "whole")
        self.requests = self.asked()
        if (most := max(self.requests.values())) > 1:
            raise RuntimeError(f"{self.name}: an undisturbed run asks a request {most} times")
        return took

    def forget(self) -> None:
        (self.folder / "asked.log").unlink(missing_ok=True)
        self.server.asked.clear()

    def said(self) -> str:
        return (self.folder / "said.txt").read_text()[-500:]

    def campaign(
        self, out: str, kills: int, took: float, draw: random.Random, sign: int = signal.SIGKILL, code: int = -9
    ) -> None:
        """One run, sent a signal until it ends or enough are done; `code` is its exit code then."""
        self.forget()
        lost_before = 0
        for _ in range(kills):
            child = self.zygote.start(self.command(out), self.folder)
            self.wait(child, took, draw)
            child.kill(sign)
            if (ended := child.wait()) not in (code, -sign):
                self.end(out, ended)
                return
            self.found.kills += 1
            lost = self.after_kill(self.folder / out)
            self.found.most_lost = max(self.found.most_lost, lost - lost_before)
            if lost - lost_before > self.in_flight:
                self.problem(f"{out}: a kill lost {lost - lost_before} of what was asked")
            lost_before = lost
        self.end(out, self.zygote.run(self.command(out), self.folder))

    def wait(self, child: Child, took: float, draw: random.Random) -> None:
        """Until a random moment: some time after the start, or a moment after some more requests."""
        until = time.monotonic() + draw.uniform(0, took)
        if draw.random() < 0.6:
            asked = self.asked().total()
            some = asked + draw.randrange(1, max(2, len(self.requests) // 3))
            until = time.monotonic() + 60
            while self.asked().total() < some and time.monotonic() < until and not child.ended():
                time.sleep(0.002)
            until = time.monotonic() + draw.uniform(0, 2 * SLOW)
        while time.monotonic() < until and not child.ended():
            time.sleep(0.002)

    def after_kill(self, out: Path) -> int:
        """How often something was asked whose answer is not in the store."""
        asked = self.asked().total()
        store = out / "answers.sqlite"
        if not store.exists():
            self.found.phases["before the store"] += 1
            return asked
        with closing(sqlite3.connect(store)) as db:
            self.found.checks += 1
            if (told := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
                self.problem(f"{out.name}: integrity_check: {told}")
            there = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'answers'").fetchone()[0]
            stored = db.execute("SELECT count(*) FROM answers").fetchone()[0] if there else 0
        whole = len(self.requests)
        self.found.phases["asking" if 0 < stored < whole else "all answered" if stored else "nothing stored"] += 1
        return asked - stored

    def end(self, out: str, code: int) -> None:
        self.found.ended += 1
        asked = self.asked()
        self.found.asked += asked.total()
        self.found.twice += asked.total() - len(asked)
        if code != 0:
            self.problem(f"{out} ends with {code}: {self.said()}")
        elif scores(self.folder / out) != self.scores:
            self.problem(f"{out} has other scores")
        if asked.keys() != self.requests.keys():
            self.problem(f"{out} asked {len(asked)} requests of {len(self.requests)}")

    def problem(self, text: str) -> None:
        self.found.problems.append(text)

    def line(self, seed: int) -> dict[str, Any]:
        found = self.found
        most = found.kills * self.in_flight
        return {
            "attack": "kills", "case": self.name, "seed": seed, "kills": found.kills, "runs": found.ended,
            "requests": found.asked, "twice": found.twice, "at_most": most, "most_lost_by_a_kill": found.most_lost,
            "integrity_checks": found.checks, "killed_while": dict(found.phases), "problems": found.problems[:5],
            "ok": not found.problems and found.twice <= most and found.ended > 0,
        }  # fmt: skip


def scores(out: Path) -> Any:
    return json.loads((out / "scores.json").read_text())["scores"]


def attack(name: str, kills: int, seed: int, zygote: Zygote) -> dict[str, Any]:
    draw = random.Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory() as place, Listening(reply) as server:
        case = Case(name, Path(place), server, zygote)
        took = case.undisturbed()
        number = 0
        while case.found.kills < kills:
            # short lives and long ones: some runs never come far, others nearly end
            length = took * draw.choice([0.3, 0.6, 1.0, 1.2])
            case.campaign(f"run{number}", kills - case.found.kills, length, draw)
            number += 1
        return case.line(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kills = given.kills or (SHORT if given.short else KILLS)
    kept = True
    with Zygote() as zygote:
        for name in ("texts", "labels"):
            found = attack(name, kills // 2, given.seed, zygote)
            print(json.dumps(found), flush=True)
            kept = kept and bool(found["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
