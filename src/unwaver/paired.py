"""Two runs on the same groups: is the difference there? Values of both, aligned, and the cluster of each group.

    mcnemar       exact, for 0/1 values where every cluster has one group: only groups that changed count
    permutation   else: under the hypothesis of no difference the two runs of a cluster may change places
    holm          over a table of p-values

The interval draws clusters and takes both runs of each at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unwaver.stats import LEVEL, Floats, Ints, Reduce, binomial, bootstrap, mean, sums_by, zeros_and_ones

MOST_STATES = 50_000  # as many ways of changing places are counted one by one; more are drawn at random
DRAWS = 9_999
CHUNK = 4_000_000  # random numbers at a time


@dataclass(frozen=True, slots=True)
class Difference:
    """second − first over the groups to which the metric applies in both."""

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    interval: str | None  # exact, bootstrap
    p: float
    test: str  # mcnemar, permutation
    groups: int
    clusters: int


def difference(
    first: Floats,
    second: Floats,
    clusters: Ints,
    reduce: Reduce | None = None,
    *,
    share: bool = True,
    seed: int = 0,
    level: float = LEVEL,
) -> Difference | None:
    """`first` and `second` have a value (or a row of statistics) for each group, NaN where it does not apply.

    [0, 0, 1], [1, 0, 1] -> 1/3, p = 1. None where no group is left.
    """
    one, other = (values[:, None] if values.ndim == 1 else values for values in (first, second))
    both = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    n = int(both.sum())
    if n == 0:
        return None
    one, other = one[both], other[both]
    unit = np.unique(clusters[both], return_inverse=True)[1]
    units = int(unit.max()) + 1
    ones = np.ones((n, 1))
    a, b = (sums_by(unit, units, np.hstack([part, ones])) for part in (one, other))
    function = reduce or mean
    with np.errstate(invalid="ignore", divide="ignore"):
        values = float(function(a.sum(axis=0))), float(function(b.sum(axis=0)))
    if np.isnan(values).any():
        return None
    exact = reduce is None and units == n and zeros_and_ones(one[:, 0]) and zeros_and_ones(other[:, 0])
    if exact:
        p, test = mcnemar(int((one < other).sum()), int((one > other).sum())), "mcnemar"
    else:
        p, test = permutation(a, b, function, seed), "permutation"
    low, high, interval = _interval(a, b, function, share, seed, level)
    return Difference(*values, values[1] - values[0], low, high, interval, p, test, n, units)


def _interval(
    a: Floats, b: Floats, reduce: Reduce, share: bool, seed: int, level: float
) -> tuple[float | None, float | None, str | None]:
    """A bootstrap knows nothing of what it has not seen. Where no cluster rose (or none fell, or none did either),
    the share of those that would has an exact upper limit, and by so much they could move the difference."""
    width, units = a.shape[1], len(a)

    def drawn(sums: Floats) -> Floats:
        return np.asarray(reduce(sums[..., width:]) - reduce(sums[..., :width]))

    total = float(drawn(np.hstack([a, b]).sum(axis=0)))
    low, high = bootstrap(np.hstack([a, b]), drawn, seed, level) if units > 1 else (total, total)
    interval = "bootstrap" if low < high else "exact"
    if not share:
        return (min(low, total), max(high, total), interval) if low < high else (None, None, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = drawn(np.hstack([a, b]))
    unseen = binomial(0, units, level)[1]
    if not (each > 0).any() or interval == "exact":
        high = max(high, (1 - unseen) * total + unseen)
    if not (each < 0).any() or interval == "exact":
        low = min(low, (1 - unseen) * total - unseen)
    return min(low, total), max(high, total), interval


def mcnemar(up: int, down: int) -> float:
    """Exact and two-sided, from the numbers of groups that rose and that fell: mcnemar(1, 8) -> 0.039…"""
    from scipy.special import bdtr

    fewer, changed = min(up, down), up + down
    return min(1.0, 2 * float(bdtr(fewer, changed, 0.5))) if changed else 1.0


def permutation(a: Floats, b: Floats, reduce: Reduce, seed: int = 0) -> float:
    """Two-sided: how often is the difference as great, if in each cluster the runs change places or do not?

    `a` and `b` are the sums of each cluster. Clusters with the same difference are alike, so that only how many
    of them change places matters: that number is binomial. All states are counted where there are few.
    """
    rows, alike = np.unique(b - a, axis=0, return_counts=True)
    moving = (rows != 0).any(axis=1)
    rows, alike = rows[moving], alike[moving]
    if not len(rows):
        return 1.0
    first, second = a.sum(axis=0), b.sum(axis=0)

    def as_great(swapped: Floats) -> np.ndarray:
        moved = swapped @ rows
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(reduce(second - moved) - reduce(first + moved))
        return np.asarray(found >= observed - 1e-12 * max(1.0, observed))

    observed = abs(float(reduce(second) - reduce(first)))
    if np.log(alike + 1.0).sum() <= np.log(MOST_STATES):
        states, chance = _states(alike)
        return min(1.0, float(chance[as_great(states)].sum()))
    random = np.random.default_rng(seed)
    hits, left = 0, DRAWS
    while left:
        now = min(left, max(1, CHUNK // len(rows)))
        hits += int(as_great(random.binomial(alike, 0.5, (now, len(rows))).astype(np.float64)).sum())
        left -= now
    return (1 + hits) / (1 + DRAWS)


def _states(alike: Ints) -> tuple[Floats, Floats]:
    """Every number of clusters of each sort that may change places, and its chance: [2] -> 0, 1, 2 and ¼, ½, ¼."""
    from scipy.stats import binom

    grids = np.meshgrid(*(np.arange(count + 1) for count in alike), indexing="ij")
    states = np.column_stack([grid.ravel() for grid in grids]).astype(np.float64)
    return states, np.asarray(binom.pmf(states, alike, 0.5).prod(axis=1))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction: [0.01, 0.04, 0.03] -> [0.03, 0.06, 0.06]."""
    found = [0.0] * len(p)
    greatest = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        greatest = max(greatest, min(1.0, (len(p) - rank) * p[place]))
        found[place] = greatest
    return found
