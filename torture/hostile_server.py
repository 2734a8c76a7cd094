"""A server that answers a quarter of all requests in one of twenty wrong ways: every group is accounted for, and
the same command again asks only what failed.

    python torture/hostile_server.py [--short] [--replies N]

The run is started again until nothing fails any more. The server knows which requests it never answered: each
time, these and no others are the failed ones, and these and no others are asked next. In the end the scores are
those of a server that is always right. A few answers are odd in themselves and stay so: refused, cut, empty, a
call of a tool, escape codes, a text of 100,000 characters.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _listening import Listening, Sent, chat, response
from _zygote import Zygote

REPLIES, SHORT = 100_000, 1200
FAULTY = 0.25
ODD = 0.04
CONCURRENCY, TIMEOUT = 32, 20.0
ROUNDS = 30

HTML = b"<!doctype html><title>Gateway</title><p>Please log in"
BOMB = gzip.compress(b'{"choices": [' + b" " * 30_000_000, 9)


def _json(value: object, status: str = "200 OK", *headers: str) -> Sent:
    return Sent(response(json.dumps(value).encode(), status, *headers))


FAULTS: dict[str, Callable[[], Sent]] = {
    "429": lambda: _json({"error": {"message": "too many"}}, "429 Too Many Requests"),
    "429, odd Retry-After": lambda: _json({}, "429 Too Many Requests", "Retry-After: -1e999"),
    "400": lambda: _json({"error": {"message": "\x1b[2Jno\u202e"}}, "400 Bad Request"),
    "500": lambda: _json({"error": ["out", {"of": "memory"}]}, "500 Internal Server Error"),
    "503 in HTML": lambda: Sent(response(HTML, "503 Service Unavailable", kind="text/html")),
    "502 without a body": lambda: Sent(response(b"", "502 Bad Gateway")),
    "a page to log in": lambda: Sent(response(HTML, kind="text/html")),
    "cut JSON": lambda: Sent(response(b'{"choices": [{"message": {"content": "Ye')),
    "closed at once": lambda: Sent(b"", close=True),
    "closed in the middle": lambda: Sent(chat("yes")[:-30], close=True),
    "no choices": lambda: _json({"choices": []}),
    "choices are a text": lambda: _json({"choices": "yes"}),
    "no content": lambda: Sent(chat(None)),
    "content is an object": lambda: Sent(chat({"a": [None]})),
    "not UTF-8": lambda: Sent(response(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}')),
    "nested 90,000 deep": lambda: Sent(response(b"[" * 90_000)),
    "damaged gzip": lambda: Sent(response(b"\x1f\x8b\x08\x00 damaged", "200 OK", "Content-Encoding: gzip")),
    "a bomb": lambda: Sent(response(BOMB, "200 OK", "Content-Encoding: gzip")),
    "no HTTP": lambda: Sent(b"\x16\x03\x01\x02\x00 hello\r\n\r\n", close=True),
    "never": lambda: Sent(b"", close=True, after=TIMEOUT + 40),
}
RARE = {"never": 0.02, "a bomb": 0.1, "nested 90,000 deep": 0.3}  # these take time: so often, of the usual share
ANSWERED: tuple[Callable[[], bytes], ...] = (
    lambda: chat("", "content_filter"),
    lambda: chat("I think that", "length"),
    lambda: chat(""),
    lambda: chat(None, "tool_calls", tool_calls=[{"function": {"name": "x", "arguments": "{"}}]),
    lambda: chat("\x1b]0;pwned\x07\x1b[2J\u202eyes\x00\ud800"),
    lambda: chat("y" * 100_000),
    lambda: chat([{"type": "text", "text": "yes"}, {"type": "image"}, 3]),
)


class Hostile:
    """What was answered to whom: `failing` are the prompts whose last reply was a wrong one."""

    def __init__(self, seed: int):
        self.draw, self.faulty = random.Random(seed), FAULTY
        self.failing: set[str] = set()
        self.told: Counter[str] = Counter()
        self.replies = 0
        self._names = list(FAULTS)
        self._weights = [RARE.get(name, 1.0) for name in self._names]

    def reply(self, body: dict[str, Any]) -> Sent:
        prompt = body["messages"][-1]["content"]
        self.replies += 1
        if self.replies > 3 and self.draw.random() < self.faulty:  # a server that fails at once ends the run
            name = self.draw.choices(self._names, self._weights)[0]
            self.told[name] += 1
            self.failing.add(prompt)
            return FAULTS[name]()
        self.failing.discard(prompt)
        number = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4])
        if number % 1000 < 1000 * ODD:
            return Sent(ANSWERED[number // 1000 % len(ANSWERED)]())
        return Sent(chat("yes" if number % 3 else "no"))


def questions(path: Path, groups: int) -> None:
    lines = [f"Is {n} a number?,Would you call {n} a number?" for n in range(groups)]
    path.write_text("\n".join(["question,paraphrase", *lines]) + "\n")


def command(url: str, out: str) -> list[str]:
    settings = f"base_url={url},concurrency={CONCURRENCY},timeout={TIMEOUT},retries=1,backoff=0.001"
    labels = ["--label", "yes", "--label", "no", "--no-report", "-q"]
    return ["run", "q.csv", "--model", f"openai/m,{settings}", "--out", out, *labels]


def scores(folder: Path) -> list[dict[str, Any]]:
    found = json.loads((folder / "scores.json").read_text())["scores"]
    return [{k: v for k, v in score.items() if k != "model"} for score in found]


COUNTS = ("counted", "not_applicable", "failed", "refused", "cut", "not_asked")


def accounted(folder: Path, groups: int, failing: int) -> list[str]:
    """What is wrong with the counts of the scores: each group is in one of them."""
    wrong = []
    for score in scores(folder):
        if sum(score[name] for name in COUNTS) != groups or score["groups"] != groups:
            wrong.append(f"{score['metric']}: {[score[name] for name in COUNTS]} of {groups}")
    if (found := scores(folder)[0]["failed"]) != failing:
        wrong.append(f"{found} groups failed, the server failed {failing}")
    return wrong


def failed_groups(failing: set[str]) -> int:
    """Groups that hold one of these prompts: both wordings have the number of their group."""
    return len({next(word for word in prompt.split() if word.isdigit()) for prompt in failing})


def attack(replies: int, seed: int, zygote: Zygote) -> dict[str, Any]:
    groups = round(replies * (1 - FAULTY) / 2)
    wild, wrong, rounds = Hostile(seed), [], []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, Listening(wild.reply) as server:
        folder = Path(name)
        questions(folder / "q.csv", groups)
        expected: set[str] | None = None
        for _ in range(ROUNDS):
            server.asked.clear()
            code = zygote.run(command(server.url, "run"), folder)
            asked = {prompt for _, prompt in server.asked}
            rounds.append(sum(server.asked.values()))
            if code != 3:  # some answers are cut or refused to the end
                wrong.append(
                    f"exit {code} with {len(wild.failing)} failing: {(folder / 'said.txt').read_text()[-300:]}"
                )
                break
            if expected is not None and asked != expected:
                wrong.append(
                    f"{len(asked - expected)} asked that had been answered, {len(expected - asked)} not asked"
                )
            wrong += accounted(folder / "run", groups, failed_groups(wild.failing))
            if not wild.failing:
                break
            expected = set(wild.failing)
        total, wild.faulty = wild.replies, 0.0
        zygote.run(command(server.url, "right"), folder)
        if scores(folder / "right") != scores(folder / "run"):
            wrong.append("the scores are not those of a server that is always right")
        said = (folder / "said.txt").read_bytes()
        wrong += ["an escape code was printed"] if b"\x1b" in said or b"\xe2\x80\xae" in said else []
        counts = {name: scores(folder / "run")[0][name] for name in (*COUNTS, "unreadable", "empty", "tool_call")}
    return {
        "attack": "hostile_server", "seed": seed, "replies": total, "faulty": sum(wild.told.values()),
        "ways": len(wild.told), "groups": groups, "asked_by_round": rounds, "counts": counts,
        "seconds": round(time.monotonic() - began), "wrong": wrong[:5], "ok": not wrong,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--replies", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with Zygote() as zygote:
        found = attack(given.replies or (SHORT if given.short else REPLIES), given.seed, zygote)
    print(json.dumps(found), flush=True)
    sys.exit(not found["ok"])


if __name__ == "__main__":
    main()
