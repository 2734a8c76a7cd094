"""Wording noise beside sampling noise: values by hand, odd cases, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from unwaver.stats import Floats
from unwaver.stats.wording_noise import gap, share

ONE = np.arange(1000)


def both(wordings: list[float], repeats: list[float]) -> Floats:
    return np.column_stack([wordings, repeats]).astype(np.float64)


def test_values_by_hand() -> None:
    table = both([0.5, 0.9, 0.7], [1.0, 0.8, 0.9])
    assert gap(table, ONE[:3], 0, 0.95).value == pytest.approx(-0.2)
    found = share(1 - table, ONE[:3], 0, 0.95)
    assert found.value == pytest.approx(0.6 / 0.9)
    assert (found.low, found.high, found.interval) == (None, None, None), "three units are too few"


def test_only_groups_with_both_count() -> None:
    table = both([0.5, np.nan, 0.7], [1.0, 0.1, np.nan])
    assert gap(table, ONE[:3], 0, 0.95).value == -0.5
    assert share(1 - table, ONE[:3], 0, 0.95).value == 1.0


def test_nothing_is_known() -> None:
    nothing = np.full((4, 2), np.nan)
    assert gap(nothing, ONE[:4], 0, 0.95).value is None
    assert share(nothing, ONE[:4], 0, 0.95).value is None
    assert share(np.empty((0, 2)), ONE[:0], 0, 0.95).value is None


@pytest.mark.parametrize("agreement", [1.0, 1.0 - 1e-8])  # single precision does not reach 1
def test_the_share_is_undefined_if_wordings_never_disagree(agreement: float) -> None:
    table = np.full((30, 2), agreement)
    assert share(1 - table, ONE[:30], 0, 0.95).value is None
    found = gap(table, ONE[:30], 0, 0.95)
    assert found.value == pytest.approx(0, abs=1e-9)
    assert found.low < 0 < found.high  # type: ignore[operator]


def test_a_negative_share_is_not_cut() -> None:
    table = both([0.8, 0.6] * 20, [0.4, 0.5] * 20)
    found = share(1 - table, ONE[:40], 0, 0.95)
    assert found.value == pytest.approx(-0.5 / 0.6)
    assert found.low < found.value < found.high < 0  # type: ignore[operator]


def test_a_share_of_one_has_the_exact_interval() -> None:
    table = both([0.5] * 20 + [1.0] * 80, [1.0] * 100)  # a deterministic model
    found = share(1 - table, ONE[:100], 0, 0.95)
    assert (found.value, found.high, found.clusters, found.interval) == (1.0, 1.0, 20, "exact")
    assert found.low == pytest.approx(0.025 ** (1 / 20))


def test_silent_units_do_not_narrow_the_share() -> None:
    loud = both([0.5, 0.2, 0.8, 0.3, 0.6, 0.4] * 2, [0.9, 0.7, 0.7, 0.9, 1.0, 0.5] * 2)
    silent = np.vstack([loud, np.ones((500, 2))])
    one, other = (share(1 - t, ONE[: len(t)], 0, 0.95) for t in (loud, silent))
    assert one == other


def test_clusters_are_drawn_together() -> None:
    rng = np.random.default_rng(0)
    table = rng.uniform(0, 1, (40, 2))
    twice = np.repeat(table, 2, axis=0)
    alone, clustered, naive = (
        gap(t, units, 0, 0.95)
        for t, units in ((table, ONE[:40]), (twice, np.repeat(ONE[:40], 2)), (twice, ONE[:80]))
    )
    assert clustered.value == pytest.approx(alone.value)
    assert clustered.clusters == 40
    assert clustered.high - clustered.low > 1.2 * (naive.high - naive.low)  # type: ignore[operator]


def test_groups_of_shared_items() -> None:
    rng = np.random.default_rng(0)
    units = np.column_stack([np.arange(40), (np.arange(40) + 1) % 40])
    table = rng.uniform(0, 1, (40, 2))
    for found in (gap(table, units, 0, 0.95), share(1 - table, units, 0, 0.95)):
        assert found.low < found.value < found.high  # type: ignore[operator]


def simulated(rng: np.random.Generator, groups: int, stable: float, wording: float) -> tuple[Floats, Floats]:
    """Answers of 4 wordings × 2 repeats, drawn from three; (what was measured, what is true of each group).

    A wording's answers are a mixture of those of its question and of its own; stable questions get one answer."""
    shape = (groups, 4, 3)
    p = (1 - wording) * rng.dirichlet([0.5] * 3, groups)[:, None] + wording * rng.dirichlet([0.5] * 3, shape[:2])
    p[rng.random(groups) < stable] = (1.0, 0.0, 0.0)
    said = (rng.random((groups, 4, 2, 1)) > np.cumsum(p, axis=2)[:, :, None]).sum(axis=3)
    same = said.reshape(groups, 8)[:, :, None] == said.reshape(groups, 8)[:, None, :]
    wording_of = np.arange(8) // 2
    other, again = wording_of[:, None] != wording_of, (wording_of[:, None] == wording_of) & ~np.eye(8, dtype=bool)
    squares = np.einsum("gwk,gwk->g", p, p)
    across = (np.einsum("gwk,gvk->g", p, p) - squares) / 12
    return np.column_stack([same[:, other].mean(axis=1), same[:, again].mean(axis=1)]), np.column_stack(
        [across, squares / 4]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "stable", "wording"), [(12, 0.0, 0.5), (40, 0.0, 0.0), (40, 0.7, 0.8), (120, 0.9, 0.5)]
)
def test_intervals_cover(groups: int, stable: float, wording: float) -> None:
    rng = np.random.default_rng(7)
    true = simulated(rng, 50_000, stable, wording)[1].mean(axis=0)
    true_gap, true_share = true[0] - true[1], (true[1] - true[0]) / (1 - true[0])
    held = {"gap": [], "share": []}  # type: ignore[var-annotated]
    for _ in range(60):
        table = simulated(rng, groups, stable, wording)[0]
        for name, value, found in (
            ("gap", true_gap, gap(table, ONE[:groups], 0, 0.95)),
            ("share", true_share, share(1 - table, ONE[:groups], 0, 0.95)),
        ):
            if found.low is not None and found.high is not None:
                held[name].append(found.low <= value <= found.high)
    assert len(held["gap"]) == 60
    assert len(held["share"]) >= 50
    # 95 % of 60 are 57; fewer than 51 has a probability below 0.001
    assert all(sum(hits) >= 0.85 * len(hits) for hits in held.values()), held
