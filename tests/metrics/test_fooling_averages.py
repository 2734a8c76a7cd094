"""Fooling rates of several sets and several models: pooled counts, and the mean of means, by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.answers.given import complete

E, N, C = "entailment", "neutral", "contradiction"


def frame(task, model, flips, keep=1, wrong=0):
    """An item for each of flips: 1 if its variants change the answer; then some that were answered wrong."""
    rows = []
    for n, flip in enumerate([*flips, *[None] * wrong]):
        labels = [N] if flip is None else [E, *[C if flip else E] * keep]
        for m, label in enumerate(labels):
            role = "variant" if m else "original"
            rows.append({"group": f"{task}/{n}", "role": role, "label": label, "task": task, "model": model})
    table = pl.DataFrame(rows).with_columns(
        kind=pl.lit("fooling"), gold=pl.lit(E), suite=pl.lit("s"), keep=pl.lit(keep)
    )
    return complete(table)


def averages(*frames):
    found = unwaver.score(pl.concat(frames))
    return {(s.task, s.model, s.metric): s for s in found if "average" in s.task + s.model}


def test_over_sets():
    found = averages(frame("snli", "m", [1, 0, 0, 0], wrong=4), frame("mnli", "m", [1, 1]))
    pooled, plain = found["average", "m", "r_r@1"], found["average_plain", "m", "r_r@1"]
    assert pooled.value == pytest.approx(3 / 6)
    assert plain.value == pytest.approx((1 / 4 + 2 / 2) / 2)
    for score in (pooled, plain):
        assert (score.groups, score.counted, score.not_applicable) == (10, 6, 4)
        assert score.low <= score.value <= score.high
        assert score.clusters == 6
    assert pooled.accuracy == pytest.approx(6 / 10)
    assert plain.accuracy == pytest.approx((4 / 8 + 2 / 2) / 2)
    assert set(found) == {(t, "m", f"{r}@1") for t in ("average", "average_plain") for r in ("r_r", "r_s")}


def test_over_models():
    """Two models answer the same items: what is resampled is the item."""
    found = averages(frame("snli", "a", [1, 0, 0, 0]), frame("snli", "b", [1, 1], wrong=2))
    pooled, plain = found["snli", "average", "r_s@1"], found["snli", "average_plain", "r_s@1"]
    assert pooled.value == pytest.approx(3 / 6)
    assert plain.value == pytest.approx((1 / 4 + 1) / 2)
    assert pooled.clusters == 4


def test_over_both():
    parts = [frame(t, m, f) for t, m, f in [("x", "a", [1]), ("y", "a", [0]), ("x", "b", [0]), ("y", "b", [0, 1])]]
    found = averages(*parts)
    places = {(task, model) for task, model, _ in found}
    assert places == {
        ("average", "a"), ("average_plain", "a"), ("average", "b"), ("average_plain", "b"),
        ("x", "average"), ("x", "average_plain"), ("y", "average"), ("y", "average_plain"),
    }  # fmt: skip


def test_one_alone_and_different_k_are_not_averaged():
    assert not averages(frame("snli", "m", [1, 0]))
    assert not averages(frame("snli", "m", [1, 0], keep=1), frame("mnli", "m", [1, 0], keep=2))


def test_a_part_without_any_item():
    found = averages(frame("snli", "m", [1, 0]), frame("mnli", "m", [], wrong=3))
    assert found["average", "m", "r_r@1"].value == 0.5
    assert found["average_plain", "m", "r_r@1"].value is None, "there is no mean of a mean that is not there"
    nothing = averages(frame("snli", "m", [], wrong=1), frame("mnli", "m", [], wrong=1))
    assert {s.value for s in nothing.values()} == {None}


FLIPS = st.lists(st.integers(0, 1), min_size=1, max_size=6)


@settings(deadline=None, max_examples=15)
@given(FLIPS, FLIPS, st.integers(0, 3))
def test_in_general(one, other, wrong):
    found = averages(frame("a", "m", one, wrong=wrong), frame("b", "m", other))
    assert found["average", "m", "r_r@1"].value == pytest.approx(np.mean(one + other))
    assert found["average_plain", "m", "r_r@1"].value == pytest.approx(np.mean([np.mean(one), np.mean(other)]))
    for score in found.values():
        assert score.counted + score.not_applicable + score.failed + score.not_asked == score.groups
