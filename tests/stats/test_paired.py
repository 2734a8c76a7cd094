"""Paired tests and intervals, against scipy, statsmodels and counting by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from unwaver.stats import binomial, mean
from unwaver.stats.paired import DRAWS, _interval, difference, holm, mcnemar, permutation


def clustered(rng: np.random.Generator, units: int, largest: int = 4) -> tuple[np.ndarray, ...]:
    clusters = np.repeat(np.arange(units), rng.integers(1, largest + 1, units))
    first, second = (rng.integers(0, 2, len(clusters)).astype(float) for _ in range(2))
    return first, second, clusters


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_scipy_and_statsmodels(up: int, down: int) -> None:
    if up + down == 0:
        assert mcnemar(0, 0) == 1.0
        return
    assert mcnemar(up, down) == pytest.approx(scipy_stats.binomtest(up, up + down).pvalue, abs=1e-12)
    table = [[5, up], [down, 7]]
    assert mcnemar(up, down) == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, abs=1e-12)


def test_one_group_a_cluster_is_mcnemar() -> None:
    """Of ten groups eight are fixed and one is broken: 2 · (1 + 9) / 2⁹."""
    first = np.array([1.0] * 8 + [0.0, 1.0])
    second = np.array([0.0] * 8 + [1.0, 1.0])
    found = difference(first, second, np.arange(10))
    assert found is not None
    assert (found.test, found.groups, found.clusters) == ("mcnemar", 10, 10)
    assert found.p == pytest.approx(20 / 512)
    assert (found.first, found.second, found.difference) == pytest.approx((0.9, 0.2, -0.7))


def test_shared_originals_are_permuted_together() -> None:
    """Two clusters of three groups, all fixed: four ways to change places, two as great. McNemar would say 1/32."""
    found = difference(np.ones(6), np.zeros(6), np.repeat([0, 1], 3))
    assert found is not None
    assert (found.test, found.p) == ("permutation", 0.5)
    assert mcnemar(0, 6) == 1 / 32


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(2, 8))
def test_permutation_counts_every_way(seed: int, units: int) -> None:
    first, second, clusters = clustered(np.random.default_rng(seed), units)
    moved = np.array([(second - first)[clusters == c].sum() for c in range(units)])
    sums = [(np.array(signs) * moved).sum() for signs in product((1, -1), repeat=units)]
    expected = np.mean([abs(s) >= abs(moved.sum()) - 1e-9 for s in sums])
    found = difference(first, second, clusters)
    assert found is not None
    if found.test == "permutation":
        assert found.p == pytest.approx(expected)


def test_permutation_equals_scipy() -> None:
    """Values between 0 and 1, one group a cluster: SciPy counts all 2¹⁰ ways, too."""
    rng = np.random.default_rng(3)
    first, second = rng.random(10), rng.random(10) * 0.7

    def statistic(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(x - y, axis=axis)

    expected = scipy_stats.permutation_test(
        (second, first), statistic, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    found = difference(first, second, np.arange(10))
    assert found is not None
    assert found.p == pytest.approx(expected.pvalue)


def test_many_clusters_are_drawn() -> None:
    """More states than can be counted: the drawn p is near that of the normal theory."""
    rng = np.random.default_rng(4)
    first = rng.random(400)
    second = first + rng.normal(0.02, 0.2, 400)
    found = difference(first, second, np.arange(400), share=False)
    assert found is not None
    assert found.p == pytest.approx(scipy_stats.ttest_rel(first, second).pvalue, abs=0.02)
    a, b = (np.column_stack([x, np.ones(400)]) for x in (np.zeros(400), np.ones(400) + rng.random(400)))
    assert permutation(a, b, mean) == 1 / (DRAWS + 1)  # never 0


def test_a_run_against_itself_is_exactly_zero() -> None:
    rng = np.random.default_rng(5)
    for values in (rng.integers(0, 2, 90).astype(float), rng.random(90)):
        for clusters in (np.arange(90), np.arange(90) // 4):
            found = difference(values, values.copy(), clusters)
            assert found is not None
            assert (found.difference, found.p) == (0.0, 1.0)
            most = binomial(0, found.clusters)[1]  # as much as clusters that were not seen could do
            assert (found.low, found.high) == pytest.approx((-most, most))


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(2, 40))
def test_the_other_way_round_is_the_opposite(seed: int, units: int) -> None:
    first, second, clusters = clustered(np.random.default_rng(seed), units)
    there, back = difference(first, second, clusters), difference(second, first, clusters)
    assert there is not None
    assert back is not None
    assert there.difference == pytest.approx(-back.difference)
    assert there.p == pytest.approx(back.p, abs=0.03)


@pytest.mark.parametrize("seed", range(40))
def test_shares_differ_by_no_more_than_one(seed: int) -> None:
    """Student's t of a few groups knows of no limits."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(5, 12))
    one, other = ((draw.random(count) < p).astype(np.float64) for p in (0.85, 0.2))
    for units in (np.arange(count), draw.integers(0, 7, (count, 2))):
        found = difference(one, other, units)
        assert found is not None
        if found.low is not None and found.high is not None:
            assert -1 <= found.low <= found.difference <= found.high <= 1


def test_only_groups_of_both_count() -> None:
    nan = np.nan
    found = difference(np.array([1.0, nan, 0.0, nan]), np.array([nan, 1.0, 1.0, nan]), np.arange(4))
    assert found is not None
    assert (found.groups, found.difference) == (1, 1.0)
    assert difference(np.array([nan]), np.array([1.0]), np.arange(1)) is None


def test_a_ratio_is_compared_as_a_ratio() -> None:
    """Two columns, sum and count: 3/4 against 1/4, by clusters that change places as a whole."""

    def ratio(sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums[..., 0] / sums[..., 1])

    first, second = np.array([[3.0, 3.0], [0.0, 1.0]]), np.array([[0.0, 3.0], [1.0, 1.0]])
    found = difference(first, second, np.arange(2), ratio)
    assert found is not None
    assert (found.first, found.second, found.p) == (0.75, 0.25, 1.0)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_equals_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-12)


def test_no_hypothesis_no_correction() -> None:
    assert holm([]) == []


@pytest.mark.parametrize(("tau", "better_by"), [(0.1, 0.0), (0.3, 0.1), (0.5, 0.0)])
def test_paired_intervals_cover(tau: float, better_by: float) -> None:
    """200 clusters of 1 to 4 groups, two models that share half of what makes a group hard."""
    rng = np.random.default_rng(11)
    trials, held = 1000, 0
    for _ in range(trials):
        sizes = rng.integers(1, 5, 200)
        clusters = np.repeat(np.arange(200), sizes)
        chance = rng.beta(4 * tau, 4 * (1 - tau), 200)[clusters]
        first = (rng.random(len(clusters)) < chance).astype(float)
        kept = rng.random(len(clusters)) < 0.5
        second = np.where(kept, first, (rng.random(len(clusters)) < chance).astype(float))
        second *= rng.random(len(clusters)) >= better_by / tau
        a, b = (np.bincount(clusters, weights=x, minlength=200) for x in (first, second))
        low, high, _ = _interval(
            np.column_stack([a, sizes]),
            np.column_stack([b, sizes]).astype(float),
            mean,
            True,
            0,
            0.95,
            alone=False,
        )
        assert low is not None
        assert high is not None
        held += low <= -better_by <= high
    assert 0.94 <= held / trials <= 0.965


@pytest.mark.slow
def test_permutation_keeps_its_level() -> None:
    """No difference, clusters of 1 to 4 groups that change together: p below 0.05 in at most 5 % of runs."""
    rng = np.random.default_rng(12)
    trials, rejected = 400, 0
    for _ in range(trials):
        clusters = np.repeat(np.arange(60), rng.integers(1, 5, 60))
        chance = rng.beta(1, 3, 60)
        first, second = ((rng.random(60) < chance).astype(float) for _ in range(2))
        sizes = np.bincount(clusters).astype(float)
        a, b = (np.column_stack([x * sizes, sizes]) for x in (first, second))
        rejected += permutation(a, b, mean) < 0.05
    assert rejected / trials <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / trials)
