"""Totals of all units from some of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unwaver.stats.totals import Unit, spread_out, total


def test_without_a_value_nothing_can_be_told() -> None:
    assert total([Unit("a", 1.0), Unit("a", 2.0)]) is None


def test_nothing_is_left() -> None:
    found = total([Unit("a", 1.0, 3.0), Unit("a", 2.0, left=0.0)])
    assert found is not None
    assert (found.value, found.margin) == (0.0, 0.0)


def test_the_mean_counts_for_the_others() -> None:
    found = total([Unit("a", 1.0, 3.0), Unit("a", 1.0, 5.0), Unit("a", 1.0), Unit("a", 1.0, left=0.5)])
    assert found is not None
    assert found.value == pytest.approx(1.5 * 4.0)
    assert found.margin > found.error > 0


def test_one_value_has_no_margin() -> None:
    found = total([Unit("a", 1.0, 3.0), Unit("a", 1.0)])
    assert found is not None
    assert found.value == 3.0
    assert math.isinf(found.margin)


def test_the_size_is_made_use_of() -> None:
    known = [Unit("a", float(n), 2.0 * n + 1) for n in range(1, 9)]
    found = total([*known, Unit("a", 100.0), Unit("b", 50.0)])
    assert found is not None
    assert found.value == pytest.approx(201 + 101), "a stratum without values is like the others"
    assert found.error == pytest.approx(0.0, abs=1e-6)


def test_a_small_unit_does_not_cost_less_than_nothing() -> None:
    known = [Unit("a", 100.0 + n, 10.0 * n) for n in range(8)]
    found = total([*known, Unit("a", 1.0)])
    assert found is not None
    assert found.value == 0.0


def test_strata_have_means_of_their_own() -> None:
    known = [Unit("a", 1.0, 1.0)] * 4 + [Unit("b", 1.0, 9.0)] * 2
    found = total([*known, *[Unit("b", 1.0)] * 10])
    assert found is not None
    assert found.value == pytest.approx(90.0)


def test_intervals_hold_the_total() -> None:
    """About 95 in 100, in a world in which the values vary as lengths of answers do."""
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        sizes = np.exp(draw.normal(5, 0.6, 600))
        values = sizes / 4 + np.exp(draw.normal(4, 0.7, 600))
        chosen = set(list(spread_out(sizes.tolist(), float(draw.random())))[:60])
        units = [
            Unit("", s, v if i in chosen else None) for i, (s, v) in enumerate(zip(sizes, values, strict=True))
        ]
        found = total(units)
        assert found is not None
        truth = sum(v for i, v in enumerate(values) if i not in chosen)
        held += abs(found.value - truth) <= found.margin
    assert held >= 175


@pytest.mark.parametrize("start", [0.0, 0.31, 0.999])
def test_any_beginning_is_spread_over_the_sizes(start: float) -> None:
    sizes = [float((7 * n) % 100) for n in range(100)]
    order = list(spread_out(sizes, start))
    assert sorted(order) == list(range(100))
    for count in (10, 20, 50):
        places = sorted(sizes[i] for i in order[:count])
        gaps = [b - a for a, b in zip([0.0, *places], [*places, 100.0], strict=True)]
        assert max(gaps) <= 3 * 100 / count


def test_an_empty_list_has_no_order() -> None:
    assert list(spread_out([], 0.5)) == []
