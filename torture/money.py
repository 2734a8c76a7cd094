"""A cost cap and a forecast against a service that keeps its own till.

    python torture/money.py [--short]

Each case runs questions with a judge on another server, at another price. What the till holds may exceed neither
--max-cost nor what the dry run calls "at most"; a run that was stopped goes on under a second cap, and pays for no
answer twice. With --pilot 20, what is expected is within 15 % of what the till holds in the end.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _till import Counting, Draw, Service, lognormal, mixture

CONCURRENCY, LIMIT = 64, 2048
PRICES = {"m": (0.8, 4.0, 0.1), "judge": (2.5, 10.0, 0.5)}  # for a million tokens
WITHIN = 0.15
GROUPS = 3400  # about 10,000 requests, with those to the judge
USUAL = lognormal(20, 0.7)  # words of a question
SHARES = (0.06, 0.5, 0.95, 1.4)  # of what a run costs, as caps


@dataclass(frozen=True)
class Case:
    """`wordings` are the lengths of questions, in words; `labels` is the share of them that wants a label."""

    name: str
    service: Service
    wordings: Draw = USUAL
    labels: float = 0.0


def cases(seed: int) -> list[Case]:
    usual = Service(seed, lognormal(60, 0.8), PRICES)
    return [
        Case("usual", usual),
        Case("a token for each byte", replace(usual, characters=1.0)),
        Case("no usage", replace(usual, usage=False)),
        Case("cached and thinking", replace(usual, cached=0.6, reasoning=lognormal(200, 0.7))),
        Case("failing", replace(usual, faults={"429": 0.05, "500": 0.01, "drop": 0.01})),
        Case("often cut", replace(usual, length=lognormal(900, 1.2))),
        Case("mostly labels", usual, labels=0.7),
    ]


def distributions(seed: int) -> list[Case]:
    usual = Service(seed, lognormal(60, 0.8), PRICES)
    return [
        Case("lognormal", usual),
        Case("long tail", replace(usual, length=lognormal(40, 1.1))),
        Case("even", replace(usual, length=lambda draw: draw.uniform(5, 300))),
        Case("short or long", replace(usual, length=mixture(0.5, lambda d: d.uniform(1, 5), lognormal(150, 0.5)))),
        Case("labels and texts", usual, labels=0.5),
        Case("long questions", usual, lognormal(60, 1.2)),
        Case("always another answer", replace(usual, same=0.0)),
        Case("nearly always the same", replace(usual, same=0.95)),
        Case("thinking", replace(usual, cached=0.5, reasoning=lognormal(300, 0.7))),
    ]


class Bench:
    """A folder with questions, and the two servers that are asked."""

    def __init__(self, folder: Path, case: Case, groups: int):
        self.folder, self.case = folder, case
        self.model, self.judge = Counting(case.service), Counting(case.service)
        draw = random.Random(case.service.seed)
        labelled = round(case.labels * groups)
        self._write("texts.csv", groups - labelled, draw)
        self.files = ["texts.csv"]
        if labelled:
            self._write("labels.csv", labelled, draw, ",yes")
            self.files.append("labels.csv")

    def _write(self, name: str, count: int, draw: random.Random, gold: str = "") -> None:
        lines = ["question,paraphrase" + (",label" if gold else "")]
        for n in range(count):
            words = " ".join("word" for _ in range(max(1, round(self.case.wordings(draw)))))
            mark = f"#{name}-{n}" + (" @label" if gold else "")
            also = ",no" if gold and n % 2 else gold
            lines.append(f"What is {words} {mark} ?,Tell me about {words} {mark} ?{also}")
        (self.folder / name).write_text("\n".join(lines) + "\n")

    @property
    def bill(self) -> float:
        return self.model.till.bill + self.judge.till.bill

    @property
    def twice(self) -> int:
        """Answers that were given again."""
        tills = (self.model.till, self.judge.till)
        return sum(count - 1 for till in tills for count in till.given.values())

    @property
    def calls(self) -> int:
        return sum(sum(till.calls.values()) for till in (self.model.till, self.judge.till))

    def run(self, *options: str, out: str = "r") -> tuple[int, dict[str, Any], str]:
        command = [sys.executable, "-m", "unwaver.cli.main", "run", *self.files, "--json", "--out", out]
        command += ["--model", self._named("openai/m", self.model), *options]
        command += ["--agree", self._named("judge=openai/judge", self.judge)]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": ""}
        )
        return done.returncode, json.loads(done.stdout), done.stderr

    def _named(self, name: str, server: Counting) -> str:
        prompt, answer, cached = PRICES[name.rpartition("/")[2]]
        given = {"base_url": server.url, "concurrency": CONCURRENCY, "max_tokens": LIMIT, "backoff": 0.01}
        given |= {"price_in": prompt, "price_out": answer, "price_cached": cached, "retries": 9}
        return ",".join([name, *(f"{key}={value}" for key, value in given.items())])


@contextmanager
def bench(case: Case, groups: int) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as name:
        made = Bench(Path(name), case, groups)
        with made.model, made.judge:
            yield made


def capped(case: Case, groups: int, shares: tuple[float, ...]) -> dict[str, Any]:
    """What a run costs without a cap, and under several; one of them is gone on with."""
    wrong: list[str] = []

    def claim(holds: bool, what: str) -> None:
        if not holds:
            wrong.append(what)

    with bench(case, groups) as place:
        _, told, _ = place.run("--dry-run")
        most = told["total"]["cost_at_most"]
        claim(place.calls == 0, "the dry run asks")
        code, found, _ = place.run(out="whole")
        whole, calls, counted = place.bill, place.calls, found["run"]["spent"]["cost"]
        claim(code in (0, 3), f"exit {code}")
        claim(whole <= most, f"{whole:.4f} is above at most, {most:.4f}")
        claim(counted <= most, f"counted {counted:.4f} is above at most, {most:.4f}")
        claim(whole <= counted * (1 + 1e-9) or bool(case.service.faults), f"billed {whole}, counted {counted}")
        for share in shares:
            _under_cap(place, share, share * counted, claim)
        _gone_on(place, counted, claim)
        return {
            "attack": "money",
            "case": case.name,
            "seed": case.service.seed,
            "calls": calls,
            "cost": round(whole, 4),
            "counted": round(counted, 4),
            "at_most": round(most, 4),
            "wrong": wrong,
            "ok": not wrong,
        }


def _under_cap(place: Bench, share: float, cap: float, claim: Any) -> None:
    before = place.bill
    code, found, said = place.run("--max-cost", repr(cap), out=f"cap{share}")
    billed = place.bill - before
    claim(billed <= cap, f"billed {billed:.6f} under a cap of {cap:.6f} ({share})")
    if code == 2:  # not even one request fits
        claim(billed == 0 and "too low" in found["error"]["message"], f"cap {share}: {said}")
        return
    spent = found["run"]["spent"]
    claim(spent["cost"] <= cap, f"counted {spent['cost']:.6f} under a cap of {cap:.6f} ({share})")
    claim(billed <= spent["cost"] * (1 + 1e-9), f"billed {billed:.6f}, counted {spent['cost']:.6f} ({share})")
    if spent["stopped"]:
        claim(code == 3 and "cost limit" in spent["stopped"], f"exit {code}: {spent['stopped']} ({share})")
    if share < 1 and not place.case.service.faults:
        claim(bool(spent["stopped"]), f"not stopped under {share} of its cost")


def _gone_on(place: Bench, counted: float, claim: Any) -> None:
    """The run under half its cost goes on: under a second cap, then under a high one."""
    before, first, second = place.bill, 0.5 * counted, 0.3 * counted
    place.model.till.given.clear()
    place.judge.till.given.clear()
    place.run("--max-cost", repr(first), out="parts")
    place.run("--max-cost", repr(second), out="parts")
    claim(place.bill - before <= first + second, "two caps together are exceeded")
    code, found, _ = place.run("--max-cost", repr(50 * counted), out="parts")
    claim(code in (0, 3) and not found["run"]["spent"]["stopped"], f"it does not end: {found['run']['spent']}")
    claim(place.twice == 0, f"{place.twice} answers were paid for twice")
    total = found["run"]["asking"]["cost"]
    claim(place.bill - before <= total * (1 + 1e-6), f"run.json says {total:.6f} of {place.bill - before:.6f}")


def without_limit(seed: int, groups: int) -> dict[str, Any]:
    """A server that writes more than it may: the run stops with what was in flight."""
    case = Case("longer than allowed", Service(seed, lognormal(6 * LIMIT, 0.1), PRICES, ignores_limit=True))
    with bench(case, groups) as place:
        code, found, _ = place.run("--max-cost", "1000")
        stopped, calls = str(found["run"]["spent"]["stopped"]), place.calls
        right = found["run"]["spent"]["cost"] >= place.bill * (1 - 1e-9)
    kept = code == 3 and "cannot be enforced" in stopped and calls <= CONCURRENCY + 1 and right
    return {"attack": "money", "case": case.name, "seed": seed, "calls": calls, "stopped": stopped, "ok": kept}


def foreseen(case: Case, groups: int) -> dict[str, Any]:
    """What a pilot expects, and what the till holds in the end."""
    with bench(case, groups) as place:
        _, told, _ = place.run("--dry-run", "--pilot", "20")
        pilot, asked = told["pilot"], place.calls
        code, _, _ = place.run()
        error = pilot["cost_of_all"] / place.bill - 1
        return {
            "attack": "money",
            "case": f"pilot: {case.name}",
            "seed": case.service.seed,
            "calls": place.calls,
            "pilot_calls": asked,
            "pilot_groups": pilot["groups"],
            "expected": round(pilot["cost_of_all"], 4),
            "interval": [round(pilot[name], 4) if pilot[name] is not None else None for name in ("low", "high")],
            "cost": round(place.bill, 4),
            "error": round(error, 4),
            "ok": abs(error) <= WITHIN and code in (0, 3) and place.twice == 0,
        }


def findings(short: bool) -> Iterator[dict[str, Any]]:
    if short:
        yield capped(cases(1)[4], 30, ())
        even = Service(1, lambda draw: draw.uniform(40, 90), PRICES, same=0.0)  # 20 groups tell enough of these
        yield foreseen(Case("nearly even", even), 150)
        return
    for seed in range(3):
        for case in cases(seed):
            yield capped(case, GROUPS if case.name == "usual" else 600, SHARES)
        yield without_limit(seed, 600)
    for seed in range(4):
        for case in distributions(seed):
            yield foreseen(case, GROUPS)


def main() -> None:
    kept = True
    for line in findings("--short" in sys.argv):
        print(json.dumps(line), flush=True)
        kept = kept and bool(line["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
