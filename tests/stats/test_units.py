"""Groups made of shared items: which unit is resampled, which interval is given, and that intervals hold."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import unwaver
from unwaver.errors import UsageError
from unwaver.files import Where
from unwaver.groups import group_to_json
from unwaver.groups.clusters import share_items, with_clusters
from unwaver.groups.from_json import group_from_json
from unwaver.stats import binomial, estimate
from unwaver.stats.paired import difference
from unwaver.stats.units import components, count_units, disjoint_groups, item_draws, merged
from unwaver.types import Group, Item


def test_items_that_are_always_together_are_one_unit() -> None:
    assert merged(np.array([[0, 1], [2, 3], [4, 5]])).tolist() in (
        [0, 1, 2],
        [2, 1, 0],
        [1, 0, 2],
        [0, 2, 1],
        [1, 2, 0],
        [2, 0, 1],
    )
    assert merged(np.array([[0, 1], [0, 1], [2, 3]])).ndim == 1
    assert merged(np.array([[0, 1], [1, 2]])).shape == (2, 2)
    assert merged(np.array([[7, 7], [8, -1]])).ndim == 1
    assert merged(np.array([4, 4, 9])).tolist() == [4, 4, 9]


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=3), min_size=1, max_size=12))
def test_merging_keeps_who_hangs_together(groups: list[list[int]]) -> None:
    table = np.array([[*g, *[-1] * (3 - len(g))] for g in groups])
    found = merged(table)
    if found.ndim == 2:
        assert len(set(components(found).tolist())) == len(set(components(table).tolist()))
    else:
        assert len(set(found.tolist())) == len(set(components(table).tolist()))


def test_weights_of_a_group_are_the_product_of_its_items() -> None:
    units = np.array([[0, 1], [1, 2], [0, 2], [3, -1]])
    weights = np.concatenate(list(item_draws(units, 1)))
    product = weights[:, 0] * weights[:, 1] * weights[:, 2]  # every item twice
    assert weights.shape == (2000, 4)
    assert np.sqrt(product) == pytest.approx(weights[:, 0] * weights[:, 1] / _item(weights, 1))
    assert weights[:, 3].mean() == pytest.approx(1, rel=0.1)


def _item(weights: np.ndarray, item: int) -> np.ndarray:
    assert item == 1  # w0·w1, w1·w2, w0·w2 -> w1
    return np.sqrt(weights[:, 0] * weights[:, 1] / weights[:, 2])


# --- which interval ------------------------------------------------------------------------------------------


def clusters(units: int, size: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    share = np.repeat(random.beta(2, 2, units), size)
    return (random.random(units * size) < share).astype(float), np.repeat(np.arange(units), size)


@pytest.mark.parametrize(("units", "expected"), [(2, None), (4, None), (5, "t"), (29, "t"), (30, "bootstrap")])
def test_the_interval_of_clusters_follows_their_number(units: int, expected: str | None) -> None:
    found = estimate(*clusters(units, 7))
    assert (found.interval, found.clusters) == (expected, units)
    assert (found.low is None) == (expected is None)


def test_single_groups_need_ten_for_a_bootstrap() -> None:
    values = np.random.default_rng(0).random(12)
    assert estimate(values[:4], np.arange(4)).interval is None
    assert estimate(values[:9], np.arange(9)).interval == "t"
    assert estimate(values, np.arange(12)).interval == "bootstrap"
    assert estimate(np.array([1.0, 0.0]), np.arange(2)).interval == "exact"


def test_of_another_number_it_is_the_t_interval_of_the_units_means() -> None:
    values, units = clusters(7, 6)
    means = values.reshape(7, 6).mean(axis=1)
    found = estimate(values, units, share=False)
    theirs = scipy_stats.t.interval(0.95, 6, means.mean(), scipy_stats.sem(means))
    assert (found.low, found.high) == pytest.approx(theirs)


def test_equal_clusters_are_no_certainty() -> None:
    """A constant answer to three hypotheses of each premise: 1/3 in every cluster."""
    for units, name in ((6, "t"), (40, "bootstrap")):
        found = estimate(np.tile([1.0, 0.0, 0.0], units), np.repeat(np.arange(units), 3))
        assert (found.value, found.interval) == (pytest.approx(1 / 3), name)
        assert (found.low, found.high) == pytest.approx(binomial(units / 3, units))
    assert estimate(np.tile([1.0, 0.0, 0.0], 3), np.repeat(np.arange(3), 3)).low is None


def test_items_are_counted_and_at_the_end_of_the_scale_pairs_of_them() -> None:
    units = np.array(list(combinations(range(12), 2)))
    half = np.arange(len(units)) % 2 == 0
    assert estimate(half.astype(float), units).interval == "item bootstrap"
    assert estimate(half.astype(float), units).clusters == 12
    none = estimate(np.zeros(len(units)), units)
    assert (none.low, none.high) == binomial(0, 6)
    assert (none.interval, disjoint_groups(units)) == ("exact", 6)
    few = np.array(list(combinations(range(6), 2)))
    assert estimate((np.arange(15) % 2).astype(float), few).interval == "t"
    assert estimate((np.arange(6) % 2).astype(float), np.array(list(combinations(range(4), 2)))).low is None


def test_disjoint_pairs_are_exact_as_before() -> None:
    values = (np.arange(50) % 3 == 0).astype(float)
    pairs = np.arange(100).reshape(50, 2)
    assert estimate(values, pairs) == estimate(values, np.arange(50))


def test_only_groups_that_apply_share_items() -> None:
    """What is left when a chain loses every second group has nothing in common."""
    chain = np.array([(i, i + 1) for i in range(40)])
    values = np.where(np.arange(40) % 2, np.nan, (np.arange(40) % 4 == 0).astype(float))
    assert estimate(values, chain).interval == "exact"
    assert estimate(np.nan_to_num(values), chain).interval == "item bootstrap"


def test_values_that_are_no_function_of_sums() -> None:
    values = np.random.default_rng(0).random(40)

    def median(weights: np.ndarray) -> Any:
        return np.asarray(np.quantile(np.repeat(values, np.round(weights * 4).astype(int)), 0.5))

    for units, name in (
        (np.arange(40) % 3, None),
        (np.arange(40) % 7, "t"),
        (np.arange(40) % 20, "bootstrap"),
        (np.array([(i, i + 1) for i in range(40)]), "item bootstrap"),
    ):
        found = estimate(values, units, by_weight=median, share=False)
        assert (found.interval, found.low is None) == (name, name is None)


# --- do intervals hold? The long form is torture/intervals.py ------------------------------------------------------


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_intervals_of_pairs_hold(effect: float) -> None:
    """All pairs of 40 items with two labels: at least 93.5 %, less what 150 runs may miss by chance."""
    units = np.array([p for half in (range(20), range(20, 40)) for p in combinations(half, 2)])
    random = np.random.default_rng(1)
    held = []
    for _ in range(150):
        own = random.normal(0, effect, 40)
        chance = 1 / (1 + np.exp(-(own[units[:, 0]] + own[units[:, 1]])))
        found = estimate((random.random(len(units)) < chance).astype(float), units)
        held.append(found.low <= 0.5 <= found.high)  # type: ignore[operator]
    assert np.mean(held) >= 0.88


# --- differences ------------------------------------------------------------------------------------------------


def test_a_difference_can_be_seen_although_all_groups_hang_together() -> None:
    """A sign flip over one component has p = 1 at best."""
    units = np.array(list(combinations(range(30), 2)))
    random = np.random.default_rng(0)
    before = (random.random(len(units)) < 0.2).astype(float)
    after = np.maximum(before, random.random(len(units)) < 0.3).astype(float)
    found = difference(before, after, units)
    assert found is not None
    assert (found.test, found.interval, found.clusters) == ("item bootstrap", "item bootstrap", 30)
    assert found.p < 1e-4
    assert found.low > 0  # type: ignore[operator]
    assert found.low < found.difference < found.high  # type: ignore[operator]
    same = difference(before, before, units)
    assert same is not None
    assert (same.p, same.low, same.high) == (1.0, -binomial(0, 15)[1], binomial(0, 15)[1])


@pytest.mark.parametrize(("items", "p"), [(12, 2 * 0.5**6), (7, 2 * 0.5**3)])
def test_where_every_group_changes_alike_there_is_a_difference(items: int, p: float) -> None:
    """Draws have no spread then, which is no reason to see nothing."""
    units = np.array(list(combinations(range(items), 2)))
    found = difference(np.zeros(len(units)), np.ones(len(units)), units)
    assert found is not None
    assert (found.difference, found.p) == (1.0, pytest.approx(p))
    assert found.low < 1.0 == found.high  # type: ignore[operator]


@pytest.mark.parametrize("items", [8, 12, 20])
@pytest.mark.parametrize("turned", [False, True])
def test_a_difference_of_shares_stays_one(items: int, turned: bool) -> None:
    """Nearly every group changes; the two runs may be given in either order."""
    units = np.array(list(combinations(range(items), 2)))
    before, after = np.zeros(len(units)), np.ones(len(units))
    before[0], after[-1], after[len(after) // 2] = 1.0, 0.0, 0.0
    found = difference(*((after, before) if turned else (before, after)), units)
    assert found is not None
    assert -1 <= found.low < found.difference < found.high <= 1  # type: ignore[operator]
    other = difference(*((before, after) if turned else (after, before)), units)
    assert other is not None
    assert (other.low, other.high, other.p) == pytest.approx((-found.high, -found.low, found.p))  # type: ignore[operator]


@pytest.mark.parametrize(("items", "least"), [(8, 2 * 0.5**4), (12, 2 * 0.5**6), (20, 2 * 0.5**10)])
def test_no_p_is_below_that_of_a_sign_test_on_groups_without_a_common_item(items: int, least: float) -> None:
    """All groups but one change alike, so that the spread is nearly nothing."""
    units = np.array(list(combinations(range(items), 2)))
    after = np.ones(len(units))
    after[0] = 0.0
    found = difference(np.zeros(len(units)), after, units)
    assert found is not None
    assert found.p == pytest.approx(least)


@pytest.mark.parametrize("share", [True, False])
def test_of_another_number_the_interval_of_a_difference_is_plain(share: bool) -> None:
    units = np.array(list(combinations(range(12), 2)))
    random = np.random.default_rng(0)
    before, after = random.random((2, len(units)))
    found = difference(before, after, units, share=share)
    assert found is not None
    middle = (found.low + found.high) / 2  # type: ignore[operator]
    assert (abs(middle - found.difference) < 1e-12) is not share


@pytest.mark.parametrize("levels", [(3.0, -3.0), (-9.0, -2.0)])
def test_intervals_of_differences_hold_where_items_matter(levels: tuple[float, float]) -> None:
    """All pairs of 12 items. The symmetric interval covered 88 and 90 %; the long form is torture/intervals.py."""
    units = np.array(list(combinations(range(12), 2)))
    random = np.random.default_rng(2)
    truth = np.subtract(*(logistic_normal(level) for level in reversed(levels)))
    held = []
    for _ in range(120):
        chances = (1 / (1 + np.exp(-(level + random.normal(0, 2, 12)[units].sum(axis=1)))) for level in levels)
        if levels[0] == -9.0:
            chances = (np.zeros(len(units)), list(chances)[1])  # type: ignore[assignment]
        first, second = ((random.random(len(units)) < chance).astype(float) for chance in chances)
        found = difference(first, second, units)
        assert found is not None
        held.append(found.low <= truth <= found.high)  # type: ignore[operator]
    assert np.mean(held) >= 0.93


def logistic_normal(level: float) -> float:
    """The mean of such a share over all items; 0 for the level −9, which stands for never."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return (
        0.0
        if level == -9.0
        else float(weights @ (1 / (1 + np.exp(-(level + np.sqrt(8) * nodes)))) / weights.sum())
    )


def test_differences_of_few_units() -> None:
    random = np.random.default_rng(0)
    for items, test, interval in ((4, "permutation", None), (8, "t", "t")):
        units = np.array(list(combinations(range(items), 2)))
        a, b = ((random.random(len(units)) < p).astype(float) for p in (0.2, 0.8))
        found = difference(a, b, units)
        assert found is not None
        assert (found.test, found.interval) == (test, interval)
    a, b = clusters(4, 6)[0], clusters(4, 6, seed=1)[0]
    found = difference(a, b, clusters(4, 6)[1])
    assert found is not None
    assert (found.test, found.interval) == ("permutation", None)


def test_under_no_difference_small_p_values_are_rare() -> None:
    units = np.array(list(combinations(range(20), 2)))
    random = np.random.default_rng(2)
    p = []
    for _ in range(150):
        own = random.normal(0, 1, 20)
        chance = 1 / (1 + np.exp(-(own[units[:, 0]] + own[units[:, 1]])))
        a, b = ((random.random(len(units)) < chance).astype(float) for _ in range(2))
        found = difference(a, b, units)
        assert found is not None
        p.append(found.p)
    assert np.mean(np.array(p) < 0.05) <= 0.09


# --- where units come from ---------------------------------------------------------------------------------------


def implied(id: str, *texts: str, cluster: str = "") -> Group:
    items = [
        Item(f"{id}/{n}", "own", "original", {"text": text}, ("a", "b"), ("a",)) for n, text in enumerate(texts)
    ]
    last = Item(f"{id}/c", "own", "conclusion", {"text": " ".join(texts)}, ("a", "b"), ("a",))
    return Group(id, "own", "own", "additive", "implied", (*items, last), cluster=cluster)


def test_units_are_the_originals_by_their_text() -> None:
    groups = with_clusters([implied("1", "x", "y"), implied("2", "y", "z"), implied("3", "u", "v")])
    assert [g.units for g in groups] == [("1/0", "1/1"), ("1/1", "2/1"), ("3/0", "3/1")]
    assert [g.cluster for g in groups] == ["1", "1", "3"]
    again = [group_from_json(group_to_json(g), Where("x", 1)) for g in groups]
    assert again == groups
    assert share_items(groups)
    assert not share_items(groups[1:])
    one = with_clusters([Group("1", "s", "t", "semantic", "same", implied("1", "x").items[:1])])
    assert one[0].units == ()


def rows_of(pairs: list[tuple[int, int]], **more: Any) -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    rows = []
    for a, b in pairs:
        base = {"group": f"{a}-{b}", "kind": "additive", "gold": "x", **more}
        rows += [{**base, "role": "original", "item": f"i{i}", "label": "x"} for i in (a, b)]
        rows.append({**base, "role": "conclusion", "item": f"{a}-{b}", "label": "xy"[random.integers(2)]})
    return rows


def test_a_table_names_its_items_unless_it_names_clusters() -> None:
    pairs = list(combinations(range(15), 2))
    by_items = unwaver.score(rows_of(pairs)).find("tau")
    assert (by_items.interval, by_items.clusters) == ("item bootstrap", 15)
    given = unwaver.score(rows_of(pairs, cluster="one")).find("tau")
    assert (given.interval, given.low, given.clusters) == (None, None, 1)
    without = [{k: v for k, v in row.items() if k != "item"} for row in rows_of(pairs)]
    assert unwaver.score(without).find("tau").interval == "exact"
    strange = unwaver.score([{**row, "units": "kg"} for row in without])
    assert strange.find("tau").interval == "exact"


def test_a_run_keeps_its_units(tmp_path: Any) -> None:
    groups = [implied(f"{a}-{b}", f"text {a}", f"text {b}") for a, b in combinations(range(12), 2)]
    file = tmp_path / "groups.jsonl"
    import json

    file.write_text("".join(json.dumps(group_to_json(g)) + "\n" for g in groups))
    result = unwaver.run(str(file), "fake/random", out=str(tmp_path / "run"))
    found = result.find("accuracy")
    assert (found.interval, found.clusters) == ("item bootstrap", 12)
    assert unwaver.score(tmp_path / "run").find("accuracy") == found
    with pytest.raises(UsageError, match="share original items"):
        unwaver.run(str(file), "fake/random", out=str(tmp_path / "until"), until="tau<=0.1")
    assert count_units(np.array([[0, 1], [1, -1]])) == 2
