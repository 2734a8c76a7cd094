"""Estimates from parts of a table, each of whole clusters: what is kept are sums of clusters, not of groups.

    Sums(reduce, columns, keep=True)   the sums of every cluster, a byte each where that is enough: the estimate is
                                       that of unwaver.stats
    Sums(reduce, columns, keep=False)  in one pass and bounded memory, whatever the order of the clusters

In the second way a seeded hash puts each cluster into one of MOST_UNITS bundles, and every draw of the bootstrap
gives each bundle a Poisson weight of mean 1 (Hanley and MacGibbon 2006; Chamandy et al. 2012): a cluster's weights
follow from its name alone, and sums by bundle are all that has to be kept. Sums of independent clusters are
independent, so the spread is that of a bootstrap over clusters, to about 1 %. The interval is BCa, as in
unwaver.stats. With at most MOST_UNITS clusters, both ways are the same.
"""

from __future__ import annotations

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


class Sums:
    """What the estimate of one metric needs to know of its values. Add parts of whole clusters."""

    def __init__(self, reduce: Reduce | None, columns: int, *, keep: bool):
        self._reduce, self._keep = reduce, keep
        self.counted = self.clusters = 0
        self._bundles = np.zeros((MOST_UNITS, columns + 1))
        self._kept: list[Any] = []  # sums of each cluster; if they are not to be kept, as long as there are few
        self._zeros_and_ones = True
        self._above_0 = self._below_1 = 0

    def add(self, values: Floats, clusters: Any, bundles: Any) -> None:
        """A value (or a row) per group, NaN if it does not apply; the number of its cluster in this part; and the
        bundle of each of these clusters."""
        table = values[:, None] if values.ndim == 1 else values
        counted = np.logical_and.reduce([~np.isnan(column) for column in table.T])
        table, clusters = table[counted], clusters[counted]
        self.counted += len(table)
        sizes = np.bincount(clusters, minlength=len(bundles))
        sums = np.column_stack([sums_by(clusters, len(bundles), table), sizes])[sizes > 0]
        if not len(sums):
            return
        self.clusters += len(sums)
        self._zeros_and_ones = self._zeros_and_ones and zeros_and_ones(table[:, 0])
        if self._keep:
            self._kept.append(_small(sums))
            return
        self._bundles += sums_by(bundles[sizes > 0], MOST_UNITS, sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            each = (self._reduce or mean)(sums)
        self._above_0 += int((each > 0).sum())
        self._below_1 += int((each < 1).sum())
        if self.clusters <= MOST_UNITS:
            self._kept.append(sums)
        else:
            self._kept = []

    def estimate(self, share: bool, seed: int = 0, level: float = LEVEL) -> Estimate:
        n, units, reduce = self.counted, self.clusters, self._reduce or mean
        if n == 0:
            return NOTHING
        alone = units == n
        if self._kept:
            sums = np.concatenate(self._kept).astype(np.float64)
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


def _small(sums: Floats) -> Any:
    """The same numbers in bytes, if they are whole and small."""
    small = sums.astype(np.uint8)
    return small if np.array_equal(small, sums) else sums


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
