"""Wording noise and sampling noise: with replicates, where does the variance of right and wrong come from?

A model that samples answers one wording now right, now wrong. That noise is in VAP too; here it is told apart.

    var_item        between problems
    var_wording     between the wordings of a problem, above what repeats of one wording vary
    var_replicate   between repeats of one wording
    var_wording_share  var_wording / (var_item + var_wording + var_replicate)
    P_C_repeats     1 − 2·var_replicate: two repeats of one wording are both right or both wrong

Method of moments, every problem with the same weight and every wording of a problem too, so that unequal numbers
of wordings and repeats do no harm. The estimates are unbiased, so one that should be 0 falls below it half the
time. P_C_pairs = 1 − 2·(var_wording + var_replicate) where all wordings have as many repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from unwaver.meaning import Meaning, Phrase
from unwaver.metrics import charts
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.paraphrastic import has_paraphrases
from unwaver.stats import Floats, mean
from unwaver.types import Figure, Score


def metrics(block: Block) -> Iterator[Metric]:
    if not has_paraphrases(block) or block.trials == block.groups:
        return
    yield Metric("P_C_repeats", lambda b: _parts(b)[:, 0], reduce=lambda sums: 1 - 2 * mean(sums))
    yield Metric("var_item", _parts, reduce=_var_item, share=False)
    yield Metric("var_wording", _parts, reduce=_var_wording, share=False)
    yield Metric("var_replicate", lambda b: _parts(b)[:, 0], share=False)
    yield Metric("var_wording_share", _parts, reduce=_wording_share, share=False)


@lru_cache(maxsize=1)
def _parts(block: Block) -> Floats:
    """Per problem: the mean variance of repeats, the variance of its wordings' means, the part of that which is
    due to repeats, the variance of its own mean, that mean and its square.

    A problem with fewer than two wordings, or a wording without repeats, does not apply; for the first of these
    numbers one wording is enough.
    """
    p, group, repeats = block.per_wording(block.target & ~np.isnan(block.right))

    def mean_of(values: Floats) -> Floats:
        return np.bincount(group, weights=values, minlength=block.groups) / wordings

    wordings = np.bincount(group, minlength=block.groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_repeats = np.where(repeats > 1, p * (1 - p) * repeats / (repeats - 1), np.nan)
        theta = mean_of(p)
        of_means = (mean_of(p**2) - theta**2) * wordings / (wordings - 1)
        return np.column_stack(
            [
                mean_of(of_repeats),
                np.where(wordings > 1, of_means, np.nan),
                mean_of(of_repeats / repeats),
                of_means / wordings,
                theta,
                theta**2,
            ]
        )


def _var_wording(sums: Floats) -> Floats:
    return np.asarray((sums[..., 1] - sums[..., 2]) / sums[..., -1])


def _var_item(sums: Floats) -> Floats:
    n = sums[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_means = (sums[..., 5] - sums[..., 4] ** 2 / n) / (n - 1)
    return np.asarray(of_means - sums[..., 3] / n)


def _wording_share(sums: Floats) -> Floats:
    wording = _var_wording(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(wording / (_var_item(sums) + wording + mean(sums)))


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    del blocks
    parts = {"var_item": "problems", "var_wording": "wording", "var_replicate": "sampling"}
    found = charts.chosen(scores, *parts)
    if not found:
        return
    names = charts.names_of(found)
    rows = charts.rows_of(found, name=lambda s: names[charts.block_key(s)], colour=lambda s: parts[s.metric])
    for row, s in zip(rows, found, strict=True):  # a variance is not a share
        row["says"] = f"{row['name']}, {row['colour']}: variance {s.value:.4f}, {s.counted:,} problems"
    says = "Where the variance of right and wrong comes from: problem, wording, or a repeat of one wording."
    spec = charts.intervals(rows, "variance of right and wrong", domain=None, format="~g")
    yield Figure("Wording noise against sampling noise", "Variance components", says, "var_wording", spec)


# --- what they mean ---------------------------------------------------------------------------------------------

_MOMENTS = "Method of moments, with equal weights for problems and for the wordings of a problem: docs/methods.md"

MEANINGS = (
    Meaning(
        "P_C_repeats",
        title="consistency of repeats",
        says="Probability that two repeats of one wording are both answered right or both wrong.",
        formula="1 − 2·var_replicate",
        better="high",
        docs="docs/methods.md#metrics",
        verdict=Phrase(
            "pair of repeats", "pairs of repeats", "is right once and wrong once", "are right once and wrong once"
        ),
    ),
    Meaning(
        "var_item",
        title="variance between problems",
        says="The part of the variance of right and wrong that is due to the problem.",
        formula=_MOMENTS,
        docs="docs/methods.md#metrics",
    ),
    Meaning(
        "var_wording",
        title="variance between wordings",
        says="The part of the variance of right and wrong that is due to the wording of a problem.",
        formula=_MOMENTS,
        better="low",
        docs="docs/methods.md#metrics",
        figures=figures,
    ),
    Meaning(
        "var_replicate",
        title="variance between repeats",
        says="The part of the variance of right and wrong that is due to sampling: repeats of one wording differ.",
        formula="mean of p(1 − p)·r/(r − 1), p the share right among r repeats of a wording",
        docs="docs/methods.md#metrics",
    ),
    Meaning(
        "var_wording_share",
        title="share of variance due to wording",
        says="Share of the variance of right and wrong that is due to wording, without sampling noise.",
        formula="var_wording / (var_item + var_wording + var_replicate)",
        better="low",
        docs="docs/methods.md#metrics",
    ),
)
