"""Wording noise beside sampling noise: how much less do answers to different wordings agree than answers to one
wording that is asked again? Both are measured on the same groups, and units are drawn with both values at once.

    gap      agreement among wordings − agreement among repeats; 0.70 and 0.90 -> −0.20
    share    (disagreement among wordings − disagreement among repeats) / disagreement among wordings: what part of
             the disagreement comes from the wording; 0.30 and 0.10 -> 0.667

If the wording has no effect, both are 0 on average; their estimates then fall on either side of it. The share is
undefined if the wordings never disagree.

The interval of the gap is that of a mean over units. With fewer than ten units in which the two differ, it is
that of a paired difference (unwaver.stats.paired), which allows for differences that were not seen. The interval
of the share rests on the units in which any two answers disagree: the others add nothing but their number, and an
interval that counts them covers as little as 68 % if most units are silent.
"""

from __future__ import annotations

import numpy as np

from unwaver.stats import FEW, FEWEST, NOTHING, Estimate, Floats, Ints, binomial, estimate, value_of
from unwaver.stats.paired import difference
from unwaver.stats.units import components, count_units

SILENT = 1e-6  # mean disagreement below this is rounding, as models compute agreement in single precision


def gap(values: Floats, units: Ints, seed: int, level: float) -> Estimate:
    """`values` has one row for each group: agreement among wordings, agreement among repeats; NaN if unknown."""
    known = ~np.isnan(values).any(axis=1)
    values, units = values[known], units[known]
    moved = np.abs(values[:, 0] - values[:, 1]) > SILENT
    if len(np.unique(_unit(units)[moved])) >= FEW:
        return estimate(values, units, gap_of, share=False, seed=seed, level=level)
    found = difference(values[:, 1], values[:, 0], units, seed=seed, level=level, tested=False)
    if found is None:
        return NOTHING
    return Estimate(found.difference, found.low, found.high, found.clusters, found.interval)


def gap_of(sums: Floats) -> Floats:
    """From the sums of the two columns and the number of groups."""
    return np.asarray((sums[..., 0] - sums[..., 1]) / sums[..., -1])


def share(values: Floats, units: Ints, seed: int, level: float) -> Estimate:
    """`values` has one row for each group: disagreement among wordings and among repeats; NaN if unknown."""
    known = ~np.isnan(values).any(axis=1)
    values, units = values[known], units[known]
    value = value_of(share_of, np.append(values.sum(axis=0), len(values)))
    if value is None:
        return Estimate(None, None, None, count_units(units), None)
    unit = _unit(units)
    speaks = np.bincount(unit, weights=values.sum(axis=1))[unit] > SILENT
    found = estimate(values[speaks], units[speaks], share_of, share=False, seed=seed, level=level)
    if found.low is None or found.high is None:
        return Estimate(value, *_of_equal_units(value, found.clusters, level))
    return Estimate(value, found.low, min(found.high, 1.0), found.clusters, found.interval)


def _unit(units: Ints) -> Ints:
    """The number of each group's unit: its cluster, or the groups that hang together with it."""
    return np.asarray(np.unique(units if units.ndim == 1 else components(units), return_inverse=True)[1])


def share_of(sums: Floats) -> Floats:
    """From the sums of the two columns and the number of groups; NaN if wordings never disagree."""
    disagreement = np.where(sums[..., 0] > SILENT * sums[..., -1], sums[..., 0], np.nan)
    return np.asarray((disagreement - sums[..., 1]) / disagreement)


def _of_equal_units(value: float, units: int, level: float) -> tuple[float | None, float | None, int, str | None]:
    """All units say the same. At 1 (no repeat ever disagrees) the exact interval with n = units is left; the share
    cannot exceed 1."""
    if value < 1 or units < FEWEST:
        return None, None, units, None
    return binomial(units, units, level)[0], 1.0, units, "exact"
