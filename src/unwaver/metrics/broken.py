"""Which groups broke their relation: the one function that `show`, the report and `compare` ask.

In free text it is what the metric tau is the mean of, so that tau × counted groups are broken.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from unwaver.answers.schema import BLOCK
from unwaver.metrics import agreed
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.paraphrastic import torn
from unwaver.metrics.score import partition
from unwaver.metrics.violation import tau
from unwaver.stats import Floats


def broken(block: Block) -> Floats:
    """Per group: above 0 if it broke its relation in at least one answer, NaN if that cannot be said."""
    if agreed.decides(block):
        values = agreed.broken(block)
    else:
        values = torn(block) if block.expect == "bucket" else tau(block)
    return np.where(block.complete, values, np.nan)


def broken_groups(frame: pl.DataFrame) -> list[str]:
    """The ids of the groups that broke their relation in at least one answer."""
    return [name for part in partition(frame) for name, _ in _shares(part)]


def worst_first(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each broken group of each model, worst first: its block, `group`, and the share of it that is
    `broken`, between 0 and 1."""
    rows = []
    for part in partition(frame):
        block = part.select(BLOCK).row(0, named=True)
        rows += [{**block, "group": name, "broken": share} for name, share in _shares(part)]
    schema = {**dict.fromkeys(BLOCK, pl.String), "group": pl.String, "broken": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("broken", descending=True, maintain_order=True)


def _shares(part: pl.DataFrame) -> list[tuple[str, float]]:
    names = part.filter(pl.col("role") != "test")["group"].unique(maintain_order=True).to_list()
    values = broken(block_of(part)).tolist()
    return [(name, value) for name, value in zip(names, values, strict=True) if value > 0]
