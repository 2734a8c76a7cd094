"""How many more groups would decide a check that is undecided, if the value stays what it is."""

from __future__ import annotations

import math

from unwaver.verdicts.checks import Check

MOST_GROUPS = 10_000_000


def further_groups(check: Check, value: float, bar: float, alpha: float) -> int | None:
    """How many more groups, if the value stays what it is; None if it is the bar itself."""
    assert check.low is not None
    assert check.high is not None
    if value == bar or not check.clusters:
        return None
    each = check.counted / check.clusters
    if check.interval == "exact":
        clusters = _clusters_needed(value, bar, check.clusters, alpha, drop=check.baseline is not None)
    else:  # an interval narrows with the square root of what it rests on
        width = (check.high if value < bar else check.low) - value
        clusters = check.clusters * (width / (bar - value)) ** 2
    if clusters is None or clusters * each > MOST_GROUPS:
        return None
    return max(1, math.ceil(math.ceil(clusters) * each) - check.counted)


def _clusters_needed(value: float, bar: float, clusters: int, alpha: float, *, drop: bool) -> float | None:
    """By bisection: at how many clusters is the exact limit on the same side of the bar as the value?"""
    from scipy.special import betaincinv

    def decides(n: float) -> bool:
        if drop:  # no cluster differs in another way: see unwaver.stats.paired
            others = 1 - alpha ** (1 / n)
            end = (1 - others) * value + (others if value < bar else -others)
            return bool(end <= bar) if value < bar else bool(end > bar)
        hits = value * n
        if value < bar:
            return hits < n and float(betaincinv(hits + 1, n - hits, 1 - alpha)) <= bar
        return hits > 0 and float(betaincinv(hits, n - hits + 1, alpha)) > bar

    low, high = float(clusters), 2.0 * clusters
    while not decides(high):
        low, high = high, 2 * high
        if high > MOST_GROUPS:
            return None
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
