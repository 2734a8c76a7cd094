"""Do several people agree? Fleiss' κ of raters who put items into categories, with missing labels.

    ratings   one row for each item, one column for each rater; NaN: this rater has not judged the item
    P_i       share of pairs of raters that agree on item i
    κ         (P − P_e) / (1 − P_e): P the mean of P_i, P_e the sum of the squared shares of the categories

Items with fewer than two labels are left out and counted. Items may have unequal numbers of labels: each item
counts once, with the shares of its own labels (Gwet 2014); with equal numbers this is the κ of Fleiss 1971. κ is
undefined if all labels are of one category.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from unwaver.stats import NOTHING, Estimate, Floats, estimate
from unwaver.stats.human_validity import within


@dataclass(frozen=True)
class Raters:
    """How far raters agree. `missing` labels are those that a rater did not give."""

    kappa: Estimate
    agreement: float | None  # share of pairs of raters that agree, mean over items
    raters: int
    items: int  # with two labels or more
    left_out: int  # with fewer
    missing: int
    categories: int


def fleiss(ratings: Floats, clusters: Sequence[Hashable], seed: int = 0) -> Raters:
    """[[1, 1, 0], [0, 0, 0]] -> κ 0.25: one third and all of the pairs of raters agree, 0.556 by chance."""
    known = ~np.isnan(ratings)
    several = known.sum(axis=1) >= 2
    categories = np.unique(ratings[several][known[several]])
    counts = np.column_stack([(ratings[several] == c).sum(axis=1) for c in categories] or [np.empty(0)])
    n = counts.sum(axis=1).astype(np.float64)
    if len(categories):
        agree = ((counts**2).sum(axis=1) - n) / (n * (n - 1))
        rows = np.column_stack([agree, counts / n[:, None]])
        names = [cluster for cluster, chosen in zip(clusters, several, strict=True) if chosen]
        numbers: dict[Hashable, int] = {}
        units = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
        found = within(estimate(rows, units, _kappa, share=False, seed=seed), -1.0, 1.0)
        agreement: float | None = float(agree.mean())
    else:
        found, agreement = NOTHING, None
    return Raters(
        kappa=found,
        agreement=agreement,
        raters=ratings.shape[1],
        items=int(several.sum()),
        left_out=int((~several).sum()),
        missing=int((~known).sum()),
        categories=len(categories),
    )


def _kappa(sums: Floats) -> Floats:
    """From the sums of P_i and of the shares of each category, and the number of items."""
    n = sums[..., -1]
    agree, shares = sums[..., 0] / n, sums[..., 1:-1] / n[..., None]
    chance = (shares**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance < 1 - 1e-12, (agree - chance) / (1 - chance), np.nan))
