"""Estimates from parts of a table, each of whole clusters: what is kept are sums of clusters, not of groups.

    Sums(reduce, keep=True)   the sums of every cluster, a byte each where that is enough: the estimate is that of
                              unwaver.stats
    Sums(reduce, keep=False)  in one pass and bounded memory, whatever the order of the clusters

In the second way a seeded hash puts each cluster into one of MOST_UNITS bundles, and every draw of the bootstrap
gives each bundle a Poisson weight of mean 1 (Hanley and MacGibbon 2006; Chamandy et al. 2012): a cluster's weights
follow from its name alone, and sums by bundle are all that has to be kept. Sums of independent clusters are
independent, so the spread is that of a bootstrap over clusters, to about 1 %. The interval is BCa, as in
unwaver.stats. With at most MOST_UNITS clusters, both ways are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unwaver.stats import (
    DRAWS,
    FEWEST,
    LEVEL,
    MOST_UNITS,
    NOTHING,
    Estimate,
    Floats,
    Reduce,
    bca,
    binomial,
    by_clusters,
    estimate_of,
    mean,
    sums_by,
    value_of,
    zeros_and_ones,
)


@dataclass(frozen=True)
class Part:
    """The values of one metric in a part of the table, as sums of clusters."""

    sums: Any  # a row for each cluster that counts, the number of its groups last; bytes where that is enough
    found: Any  # which of the part's clusters these are
    counted: int
    zeros_and_ones: bool


def part_of(values: Floats, clusters: Any, count: int) -> Part:
    """A value (or a row) per group, NaN if it does not apply, and the number of its cluster: [1, 0, NaN] in the
    clusters [0, 0, 1] of 2 -> the sums [[1, 2]] of cluster 0."""
    columns = [values] if values.ndim == 1 else list(values.T)
    counted = ~np.isnan(columns[0])
    for column in columns[1:]:
        counted &= ~np.isnan(column)
    if not counted.all():
        places = np.flatnonzero(counted)  # taking by place is three times as fast as by truth
        columns, clusters = [column.take(places) for column in columns], clusters.take(places)
    sizes = np.bincount(clusters, minlength=count)
    found = np.flatnonzero(sizes)
    sums = [*(np.bincount(clusters, weights=column, minlength=count) for column in columns), sizes]
    if len(found) < count:
        sums = [column.take(found) for column in sums]
    return Part(_small(sums), found, len(clusters), zeros_and_ones(columns[0]))


class Sums:
    """What the estimate of one metric needs to know of its values. Add parts of whole clusters."""

    def __init__(self, reduce: Reduce | None, *, keep: bool):
        self._reduce, self._keep = reduce, keep
        self.counted = self.clusters = 0
        self._bundles: Any = 0.0  # the sums of each
        self._kept: list[Any] = []  # sums of each cluster; if they are not to be kept, as long as there are few
        self._zeros_and_ones = True
        self._above_0 = self._below_1 = 0

    def add(self, part: Part, bundles: Any = None) -> None:
        """`bundles` are those of the part's clusters; not needed where all sums are kept."""
        if not part.counted:
            return
        self.counted += part.counted
        self.clusters += len(part.sums)
        self._zeros_and_ones = self._zeros_and_ones and part.zeros_and_ones
        if self._keep:
            self._kept.append(part.sums)
            return
        sums = part.sums.astype(np.float64)
        self._bundles = self._bundles + sums_by(bundles[part.found], MOST_UNITS, sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            each = (self._reduce or mean)(sums)
        self._above_0 += int((each > 0).sum())
        self._below_1 += int((each < 1).sum())
        if self.clusters <= MOST_UNITS:
            self._kept.append(part.sums)
        else:
            self._kept = []

    def _all_kept(self) -> Floats:
        """Whole numbers by column, as their sum is exact in any order and faster so; others by row, as where the
        whole table is in memory."""
        whole = all(sums.dtype == np.uint8 for sums in self._kept)
        return np.concatenate(self._kept).astype(np.float64, order="F" if whole else "C")

    def estimate(self, share: bool, seed: int = 0, level: float = LEVEL) -> Estimate:
        n, units, reduce = self.counted, self.clusters, self._reduce or mean
        if n == 0:
            return NOTHING
        alone = units == n
        if self._kept:
            sums = self._all_kept()
            total = sums.sum(axis=0)
        else:
            total = self._bundles.sum(axis=0)
        if share and self._reduce is None and alone and self._zeros_and_ones:
            hits = int(total[0])
            return Estimate(hits / n, *binomial(hits, n, level), units, "exact")
        if self._kept:
            return by_clusters(sums, reduce, share, seed, level, alone=alone)
        value = value_of(reduce, total)
        if value is None:
            return Estimate(None, None, None, units, None)
        if share and (value <= 0.0 or value >= 1.0):
            return Estimate(value, *binomial(units if value >= 1.0 else 0, units, level), units, "exact")
        ends = bca(self._bundles, _poisson(len(self._bundles), seed), reduce, level)
        if share and not alone and min(self._above_0, self._below_1) < FEWEST:
            exact = binomial(value * units, units, level)
            ends = min(ends[0], exact[0]), max(ends[1], exact[1])
        return estimate_of(value, ends, units, "bootstrap", units if share else None, level)


def _small(columns: Sequence[Any]) -> Any:
    """Columns side by side: in bytes if all are whole and small."""
    small = np.empty((len(columns[0]), len(columns)), np.uint8, order="F")
    for place, column in enumerate(columns):
        np.copyto(small[:, place], column, casting="unsafe")
        if not np.array_equal(small[:, place], column):
            return np.column_stack(columns)
    return small


@lru_cache(maxsize=1)
def _poisson(units: int, seed: int) -> Floats:
    return np.random.default_rng(seed).poisson(1.0, (DRAWS, units)).astype(np.float64)


def bundle_of(keys: Any, seed: int) -> Any:
    """The bundle of each cluster, from 64 bits that tell it apart: splitmix64 with a seed."""
    with np.errstate(over="ignore"):
        mixed = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed % np.uint64(MOST_UNITS)).astype(np.int64)
