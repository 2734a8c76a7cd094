"""What to do next, for someone who has read the verdict: at most a few steps, each with a command to paste."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from unwaver.groups import SELF_CERTIFIED
from unwaver.meaning import block_key
from unwaver.metrics.agreed import WORDING
from unwaver.metrics.meanings.pairwise import means_of
from unwaver.reports.verdict import GOOD, Verdict
from unwaver.result import Result

MOST = 4
# groups without a single break, from which on the exact 95 % interval ends below GOOD
ENOUGH = math.ceil(math.log(0.025) / math.log(1 - GOOD))


class Step(NamedTuple):
    says: str
    command: str = ""


def steps(results: Sequence[tuple[str, Result]], found: Sequence[Verdict]) -> list[Step]:
    """`results` with the path of each; `found` are their verdicts."""
    everything = dict.fromkeys(step for path, result in results for step in _steps(path, result, found))
    return list(everything)[:MOST]


def _steps(path: str, result: Result, found: Sequence[Verdict]) -> Iterator[Step]:
    own = {id(s) for s in result.scores}
    mine = [v for v in found if id(v.score) in own]
    broken = [v for v in mine if v.rate and v.level != "constant"]
    yield from _lacking(result)
    if broken:
        show = _command("unwaver", "show", path) if result.folder else ""
        yield Step("Read the broken groups, worst first.", show)
    if _compares_wording(result, broken):
        again = ["unwaver", "run", "--from", str(Path(path) / "run.json")] if result.folder else []
        says = (
            "Answers were compared word by word, so some that differ may mean the same. Let a judge or an NLI "
            "model compare their meaning; stored answers are not asked for again."
        )
        yield Step(says, _command(*again, "--agree", "judge=openai/NAME") if again else "")
    if any(SELF_CERTIFIED in s.flags for s in result.leading()):
        says = "Have a person review the paraphrases: they are certified only by the model that wrote them."
        yield Step(says, _command("unwaver", "review", path, "--out", "sheet.tsv") if result.folder else "")
    if any(v.level == "constant" for v in mine):
        yield Step("Check the prompt and the labels: the model always gives the same answer.")
    if few := [v for v in mine if v.level == "unsure"]:
        counted = min(v.score.counted for v in few)
        yield Step(
            f"Ask more questions: {ENOUGH} groups of a relation are needed, all of them unbroken, to call it "
            f"consistent; the smallest relation here has {counted:,}."
        )
    yield from _keep(path, result, mine)


def _lacking(result: Result) -> Iterator[Step]:
    if result.missing and result.folder:
        groups = "1 group has" if result.missing == 1 else f"{result.missing:,} groups have"
        yield Step(f"{groups} no complete answer. Run the same command again: it asks only for what is missing.")


def _compares_wording(result: Result, broken: Sequence[Verdict]) -> bool:
    """Whether something is broken by an agreement that sees another wording as another answer."""
    keys = {block_key(v.score) for v in broken}
    blocks = [means for block in result.blocks() if block_key(block[0]) in keys and (means := means_of(block))]
    return any(means[0].metric.removeprefix("Cons_") in WORDING for means in blocks)


def _keep(path: str, result: Result, mine: Sequence[Verdict]) -> Iterator[Step]:
    """A bar for later versions, a little above what was measured."""
    rates = [v.rate for v in mine if v.rate is not None and v.score.metric == "tau" and v.level != "constant"]
    if not rates or not result.folder:
        return
    bar = min(1.0, math.ceil(20 * max(rates) + 0.5) / 20)
    yield Step(
        "Keep later versions from getting worse: check them against a bar.",
        _command("unwaver", "gate", path, "--bar", f"tau<={bar:.2f}"),
    )


def _command(*words: str) -> str:
    return shlex.join(words)
