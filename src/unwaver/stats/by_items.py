"""The interval of groups that share original items in chains: items are resampled (see unwaver.stats.units)."""

from __future__ import annotations

import numpy as np

from unwaver.stats import FEW, FEWEST, Estimate, Reduce, binomial, estimate_of, t_interval, value_of
from unwaver.stats.units import (
    Floats,
    Ints,
    count_units,
    disjoint_groups,
    item_draws,
    stretched,
    without_each_item,
)


def by_items(rows: Floats, units: Ints, reduce: Reduce, share: bool, seed: int, level: float) -> Estimate:
    """The reduced value with an interval that gives each group the product of its items' weights."""
    items, apart = count_units(units), disjoint_groups(units)
    value = value_of(reduce, rows.sum(axis=0))
    if value is None:
        return Estimate(None, None, None, items, None)
    if share and (value <= 0.0 or value >= 1.0):
        return Estimate(value, *binomial(apart if value >= 1.0 else 0, apart, level), items, "exact")
    if items < FEWEST:
        return Estimate(value, None, None, items, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        if items < FEW:
            ends, name = t_interval(value, reduce(without_each_item(rows, units)), share, level), "t"
        else:
            draws = np.concatenate([reduce(weights @ rows) for weights in item_draws(units, seed)])
            ends, name = stretched(draws, value, items, share, level), "item bootstrap"
    return estimate_of(value, ends, items, name, apart if share else None, level)
