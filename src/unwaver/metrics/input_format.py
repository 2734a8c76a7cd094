"""C_R and C_S of CALM: does the prediction survive a change of the input format? Higher is better.

C_R     reverse: share of pairs whose prediction stays when the two texts are swapped
C_S     signal: share of items where every sign gives the original prediction (pass rate p >= θ = 1)
C_S@θ   the same with p >= θ; --theta chooses other θ than those of the paper's range
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from unwaver.meaning import Context, Meaning, Phrase
from unwaver.metrics import charts
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.papers import CALM
from unwaver.metrics.violation import tau, without_unreadable
from unwaver.stats import Floats
from unwaver.types import Figure, Score

THRESHOLDS = (0.9, 0.8, 0.7, 0.6, 0.5)
EXAMPLES = ("C_S@0.9", "C_S@0.8", "C_S@0.7", "C_S@0.6", "C_S@0.5")


def metrics(block: Block) -> Iterator[Metric]:
    kind = block.kind.partition("_")[0]  # reverse_seen: of groups that the model was trained on
    if kind == "reverse":
        yield Metric("C_R", pass_rate, skippable=True)
    if kind == "signal":
        yield Metric("C_S", partial(passes, threshold=1.0), skippable=True)
        for threshold in sorted({*block.theta} - {1.0}, reverse=True) if block.theta else THRESHOLDS:
            chosen = partial(passes, threshold=threshold)
            yield Metric(f"C_S@{threshold:g}", chosen, skippable=True)


def pass_rate(block: Block) -> Floats:
    return np.asarray(1 - tau(block))


def passes(block: Block, threshold: float) -> Floats:
    """9 of 10 signs keep the prediction: 0 at θ = 1, 1 at θ = 0.9."""
    rate = pass_rate(block)
    # 1 - 1/10 is less than 0.9 in binary
    return np.where(np.isnan(rate), np.nan, (rate >= threshold - 1e-9).astype(float))


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    del blocks
    families = (s.metric for s in scores if s.metric.startswith("C_S@"))
    named = {"C_S": 1.0, **{name: float(name.removeprefix("C_S@")) for name in families}}
    found = charts.chosen(scores, *named)
    if not found:
        return
    names = charts.names_of(found)
    rows = charts.rows_of(found, x=lambda s: named[s.metric], colour=lambda s: names[charts.block_key(s)])
    shown = [row for row in rows if row["colour"] in list(dict.fromkeys(names.values()))[: charts.MOST_SERIES]]
    says = "Share of items whose answer stays the same under at least this share of the signs."
    ticks = sorted({named[s.metric] for s in found})
    spec = charts.lines(shown, "θ, signs that must keep the answer", "C_S", ticks=ticks)
    yield Figure("C_S over θ", "C_S over θ", says, "C_S", spec)


# --- what they mean ---------------------------------------------------------------------------------------------


def _beside(context: Context) -> Iterator[str]:
    """C_S@θ where --theta asks for it."""
    found = [s.metric for s in context.block if s.metric.startswith("C_S@")]
    yield from found if set(found) != set(EXAMPLES) else ()


def _chance(context: Context) -> float | None:
    tau_independent = context.value("tau_independent")
    return None if tau_independent is None else 1 - tau_independent


MEANINGS = (
    Meaning(
        "C_R",
        title="consistency under reversal",
        says="Share of answers that stay the same when the two texts are swapped.",
        formula="C_R = 1 − τ of the kind reverse",
        better="high",
        paper=CALM,
        docs="docs/methods.md#metrics",
        leads=40,
        chance=_chance,
        chance_says="expected value if answers were independent",
        without_gold=("accuracy", "tau_conditioned", "transitive and additive tau"),
        remark=without_unreadable,
        verdict=Phrase(
            "swap of the two texts", "swaps of the two texts", "changes the answer", "change the answer"
        ),
    ),
    Meaning(
        "C_S",
        title="consistency under other signs",
        says="Share of items whose answer stays the same under all signs that replace the colon: ten, or "
        "those of --sign.",
        formula="p = share of the signs' predictions equal to the original one; C_S = mean of [p = 1]",
        better="high",
        paper=CALM,
        docs="docs/methods.md#metrics",
        leads=30,
        choose=_beside,
        without_gold=("accuracy", "tau_conditioned", "transitive and additive tau"),
        remark=without_unreadable,
        figures=figures,
        verdict=Phrase(
            "item", "items", "changes its answer with another sign", "change their answer with another sign"
        ),
    ),
    Meaning(
        "C_S@<theta>",
        title="consistency under other signs, threshold <theta>",
        says="Share of items whose answer stays the same under a share <theta> or more of the signs.",
        formula="p = share of the signs' predictions equal to the original; C_S@<theta> = mean of [p ≥ <theta>]",
        better="high",
        paper=CALM,
        docs="docs/methods.md#metrics",
        of={"theta": r"[01]?\.?\d+"},
        examples=EXAMPLES,
    ),
)
