"""Tests whose unit is a training run: does one recipe differ from another, whichever seeds are drawn?

    welch     seeds of both sides are independent: unequal variances, Welch's degrees of freedom
    paired t  both sides of a seed share something (the draw of the data): Student's t of the differences

Intervals are Student's as well: a bootstrap of three or five values is far too narrow. No test is possible with
fewer than two values on a side, nor where no value differs from its mean: there is no spread to hold a difference
against.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unwaver.stats import LEVEL

WELCH, PAIRED = "welch", "paired t"
_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of several seeds, reduced: [0.2, 0.4] -> Sample(0.3, 0.141…, 2)."""

    mean: float
    sd: float | None
    n: int


@dataclass(frozen=True, slots=True)
class SeedTest:
    """second − first, with seeds as the unit; p is None if no test is possible."""

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    test: str  # welch, paired t
    seeds: tuple[int, int]


def sample_of(values: Iterable[float]) -> Sample:
    found = list(values)
    return Sample(statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else None, len(found))


def welch(first: Sample, second: Sample, level: float = LEVEL) -> SeedTest:
    """[1, 2, 3] and [4, 5, 9] -> 4 [−1.7, 9.7], p = .11 at 2.56 degrees of freedom."""
    change, counts = second.mean - first.mean, (first.n, second.n)
    about = (first.mean, second.mean, change)
    if first.sd is None or second.sd is None:
        return SeedTest(*about, None, None, None, WELCH, counts)
    a, b = first.sd**2 / first.n, second.sd**2 / second.n
    size = max(abs(first.mean), abs(second.mean))
    freedom = (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (second.n - 1)) if a + b > 0 else 1.0
    return SeedTest(*about, *_student(change, math.sqrt(a + b), freedom, size, level), WELCH, counts)


def paired_t(first: Mapping[str, float], second: Mapping[str, float], level: float = LEVEL) -> SeedTest | None:
    """Values by seed, over the seeds that both have; None if they have none in common."""
    both = [seed for seed in first if seed in second]
    if not both:
        return None
    one, other = (sample_of(side[seed] for seed in both) for side in (first, second))
    changes = sample_of(second[seed] - first[seed] for seed in both)
    about, counts = (one.mean, other.mean, changes.mean), (len(both), len(both))
    if changes.sd is None:
        return SeedTest(*about, None, None, None, PAIRED, counts)
    size, error = max(abs(one.mean), abs(other.mean)), changes.sd / math.sqrt(changes.n)
    return SeedTest(*about, *_student(changes.mean, error, changes.n - 1, size, level), PAIRED, counts)


def _student(
    change: float, error: float, freedom: float, size: float, level: float
) -> tuple[float | None, float | None, float | None]:
    """The ends of the interval, and p."""
    from scipy.special import stdtr, stdtrit

    least = _NO_SPREAD * size
    if error <= least:
        return None, None, 1.0 if abs(change) <= least else None
    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    return change - reach, change + reach, 2 * float(stdtr(freedom, -abs(change) / error))
