"""Wording noise beside sampling noise: with repeats, how much of the disagreement of answers is due to wording?

    Cons_<f>_gap         Cons_<f> − Cons_<f>_repeat over the groups that have both
    wording_share        (Cons_repeat − Cons) / (1 − Cons) by the agreement that leads, labels by whether they are
                         the same; where less agreement is better (contradict): (Cons − Cons_repeat) / Cons
    wording_share_<f>    the same by each agreement of free text

Right answers are not needed. Both apply to every kind whose answers must stay the same, and to no other. A wording
that is asked again is a replicate; a group without two of them, or without two wordings, does not apply.

`unwaver.metrics.noise` reads them for verdicts and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from unwaver import registry
from unwaver.meaning import Better, Context, Meaning
from unwaver.metrics.agreed import notions
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.bucket import among_repeats, among_wordings
from unwaver.metrics.pairwise import mean_agreement, repeated_agreement
from unwaver.stats import Floats
from unwaver.stats.wording_noise import gap, gap_of, share, share_of

SHARE, LABELS = "wording_share", "lex"
Both = Callable[[Block], Floats]


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect not in ("same", "bucket") or block.trials == block.groups:
        return
    if block.kind.partition("_")[0] == "repeat":  # of one wording
        return
    if not block.agree:
        if block.expect == "same":  # unwaver.metrics.bucket gives these for buckets
            yield Metric("Cons_lex", among_wordings)
            yield Metric("Cons_lex_repeat", among_repeats)
        yield Metric("Cons_lex_gap", _of_labels, "high", reduce=gap_of, share=False, estimate=gap)
        yield _share(SHARE, _of_labels, low=False)
        return
    for place, notion in enumerate(notions(block).values()):
        both = partial(_of_answers, name=notion.name)
        better: Better = "low" if notion.low else "high"
        yield Metric(f"Cons_{notion.name}_gap", both, better, reduce=gap_of, share=False, estimate=gap)
        for name in (SHARE, f"{SHARE}_{notion.name}")[place > 0 :]:
            yield _share(name, both, low=notion.low)


def _of_labels(block: Block) -> Floats:
    """Per group: agreement among wordings, and among repeats of one wording."""
    return np.column_stack([among_wordings(block), among_repeats(block)])


def _of_answers(block: Block, name: str) -> Floats:
    return np.column_stack([mean_agreement(block, name), repeated_agreement(block, name)])


def _share(name: str, both: Both, *, low: bool) -> Metric:
    values = both if low else partial(_disagreement, both=both)
    return Metric(name, values, reduce=share_of, share=False, estimate=share)


def _disagreement(block: Block, both: Both) -> Floats:
    return np.asarray(1 - both(block))


# --- what they mean ---------------------------------------------------------------------------------------------


def _agreement_names() -> Iterable[str]:
    return registry.names("agreements")


def _remark(context: Context) -> Iterator[str]:
    from unwaver.metrics.noise import remarks

    return remarks(context.block)


_DOCS = "docs/text.md#wording-noise-and-sampling-noise"
_GAP = Meaning(
    "Cons_lex_gap",
    title="lexical consistency of wordings minus that of repeats",
    says="How much less often different wordings get the same answer than repeats of one wording do. Both values "
    "are taken over the same groups. About 0: rewording changes answers no more than asking again does.",
    formula="Cons_lex − Cons_lex_repeat, mean over the groups that have both",
    better="high",
    docs=_DOCS,
)
_SHARE = Meaning(
    SHARE,
    title="share of disagreement due to wording",
    says="The part of the disagreement between wordings that asking the same wording again does not show. "
    "0: all of it is sampling noise; 1: none of it. A negative value means that repeats disagree more than "
    "wordings do, by chance if the interval includes 0. Undefined if wordings never disagree, or without repeats "
    "(--replicates 2). In free text, agreement is that of the first --agree.",
    formula="(Cons_repeat − Cons) / (1 − Cons) over the groups that have both; for contradict "
    "(Cons − Cons_repeat) / Cons",
    docs=_DOCS,
    remark=_remark,
)
MEANINGS = (
    _GAP,
    Meaning(
        "Cons_<agreement>_gap",
        title="agreement of wordings minus that of repeats, by <agreement>",
        says="How much less answers to different wordings agree than repeated answers to one wording do, measured "
        "by <agreement>. Both values are taken over the same questions. About 0: rewording changes answers no "
        "more than asking again does.",
        formula="Cons_<agreement> − Cons_<agreement>_repeat, mean over the questions that have both",
        better="high",
        docs=_DOCS,
        of={"agreement": _agreement_names},
    ),
    Meaning(
        "Cons_contradict_gap",
        title="contradiction between wordings minus that between repeats",
        says="How much more answers to different wordings contradict each other than repeated answers to one "
        "wording do. Both values are taken over the same questions.",
        formula="Cons_contradict − Cons_contradict_repeat, mean over the questions that have both",
        better="low",
        docs=_DOCS,
    ),
    _SHARE,
    Meaning(
        f"{SHARE}_<agreement>",
        title="share of disagreement due to wording, by <agreement>",
        says="The part of the disagreement between wordings, measured by <agreement>, that asking the same "
        "wording again does not show.",
        formula="(Cons_repeat − Cons) / (1 − Cons) by <agreement> over the questions that have both; for "
        "contradict (Cons − Cons_repeat) / Cons",
        docs=_DOCS,
        of={"agreement": _agreement_names},
    ),
)
