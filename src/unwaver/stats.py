"""Intervals. A value per group, a cluster per group, and how the values are reduced to one number.

Groups that share an original are not independent, so the unit that is resampled is the cluster. Where every
cluster has one group and every value is 0 or 1, the exact binomial interval is used instead: it covers at
least 95 %. A bootstrap of a value that is 0 (or 1) everywhere would have no width, so the exact interval
with n = clusters stands in there too.

The bootstrap is BCa (Efron 1987): near 0 and 1 the draws are skewed, and their plain percentiles cover 93 %
where 95 % is said. Tails are those of Student's t, as percentiles are too narrow for few clusters.

Tests of two runs on the same groups, and Holm's correction, are in unwaver.paired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Reduce = Callable[[Floats], Floats]

DRAWS = 2000
MOST_UNITS = 5000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float | None
    low: float | None
    high: float | None
    clusters: int
    interval: str | None  # exact, bootstrap


NOTHING = Estimate(None, None, None, 0, None)


def mean(sums: Floats) -> Floats:
    """The default reduce: [sum of values, number of groups] -> their ratio."""
    return np.asarray(sums[..., 0] / sums[..., -1])


def estimate(
    values: Floats,
    clusters: Ints,
    reduce: Reduce | None = None,
    *,
    share: bool = True,
    seed: int = 0,
    by_weight: Reduce | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Reduce one value (or one row of statistics) per group, NaN where the metric does not apply.

    `reduce` gets the column sums with the number of groups as the last column; None is the mean. `share`
    says that the value lies between 0 and 1. Clusters are numbered from 0. `by_weight` stands in for `reduce`
    where the value is no function of sums: it gets the weights of all groups, 0 for those that do not apply.
    """
    table = values[:, None] if values.ndim == 1 else values
    counted = np.asarray(~np.isnan(table).any(axis=1))
    n = int(counted.sum())
    if n == 0:
        return NOTHING
    table, clusters = table[counted], clusters[counted]
    sizes = np.bincount(clusters)
    units = int(np.count_nonzero(sizes))
    if by_weight is not None:
        return _by_weight(by_weight, counted, clusters, units, seed, level)
    if reduce is None and by_weight is None and units == n and zeros_and_ones(table[:, 0]):
        hits = int(table[:, 0].sum())
        return Estimate(hits / n, *binomial(hits, n, level), units, "exact")
    sums = sums_by(clusters, len(sizes), np.column_stack([table, np.ones(n)]))[sizes > 0]
    function = reduce or mean
    value = float(function(sums.sum(axis=0)))
    if np.isnan(value):
        return Estimate(None, None, None, units, None)
    if share and (value <= 0.0 or value >= 1.0):
        return Estimate(value, *binomial(units if value >= 1.0 else 0, units, level), units, "exact")
    if units < 2:
        return Estimate(value, None, None, units, None)
    low, high = bootstrap(sums, function, seed, level)
    if np.isnan(low):  # no draw has a value
        return Estimate(value, None, None, units, None)
    return Estimate(value, min(low, value), max(high, value), units, "bootstrap")


def _by_weight(
    function: Reduce, counted: NDArray[np.bool_], clusters: Ints, units: int, seed: int, level: float
) -> Estimate:
    value = float(function(counted.astype(np.float64)))
    if np.isnan(value):
        return Estimate(None, None, None, units, None)
    if units < 2:
        return Estimate(value, None, None, units, None)
    unit = np.unique(clusters, return_inverse=True)[1]
    random = np.random.default_rng(seed)
    draws = np.empty(DRAWS)
    weights = np.zeros(len(counted))
    for n in range(DRAWS):
        weights[counted] = np.bincount(random.integers(0, units, units), minlength=units)[unit]
        draws[n] = function(weights)
    tail = (1 - level) / 2
    low, high = np.nanquantile(draws, [tail, 1 - tail])
    return Estimate(value, min(float(low), value), max(float(high), value), units, "bootstrap")


def zeros_and_ones(values: Floats) -> bool:
    return bool(((values == 0.0) | (values == 1.0)).all())


def binomial(hits: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper and Pearson's exact interval: binomial(0, 10) -> (0.0, 0.308…)."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def bootstrap(sums: Floats, reduce: Reduce, seed: int = 0, level: float = LEVEL) -> tuple[float, float]:
    """The BCa interval of `reduce` over clusters drawn with replacement, one row of sums a cluster."""
    if len(sums) > MOST_UNITS:
        sums = _bundles(sums, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = reduce(_weights(len(sums), seed) @ sums)
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
    bundle = np.random.default_rng(seed).permutation(len(sums)) % MOST_UNITS
    return sums_by(bundle, MOST_UNITS, sums)


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
