"""Two tables about the same problems, such as human and automatic paraphrases: which difference is there?

Only problems that both have are compared. The interval draws problems, and takes both their buckets at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from unwaver.answers.schema import BLOCK
from unwaver.errors import DataError
from unwaver.metrics.block import Block, Metric, block_of
from unwaver.metrics.paraphrastic import metrics
from unwaver.stats import Floats, bootstrap, mean


@dataclass(frozen=True)
class TableDifference:
    """first − second over `groups` problems."""

    metric: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    groups: int


def compare_tables(first: pl.DataFrame, second: pl.DataFrame, *, seed: int = 0) -> list[TableDifference]:
    """The metrics of P_C on the problems that both tables have; each table holds one model on one task."""
    shared = _shared(first, second)
    one, other = _block(first, shared), _block(second, shared)
    of_other = {m.name: m for m in metrics(other)}
    found = (_difference(m, one, of_other[m.name], other, seed) for m in metrics(one) if m.name in of_other)
    return [difference for difference in found if difference is not None]


def _shared(first: pl.DataFrame, second: pl.DataFrame) -> list[str]:
    known = set(second["group"].to_list())
    shared = [g for g in first["group"].unique(maintain_order=True).to_list() if g in known]
    if not shared:
        raise DataError(
            f"no problem is in both tables; the first ones are {first['group'][0]!r} and {second['group'][0]!r}",
            hint="both tables must use the same group ids",
        )
    return shared


def _block(frame: pl.DataFrame, groups: list[str]) -> Block:
    rows = frame.filter(pl.col("role") != "test").filter(pl.col("group").is_in(groups))
    blocks = rows.select(BLOCK).unique(maintain_order=True)
    if blocks.height > 1:
        names = [", ".join(map(str, row)) for row in blocks.rows()[:2]]
        raise DataError(
            f"a table holds more than one model or task: {names[0]} and {names[1]}", hint="compare them one by one"
        )
    order = pl.DataFrame(
        {"group": groups, "_place": range(len(groups))}, schema_overrides={"group": rows["group"].dtype}
    )
    return block_of(rows.join(order, on="group", how="left").sort("_place", maintain_order=True).drop("_place"))


def _difference(metric: Metric, one: Block, same: Metric, other: Block, seed: int) -> TableDifference | None:
    if metric.known or metric.name.endswith("_published"):
        return None
    parts = [_sums(metric, one), _sums(same, other)]
    both = ~np.isnan(parts[0]).any(axis=1) & ~np.isnan(parts[1]).any(axis=1)
    if not both.any():
        return None
    reduce = metric.reduce or mean
    sums = np.hstack([part[both] for part in parts])
    width = parts[0].shape[1]

    def difference(drawn: Floats) -> Floats:
        return np.asarray(reduce(drawn[..., :width]) - reduce(drawn[..., width:]))

    total = sums.sum(axis=0)
    values = float(reduce(total[:width])), float(reduce(total[width:]))
    if np.isnan(values).any():
        return None
    low, high = bootstrap(sums, difference, seed) if both.sum() > 1 else (None, None)
    return TableDifference(metric.name, *values, values[0] - values[1], low, high, int(both.sum()))


def _sums(metric: Metric, block: Block) -> Floats:
    values = metric.values(block)
    table = values[:, None] if values.ndim == 1 else values
    table = np.where(block.complete[:, None], table, np.nan)
    return np.column_stack([table, np.ones(block.groups)])
