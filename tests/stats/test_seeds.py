"""Tests over seeds: against scipy, statsmodels and plain Python."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from unwaver.stats.paired import holm
from unwaver.stats.seeds import PAIRED, WELCH, paired_t, sample_of, welch


def tail(t: float, freedom: float) -> float:
    """Two-sided p of Student's t: its density from 0 to |t| by Simpson's rule, in steps of asinh(t)."""
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    steps = 1000
    width = math.asinh(abs(t)) / steps

    def height(n: int) -> float:
        return scale * (1 + math.sinh(n * width) ** 2 / freedom) ** (-(freedom + 1) / 2) * math.cosh(n * width)

    inside = height(0) + height(steps) + sum((4 if n % 2 else 2) * height(n) for n in range(1, steps))
    return 1 - 2 * inside * width / 3


def plain_welch(first: list[float], second: list[float]) -> tuple[float, float]:
    """Difference and p, from the formulas of a textbook."""
    a, b = (statistics.variance(side) / len(side) for side in (first, second))
    difference = statistics.fmean(second) - statistics.fmean(first)
    freedom = (a + b) ** 2 / (a * a / (len(first) - 1) + b * b / (len(second) - 1))
    return difference, tail(difference / math.sqrt(a + b), freedom)


def draws(count: int = 300) -> list[tuple[list[float], list[float]]]:
    """Values of 2 to 9 seeds a side; some sides have no spread."""
    random_of, made = random.Random(4), []
    for _ in range(count):
        sides = []
        for _ in range(2):
            middle, spread = random_of.random(), random_of.choice((0.0, 0.01, 0.1))
            sides.append([middle + random_of.gauss(0, spread) for _ in range(random_of.randint(2, 9))])
        made.append((sides[0], sides[1]))
    return made


# scipy warns of sides that have no spread
NO_SPREAD = pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")


@NO_SPREAD
def test_welch_against_scipy_statsmodels_and_plain_python() -> None:
    for first, second in draws():
        found = welch(sample_of(first), sample_of(second))
        assert (found.test, found.seeds) == (WELCH, (len(first), len(second)))
        if statistics.stdev(first) + statistics.stdev(second) < 1e-12:
            assert (found.p, found.low, found.high) == (None, None, None), "nothing to hold a difference against"
            continue
        scipys = scipy_stats.ttest_ind(second, first, equal_var=False)
        assert found.p == pytest.approx(scipys.pvalue, rel=1e-9, abs=1e-12)
        ends = scipys.confidence_interval()
        assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-9, abs=1e-12)
        both = CompareMeans(DescrStatsW(second), DescrStatsW(first))
        assert found.p == pytest.approx(both.ttest_ind(usevar="unequal")[1], rel=1e-9, abs=1e-12)
        assert (found.difference, found.p) == pytest.approx(plain_welch(first, second), rel=1e-6, abs=1e-8)


@NO_SPREAD
def test_paired_against_scipy_and_statsmodels() -> None:
    for first, second in draws():
        one, other = ({str(n): v for n, v in enumerate(side)} for side in (first, second))
        found = paired_t(one, other)
        both = min(len(first), len(second))
        assert found is not None
        assert (found.test, found.seeds) == (PAIRED, (both, both)), "seeds that one side alone has are left out"
        changes = [b - a for a, b in zip(first, second, strict=False)]
        if statistics.stdev(changes) < 1e-12:
            assert found.p is None
            continue
        scipys = scipy_stats.ttest_rel(second[:both], first[:both])
        assert found.p == pytest.approx(scipys.pvalue, rel=1e-9, abs=1e-12)
        assert (found.low, found.high) == pytest.approx(tuple(scipys.confidence_interval()), rel=1e-9, abs=1e-12)
        assert found.p == pytest.approx(DescrStatsW(changes).ttest_mean(0)[1], rel=1e-9, abs=1e-12)


def test_what_cannot_be_tested() -> None:
    one, three = sample_of([0.5]), sample_of([0.1, 0.2, 0.3])
    for found in (welch(one, three), welch(three, one), welch(one, one)):
        assert (found.p, found.low, found.high) == (None, None, None)
    apart = welch(sample_of([0.1] * 3), sample_of([0.7] * 3))
    assert apart.p is None, "two constant models: no spread, however far apart"
    same = welch(sample_of([0.1] * 3), sample_of([0.1] * 5))
    assert (same.p, same.low) == (1.0, None)
    assert paired_t({"0": 0.2}, {"1": 0.3}) is None, "no seed in common"
    single = paired_t({"0": 0.2}, {"0": 0.3})
    assert single is not None
    assert single.p is None
    moved = paired_t({"0": 0.2, "1": 0.3}, {"0": 0.3, "1": 0.4})
    assert moved is not None
    assert moved.p is None, "both seeds rise by .1, but for rounding"


def test_one_side_without_spread_is_a_test_against_a_number() -> None:
    """Welch's degrees of freedom are then those of the other side."""
    values = [0.1, 0.2, 0.4]
    found = welch(sample_of([0.05] * 3), sample_of(values))
    assert found.p == pytest.approx(scipy_stats.ttest_1samp(values, 0.05).pvalue)


def test_holm_against_statsmodels() -> None:
    p = [welch(sample_of(a), sample_of(b)).p for a, b in draws(80)]
    known = [value for value in p if value is not None]
    assert holm(known) == pytest.approx(multipletests(known, method="holm")[1])


def test_fewer_seeds_say_less() -> None:
    """The same mean and s.d., more seeds: a narrower interval and a smaller p."""
    found = [welch(sample_of([0.2, 0.3] * n), sample_of([0.4, 0.5] * n)) for n in (1, 2, 4)]
    p = [f.p for f in found if f.p is not None]
    assert p == sorted(p, reverse=True)
    widths = [f.high - f.low for f in found if f.high is not None and f.low is not None]
    assert widths == sorted(widths, reverse=True)
    assert len(p) == len(widths) == 3
