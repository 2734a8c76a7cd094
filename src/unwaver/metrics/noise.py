"""Wording noise beside sampling noise, of the scores of one block, for verdicts and reports.

    noise_of(block)   the agreement among wordings, among repeats of one wording, their difference and the share of
                      the disagreement that is due to wording, each a Score with its interval
    in_words(noise)   "different wordings disagree in 30.0 % of pairs, repeats of one wording in 10.0 %: …"

If there is no share, `why` says why, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unwaver.metrics.meanings.pairwise import means_of
from unwaver.metrics.wording import LABELS, SHARE
from unwaver.text.shown import percent
from unwaver.types import Score

# kinds of groups whose answers need not stay the same, or that have one wording
_OTHER_KINDS = ("negational", "transitive", "additive", "base", "repeat")


@dataclass(frozen=True)
class Noise:
    """`agreement` is the agreement that leads, "lex" for labels. Undefined scores are None."""

    agreement: str
    wordings: Score | None
    repeats: Score | None
    gap: Score | None
    share: Score | None
    low: bool = False  # less is better: the values are disagreements
    why: str = ""

    @property
    def disagreement(self) -> tuple[float, float] | None:
        """Among wordings and among repeats, over the groups that have both: (0.3, 0.1)."""
        if self.gap is None or self.repeats is None:
            return None
        gap, share, repeats = self.gap.value or 0.0, self.share and self.share.value, self.repeats.value or 0.0
        more = gap if self.low else -gap
        if share:
            return more / share, more / share - more
        among_repeats = repeats if self.low else 1 - repeats
        return max(among_repeats + more, 0.0), among_repeats


def noise_of(block: Sequence[Score]) -> Noise | None:
    """None if the answers of the block need not stay the same, or were not compared.

    `block` has all scores of one suite, task, kind, model and method (`Result.blocks`).
    """
    if not block or block[0].kind.partition("_")[0] in _OTHER_KINDS:
        return None
    means = means_of(block)
    name = means[0].metric.removeprefix("Cons_") if means else LABELS
    found = {s.metric: s for s in block if s.given is None}
    wordings, repeats, gap, share = (
        found.get(metric) for metric in (f"Cons_{name}", f"Cons_{name}_repeat", f"Cons_{name}_gap", SHARE)
    )
    low = bool(means) and means[0].better == "low"
    return Noise(
        name, _known(wordings), _known(repeats), _known(gap), _known(share), low, _why(wordings, gap, share)
    )


def _known(s: Score | None) -> Score | None:
    return s if s is not None and s.value is not None else None


def _why(wordings: Score | None, gap: Score | None, share: Score | None) -> str:
    if gap is None or share is None:
        return "every wording was asked once; add --replicates 2 to tell wording noise from sampling noise"
    if share.value is not None:
        return ""
    if gap.value is not None:
        return "different wordings never disagree"
    if wordings is None or wordings.value is None:
        return "no group has answers to two wordings"
    return "no group has two answers to one wording; add --replicates 2"


def in_words(noise: Noise) -> str:
    """One sentence for a verdict; "" if wordings cannot be compared with repeats."""
    both = noise.disagreement
    if both is None:
        return ""
    verb, (wordings, repeats) = "contradict each other" if noise.low else "disagree", map(percent, both)
    said = f"different wordings {verb} in {wordings} % of pairs, repeats of one wording in {repeats} %"
    share = noise.share
    if share is None or share.value is None:
        return said
    if share.value <= 0:
        return f"{said}: no wording noise beyond sampling noise"
    interval = "" if share.low is None else f" [{percent(share.low)} – {percent(share.high)}]"
    return f"{said}: {percent(share.value)} %{interval} of the disagreement is due to wording"


def how_to_measure(blocks: Iterable[Sequence[Score]], run: Mapping[str, Any]) -> list[str]:
    """What to do if answers in free text disagree and no wording was asked twice. A model at temperature 0 is
    left alone: its repeats would be the same."""
    settings = [model.get("settings") or {} for model in run.get("models", ())]
    if settings and all(given.get("temperature") == 0 for given in settings):
        return []
    for block in blocks:
        noise = noise_of(block)
        if noise is None or noise.agreement == LABELS or noise.wordings is None or noise.wordings.value is None:
            continue
        disagree = noise.wordings.value > 0 if noise.low else noise.wordings.value < 1
        if disagree and not any(s.metric == SHARE for s in block):
            return [
                "Each wording was asked once, so answers may differ by chance alone: --replicates 2 also measures "
                "sampling noise (wording_share)."
            ]
    return []


def remarks(block: Sequence[Score]) -> Iterator[str]:
    """What the lines of a table do not say by themselves."""
    noise = noise_of(block)
    if noise is None or noise.repeats is None:
        return
    s = noise.repeats
    name = f"{s.task}/{s.kind} ({s.method})"
    if noise.gap is None or noise.share is None:
        yield f"{name}: {SHARE} is undefined: {noise.why}"
        return
    yield f"{name}: {in_words(noise)} ({noise.agreement})"
    asked = noise.wordings.counted if noise.wordings else 0
    if noise.gap.counted < asked:
        yield (
            f"{name}: {noise.gap.metric} and {SHARE} use the {noise.gap.counted:,} of {asked:,} groups in "
            "which a wording was asked more than once"
        )
