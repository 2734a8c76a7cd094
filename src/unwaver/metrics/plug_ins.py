"""Metrics of an installed package: what they give is checked, and what goes wrong names it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from unwaver import registry
from unwaver.meaning import Better, family_of, of_entry
from unwaver.metrics.block import Block, Metric
from unwaver.stats import Floats


def metrics_of(name: str, block: Block) -> list[Metric]:
    """The metrics of one entry of the catalogue, each with its values guarded."""
    made: Iterable[Metric] = registry.call("metrics", name, Iterable, block)
    found = registry.guarded("metrics", name, lambda: list(made), list)()
    if odd := [metric for metric in found if not isinstance(metric, Metric)]:
        raise registry.broken("metrics", name, f"gave {odd[0]!r:.60}, expected a Metric")
    for metric in found:
        if metric.better not in get_args(Better):
            why = f'gave a Metric with better={metric.better!r}, expected "low", "high" or ""'
            raise registry.broken("metrics", name, why)
    _tell_undeclared(name, [metric.name for metric in found])
    return [replace(metric, values=_aligned(name, metric)) for metric in found]


def _tell_undeclared(entry: str, given: Sequence[str]) -> None:
    """Where a metric has no declaration, and a declaration no metric, one of the two names is probably wrong."""
    undeclared = [name for name in given if family_of(name) is None]
    if not undeclared:
        return
    families = {found.name for name in given if (found := family_of(name)) is not None}
    unused = [meaning.name for meaning in of_entry(entry) if meaning.name not in families]
    if unused:
        warnings.warn(
            f"the metric {undeclared[0]!r} of {entry!r} is not declared, while MEANINGS has {', '.join(unused)}. "
            "It has no title and no chance value, and leads no table: write the same name in both",
            stacklevel=2,
        )


def _aligned(name: str, metric: Metric) -> Callable[[Block], Floats]:
    """One value, or row of values, for each group."""

    def values(block: Block) -> Floats:
        found = np.asarray(metric.values(block), dtype=float)
        if found.ndim not in (1, 2) or len(found) != block.groups:
            raise ValueError(f"{metric.name} has the shape {found.shape} for {block.groups} groups")
        if metric.share and metric.reduce is None and metric.by_weight is None:
            _check_shares(metric.name, found)
        return found

    return registry.guarded("metrics", name, values, np.ndarray)


def _check_shares(name: str, values: Floats) -> None:
    """A mean of values outside 0 to 1 would get the interval of a share, which cannot hold it."""
    outside = values[(values < -1e-9) | (values > 1 + 1e-9)]
    if outside.size:
        raise ValueError(f"{name} has the value {outside.flat[0]:g}, expected 0 to 1; else Metric(…, share=False)")
