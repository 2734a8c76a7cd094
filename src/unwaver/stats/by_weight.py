"""Intervals of a function of the weights of groups: what a sample stratified by confidence needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unwaver.stats import DRAWS, FEW, FEWEST, Estimate, Floats, Ints, Reduce, estimate_of, t_interval, value_of
from unwaver.stats.units import count_units, item_draws, stretched


def by_weight(
    function: Reduce, counted: NDArray[np.bool_], units: Ints, share: bool, seed: int, level: float
) -> Estimate:
    number = count_units(units)
    value = value_of(function, counted.astype(np.float64))
    if value is None or number < FEWEST:
        return Estimate(value, None, None, number, None)

    def of(weights: Floats) -> float:
        full = np.zeros(len(counted))
        full[counted] = weights
        return float(function(full))

    if number < FEW:
        items = units if units.ndim == 2 else units[:, None]
        codes = np.unique(items[items >= 0])
        without = np.array([of((items != code).all(axis=1).astype(np.float64)) for code in codes])
        return estimate_of(value, t_interval(value, without, False, level), number, "t", None, level)
    if units.ndim == 2:
        draws = np.array([of(row) for weights in item_draws(units, seed) for row in weights])
        return estimate_of(
            value, stretched(draws, value, number, share, level), number, "item bootstrap", None, level
        )
    unit = np.unique(units, return_inverse=True)[1]
    random = np.random.default_rng(seed)
    drawn = (np.bincount(random.integers(0, number, number), minlength=number)[unit] for _ in range(DRAWS))
    tail = (1 - level) / 2
    low, high = np.nanquantile([of(weights.astype(np.float64)) for weights in drawn], [tail, 1 - tail])
    return estimate_of(value, (float(low), float(high)), number, "bootstrap", None, level)
