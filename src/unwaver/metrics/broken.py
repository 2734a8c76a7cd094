"""Which groups broke their relation: the one function that `show`, the report and `compare` ask.

In free text it is what the metric tau is the mean of, so that tau × counted groups are broken.
"""

from __future__ import annotations

import numpy as np
import polars as pl

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
    found: list[str] = []
    for part in partition(frame):
        names = part.filter(pl.col("role") != "test")["group"].unique(maintain_order=True)
        found += names.filter(pl.Series(broken(block_of(part)) > 0)).to_list()
    return found
