"""Intervals. A value per group, the independent units of each group, and how values are reduced to one number.

Groups that share an original are not independent, so the unit that is resampled is the cluster, not the group.
Groups made of pairs of originals share items in chains, so that all of them may hang together; their units are the
original items (see unwaver.stats.units). Which interval is given depends on the units:

    exact           binomial, where every unit is one group worth 0 or 1: covers at least 95 %. Also where
                    the value is 0 or 1, with n = units: a bootstrap would have no width there
    none            fewer than 5 units
    t               fewer than 10 units (30 where clusters hold several groups): Student's t with the spread that
                    leaving out one unit at a time shows, for shares on the log-odds scale
    bootstrap       over clusters
    item bootstrap  over items: a group has the product of its items' weights

The bootstrap is BCa (Efron 1987): near 0 and 1 the draws are skewed, and their plain percentiles cover 93 %
where 95 % is said. Tails are those of Student's t, as percentiles are too narrow for few clusters.

Tests of two runs on the same groups, and Holm's correction, are in unwaver.stats.paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unwaver.stats.units import Floats as Floats
from unwaver.stats.units import Ints as Ints
from unwaver.stats.units import merged

Reduce = Callable[[Floats], Floats]

DRAWS = 2000
MOST_UNITS = 5000
LEVEL = 0.95
FEWEST = 5  # units; an interval from fewer would say more about the method than about the data
FEW, FEW_CLUSTERS = 10, 30  # units; below these BCa covers less than it says (torture/intervals.py)


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float | None
    low: float | None
    high: float | None
    clusters: int  # independent units: clusters, or original items
    interval: str | None  # exact, t, bootstrap, item bootstrap, sequence


NOTHING = Estimate(None, None, None, 0, None)


def mean(sums: Floats) -> Floats:
    """The default reduce: [sum of values, number of groups] -> their ratio."""
    return np.asarray(sums[..., 0] / sums[..., -1])


def estimate(
    values: Floats,
    units: Ints,
    reduce: Reduce | None = None,
    *,
    share: bool = True,
    seed: int = 0,
    by_weight: Reduce | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Reduce one value (or one row of statistics) per group, NaN if the metric does not apply.

    `units` has the cluster of each group, or a row with the items of each group (see unwaver.stats.units).
    `reduce` gets the column sums with the number of groups as the last column; None is the mean. `share` says that
    the value lies between 0 and 1. `by_weight` replaces `reduce` if the value is not a function of sums: it
    gets the weights of all groups, 0 for those that do not apply.
    """
    table = values[:, None] if values.ndim == 1 else values
    counted = np.logical_and.reduce([~np.isnan(column) for column in table.T])
    n = int(counted.sum())
    if n == 0:
        return NOTHING
    if n < len(table):
        table, units = table[counted], units[counted]
    if units.ndim == 2:
        units = merged(units)
    if by_weight is not None:
        from unwaver.stats.by_weight import by_weight as weighted

        return weighted(by_weight, counted, units, share, seed, level)
    if units.ndim == 2:
        rows = np.column_stack([table, np.ones(n)])
        from unwaver.stats.by_items import by_items

        return by_items(rows, units, reduce or mean, share, seed, level)
    sizes = np.bincount(units)
    clusters = int(np.count_nonzero(sizes))
    if share and reduce is None and clusters == n and zeros_and_ones(table[:, 0]):
        hits = int(table[:, 0].sum())
        return Estimate(hits / n, *binomial(hits, n, level), clusters, "exact")
    sums = np.column_stack([sums_by(units, len(sizes), table), sizes])[sizes > 0]
    return by_clusters(sums, reduce or mean, share, seed, level, alone=clusters == n)


def by_clusters(sums: Floats, reduce: Reduce, share: bool, seed: int, level: float, *, alone: bool) -> Estimate:
    """One row of sums for each cluster; `alone`: each of them is one group."""
    units = len(sums)
    value = value_of(reduce, sums.sum(axis=0))
    if value is None:
        return Estimate(None, None, None, units, None)
    if share and (value <= 0.0 or value >= 1.0):
        return Estimate(value, *binomial(units if value >= 1.0 else 0, units, level), units, "exact")
    if units < FEWEST:
        return Estimate(value, None, None, units, None)
    few = units < (FEW if alone else FEW_CLUSTERS)
    with np.errstate(invalid="ignore", divide="ignore"):
        if few:
            ends = t_interval(value, reduce(sums.sum(axis=0) - sums), share, level)
        else:
            ends = bootstrap(sums, reduce, seed, level)
        if share and not alone and _is_rare(reduce(sums)):
            exact = binomial(value * units, units, level)
            ends = min(ends[0], exact[0]), max(ends[1], exact[1])
    return estimate_of(value, ends, units, "t" if few else "bootstrap", units if share else None, level)


def _is_rare(each: Floats) -> bool:
    """Does the value rest on a handful of clusters, the others being all 0 (or all 1)? The spread is hardly seen
    then, and intervals would cover 89 %: at least the exact one with n = clusters is given."""
    return min(int((each > 0).sum()), int((each < 1).sum())) < FEWEST


def value_of(reduce: Reduce, sums: Floats) -> float | None:
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(reduce(sums))
    return None if math.isnan(value) else value


def estimate_of(
    value: float, ends: tuple[float, float], units: int, name: str, exact: int | None, level: float
) -> Estimate:
    """The interval, which holds the value. One without width comes from units that are all the same: a share then
    has the ends of the exact interval with n = `exact`, another number has none."""
    low, high = min(ends[0], value), max(ends[1], value)
    if math.isnan(low) or math.isnan(high):
        return Estimate(value, None, None, units, None)
    if high - low > 1e-12 * max(1.0, abs(value)):
        return Estimate(value, low, high, units, name)
    if exact is None:
        return Estimate(value, None, None, units, None)
    return Estimate(value, *binomial(value * exact, exact, level), units, name)


def zeros_and_ones(values: Floats) -> bool:
    return bool(((values == 0.0) | (values == 1.0)).all())


def binomial(hits: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper and Pearson's exact interval: binomial(0, 10) -> (0.0, 0.308…)."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def t_interval(value: float, without_one: Floats, share: bool, level: float = LEVEL) -> tuple[float, float]:
    """Student's t with the jackknife's spread; `without_one` are the values without each of the units.

    For a mean of equally many groups a unit this is the t interval of the units' means. A share is moved to the
    log-odds scale: near 0 and 1 the plain interval covers as little as 80 % (torture/intervals.py).
    """
    from scipy.special import expit, logit, stdtrit

    n = len(without_one)
    spread = math.sqrt((n - 1) / n * float(((without_one - without_one.mean()) ** 2).sum()))
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * spread
    if not share:
        return value - reach, value + reach
    centre, reach = float(logit(value)), reach / (value * (1 - value))
    return float(expit(centre - reach)), float(expit(centre + reach))


def bootstrap(sums: Floats, reduce: Reduce, seed: int = 0, level: float = LEVEL) -> tuple[float, float]:
    """The BCa interval of `reduce` over clusters drawn with replacement, one row of sums a cluster."""
    if len(sums) > MOST_UNITS:
        sums = _bundles(sums, seed)
    return bca(sums, _weights(len(sums), seed), reduce, level)


def bca(sums: Floats, weights: Floats, reduce: Reduce, level: float) -> tuple[float, float]:
    """The BCa interval from draws that weigh the rows of sums."""
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = reduce(weights @ sums)
        draws = draws[~np.isnan(draws)]
        total = sums.sum(axis=0)
        tails = _tails(draws, float(reduce(total)), reduce(total - sums), level)
    low, high = np.quantile(draws, tails) if len(draws) else (np.nan, np.nan)
    return float(low), float(high)


def _tails(draws: Floats, value: float, without_one: Floats, level: float) -> tuple[float, float]:
    """Which quantiles of the draws are the ends of the interval: 2.5 % and 97.5 %, corrected for bias and skew.

    `without_one` are the values without each of the clusters.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    n = len(without_one)
    z = float(stdtrit(n - 1, (1 + level) / 2)) * np.sqrt(n / (n - 1))
    below = (float((draws < value).sum()) + float((draws == value).sum()) / 2 + 0.5) / (len(draws) + 1)
    bias = float(ndtri(below))
    defined = without_one[~np.isnan(without_one)]
    pull = defined.mean() - defined if len(defined) else defined
    spread = float((pull**2).sum())
    skew = float((pull**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0

    def tail(z: float) -> float:
        held = 1 - skew * (bias + z)
        return float(ndtr(bias + (bias + z) / held)) if held > 0 else float(z > 0)

    return tail(-z), tail(z)


def _bundles(sums: Floats, seed: int) -> Floats:
    """Clusters in MOST_UNITS random bundles. Sums of independent clusters are independent, so a bootstrap
    over bundles estimates the same spread (to about 1 %) at a cost that no longer grows."""
    return sums_by(_bundle(len(sums), seed), MOST_UNITS, sums)


@lru_cache(maxsize=1)
def _bundle(units: int, seed: int) -> NDArray[np.intp]:
    return np.random.default_rng(seed).permutation(units) % MOST_UNITS


def sums_by(unit: NDArray[np.intp], units: int, table: Floats) -> Floats:
    columns = [np.bincount(unit, weights=column, minlength=units) for column in table.T]
    return np.column_stack(columns).astype(np.float64)


@lru_cache(maxsize=1)
def _weights(units: int, seed: int) -> Floats:
    """How often each unit is drawn, one row a draw."""
    random = np.random.default_rng(seed)
    weights = np.empty((DRAWS, units))
    for row in weights:  # a row fits in the processor's cache, all of them together do not
        row[:] = np.bincount(random.integers(0, units, units), minlength=units)
    return weights
