"""Two runs on the same groups: is the difference there? Values of both, aligned, and the units of each group.

    mcnemar         exact, for 0/1 values where every cluster has one group: only groups that changed count
    permutation     for clusters: under the hypothesis of no difference the two runs of a cluster may change places
    item bootstrap  for groups made of shared items, which hang together in one or two clusters: too few to change
                    places. The difference is divided by its spread over draws of items, a t statistic; for shares
                    on the atanh scale. p is at least that of a sign test on groups without a common item
    t               the same with fewer than ten items, by leaving out one item at a time
    holm            over a table of p-values

The interval draws units and takes both runs of each at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unwaver.stats import (
    FEW,
    FEW_CLUSTERS,
    FEWEST,
    LEVEL,
    Reduce,
    binomial,
    bootstrap,
    mean,
    sums_by,
    t_interval,
    zeros_and_ones,
)
from unwaver.stats.units import (
    SHAPE,
    Floats,
    Ints,
    components,
    count_units,
    disjoint_groups,
    item_draws,
    merged,
    stretched,
    without_each_item,
)

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
    interval: str | None  # exact, t, bootstrap, item bootstrap
    p: float
    test: str  # mcnemar, permutation, item bootstrap, t
    groups: int
    clusters: int  # independent units: clusters, or original items


def difference(
    first: Floats,
    second: Floats,
    units: Ints,
    reduce: Reduce | None = None,
    *,
    share: bool = True,
    seed: int = 0,
    level: float = LEVEL,
    tested: bool = True,
) -> Difference | None:
    """`first` and `second` have a value (or a row of statistics) for each group, NaN if it does not apply;
    `units` are the clusters or the items of the groups (see unwaver.stats.units).

    [0, 0, 1], [1, 0, 1] -> 1/3, p = 1. None if no group is left. Without `tested` p is NaN.
    """
    one, other = (values[:, None] if values.ndim == 1 else values for values in (first, second))
    both = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    n = int(both.sum())
    if n == 0:
        return None
    one, other = one[both], other[both]
    units, function = merged(units[both]), reduce or mean
    ones = np.ones((n, 1))
    rows = np.hstack([one, ones]), np.hstack([other, ones])
    with np.errstate(invalid="ignore", divide="ignore"):
        values = float(function(rows[0].sum(axis=0))), float(function(rows[1].sum(axis=0)))
    if np.isnan(values).any():
        return None
    if units.ndim == 2 and count_units(units) >= FEWEST:
        (low, high, interval), p, test = _by_items(*rows, units, function, share, seed, level)
        clusters = count_units(units)
        return Difference(*values, values[1] - values[0], low, high, interval, p, test, n, clusters)
    unit = np.unique(units if units.ndim == 1 else components(units), return_inverse=True)[1]
    clusters = int(unit.max()) + 1
    a, b = (sums_by(unit, clusters, part) for part in rows)
    exact = reduce is None and clusters == n and zeros_and_ones(one[:, 0]) and zeros_and_ones(other[:, 0])
    if not tested:
        p, test = np.nan, ""
    elif exact:
        p, test = mcnemar(int((one < other).sum()), int((one > other).sum())), "mcnemar"
    else:
        p, test = permutation(a, b, function, seed), "permutation"
    low, high, interval = _interval(a, b, function, share, seed, level, alone=clusters == n)
    return Difference(*values, values[1] - values[0], low, high, interval, p, test, n, clusters)


Ends = tuple[float | None, float | None, str | None]


def _interval(a: Floats, b: Floats, reduce: Reduce, share: bool, seed: int, level: float, *, alone: bool) -> Ends:
    """A bootstrap knows nothing of what it has not seen. Where no cluster rose (or none fell, or none did either),
    the share of those that would has an exact upper limit, and by so much they could move the difference."""
    drawn, sums = _minus(reduce, a.shape[1]), np.hstack([a, b])
    units, total = len(a), float(drawn(sums.sum(axis=0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        each = drawn(sums)
        if units < FEWEST:
            low = high = total
        elif units < (FEW if alone else FEW_CLUSTERS):
            low, high = t_interval(total, drawn(sums.sum(axis=0) - sums), False, level)
        else:
            low, high = bootstrap(sums, drawn, seed, level)
    name = "t" if units < (FEW if alone else FEW_CLUSTERS) else "bootstrap"
    if units < FEWEST and np.any(each != 0):
        return None, None, None
    return _with_unseen((low, high, name), total, each, units, share, level)


def _minus(reduce: Reduce, width: int) -> Reduce:
    """Of sums of the first run and then the second: second − first."""
    return lambda sums: np.asarray(reduce(sums[..., width:]) - reduce(sums[..., :width]))


def _with_unseen(
    ends: tuple[float, float, str], total: float, each: Floats, units: int, share: bool, level: float
) -> Ends:
    low, high, name = ends
    if np.isnan(low) or np.isnan(high):
        return None, None, None
    interval = name if low < high else "exact"
    if not share:
        return (min(low, total), max(high, total), interval) if low < high else (None, None, None)
    unseen = binomial(0, units, level)[1]
    if not (each > 0).any() or interval == "exact":
        high = max(high, (1 - unseen) * total + unseen)
    if not (each < 0).any() or interval == "exact":
        low = min(low, (1 - unseen) * total - unseen)
    return max(-1.0, min(low, total)), min(1.0, max(high, total)), interval  # Student's t knows of no limits


def _by_items(
    a: Floats, b: Floats, units: Ints, reduce: Reduce, share: bool, seed: int, level: float
) -> tuple[Ends, float, str]:
    """Interval, p and test of groups made of shared items, one row of statistics a group."""
    rows, drawn = np.hstack([a, b]), _minus(reduce, a.shape[1])
    items, apart = count_units(units), disjoint_groups(units)
    few = items < FEW
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = [without_each_item(rows, units)] if few else (w @ rows for w in item_draws(units, seed))
        runs = np.concatenate([_both(reduce, part) for part in (rows.sum(axis=0)[None], *sums)])
        each = drawn(rows)
    total, name = float(runs[0, 1] - runs[0, 0]), "t" if few else "item bootstrap"
    changes = runs[1:, 1] - runs[1:, 0]
    variance = (items - 1) * np.var(changes) if few else np.nanvar(changes) * SHAPE * items / (items - 1)
    spread = float(np.sqrt(variance))
    if np.isnan(spread):
        return (None, None, None), 1.0, name
    # however small the spread, no more is known than a sign test on as many groups as share no item would say
    least = min(1.0, 2 * 0.5**apart)
    if spread > 1e-12:
        low, high, p = _student(total, spread, items, level, bounded=share and abs(total) < 1)
        if share:
            low, high = _no_narrower_than_runs((low, high), runs, items, level)
        return (low, high, name), max(p, least), name
    # all groups changed alike, or none did
    p = least if total else 1.0
    return _with_unseen((total, total, name), total, each, apart, share, level), p, name


def _both(reduce: Reduce, sums: Floats) -> Floats:
    """The values of the first and the second run, one row for each row of sums."""
    return np.column_stack(np.broadcast_arrays(*map(reduce, np.split(sums, 2, axis=-1))))


def _student(
    total: float, spread: float, items: int, level: float, *, bounded: bool
) -> tuple[float, float, float]:
    """The ends of Student's interval, and p. A difference of shares lies between −1 and 1: it is moved to the
    atanh scale, the log-odds scale of (1 + difference) / 2. Without, strong item effects leave a coverage of 88 %.
    """
    from scipy.special import stdtr, stdtrit

    centre, spread = (np.arctanh(total), spread / (1 - total**2)) if bounded else (total, spread)
    reach = float(stdtrit(items - 1, (1 + level) / 2)) * spread
    ends = np.array([centre - reach, centre + reach])
    low, high = np.tanh(ends) if bounded else ends
    return float(low), float(high), 2 * float(stdtr(items - 1, -abs(centre) / spread))


def _no_narrower_than_runs(
    ends: tuple[float, float], runs: Floats, items: int, level: float
) -> tuple[float, float]:
    """The ends, moved out to those that follow from the intervals of both runs (Newcombe 1998): their distances
    from the value, squared and added with the correlation of the runs.

    Near 0 and 1 these intervals are skewed, and so is a difference that only one of the runs makes.
    """
    draws = runs[1:][~np.isnan(runs[1:]).any(axis=1)]
    first, second = (_around(float(runs[0, n]), draws[:, n], items, level) for n in (0, 1))
    moving = len(draws) > 1 and bool((np.ptp(draws, axis=0) > 1e-12).all())
    together = float(np.asarray(np.corrcoef(draws.T))[0, 1]) if moving else 0.0

    def distance(one: float, other: float) -> float:
        return float(np.sqrt(max(0.0, one**2 - 2 * together * one * other + other**2)))

    total = float(runs[0, 1] - runs[0, 0])
    low, high = total - distance(second[0], first[1]), total + distance(second[1], first[0])
    return min(ends[0], low), max(ends[1], high)


def _around(value: float, draws: Floats, items: int, level: float) -> tuple[float, float]:
    """How far the interval of a share reaches below and above it; nowhere where it is 0 or 1."""
    if not 0 < value < 1 or not len(draws):
        return 0.0, 0.0
    if items < FEW:
        low, high = t_interval(value, draws, True, level)
    else:
        low, high = stretched(draws, value, items, True, level)
    return max(0.0, value - low), max(0.0, high - value)


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
