"""By which notion of agreement groups of free text are broken, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver.metrics.agreed import WORDING
from unwaver.metrics.meanings.pairwise import means_of
from unwaver.result import Result
from unwaver.types import Score


def lines(result: Result) -> list[str]:
    """One line for each notion, in general one."""
    return list(dict.fromkeys(line for block in result.blocks() for line in _of_block(block)))


def _of_block(block: Sequence[Score]) -> Iterator[str]:
    means = means_of(block)
    if not means:
        return
    name, way = means[0].metric.removeprefix("Cons_"), "above" if means[0].better == "low" else "below"
    shares = (s.metric for s in block if s.metric.startswith(f"{means[0].metric}@"))
    threshold = next(shares).rpartition("@")[2]
    yield wording_line([s.metric.removeprefix("Cons_") for s in means]) or (
        f"tau: a question is broken if two of its answers are {way} {threshold} by {name}, the first --agree"
    )


def wording_line(agreements: Sequence[str]) -> str | None:
    """What to say where answers are compared by their wording alone: ["normalised", "exact"]."""
    if not agreements or not set(agreements) <= set(WORDING):
        return None
    return (
        f"tau counts different wording as disagreement: answers are compared by {agreements[0]}. To compare what "
        "they say, name a judge or an NLI model: --agree judge=openai/NAME or --agree entail=hf/PATH"
    )
