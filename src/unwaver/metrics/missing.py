"""What is said about groups that could not be scored because answers are missing: how many, why, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from unwaver.meaning import leading_of
from unwaver.models.limits import LIMITS
from unwaver.result import Result
from unwaver.state import MISSING

if TYPE_CHECKING:
    import polars as pl

    from unwaver.metrics.block import Block

LEAST = 2048  # tokens to try next: enough for a model that thinks before it answers


def in_words(counts: Mapping[str, int]) -> str:
    """{"failed": 2, "refused": 0, "cut": 18} -> "2 failed, 18 cut"."""
    return ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in MISSING if counts.get(name))


def what_to_do(counts: Mapping[str, int]) -> str:
    """The next step, for who knows no more than the counts."""
    if counts.get("cut"):
        return f"ask again with a higher token limit (--model-arg max_tokens={LEAST}), or add --cut keep"
    if counts.get("refused"):
        return "the service refused: ask another model, or add --allow-undecided if other groups have a value"
    return "run the same command again"


class Part(NamedTuple):
    """Some groups of one model, and how many of them are missing, by why."""

    model: str
    free_text: bool
    counts: Mapping[str, int]


def lines(result: Result) -> list[str]:
    """What must be said of cut and refused answers of a result."""
    parts = []
    for block in result.blocks():
        leading = leading_of(block)
        if not (leading.task.startswith("average") or leading.model.startswith("average")):  # parts were counted
            counts = {name: getattr(leading, name) for name in MISSING}
            free_text = any(s.metric.startswith("Cons_") and "@" in s.metric for s in block)
            parts.append(Part(leading.model, free_text, counts))
    found = _about(parts, result.run)
    if result.run.get("cut") == "keep" and any(s.cut_read for s in result.scores):
        found.append("Answers that were cut at the token limit count as they are (--cut keep).")
    return found


def lines_of_frames(frames: Sequence[pl.DataFrame], run: Mapping[str, Any]) -> list[str]:
    """The same of answers that are shown and not scored, and of calls that failed or were not made."""
    parts = parts_of(frames)
    other = {name: sum(part.counts[name] for part in parts) for name in ("failed", "not_asked")}
    found = [f"{_groups(count)} not scored: {_WHY[name]}." for name, count in other.items() if count]
    return found + _about(parts, run)


_WHY = {"failed": "calls failed", "not_asked": "not every item was asked"}


def counts_of(frames: Sequence[pl.DataFrame]) -> dict[str, int]:
    """How many groups are missing, by why."""
    counts = [part.counts for part in parts_of(frames)]
    return {why: sum(count[why] for count in counts) for why in MISSING}


def parts_of(frames: Sequence[pl.DataFrame]) -> list[Part]:
    from unwaver.metrics.block import block_of
    from unwaver.metrics.score import partition

    blocks = [block_of(part) for frame in frames if frame.height for part in partition(frame)]
    return [Part(b.model, bool(b.agree), b.missing | _asked(b)) for b in blocks]


def _asked(block: Block) -> dict[str, int]:
    return {"not_asked": block.missing["not_asked"] - int(block.not_needed.sum())}


def _about(parts: Sequence[Part], run: Mapping[str, Any]) -> list[str]:
    """One line for each token limit, and one for refusals."""
    cut: dict[str, int] = {}
    for part in parts:
        if part.counts["cut"]:
            advice = _advice(_limit(run, part.model, free_text=part.free_text))
            cut[advice] = cut.get(advice, 0) + part.counts["cut"]
    found = [f"{_groups(count)} not scored: an answer was cut {advice}" for advice, count in cut.items()]
    if refused := sum(part.counts["refused"] for part in parts):
        found.append(
            f"{_groups(refused)} not scored: the service refused an answer. Refused answers are not compared."
        )
    return found


def _groups(count: int) -> str:
    return f"{count:,} group{' was' if count == 1 else 's were'}"


def _limit(run: Mapping[str, Any], name: str, *, free_text: bool) -> tuple[str, int | None]:
    """The name of the setting that limits answers, and what it is: ("max_tokens", 16)."""
    for model in _records(run.get("models", ())):
        settings = model.get("settings")
        if model.get("name") != name or not isinstance(settings, Mapping):
            continue
        own = settings.get("free_text") if free_text else None
        settings = own if isinstance(own, Mapping) else settings
        for setting in LIMITS:
            value = settings.get(setting)
            if isinstance(value, int) and not isinstance(value, bool):
                return setting, value
    return LIMITS[0], None


def _records(found: object) -> Iterable[Mapping[str, Any]]:
    return [m for m in found if isinstance(m, Mapping)] if isinstance(found, Sequence) else []


def _advice(limit: tuple[str, int | None]) -> str:
    name, value = limit
    more = max(LEAST, 4 * (value or 0))
    option = f"--model-arg {name}={more}" if name == LIMITS[0] else f"""--model-arg extra='{{"{name}": {more}}}'"""
    at = "at its token limit" if value is None else f"at {name}={value}"
    return f"{at}. Ask again with {option}; --cut keep counts cut answers as they are."
