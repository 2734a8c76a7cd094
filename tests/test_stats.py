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


def test_bootstrap_covers() -> None:
    """Clusters of 1 to 4 groups with a common chance of breaking: 95 % of intervals hold the truth."""
    rng = np.random.default_rng(7)
    trials, held = 400, 0
    for _ in range(trials):
        sizes = rng.integers(1, 5, 200)
        chance = rng.beta(2, 8, 200)  # mean 0.2
        hits = rng.binomial(sizes, chance)
        low, high = bootstrap(np.column_stack([hits, sizes]).astype(float), mean)
        held += low <= 0.2 <= high
    assert 0.92 <= held / trials <= 0.98
