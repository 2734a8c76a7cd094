"""How far the answers in a bucket agree with one another, whatever is right: nothing but the answers is needed.

Cons_lex          share of ordered pairs of distinct wordings with exactly the same answer (Raj et al. 2022):
                  a, a, b -> 2 of 6. Answers that are empty or unreadable are dropped; fewer than two: null
Cons_lex_repeat   the same among replicates of one wording: sampling noise, beside that of wording
tau               share of later wordings whose answer differs from the first (the original if there is one); in
                  free text the share of buckets where two answers do not agree (unwaver.metrics.agreed)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from unwaver.meaning import Context, Meaning, Named, Phrase, if_measured
from unwaver.metrics import agreed, charts
from unwaver.metrics.block import Block, Codes, Metric
from unwaver.metrics.papers import GENERATION
from unwaver.stats import Floats
from unwaver.types import Figure, Score


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect != "bucket":
        return
    yield Metric("Cons_lex", among_wordings)
    if block.trials > block.groups:
        yield Metric("Cons_lex_repeat", among_repeats)
    if block.agree:  # free text
        yield from agreed.metrics(block)
    else:
        yield Metric("tau", against_first, skippable=True)


def among_wordings(block: Block) -> Floats:
    same, pairs = _pairs(block)
    return _ratio(same[0] - same[1], pairs[0] - pairs[1])


def among_repeats(block: Block) -> Floats:
    same, pairs = _pairs(block)
    answers = np.bincount(block.group[block.code >= 0], minlength=block.groups)  # each one is a pair with itself
    return _ratio(same[1] - answers, pairs[1] - answers)


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


@lru_cache(maxsize=1)  # two metrics of one block
def _pairs(block: Block) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Per group, ordered pairs of readable answers, each with itself too: with the same label (anywhere, within
    one wording), and all of them (likewise)."""
    rows = block.code >= 0
    group, wording, code = block.group[rows], block.wording[rows], block.code[rows]
    labels = len(block.labels)

    def squares(units: Codes) -> Floats:
        _, first, count = np.unique(units, return_index=True, return_counts=True)
        sums = np.bincount(group[first], weights=count.astype(float) ** 2, minlength=block.groups)
        return sums.astype(np.float64)

    same = squares(group * labels + code), squares(wording * labels + code)
    return same, (squares(group), squares(wording))


def against_first(block: Block) -> Floats:
    """a, a, b -> 0.5. Within one replicate; an unreadable answer differs from every other."""
    order = np.flatnonzero(block.target)[::-1], np.flatnonzero(~block.target)[::-1]  # what is written last stays
    first = np.full(block.groups, -1)
    for rows in order:
        first[block.group[rows]] = block.wording[rows]
    is_first = block.wording == first[block.group]
    answer = np.full(block.trials, -2)
    answer[block.trial[is_first]] = block.code[is_first]
    compared = answer[block.trial]
    differs = (block.code < 0) | (block.code != compared)
    return block.per_group(differs.astype(float), ~is_first & (compared > -2))


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    """Wordings of one question against repeats of one wording, for every number that has both."""
    del blocks
    repeats = [s for s in scores if s.metric.endswith("_repeat")]
    found = charts.chosen(
        scores, *(name for s in repeats for name in (s.metric.removesuffix("_repeat"), s.metric))
    )
    shown: list[list[dict[str, object]]] = []
    for first in dict.fromkeys(s.metric.removesuffix("_repeat") for s in found):
        both = [_disagreement(s) for s in found if s.metric in (first, f"{first}_repeat")]
        names = charts.names_of(both)
        said = {first: "among wordings", f"{first}_repeat": "among repeats of one wording"}
        rows = charts.rows_of(
            both,
            name=lambda s, names=names: names[charts.block_key(s)],
            colour=lambda s, said=said: said[s.metric],
        )
        values = [{name: value for name, value in row.items() if name != "says"} for row in rows]
        if values in shown:  # of two agreements that say the same, one
            continue
        shown.append(values)
        for row in rows:
            row["says"] = str(row["says"]).replace(f": {first}", ": disagree by " + first)
        says = (
            "Disagreement among repeats is sampling noise; further disagreement among wordings is due to wording."
        )
        spec = charts.intervals(rows, "pairs of answers that disagree")
        yield Figure("Wording noise against sampling noise", charts.label(first), says, first, spec)


def _disagreement(s: Score) -> Score:
    """On the scale of tau: 90 % agreement is 10 % disagreement."""
    if s.better == "low" or s.value is None:
        return s
    low, high = (None if end is None else 1 - end for end in (s.high, s.low))
    return replace(s, value=1 - s.value, low=low, high=high)


# --- what they mean ---------------------------------------------------------------------------------------------


def _leads(score: Named, block: Sequence[Named]) -> bool:
    """Of an original and its variants the leading number is tau, also where repeats give this one."""
    return if_measured(score, block) and all(s.metric != "tau_conditioned" for s in block)


def _beside(context: Context) -> Iterator[str]:
    if context.value("Cons_lex_repeat") is not None:
        yield "Cons_lex_repeat"


# tau of buckets is declared with that of the other relations
MEANINGS = (
    Meaning(
        "Cons_lex",
        title="lexical consistency",
        says="Share of pairs of wordings that get exactly the same answer, right or wrong.",
        formula="mean over ordered pairs of answers to distinct wordings, by problem, then over problems: "
        "a, a, b → 2 of 6",
        better="high",
        paper=GENERATION,
        docs="docs/methods.md#metrics",
        leads=60,
        leads_if=_leads,
        beside=("Cons_lex_repeat",),
        choose=_beside,
        figures=figures,
        verdict=Phrase("pair of wordings", "pairs of wordings", "gets different answers", "get different answers"),
    ),
    Meaning(
        "Cons_lex_repeat",
        title="lexical consistency of repeats",
        says="Share of pairs of repeats of one wording that get exactly the same answer. The rest (1 − value) is "
        "sampling noise.",
        formula="mean over ordered pairs of repeats of one wording, by problem, then over problems",
        better="high",
        paper=f"{GENERATION}; among repeats: unwaver",
        docs="docs/methods.md#metrics",
        leads=70,
        leads_if=_leads,
        verdict=Phrase("pair of repeats", "pairs of repeats", "gets different answers", "get different answers"),
    ),
)
