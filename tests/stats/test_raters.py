"""κ and α against statsmodels, the package krippendorff and plain Python; missing labels."""

from __future__ import annotations

from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from unwaver.stats.raters import LEVELS, Level, cohen, fleiss, krippendorff, pairwise


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


# --- Cohen, Krippendorff ------------------------------------------------------------------------------------


def noisy(raters: int, categories: int, seed: int, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, 80)
    ratings = np.where(
        rng.random((80, raters)) < 0.6, truth[:, None], rng.integers(0, categories, (80, raters))
    ).astype(np.float64)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return ratings


@pytest.mark.parametrize("seed", range(5))
def test_cohen_equals_statsmodels(seed: int) -> None:
    ratings = noisy(2, 2 + seed, seed)
    table = np.zeros((2 + seed, 2 + seed))
    np.add.at(table, tuple(ratings.astype(int).T), 1)
    found = cohen(ratings[:, 0], ratings[:, 1], range(80))
    assert found.kappa.value == pytest.approx(cohens_kappa(table).kappa, rel=1e-9)
    assert found.kappa.low < found.kappa.value < found.kappa.high  # type: ignore[operator]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("categories", [2, 5])
def test_alpha_equals_the_package_krippendorff(level: Level, missing: float, categories: int) -> None:
    package = pytest.importorskip("krippendorff", reason="pip install krippendorff: make venv")
    ratings = noisy(4, categories, categories, missing) ** 2  # values that are not equally far apart
    found = krippendorff(ratings, range(80), level)
    assert found.kappa.value == pytest.approx(
        package.alpha(reliability_data=ratings.T, level_of_measurement=level), rel=1e-9
    )


PUBLISHED = """\
. . . . . 3 4 1 2 1 1 3 3 . 3
1 . 2 1 3 3 4 3 . . . . . . .
. . 2 1 3 4 4 . 2 1 1 3 3 . 4"""


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.691), ("ordinal", 0.807), ("interval", 0.811)])
def test_alpha_of_the_published_example(level: Level, value: float) -> None:
    """Three coders of 15 units, as printed in the literature on α."""
    rows = [[np.nan if v == "." else float(v) for v in line.split()] for line in PUBLISHED.splitlines()]
    found = krippendorff(np.array(rows).T, range(15), level)
    assert found.kappa.value == pytest.approx(value, abs=5e-4)
    assert (found.items, found.left_out) == (12, 3)


def test_kappa_of_the_published_example() -> None:
    """50 proposals, two readers: 20 yes of both, 15 no of both, 5 and 10 apart: κ 0.4."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    one, other = np.array(pairs, dtype=np.float64).T
    assert cohen(one, other, range(50)).kappa.value == pytest.approx(0.4)


def test_raters_who_always_agree_have_an_interval() -> None:
    ratings = np.array([[1, 1], [0, 0]] * 10, dtype=np.float64)
    for found in (
        cohen(ratings[:, 0], ratings[:, 1], range(20)),
        fleiss(ratings, range(20)),
        krippendorff(ratings, range(20)),
    ):
        assert found.kappa.value == pytest.approx(1)
        assert 0.5 < found.kappa.low < 0.9  # type: ignore[operator]
        assert found.kappa.high == 1.0


def test_two_by_two() -> None:
    found = pairwise(noisy(3, 2, 1), range(80))
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    assert all(raters.raters == 2 for raters in found.values())


@pytest.mark.parametrize("level", LEVELS)
def test_one_category_says_nothing(level: Level) -> None:
    ratings = np.ones((8, 3))
    assert krippendorff(ratings, range(8), level).kappa.value is None
    assert cohen(ratings[:, 0], ratings[:, 1], range(8)).kappa.value is None
