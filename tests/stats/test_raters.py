"""Fleiss' κ against statsmodels and plain Python; missing labels."""

from __future__ import annotations

from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from unwaver.stats.raters import fleiss


@pytest.mark.parametrize(("raters", "categories"), [(2, 2), (3, 2), (5, 4)])
def test_fleiss_equals_statsmodels(raters: int, categories: int) -> None:
    rng = np.random.default_rng(raters)
    truth = rng.integers(0, categories, 60)
    noise = rng.integers(0, categories, (60, raters))
    ratings = np.where(rng.random((60, raters)) < 0.6, truth[:, None], noise).astype(np.float64)
    found = fleiss(ratings, range(60))
    assert found.kappa.value == pytest.approx(fleiss_kappa(aggregate_raters(ratings)[0]))
    assert found.kappa.low < found.kappa.value < found.kappa.high  # type: ignore[operator]
    assert (found.raters, found.items, found.left_out, found.missing) == (raters, 60, 0, 0)


def plain(ratings: list[list[float]]) -> float:
    """Items with two labels or more, each counting once."""
    items = [[x for x in row if x == x] for row in ratings]
    items = [row for row in items if len(row) > 1]
    agree = fmean(fmean(a == b for a, b in permutations(row, 2)) for row in items)
    shares = [fmean(row.count(c) / len(row) for row in items) for c in {x for row in items for x in row}]
    chance = sum(share**2 for share in shares)
    return (agree - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(5))
def test_missing_labels_against_plain_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 3, (300, 4)).astype(np.float64)
    ratings[rng.random((300, 4)) < 0.4] = np.nan
    found = fleiss(ratings, range(300), seed)
    known = (~np.isnan(ratings)).sum(axis=1)
    assert found.kappa.value == pytest.approx(plain(ratings.tolist()))
    assert (found.items, found.left_out) == ((known > 1).sum(), (known < 2).sum())
    assert found.missing == np.isnan(ratings).sum()


def test_a_rater_without_labels_changes_nothing() -> None:
    ratings = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float64)
    with_absent = np.column_stack([ratings, np.full(4, np.nan)])
    assert fleiss(with_absent, range(4)).kappa == fleiss(ratings, range(4)).kappa


@pytest.mark.parametrize("ratings", [[[1.0, 1.0]] * 8, [[1.0, np.nan]] * 8, [[np.nan, np.nan]] * 8])
def test_what_cannot_be_told(ratings: list[list[float]]) -> None:
    assert fleiss(np.array(ratings), range(8)).kappa.value is None


def test_few_questions_have_no_interval() -> None:
    ratings = np.array([[1, 1], [0, 0], [1, 0], [0, 1]] * 5, dtype=np.float64)
    found = fleiss(ratings, [n % 4 for n in range(20)])
    assert (found.kappa.clusters, found.kappa.low) == (4, None)
    assert fleiss(ratings, range(20)).kappa.low is not None


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Each of three raters gives the true label of an item with probability 0.8, else a coin flip: κ = 0.64."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        truth = rng.integers(0, 2, 60)
        ratings = np.where(rng.random((60, 3)) < 0.8, truth[:, None], rng.integers(0, 2, (60, 3))).astype(
            np.float64
        )
        kappa = fleiss(ratings, range(60)).kappa
        held += kappa.low <= 0.64 <= kappa.high  # type: ignore[operator]
    assert held >= 87


def test_the_interval_ends_at_one() -> None:
    ratings = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]], dtype=np.float64)
    assert fleiss(ratings, range(6)).kappa.high == 1.0
