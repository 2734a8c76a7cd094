"""Looking at every answer and stopping when it is clear: intervals and verdicts that hold at any time.

A test by betting (Waudby-Smith and Ramdas: Estimating means of bounded random variables by betting, JRSS B 2024).
Somebody who doubts that the mean is m stakes a fixed fraction of a capital of 1 on each new cluster; at a fair
price the capital reaches 1/α with probability α at most, however long one looks (Ville's inequality). Capitals
with several fractions are held side by side and their mean is what counts, which is fair too.

The unit is the cluster: groups that share an original are not independent. For the mean over *groups* to be m, the
sum of (value − m) over the groups of a random cluster must have the mean 0; divided by the size of the largest
cluster it lies between −m and 1 − m. A group to which the metric does not apply adds nothing to that sum, so the
mean is over those to which it applies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unwaver.bars import Decision
from unwaver.stats import Estimate, Floats, Ints, sums_by

FRACTIONS = np.geomspace(0.01, 0.9, 10)  # of what may be staked without ruin
STEPS = 1000  # of the means that an interval tries


class Seen(NamedTuple):
    """Clusters that were asked: the sum of values, the number of groups to which the metric applies, and how many
    clusters are like that."""

    sums: Floats
    counts: Floats
    alike: Floats


def seen(sums: Floats, counts: Floats) -> Seen:
    """One sum and one count for each cluster: [0, 1, 0], [1, 1, 1] -> two clusters of (0, 1) and one of (1, 1)."""
    rows, alike = np.unique(np.column_stack([sums, counts]), axis=0, return_counts=True)
    return Seen(rows[:, 0], rows[:, 1], alike.astype(np.float64))


def log_capital(seen: Seen, mean: Floats | float, largest: int, *, below: bool) -> Floats:
    """The log of what doubting this mean has earned, betting that the true one is below it (or above); several
    means give several results. `largest` is the number of groups of the largest cluster."""
    means = np.clip(np.atleast_1d(np.asarray(mean, dtype=np.float64)), 1e-9, 1 - 1e-9)
    gain = (seen.sums - means[:, None] * seen.counts) / largest
    gain = -gain / (1 - means[:, None]) if below else gain / means[:, None]
    logs = np.log1p(FRACTIONS[:, None, None] * gain) @ seen.alike
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)))


def decide(
    least: Seen,
    most: Seen,
    bar: float,
    largest: int,
    alpha: float,
    *,
    at_most: bool,
) -> Decision:
    """Is the mean at most (at least) the bar? Wrong with probability alpha at most, whenever one asks.

    `least` and `most` are what was seen, with the least and the greatest value that missing answers could have.
    """
    needed = np.log(1 / alpha)
    is_below = float(log_capital(most, bar, largest, below=True)[0]) >= needed
    is_above = float(log_capital(least, bar, largest, below=False)[0]) >= needed
    if is_below == is_above:
        return "undecided"
    return "pass" if is_below == at_most else "fail"


def interval(seen: Seen, largest: int, level: float) -> tuple[float, float]:
    """The means that cannot be doubted: they hold the true one at all times together with this probability."""
    needed = np.log(2 / (1 - level))
    means = np.linspace(0, 1, STEPS + 1)

    def doubted(tried: Floats | float, below: bool) -> NDArray[np.bool_]:
        return np.asarray(log_capital(seen, tried, largest, below=below) >= needed)

    def end(outer: float, inner: float, below: bool) -> float:
        """By bisection between a mean that is doubted and one that is not."""
        if not doubted(outer, below)[0]:
            return outer
        for _ in range(30):
            middle = (outer + inner) / 2
            outer, inner = (middle, inner) if doubted(middle, below)[0] else (outer, middle)
        return outer

    first = int(np.flatnonzero(~doubted(means, False))[0])
    last = int(np.flatnonzero(~doubted(means, True))[-1])
    low = end(float(means[max(first - 1, 0)]), float(means[first]), False)
    return low, end(float(means[min(last + 1, STEPS)]), float(means[last]), True)


def after_stopping(found: Estimate, values: Floats | None, clusters: Ints, level: float) -> Estimate:
    """An estimate from groups that were asked until something was clear: a plain interval would be too narrow.
    Only a mean has one then; `values` are what it is the mean of."""
    if found.value is None or values is None:
        return replace(found, low=None, high=None, interval=None)
    low, high = interval(seen(*by_cluster(values, clusters)), int(np.bincount(clusters).max()), level)
    return replace(found, low=min(low, found.value), high=max(high, found.value), interval="sequence")


def by_cluster(values: Floats, clusters: Ints) -> tuple[Floats, Floats]:
    """The sum of the values of each cluster, and to how many of its groups the metric applies."""
    applies = ~np.isnan(values)
    table = np.column_stack([np.nan_to_num(values), applies]).astype(np.float64)
    found = sums_by(clusters, int(clusters.max()) + 1, table)
    return found[:, 0], found[:, 1]
