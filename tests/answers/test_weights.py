"""Weights from a test set: the rule against plain Python, the order of labels, and who gets none."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.answers.given import complete
from unwaver.answers.weights import label_order, right_probability, weighted

LABELS = ("no", "yes", "maybe")


def answer(random_: random.Random, labels: tuple[str, ...], **more: Any) -> dict[str, Any]:
    probs = [random_.random() + 1e-3 for _ in labels]
    total = sum(probs)
    probs = [p / total for p in probs]
    gold = random_.choice(labels)
    return {"kind": "bucket", "label": labels[probs.index(max(probs))], "gold": gold, "probs": probs, **more}


def made_up(seed: int, groups: int, tests: int, labels: tuple[str, ...] = LABELS) -> list[dict[str, Any]]:
    random_ = random.Random(seed)
    rows = []
    for n in range(groups):
        original = answer(random_, labels, group=f"g{n}", role="original")
        rows.append(original)
        for _ in range(random_.randint(2, 6)):
            variant = answer(random_, labels, group=f"g{n}", role="variant")
            rows.append({**variant, "gold": original["gold"]})
    return rows + [answer(random_, labels, group=f"t{n}", role="test") for n in range(tests)]


def plain(rows: list[dict[str, Any]], labels: tuple[str, ...]) -> dict[str, float]:
    """A~, P~_C and the published sums, in plain Python."""
    confidence = lambda r: r["probs"][labels.index(r["gold"])]  # noqa: E731
    place = lambda r: min(9, int(10 * confidence(r)))  # noqa: E731
    tests = [r for r in rows if r["role"] == "test"]
    originals = {r["group"]: r for r in rows if r["role"] == "original"}
    in_bin = Counter(place(r) for r in originals.values())
    of_test = Counter(place(r) for r in tests)
    mass = accuracy = consistency = 0.0
    for name, original in originals.items():
        right = [r["label"] == r["gold"] for r in rows if r["group"] == name and r["role"] == "variant"]
        theta = sum(right) / len(right)
        weight = of_test[place(original)] / len(tests) / in_bin[place(original)]
        mass += weight
        accuracy += weight * theta
        consistency += weight * (theta**2 + (1 - theta) ** 2)
    right_tests = sum(r["label"] == r["gold"] for r in tests) / len(tests)
    return {
        "A_corrected": accuracy / mass, "P_C_corrected": consistency / mass, "weight_mass": mass,
        "A_corrected_published": accuracy, "P_C_corrected_published": consistency, "A_test": right_tests,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_corrected_values_of_300_random_groups_are_those_of_plain_python(seed: int) -> None:
    rows = made_up(seed, groups=300, tests=400)
    result = unwaver.score(rows)
    for metric, value in plain(rows, LABELS).items():
        assert result.find(metric).value == pytest.approx(value, rel=1e-12), metric


def test_bins_without_a_bucket_lose_their_mass() -> None:
    rows = made_up(5, groups=4, tests=200)
    result = unwaver.score(rows)
    expected = plain(rows, LABELS)
    assert expected["weight_mass"] < 1
    assert result.find("weight_mass").value == pytest.approx(expected["weight_mass"], rel=1e-12)
    assert result.find("P_C_corrected").value == pytest.approx(expected["P_C_corrected"], rel=1e-12)


def test_weights_that_a_table_says_are_kept() -> None:
    rows = [{**row, "weight": 0.5} for row in made_up(1, groups=6, tests=20)]
    assert unwaver.score(rows).find("weight_mass").value == pytest.approx(3.0)


def test_without_probabilities_accuracy_alone_is_there_and_it_is_said() -> None:
    rows = [{**row, "probs": None} for row in made_up(1, groups=6, tests=20)]
    result = unwaver.score(rows)
    assert result.find("A_test").value is not None
    assert not [s for s in result if s.metric == "P_C_corrected"]


def test_each_model_is_weighted_by_its_own_test_set() -> None:
    first, second = made_up(1, 40, 60), made_up(2, 40, 80)
    rows = [{**r, "model": "a"} for r in first] + [{**r, "model": "b"} for r in second]
    scores = {(s.model, s.metric): s.value for s in unwaver.score(rows)}
    for model, own in (("a", first), ("b", second)):
        assert scores[model, "P_C_corrected"] == pytest.approx(plain(own, LABELS)["P_C_corrected"], rel=1e-12)


def test_an_original_without_an_answer_leaves_its_bucket_out() -> None:
    rows = made_up(3, 30, 50)
    for row in rows:
        if row["group"] == "g0" and row["role"] == "original":
            row.update(label=None, probs=None)
    kept = [row for row in rows if row["group"] != "g0"]
    found, expected = unwaver.score(rows).find("P_C_corrected"), unwaver.score(kept).find("P_C_corrected")
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.counted == 29


@pytest.mark.parametrize(
    ("probs", "gold", "expected"),
    [([0.2, 0.8], ["yes"], 0.8), ([0.2, 0.8], ["no", "yes"], 1.0), ([0.2], ["yes"], None), (None, ["yes"], None)],
)
def test_the_probability_of_the_right_answer(
    probs: list[float] | None, gold: list[str], expected: float | None
) -> None:
    assert right_probability(probs, ["no", "yes"], gold) == expected


def table(rows: list[dict[str, Any]], **more: str) -> pl.DataFrame:
    return complete([{"group": "g", "kind": "bucket", "role": "variant", **row, **more} for row in rows])


def test_the_order_of_labels() -> None:
    seen = [{"label": "b", "probs": [0.9, 0.1]}, {"label": "a", "probs": [0.2, 0.8]}]
    assert label_order(table(seen)) == ["b", "a"]
    one = [{"label": "b", "gold": "a", "probs": [0.9, 0.1]}]
    assert label_order(table(one)) == ["b", "a"]  # the other place is the other label
    assert label_order(table([{"label": "b", "gold": "b", "probs": [0.9, 0.1]}])) is None
    known = [{"label": "weakener", "gold": "weakener", "probs": [0.9, 0.1]}]
    assert label_order(table(known, task="delta-snli")) == ["weakener", "strengthener"]
    assert label_order(table(known, suite="paranlu", task="snli")) == ["weakener", "strengthener"]
    ragged = [{"label": "b", "probs": [0.9, 0.1]}, {"label": "a", "probs": [0.2, 0.7, 0.1]}]
    assert label_order(table(ragged)) is None


def test_a_table_without_test_rows_stays_as_it_is() -> None:
    frame = table([{"label": "b", "probs": [0.9, 0.1]}])
    assert weighted(frame) is frame
