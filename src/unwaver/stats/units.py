"""What groups are made of: the independent units that an interval resamples.

    one-dimensional   [0, 0, 1]             the cluster of each group
    two-dimensional   [[0, 1], [1, 2]]      the original items of each group, -1 if it has fewer

A group of BECEL's additive and transitive sets is made of two originals, and each original is in many groups. All
then hang together, and resampling the one cluster they make would show no spread at all. Instead each item gets a
random weight and a group the product of its items' weights (Owen and Eckles 2012). That is conservative: where
items have no effect of their own, intervals are about 1.4 times as wide as need be.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS, FEWEST_DRAWS = 2000, 400
MOST_PRODUCTS = 40_000_000  # draws × groups; beyond, there are fewer draws
CHUNK = 2_000_000  # products at a time
# Weights are Gamma(8, 1/8): never 0, so that every draw has a value. Their variance is 1/8, so deviations are
# stretched by √8 to make an item count as one drawn with replacement. A variance of 1 would count the noise of a
# group itself three times and cover 99.9 % without item effects; this counts it twice and an eighth.
SHAPE = 8.0


def merged(units: Ints) -> Ints:
    """Items that are always in a group together are one unit; one-dimensional where every group then has one.

    [[0, 1], [2, 3]] -> [0, 1]; [[0, 1], [1, 2]] stays, with other numbers.
    """
    if units.ndim == 1:
        return units
    units = _distinct(units)
    real = units >= 0
    codes, place = np.unique(units[real], return_inverse=True)
    # the sum of random tags of its groups tells an item by the groups that it is in
    tags = np.random.default_rng(0).integers(0, 2**63, len(units), dtype=np.uint64)
    signs = np.zeros(len(codes), dtype=np.uint64)
    np.add.at(signs, place, np.broadcast_to(tags[:, None], units.shape)[real])
    unit = np.unique(signs, return_inverse=True)[1]
    found = np.full(units.shape, -1, dtype=np.int64)
    found[real] = unit[place]
    found = _distinct(found)
    return found[:, 0] if len(found.T) == 1 else found


def _distinct(units: Ints) -> Ints:
    """Each row without repeats, -1 last; no column of -1 only, but for the first."""
    units = np.sort(units, axis=1)[:, ::-1].copy()
    units[:, 1:][units[:, 1:] == units[:, :-1]] = -1
    units = np.sort(units, axis=1)[:, ::-1]
    width = max(1, int((units >= 0).sum(axis=1).max()))
    return np.ascontiguousarray(units[:, :width])


def count_units(units: Ints) -> int:
    return len(np.unique(units[units >= 0]))


def disjoint_groups(units: Ints) -> int:
    """As many groups without a common item could be made of the items: 40 items in pairs -> 20."""
    return max(1, count_units(units) // len(units.T))


def components(units: Ints) -> Ints:
    """The number of the connected component of each group: [[0, 1], [1, 2], [3, 4]] -> [0, 0, 1]."""
    real = units >= 0
    group = np.broadcast_to(np.arange(len(units))[:, None], units.shape)[real]
    codes, place = np.unique(units[real], return_inverse=True)
    found = connected(group, len(units) + place, len(units) + len(codes))[: len(units)]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def connected(one: Ints, other: Ints, size: int) -> Ints:
    """For each of `size` nodes the least node that it is connected with: connected([0], [2], 3) -> [0, 1, 0]."""
    found = np.arange(size)
    while True:
        least = np.minimum(found[one], found[other])
        before = found.copy()
        np.minimum.at(found, found[one], least)
        np.minimum.at(found, found[other], least)
        found = found[found]
        if np.array_equal(found, before):
            return found


def item_draws(units: Ints, seed: int) -> Iterator[Floats]:
    """Weights of the groups, one row a draw, some draws at a time."""
    codes, place = np.unique(units, return_inverse=True)
    place = place.reshape(units.shape)
    padding = int(codes[0]) == -1  # weighs 1
    draws = int(np.clip(MOST_PRODUCTS // len(units), FEWEST_DRAWS, DRAWS))
    at_once = max(1, CHUNK // len(units))
    random = np.random.default_rng(seed)
    for start in range(0, draws, at_once):
        weights = random.gamma(SHAPE, 1 / SHAPE, (min(at_once, draws - start), len(codes)))
        if padding:
            weights[:, 0] = 1.0
        products = weights[:, place[:, 0]]
        for column in place.T[1:]:
            products *= weights[:, column]
        yield products


def stretched(draws: Floats, value: float, items: int, share: bool, level: float) -> tuple[float, float]:
    """The interval from draws by items. A share is stretched on the log-odds scale, so that it stays one."""
    from scipy.special import expit, logit

    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return np.nan, np.nan
    factor = stretch(items, level)
    tails = (1 - level) / 2, (1 + level) / 2
    if not share:
        low, high = np.quantile(draws, tails)
        return float(value + factor * (low - value)), float(value + factor * (high - value))
    low, high = logit(np.quantile(np.clip(draws, 1e-12, 1 - 1e-12), tails))
    centre = float(logit(value))
    return float(expit(centre + factor * (low - centre))), float(expit(centre + factor * (high - centre)))


def stretch(items: int, level: float) -> float:
    """By how much deviations of draws are too small: for the variance of the weights, and for few items."""
    from scipy.special import ndtri, stdtrit

    end = (1 + level) / 2
    return float(np.sqrt(SHAPE * items / (items - 1)) * stdtrit(items - 1, end) / ndtri(end))


def without_each_item(rows: Floats, units: Ints) -> Floats:
    """The column sums without the groups of each item, one row per item."""
    real = units >= 0
    codes, place = np.unique(units[real], return_inverse=True)
    group = np.broadcast_to(np.arange(len(units))[:, None], units.shape)[real]
    held = np.zeros((len(codes), rows.shape[1]))
    np.add.at(held, place, rows[group])
    return np.asarray(rows.sum(axis=0) - held)
