"""Do several people agree? Cohen's κ of two raters, Fleiss' κ and Krippendorff's α of more; labels may be missing.

    ratings    one row for each item, one column for each rater; NaN: this rater has not judged the item
    Cohen      (P − P_e) / (1 − P_e): P the share of items on which both agree, P_e what their own shares of
               the categories give by chance
    Fleiss     the same, P the mean over items of the share of pairs of raters that agree, P_e from the shares
               of the categories over all raters. Items may have unequal numbers of labels: each counts once,
               with the shares of its own labels (Gwet 2014); with equal numbers this is the κ of Fleiss 1971
    α          1 − D_o / D_e: disagreement between labels of one item, and between all labels (Krippendorff
               2011). Nominal labels are alike or not; ordinal ones differ by the labels between them; interval
               ones by the square of their difference. Items count by their number of labels

Items with fewer than two labels are left out and counted. All three are undefined if all labels are of one
category. Each is a function of sums over items, so that intervals resample clusters of items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from unwaver.stats import FEWEST, NOTHING, Estimate, Floats, Reduce, binomial, estimate
from unwaver.stats.human_validity import within

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
TINY = 1e-12  # less disagreement by chance is none


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


def cohen(one: Floats, other: Floats, clusters: Sequence[Hashable], seed: int = 0) -> Raters:
    """[1, 1, 0, 0] and [1, 0, 0, 0] -> κ 0.5: they agree on three of four items, on two of four by chance."""
    return _raters(np.column_stack([one, other]), clusters, seed, _cohen_rows, _cohen)


def fleiss(ratings: Floats, clusters: Sequence[Hashable], seed: int = 0) -> Raters:
    """[[1, 1, 0], [0, 0, 0]] -> κ 0.25: one third and all of the pairs of raters agree, 0.556 by chance."""
    return _raters(ratings, clusters, seed, _fleiss_rows, _fleiss)


def krippendorff(ratings: Floats, clusters: Sequence[Hashable], level: Level = "nominal", seed: int = 0) -> Raters:
    """[[1, 1], [1, 2], [2, 2]] -> nominal α 0.444: 2 of 6 labels disagree with the other one, 3.6 by chance."""
    several = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    categories = np.unique(several[~np.isnan(several)])
    return _raters(ratings, clusters, seed, _coincidences, partial(_alpha, categories=categories, level=level))


def pairwise(ratings: Floats, clusters: Sequence[Hashable], seed: int = 0) -> dict[tuple[int, int], Raters]:
    """Cohen's κ of each two raters, by their columns."""
    pairs = combinations(range(ratings.shape[1]), 2)
    return {(a, b): cohen(ratings[:, a], ratings[:, b], clusters, seed) for a, b in pairs}


# --- each a function of sums over items ---------------------------------------------------------------------

# from 1 where a rater gave an item a category, else 0: items × raters × categories
_Rows = Callable[[Floats], Floats]


def _raters(ratings: Floats, clusters: Sequence[Hashable], seed: int, rows: _Rows, reduce: Reduce) -> Raters:
    known = ~np.isnan(ratings)
    several = known.sum(axis=1) >= 2
    chosen = ratings[several]
    categories = np.unique(chosen[known[several]])
    found, agreement = NOTHING, None
    if len(categories):
        given = (chosen[:, :, None] == categories).astype(np.float64)
        agreement = float(_agreement(given).mean())
        numbers: dict[Hashable, int] = {}
        names = (cluster for cluster, counted in zip(clusters, several, strict=True) if counted)
        units = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
        found = estimate(rows(given), units, reduce, share=False, seed=seed)
        found = _unanimous(found, given) if agreement == 1.0 else within(found, -1.0, 1.0)
    return Raters(
        kappa=found,
        agreement=agreement,
        raters=ratings.shape[1],
        items=len(chosen),
        left_out=len(ratings) - len(chosen),
        missing=int((~known).sum()),
        categories=len(categories),
    )


def _agreement(given: Floats) -> Floats:
    """Share of pairs of raters that agree, for each item."""
    counts = given.sum(axis=1)
    n = counts.sum(axis=1)
    return np.asarray(((counts**2).sum(axis=1) - n) / (n * (n - 1)))


def _shares(given: Floats) -> Floats:
    """Of each category in each item."""
    counts = given.sum(axis=1)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _unanimous(found: Estimate, given: Floats) -> Estimate:
    """All items agree, so that draws have no spread: the interval begins where agreement could be at the least, by
    the exact limit of a share."""
    if found.value is None or found.clusters < FEWEST:
        return found
    chance = float((_shares(given).mean(axis=0) ** 2).sum())
    least = binomial(found.clusters, found.clusters)[0]
    return replace(found, low=max(-1.0, 1 - (1 - least) / (1 - chance)), high=1.0, interval="exact")


def _corrected(agree: Floats, chance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance < 1 - TINY, (agree - chance) / (1 - chance), np.nan))


def _fleiss_rows(given: Floats) -> Floats:
    return np.column_stack([_agreement(given), _shares(given)])


def _fleiss(sums: Floats) -> Floats:
    """From the sums of agreement and of the shares of each category, and the number of items."""
    means = sums[..., :-1] / sums[..., -1:]
    return _corrected(means[..., 0], (means[..., 1:] ** 2).sum(axis=-1))


def _cohen_rows(given: Floats) -> Floats:
    return np.column_stack([_agreement(given), given[:, 0], given[:, 1]])


def _cohen(sums: Floats) -> Floats:
    """From the sums of agreement and of each rater's categories, and the number of items."""
    means = sums[..., :-1] / sums[..., -1:]
    one, other = np.split(means[..., 1:], 2, axis=-1)
    return _corrected(means[..., 0], (one * other).sum(axis=-1))


def _coincidences(given: Floats) -> Floats:
    """How often a label of one category meets one of another in an item, each pair divided by labels − 1."""
    counts = given.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    same = np.arange(counts.shape[1])
    pairs[:, same, same] -= counts
    found = pairs / (counts.sum(axis=1) - 1)[:, None, None]
    return np.asarray(found.reshape(len(counts), -1))


def _alpha(sums: Floats, categories: Floats, level: Level) -> Floats:
    met = sums[..., :-1].reshape(*sums.shape[:-1], len(categories), len(categories))
    given = met.sum(axis=-1)
    by_chance = given[..., :, None] * given[..., None, :]
    apart = _differences(given, categories, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (met * apart).sum(axis=(-2, -1))
        expected = (by_chance * apart).sum(axis=(-2, -1)) / (given.sum(axis=-1) - 1)
        return np.asarray(np.where(expected > TINY, 1 - observed / expected, np.nan))


def _differences(given: Floats, categories: Floats, level: Level) -> Floats:
    """Squared, of each two categories."""
    if level == "nominal":
        return np.asarray(1.0 - np.eye(len(categories)))
    if level == "interval":
        return np.asarray((categories[:, None] - categories[None, :]) ** 2)
    below = np.cumsum(given, axis=-1) - given / 2  # ranks: labels below, and half of those alike
    return np.asarray((below[..., :, None] - below[..., None, :]) ** 2)
