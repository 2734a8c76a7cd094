"""Metrics of an installed package: what they give is checked, and what goes wrong names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from unwaver import registry
from unwaver.metrics.block import Block, Metric
from unwaver.stats import Floats


def metrics_of(name: str, block: Block) -> list[Metric]:
    """The metrics of one entry of the catalogue, each with its values guarded."""
    made: Iterable[Metric] = registry.call("metrics", name, Iterable, block)
    found = registry.guarded("metrics", name, lambda: list(made), list)()
    if odd := [metric for metric in found if not isinstance(metric, Metric)]:
        raise registry.broken("metrics", name, f"gave {odd[0]!r:.60}, expected a Metric")
    return [replace(metric, values=_aligned(name, metric)) for metric in found]


def _aligned(name: str, metric: Metric) -> Callable[[Block], Floats]:
    """One value, or row of values, for each group."""

    def values(block: Block) -> Floats:
        found = np.asarray(metric.values(block), dtype=float)
        if found.ndim not in (1, 2) or len(found) != block.groups:
            raise ValueError(f"{metric.name} has the shape {found.shape} for {block.groups} groups")
        return found

    return registry.guarded("metrics", name, values, np.ndarray)
