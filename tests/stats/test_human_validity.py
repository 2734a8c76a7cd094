"""Statistics of validation against SciPy, scikit-learn and statsmodels, and against what is known of them."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.inter_rater import cohens_kappa

from unwaver.errors import DataError
from unwaver.stats.human_validity import (
    Confusion,
    auc,
    best_threshold,
    called_same,
    confusion_at,
    corrected,
    rogan_gladen,
    spearman,
    spearman_matrix,
    validate,
)

FEW = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])  # so that ties are common
JUDGED = st.lists(st.tuples(FEW, st.booleans()), min_size=2, max_size=40)


def columns(judged: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([v for v, _ in judged]), np.array([p for _, p in judged], dtype=bool)


# --- against other implementations --------------------------------------------------------------------------


@given(st.lists(st.tuples(FEW, st.integers(0, 5)), min_size=2, max_size=60))
def test_spearman_equals_scipy(pairs: list[tuple[float, int]]) -> None:
    a, b = [x for x, _ in pairs], [float(y) for _, y in pairs]
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert spearman(a, b) is None
    else:
        assert spearman(a, b) == pytest.approx(scipy_stats.spearmanr(a, b).statistic, abs=1e-12)


@settings(deadline=None)  # the first example imports scikit-learn
@given(JUDGED)
def test_auc_and_kappa_equal_scikit_learn_and_statsmodels(judged: list[tuple[float, bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    values, people = columns(judged)
    if people.all() or not people.any():
        assert auc(values, people) is None
        assert best_threshold(values, people) is None
        return
    assert auc(values, people) == pytest.approx(metrics.roc_auc_score(people, values))
    assert auc(values, people, "low") == pytest.approx(1 - metrics.roc_auc_score(people, values))
    confusion = confusion_at(values, people, 0.5)
    says = values >= 0.5
    assert confusion.kappa == pytest.approx(metrics.cohen_kappa_score(people, says), abs=1e-12)
    table = [[confusion.same_same, confusion.same_different], [confusion.different_same, confusion[3]]]
    assert confusion.kappa == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-12)
    assert confusion.sensitivity == pytest.approx(metrics.recall_score(people, says))
    assert confusion.specificity == pytest.approx(metrics.recall_score(~people, ~says))


@given(JUDGED, st.sampled_from(["high", "low"]))
def test_no_threshold_is_better_than_the_best(judged: list[tuple[float, bool]], better: str) -> None:
    values, people = columns(judged)
    best = best_threshold(values, people, better)  # type: ignore[arg-type]
    assume(best is not None)
    assert best is not None
    found = confusion_at(values, people, best, better).kappa or 0.0  # type: ignore[arg-type]
    for t in [*np.unique(values), 2.0, *(np.mean(p) for p in pairwise(np.unique(values)))]:
        other = confusion_at(values, people, t, better).kappa or 0.0  # type: ignore[arg-type]
        assert found >= other - 1e-12 or other <= 0


# --- what is known ------------------------------------------------------------------------------------------


def test_values_shown_in_docstrings() -> None:
    assert spearman([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True])) == 0.875
    assert rogan_gladen(0.5, 0.9, 0.8) == pytest.approx(0.3 / 0.7)
    assert called_same(np.array([0.5, 0.4]), 0.5).tolist() == [True, False]
    assert called_same(np.array([0.5, 0.4]), 0.5, "low").tolist() == [False, True]


def test_kappa_of_one_and_the_same_answer_cannot_be_told() -> None:
    assert Confusion(5, 0, 0, 0).kappa is None
    assert Confusion(0, 0, 0, 0).kappa is None
    assert Confusion(0, 0, 0, 4).sensitivity is None
    assert Confusion(3, 2, 0, 0).kappa == 0.0


def test_a_matrix_of_all_columns() -> None:
    found = spearman_matrix({"a": [0.1, 0.2, 0.3, None], "b": [3.0, 2.0, 1.0, 0.0], "flat": [1.0] * 4})
    assert found == [[1.0, -1.0, None], [-1.0, 1.0, None], [None, None, None]]


def test_everything_at_once() -> None:
    values = [0.9, 0.8, 0.7, 0.2, None, 0.1, 0.6, 0.3]
    labels = [1, 1, 1, 0, 1, 0, 0, 0]
    found = validate(values, labels, ["q1", "q1", "q2", "q2", "q3", "q4", "q5", "q5"], threshold=0.9)
    assert (found.pairs, found.unknown, found.clusters) == (7, 1, 4)
    assert found.auc.value == 1.0
    assert (found.best_threshold, found.best_kappa) == (0.7, 1.0)
    assert found.best_confusion == Confusion(3, 0, 0, 4)
    assert found.confusion == Confusion(1, 0, 2, 4)
    assert found.kappa == pytest.approx(found.confusion.kappa)
    assert found.spearman.value == pytest.approx(
        scipy_stats.spearmanr(values[:4] + values[5:], labels[:4] + labels[5:])[0]
    )


def test_grades_and_functions_where_lower_is_better() -> None:
    grades = [5.0, 4.5, 4.0, 2.0, 1.0, 0.0]
    found = validate([0.0, 0.1, 0.2, 0.6, 0.7, 0.9], grades, range(6), threshold=0.5, better="low", cut=4)
    assert found.spearman.value == pytest.approx(-1.0)
    assert (found.auc.value, found.best_threshold, found.best_kappa, found.kappa) == (1.0, 0.6, 1.0, 1.0)


def test_nothing_to_validate() -> None:
    found = validate([None, None], [0, 1], ["a", "b"], threshold=0.5)
    assert (found.pairs, found.unknown, found.spearman.value, found.auc.value) == (0, 2, None, None)
    assert (found.best_threshold, found.kappa) == (None, None)


def test_bad_columns_are_named() -> None:
    with pytest.raises(DataError, match="2, 1 and 2"):
        validate([0.1, 0.2], [1], ["a", "b"], threshold=0.5)
    with pytest.raises(DataError, match="pair 1 has no label"):
        validate([0.1, 0.2], [1, None], ["a", "b"], threshold=0.5)


def test_pairs_of_answers_that_people_have_judged(data: Path) -> None:
    """Answers to paraphrased questions of TruthfulQA: word overlap hardly tells what people call consistent."""
    from unwaver.agree import Pair
    from unwaver.agree.overlap import rouge1

    path = data / "truthfulqa_paraphrases" / "truthfulQA_pp_conscore.csv"
    with path.open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 157
    pairs = [Pair(row["input"], row["output"], row["output pp"]) for row in rows]
    labels = [float(row["consistency score"]) for row in rows]
    compare = rouge1().compare
    assert compare is not None
    values = compare(pairs)
    found = validate(values, labels, [pair.question for pair in pairs], threshold=0.5)
    assert (found.pairs, found.clusters) == (157, 20)
    assert found.spearman.value == pytest.approx(scipy_stats.spearmanr(values, labels).statistic)
    assert found.spearman.low is not None
    assert found.spearman.low < 0.1 < found.spearman.high  # type: ignore[operator]
    assert found.best_kappa is not None
    assert found.kappa is not None
    assert 0.3 > found.best_kappa >= found.kappa


# --- intervals ----------------------------------------------------------------------------------------------


def test_clusters_are_resampled_whole() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    y = x + rng.normal(size=80)
    alone = validate(x, y, range(80), threshold=0.5).spearman
    copied = validate(
        np.repeat(x, 5), np.repeat(y, 5), np.repeat(np.arange(80), 5).tolist(), threshold=0.5
    ).spearman
    assert copied.value == pytest.approx(alone.value, abs=1e-3)
    assert copied.high - copied.low == pytest.approx(alone.high - alone.low, rel=0.05)  # type: ignore[operator]
    as_if_alone = validate(np.repeat(x, 5), np.repeat(y, 5), range(400), threshold=0.5).spearman
    assert as_if_alone.high - as_if_alone.low < 0.6 * (alone.high - alone.low)  # type: ignore[operator]


def test_the_interval_of_spearman_is_that_of_resampled_pairs() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 6, 120) / 5
    y = x + rng.integers(0, 4, 120) / 3
    found = validate(x, y, range(120), threshold=0.5).spearman
    draws = [scipy_stats.spearmanr(x[i], y[i]).statistic for i in (rng.integers(0, 120, 120) for _ in range(2000))]
    assert (found.low, found.high) == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.02)


def test_one_pair_that_stands_out_proves_nothing() -> None:
    found = validate([1.0] + [0.0] * 99, [1.0] + [0, 1] * 49 + [0], range(100), threshold=0.5)
    assert found.spearman.value is not None
    assert found.spearman.value > 0
    assert (found.spearman.low, found.auc.low) == (0.0, 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    values, labels = [0.1, 0.5, 0.6, 0.4, 0.8], [0, 1, 0, 0, 1]
    one, other = (validate(values, labels, range(5), threshold=0.5) for _ in range(2))
    assert one == other


# --- correction ---------------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_correction_undoes_what_errors_do(true: float, sensitivity: float, specificity: float) -> None:
    seen = true * sensitivity + (1 - true) * (1 - specificity)
    found = rogan_gladen(seen, sensitivity, specificity)
    if sensitivity + specificity <= 1:
        assert found is None
    elif sensitivity + specificity > 1.001:
        assert found == pytest.approx(true, abs=1e-6)
    else:
        assert found is not None
        assert 0 <= found <= 1


def judged(
    same_same: int = 0, same_different: int = 0, different_same: int = 0, different_different: int = 0
) -> tuple[list[bool], list[bool]]:
    cells = [(True, True)] * same_same + [(True, False)] * same_different
    cells += [(False, True)] * different_same + [(False, False)] * different_different
    return [s for s, _ in cells], [p for _, p in cells]


def test_corrected_consistency() -> None:
    says, people = judged(90, 20, 10, 80)  # sensitivity 0.9, specificity 0.8
    shares = [0.5, None, 0.6, 0.4, 0.5, 0.5]
    found = corrected(shares, range(6), says, people, range(200))
    assert found.value == pytest.approx(rogan_gladen(0.5, 0.9, 0.8))
    assert (found.clusters, found.interval, found.reason, found.warning) == (5, "bootstrap", "", "")
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert found == corrected(shares, range(6), says, people, range(200))


def test_identical_texts_are_not_corrected() -> None:
    says, people = judged(90, 20, 10, 80)
    found = corrected([0.75] * 5, range(5), says, people, range(200), identical=[0.5] * 5)
    assert found.value == pytest.approx(0.5 + 0.5 * 0.3 / 0.7)  # of the other half, half was seen to agree
    assert corrected([1.0] * 5, range(5), says, people, range(200), identical=[1.0] * 5).value == 1.0


def test_a_function_that_tells_nothing_corrects_nothing() -> None:
    says, people = judged(5, 5, 5, 5)
    assert corrected([0.5, 0.6], range(2), says, people, range(20)).value is None
    assert corrected([0.5, 0.6], range(2), [True], [True], [0]).value is None  # specificity is not known
    assert corrected([], [], says, people, range(20)).value is None
    assert corrected([None], [0], says, people, range(20)).value is None
    weak = corrected([0.4, 0.5, 0.5, 0.6, 0.5], range(5), *judged(6, 5, 5, 6), range(22))
    assert (weak.value, weak.low, weak.high) == (None, None, None)  # many draws tell nothing
    assert "0.0 – 100.0 %, too wide to be of use" in weak.reason
    assert "sensitivity + specificity is 109.1 %, close to 100 %" in weak.warning


HALF = [0.4, 0.5, 0.5, 0.6, 0.5]


@pytest.mark.parametrize(
    ("shares", "cells", "reason"),
    [
        (HALF, (5, 5, 5, 5), "sensitivity + specificity is 100.0 %: at 100 % or less"),
        (HALF, (5, 8, 5, 2), "sensitivity + specificity is 70.0 %"),
        (HALF, (5, 0, 5, 0), "people judged no pair of different texts different"),
        (HALF, (0, 5, 0, 5), "people judged no pair of different texts equivalent"),
        (HALF, (0, 0, 0, 0), "people judged no pair of different texts "),
        ([0.05] * 9, (90, 20, 10, 80), "the correction gives -21.4 %, which is not a share"),
        ([0.99] * 9, (80, 10, 20, 90), "the correction gives 127.1 %, which is not a share"),
        ([0.5] * 4, (90, 20, 10, 80), "4 questions in the run and 200 with judged pairs, at least 5 of each"),
        ([], (90, 20, 10, 80), "no question of the run"),
    ],
)
def test_no_value_is_given_with_its_reason(shares: list[float], cells: tuple[int, ...], reason: str) -> None:
    says, people = judged(*cells)
    found = corrected(shares, range(len(shares)), says, people, range(len(says)))
    assert (found.value, found.low, found.high, found.interval) == (None, None, None, None)
    assert reason in found.reason


def test_a_weak_function_is_a_warning() -> None:
    """sensitivity + specificity of 115 %, known from many pairs: there is a value, and a warning."""
    found = corrected([0.5] * 40, range(40), *judged(3000, 2250, 2000, 2750), range(10_000))
    assert found.value is not None
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert (found.reason, "115.0 %, close to 100 %" in found.warning) == ("", True)


def test_the_edges_are_values() -> None:
    """A run in which exactly as many pairs agree as errors would make."""
    says, people = judged(90, 20, 10, 80)
    assert corrected([0.2] * 9, range(9), says, people, range(200)).value == pytest.approx(0, abs=1e-9)
    assert corrected([0.9] * 9, range(9), says, people, range(200)).value == pytest.approx(1)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_both_samples_widen_the_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.random(30)
    small, large = judged(9, 2, 1, 8), judged(900, 200, 100, 800)
    by_few = corrected(shares, range(30), *small, range(20), seed=seed)
    by_many = corrected(shares, range(30), *large, range(2000), seed=seed)
    assert by_few.high - by_few.low > by_many.high - by_many.low  # type: ignore[operator]
    assert 0 <= by_few.low <= by_few.value <= by_few.high <= 1  # type: ignore[operator]


@pytest.mark.slow
def test_the_interval_holds_the_truth() -> None:
    """Of 40 runs made with a known truth, about 95 % of the intervals hold it."""
    rng = np.random.default_rng(5)
    held = 0
    for n in range(40):
        true = rng.random((60, 20)) < 0.6  # questions by pairs
        seen = np.where(true, rng.random((60, 20)) < 0.85, rng.random((60, 20)) < 0.2)
        people = rng.random(300) < 0.5
        says = np.where(people, rng.random(300) < 0.85, rng.random(300) < 0.2)
        found = corrected(seen.mean(axis=1), range(60), says, people, range(300), seed=n)
        held += found.low <= 0.6 <= found.high  # type: ignore[operator]
    assert held >= 34


def test_intervals_of_few_pairs_end_where_values_end() -> None:
    found = validate([0.9, 0.2, 0.6, 0.4, 0.7, 0.5], [1, 0, 0, 1, 1, 0], range(6), threshold=0.5)
    assert found.spearman.low >= -1  # type: ignore[operator]
    assert found.spearman.high <= 1  # type: ignore[operator]
    assert found.auc.high <= 1  # type: ignore[operator]
    assert found.auc.low >= 0  # type: ignore[operator]
