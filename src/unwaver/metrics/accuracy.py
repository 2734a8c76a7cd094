"""Accuracy on originals and on variants or conclusions; unreadable is wrong, unknown gold does not apply."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.metrics.block import Block, Metric
from unwaver.stats import Floats


def metrics(block: Block) -> Iterator[Metric]:
    del block
    yield Metric("accuracy", accuracy, "high")
    yield Metric("accuracy_variants", accuracy_variants, "high")


def accuracy(block: Block) -> Floats:
    return block.per_group(block.right, ~block.target)


def accuracy_variants(block: Block) -> Floats:
    return block.per_group(block.right, block.target)
