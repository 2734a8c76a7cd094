from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from unwaver.stats import MOST_UNITS, binomial, bootstrap, estimate, mean


@given(st.integers(1, 500), st.data())
def test_binomial_equals_scipy_and_statsmodels(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    low, high = binomial(hits, n)
    exact = scipy_stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (low, high) == pytest.approx(proportion_confint(hits, n, method="beta"), abs=1e-9)


def test_one_group_a_cluster_is_exact() -> None:
    values = np.array([0.0] * 95 + [1.0] * 5 + [np.nan] * 7)
    found = estimate(values, np.arange(107))
    assert found.value == 0.05
    assert (found.low, found.high) == pytest.approx(binomial(5, 100))
    assert (found.interval, found.clusters) == ("exact", 100)


def test_shared_originals_are_resampled_together() -> None:
    rng = np.random.default_rng(1)
    by_cluster = (rng.random(300) < 0.3).astype(float)
    values, clusters = np.repeat(by_cluster, 5), np.repeat(np.arange(300), 5)
    found = estimate(values, clusters)
    assert found.interval == "bootstrap"
    assert found.low is not None
    assert found.high is not None
    alone = binomial(int(by_cluster.sum()), 300)  # five copies of a group tell no more than one
    assert found.high - found.low == pytest.approx(alone[1] - alone[0], rel=0.15)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_at_zero_or_one_the_exact_interval_of_the_clusters(value: float) -> None:
    found = estimate(np.full(40, value), np.repeat(np.arange(10), 4))
    assert (found.low, found.high) == pytest.approx(binomial(int(10 * value), 10))


def test_nothing_counted_is_none_not_nan() -> None:
    found = estimate(np.full(5, np.nan), np.arange(5))
    assert (found.value, found.low, found.high) == (None, None, None)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31))
def test_order_of_groups_does_not_change_the_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, 60).astype(float)
    clusters = rng.integers(0, 20, 60)
    order = rng.permutation(60)
    a, b = estimate(values, clusters), estimate(values[order], clusters[order])
    assert a == b


def test_bundles_keep_the_width() -> None:
    """More clusters than the bootstrap draws one by one: the interval is that of the normal theory."""
    rng = np.random.default_rng(0)
    n = 20 * MOST_UNITS
    values = rng.exponential(1.0, n)
    low, high = bootstrap(np.column_stack([values, np.ones(n)]), mean)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(n), rel=0.06)
    assert low < values.mean() < high


@pytest.mark.parametrize("tau", [0.05, 0.2, 0.5, 0.95])
def test_bootstrap_covers(tau: float) -> None:
    """200 clusters of 1 to 4 groups with a common chance of breaking: 95 ± 1 % of intervals hold the truth."""
    rng = np.random.default_rng(7)
    trials, held = 2000, 0
    for _ in range(trials):
        sizes = rng.integers(1, 5, 200)
        hits = rng.binomial(sizes, rng.beta(4 * tau, 4 * (1 - tau), 200))
        low, high = bootstrap(np.column_stack([hits, sizes]).astype(float), mean)
        held += low <= tau <= high
    assert 0.94 <= held / trials <= 0.96


@pytest.mark.parametrize("n", [30, 200])
def test_exact_intervals_cover(n: int) -> None:
    """Not simulated but summed: the chance that the interval holds τ, at least 95 % for every τ."""
    ends = [binomial(hits, n) for hits in range(n + 1)]
    for tau in np.linspace(0.05, 0.95, 91):
        chance = scipy_stats.binom.pmf(np.arange(n + 1), n, tau)
        held = [low <= tau <= high for low, high in ends]
        assert chance[held].sum() >= 0.95 - 1e-12


def test_another_level() -> None:
    values = np.array([0.0] * 95 + [1.0] * 5)
    found = estimate(values, np.arange(100), level=0.9)
    exact = scipy_stats.binomtest(5, 100).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    narrow, wide = (estimate(values, np.arange(100) // 2, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < 0.05 < narrow.high < wide.high


def test_bootstrap_equals_scipys_bca() -> None:
    """The same construction but for Student's tails, which at 300 clusters hardly matter."""
    values = np.random.default_rng(5).exponential(1.0, 300)
    ours = bootstrap(np.column_stack([values, np.ones(300)]), mean)
    theirs = scipy_stats.bootstrap((values,), np.mean, method="BCa", rng=np.random.default_rng(0))
    ends = theirs.confidence_interval
    assert ours == pytest.approx((ends.low, ends.high), abs=0.015)
