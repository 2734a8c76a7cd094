"""Fooling rates of several sets and several models: pooled counts, and the mean of means, by hand."""

from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.answers.given import complete

E, N, C = "entailment", "neutral", "contradiction"


def frame(task, model, flips, keep=1, wrong=0, domain=None):
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
    if domain:
        table = table.with_columns(domain=pl.lit(domain))
    return complete(table)


def averages(*frames):
    found = unwaver.score(pl.concat(frames, how="diagonal"))
    return {(s.task, s.model, s.metric): s for s in found if "average" in s.task + s.model and s.given is None}


def test_over_sets():
    found = averages(frame("snli", "m", [1, 0, 0, 0], wrong=4), frame("mnli", "m", [1, 1]))
    pooled, plain = found["average", "m", "r_r@1"], found["average_plain", "m", "r_r@1"]
    assert pooled.value == pytest.approx(3 / 6)
    assert plain.value == pytest.approx((1 / 4 + 2 / 2) / 2)
    for score in (pooled, plain):
        assert (score.groups, score.counted, score.not_applicable) == (10, 6, 4)
        assert score.clusters == 6
    assert pooled.low <= pooled.value <= pooled.high
    assert plain.low is plain.high is plain.interval is None, "a set with fewer than five items has no interval"
    more = averages(frame("snli", "m", [1, 0, 0, 0, 1]), frame("mnli", "m", [1, 1, 0, 1, 0, 0]))
    enough = more["average_plain", "m", "r_r@1"]
    assert enough.low < enough.value < enough.high
    assert pooled.accuracy == pytest.approx(6 / 10)
    assert plain.accuracy == pytest.approx((4 / 8 + 2 / 2) / 2)
    published = found["average_published", "m", "r_r@1"]
    assert published.value == pytest.approx((8 * 1 / 4 + 2 * 2 / 2) / 10)
    tasks = ("average", "average_plain", "average_published")
    assert set(found) == {(t, "m", f"{r}@1") for t in tasks for r in ("r_r", "r_s")}


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
    every = ("average", "average_plain", "average_published")
    places = {(task, model) for task, model, _ in found}
    assert places == {
        *((task, model) for task in every for model in ("a", "b", "average")),
        *((task, model) for task in ("x", "y") for model in every[:2]),
    }
    assert found["average", "average", "r_r@1"].value == pytest.approx(2 / 5)
    assert found["average_plain", "average", "r_r@1"].value == pytest.approx((1 + 0 + 0 + 0.5) / 4)
    # x has one item, y has one for one model and two for the other: two
    assert found["average_published", "average", "r_r@1"].value == pytest.approx((1 * 0.5 + 2 * 0.25) / 3)


def test_a_model_without_one_of_the_sets():
    """Means of means would compare other sets."""
    parts = [frame("x", "a", [1, 0]), frame("y", "a", [0]), frame("x", "b", [0, 0])]
    found = averages(*parts)
    assert found["average", "average", "r_r@1"].value == pytest.approx(1 / 5)
    assert ("average_plain", "average", "r_r@1") not in found
    assert ("average_published", "average", "r_r@1") not in found


def test_one_alone_and_different_k_are_not_averaged():
    assert not averages(frame("snli", "m", [1, 0]))
    found = averages(frame("snli", "m", [1, 0], keep=1), frame("mnli", "m", [1, 0], keep=2))
    assert {metric for *_, metric in found} == {"r_r@1", "r_s@1"}, "above the smallest k a set has no rate"


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


# --- domains, classes, and both against plain Python -----------------------------------------------------------


def test_in_and_out_of_domain():
    parts = [
        frame("mnli", "m", [1, 0, 0, 0], domain="in"),
        frame("snli", "m", [1, 0], wrong=2, domain="out"),
        frame("anli-r1", "m", [1], domain="out"),
    ]
    found = averages(*parts)
    assert found["average_in", "m", "r_r@1"].value == found["average_in_published", "m", "r_r@1"].value == 0.25
    out, published = found["average_out", "m", "r_r@1"], found["average_out_published", "m", "r_r@1"]
    assert (out.value, out.counted, out.answered_wrong) == (pytest.approx(2 / 3), 3, 2)
    assert published.value == pytest.approx((4 * 1 / 2 + 1 * 1) / 5)
    assert not any(model == "average" for _, model, _ in found), "one model alone has no average over models"


def test_a_set_without_domain_is_in_neither():
    parts = [
        frame("mnli", "m", [1, 0], domain="in"),
        frame("snli", "m", [1, 1]),
    ]
    found = averages(*parts)
    assert found["average", "m", "r_r@1"].value == 0.75
    assert found["average_in", "m", "r_r@1"].value == 0.5
    assert ("average_out", "m", "r_r@1") not in found


def test_models_that_answered_other_items_share_clusters_by_name():
    """Two items in common, in another order: five distinct items, not six."""
    one = frame("x", "a", [1, 0, 1])
    other = frame("x", "b", [0, 1, 0, 0]).filter(pl.col("group") != "x/0").reverse()
    score = averages(one, other)["x", "average", "r_r@1"]
    assert (score.counted, score.clusters) == (6, 4)


# printed in Table 2 of Arakelyan et al. (2024): relaxed fooling rates by set and model, and the sizes of the sets
TABLE_2 = {
    "snli": (10_000, [15.52, 14.98, 23.68, 17.01, 13.39, 14.69]),
    "anli-r1": (1_000, [42.89, 35.01, 52.30, 48.99, 37.88, 30.73]),
    "anli-r2": (1_000, [51.91, 42.80, 57.49, 48.47, 44.04, 46.46]),
    "anli-r3": (1_200, [51.39, 45.00, 52.42, 53.17, 44.65, 42.37]),
}


def test_the_published_average_out_of_domain():
    """23.7 % by the weights that `average_published` has: sizes of sets, plain over models."""
    from types import SimpleNamespace

    from unwaver.metrics.fooling_averages import PUBLISHED, _reduce

    blocks = [SimpleNamespace(task=task, groups=size) for task, (size, rates) in TABLE_2.items() for _ in rates]
    rates = np.array([rate for _, rates in TABLE_2.values() for rate in rates])
    sums = np.column_stack([rates, np.ones(len(rates))]).ravel()
    value = _reduce(blocks, PUBLISHED)(np.append(sums, 1.0))
    assert round(float(value), 1) == 23.7


def random_table(seed):
    """Two models, three sets, classes and variants at random; plain rows."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in ("mnli", "snli", "anli-r1"):
        for n in range(int(rng.integers(2, 6))):
            gold = [E, N, C][rng.integers(3)]
            for model in ("a", "b"):
                said = gold if rng.random() < 0.8 else N if gold != N else E
                variants = [
                    [E, N, C][rng.integers(3)] if rng.random() < 0.4 else said for _ in range(rng.integers(4))
                ]
                rows.append((task, model, f"{task}/{n}", gold, said, variants))
    return rows


def as_frame(rows):
    table = [
        {
            "task": task,
            "model": model,
            "group": group,
            "gold": gold,
            "label": label,
            "role": "variant" if m else "original",
        }
        for task, model, group, gold, said, variants in rows
        for m, label in enumerate([said, *variants])
    ]
    domain = pl.when(pl.col("task") == "mnli").then(pl.lit("in")).otherwise(pl.lit("out"))
    extra = {"kind": pl.lit("fooling"), "suite": pl.lit("s"), "keep": pl.lit(3), "domain": domain}
    return complete(pl.DataFrame(table).with_columns(**extra))


def plain_average(rows, k, strict, given, tasks, models, weighting):
    """By the definitions, item by item: (value, number of items)."""
    opposite = {E: C, C: E}
    rates = {}
    for task, model, _, gold, said, variants in rows:
        rates.setdefault((task, model), [])
        if said != gold or len(variants) < k or given not in (None, gold):
            continue
        changed = [v != said and (not strict or v == opposite.get(said, v)) for v in variants]
        f, m = sum(changed), len(variants)
        rates[task, model].append(1 - comb(m - f, k) / comb(m, k))
    cells = {cell: values for cell, values in rates.items() if cell[0] in tasks and cell[1] in models}
    n = sum(map(len, cells.values()))
    if weighting == "weighted":
        return (sum(map(sum, cells.values())) / n if n else None), n
    if not all(cells.values()):
        return None, n
    means = {cell: sum(values) / len(values) for cell, values in cells.items()}
    if weighting == "plain":
        return sum(means.values()) / len(means), n
    sizes = {task: len({row[2] for row in rows if row[0] == task}) for task in tasks}
    of_set = {task: sum(means[task, model] for model in models) / len(models) for task in tasks}
    return sum(sizes[task] * of_set[task] for task in tasks) / sum(sizes.values()), n


ALL, OUT = ("mnli", "snli", "anli-r1"), ("snli", "anli-r1")
PLACES = {
    "average": (ALL, "weighted"), "average_plain": (ALL, "plain"), "average_published": (ALL, "published"),
    "average_in": (("mnli",), "weighted"), "average_in_published": (("mnli",), "published"),
    "average_out": (OUT, "weighted"), "average_out_published": (OUT, "published"),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_against_plain_python(seed):
    rows = random_table(seed)
    found = [s for s in unwaver.score(as_frame(rows)) if "average" in s.task + s.model]
    seen = set()
    for s in found:
        name, _, k = s.metric.partition("@")
        if s.task in PLACES:
            tasks, weighting = PLACES[s.task]
        else:
            tasks, weighting = (s.task,), {"average": "weighted", "average_plain": "plain"}[s.model]
        models = ("a", "b") if s.model.startswith("average") else (s.model,)
        value, n = plain_average(rows, int(k), name == "r_s", s.given, tasks, models, weighting)
        assert s.counted == n, s
        assert s.value is None if value is None else s.value == pytest.approx(value), s
        seen.add((s.task, s.model, s.given))
    known = {row[3] for row in rows if row[3] == row[4] and row[0] != "mnli"} | {None}
    assert {("average_out", "average", label) for label in known} <= seen


def test_groups_named_by_numbers():
    table = frame("x", "a", [1, 0]).with_columns(group=pl.col("group").str.slice(2).cast(pl.Int64)).drop("cluster")
    other = table.with_columns(model=pl.lit("b"))
    found = unwaver.score(pl.concat([table, other]).with_columns(cluster=pl.col("group")))
    assert {s.clusters for s in found if s.model == "average" and s.metric == "r_r@1"} == {2}
