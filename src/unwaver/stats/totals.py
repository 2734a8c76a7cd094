"""A total from a part: what units that were not looked at come to, by those that were.

Units lie in strata and have a size that is known of all of them. Inside a stratum the value is taken to grow with
the size, by as much in every stratum; a stratum of which nothing is known is taken for the average of the others.

    total([Unit("a", 10, 1.0), Unit("a", 20, 2.0), Unit("a", 30)])  -> about 1.5 for the third, by the mean of two
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 5  # values that a slope is drawn through
LEVEL = 0.95
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Unit:
    """`value` is None if it is not known; `left` is the share of the unit that is then still to come."""

    stratum: str
    size: float
    value: float | None = None
    left: float = 1.0


@dataclass(frozen=True)
class Total:
    """The sum over the units whose value is not known, its standard error (NaN if it cannot be told), and the
    number of values that it was made from."""

    value: float
    error: float
    known: int
    freedom: int

    @property
    def margin(self) -> float:
        """What the total may be off by at a level of 95 %; infinite where that cannot be told."""
        if self.value == 0 or self.error <= 1e-12 * self.value:
            return 0.0
        if self.freedom < 1 or math.isnan(self.error):
            return math.inf
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error


def total(units: Sequence[Unit]) -> Total | None:
    """None if nothing is known of any unit."""
    known = [unit for unit in units if unit.value is not None]
    missing = [unit for unit in units if unit.value is None and unit.left > 0]
    if not missing:
        return Total(0.0, 0.0, len(known), len(known))
    if not known:
        return None
    return _Fit(known).sum_over(missing)


class _Fit:
    """Means by stratum, and one slope for all."""

    def __init__(self, known: Sequence[Unit]):
        strata = np.array([unit.stratum for unit in known])
        self._size = np.array([unit.size for unit in known], dtype=float)
        self._value = np.array([unit.value for unit in known], dtype=float)
        self._rows = {name: np.flatnonzero(strata == name) for name in dict.fromkeys(strata.tolist())}
        self._all = np.arange(len(known))
        across, down = self._size.copy(), self._value.copy()
        for rows in self._rows.values():
            across[rows] -= across[rows].mean()
            down[rows] -= down[rows].mean()
        self._spread = float(across @ across)
        sloped = len(known) >= LEAST + len(self._rows) - 1 and self._spread > 0
        self._slope = max(0.0, float(across @ down) / self._spread) if sloped else 0.0
        self._rest = down - self._slope * across
        self._freedom = len(known) - len(self._rows) - (self._slope > 0)

    def sum_over(self, missing: Sequence[Unit]) -> Total:
        """Their sum. The error has three parts: of the means, of the slope, and of the missing units."""
        common = float(self._rest @ self._rest) / self._freedom if self._freedom > 0 else math.nan
        found = variance = lever = 0.0
        strata = np.array([unit.stratum for unit in missing])
        sizes, left = np.array([unit.size for unit in missing]), np.array([unit.left for unit in missing])
        for name in dict.fromkeys(strata.tolist()):
            here = strata == name
            rows = self._rows.get(name, self._all)
            away = sizes[here] - self._size[rows].mean()
            guess = np.maximum(self._value[rows].mean() + self._slope * away, 0.0)
            found += float(guess @ left[here])
            own = self._variance(rows, common)
            variance += own * (left[here].sum() ** 2 / len(rows) + float(left[here] @ left[here]))
            lever += float(away @ left[here])
        if self._slope > 0:
            variance += common * lever**2 / self._spread
        error = math.sqrt(variance) if variance >= 0 else math.nan
        return Total(found, error, len(self._all), self._freedom)

    def _variance(self, rows: np.ndarray, common: float) -> float:
        """Of the values of one stratum around their line; that of all where the stratum has too few."""
        if len(rows) < 3:
            return common
        return float(self._rest[rows] @ self._rest[rows]) / (len(rows) - 1)


def spread_out(sizes: Sequence[float], start: float) -> Iterator[int]:
    """The units in an order of which any beginning is spread over the sizes; `start`, from 0 to 1, turns it.

    list(spread_out([5, 1, 3], 0.0)) -> [1, 2, 0]
    """
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    taken: set[int] = set()
    step = 0
    while len(taken) < len(order):
        place = int((start + step * _GOLDEN) % 1 * len(order))
        step += 1
        if place not in taken:
            taken.add(place)
            yield order[place]
        elif step > 4 * len(order):  # the last few, which it would take long to meet
            for place in range(len(order)):
                if place not in taken:
                    taken.add(place)
                    yield order[place]
