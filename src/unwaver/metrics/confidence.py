"""How sure was the model on the changed input, where its answer held and where it did not?

Entropy in bits (0.9/0.1 -> 0.47, 0.7/0.3 -> 0.88) and the greatest probability, on the variant or conclusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np
import polars as pl

from unwaver.metrics.block import Block, Metric
from unwaver.metrics.violation import applies, violated
from unwaver.stats import Floats


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect == "bucket" or block.probs.null_count() == len(block.probs):
        return
    for inconsistent in (False, True):
        name = "inconsistent" if inconsistent else "consistent"
        of_entropy = partial(_mean, measure="entropy", inconsistent=inconsistent)
        of_share = partial(_mean, measure="entropy_normalised", inconsistent=inconsistent)
        of_max_prob = partial(_mean, measure="max_prob", inconsistent=inconsistent)
        yield Metric(f"entropy_{name}", of_entropy, share=False)
        yield Metric(f"entropy_normalised_{name}", of_share, share=False)
        yield Metric(f"max_prob_{name}", of_max_prob, share=False)


def _mean(block: Block, measure: str, inconsistent: bool) -> Floats:
    chosen = applies(block) & (violated(block) == inconsistent)
    return block.per_group(measures(block)[measure], chosen)


@lru_cache(maxsize=1)  # four metrics of one block
def measures(block: Block) -> dict[str, Floats]:
    bits = entropy(block.probs)
    return {
        "entropy": bits,
        "entropy_normalised": normalised(bits, block.probs),
        "max_prob": max_prob(block.probs),
    }


def normalised(bits: Floats, probs: pl.Series) -> Floats:
    """Entropy over its greatest value, log2 K with K choices: from 0 to 1, alike for tasks with different K."""
    choices = probs.list.len().fill_null(0).to_numpy()
    return np.where(choices > 1, bits / np.log2(np.maximum(choices, 2)), np.nan)


def max_prob(probs: pl.Series) -> Floats:
    return probs.list.max().fill_null(np.nan).to_numpy()


def entropy(probs: pl.Series) -> Floats:
    """Bits, one number per row; null rows are NaN and 0 · log 0 is 0."""
    known = probs.is_not_null().to_numpy()
    lengths = probs.list.len().fill_null(0).to_numpy()
    p = probs.drop_nulls().explode().fill_null(0.0).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(p > 0, -p * np.log2(p), 0.0)
    rows = np.repeat(np.arange(len(probs)), lengths)
    values = np.bincount(rows, weights=bits, minlength=len(probs))
    return np.where(known, values, np.nan)


MEANINGS = "unwaver.metrics.meanings.confidence:MEANINGS"
