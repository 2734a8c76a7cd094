"""Accuracy on originals and on variants or conclusions; unreadable is wrong, unknown gold does not apply."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.meaning import Meaning, Phrase
from unwaver.metrics.block import Block, Metric
from unwaver.stats import Floats


def metrics(block: Block) -> Iterator[Metric]:
    del block
    yield Metric("accuracy", accuracy)
    yield Metric("accuracy_variants", accuracy_variants)


def accuracy(block: Block) -> Floats:
    return block.per_group(block.right, ~block.target)


def accuracy_variants(block: Block) -> Floats:
    return block.per_group(block.right, block.target)


# --- what they mean ---------------------------------------------------------------------------------------------

MEANINGS = (
    Meaning(
        "accuracy",
        title="accuracy",
        says="Share of right answers to originals. An unreadable answer is wrong.",
        formula="mean of [label ∈ accepted], in each group and then over groups",
        better="high",
        docs="docs/methods.md#accuracy-accuracy_variants",
        leads=90,
        beside=("macro_f1",),
        without_gold=("accuracy", "tau_conditioned", "transitive and additive tau"),
        verdict=Phrase("answer", "answers", "is wrong", "are wrong"),
    ),
    Meaning(
        "accuracy_variants",
        title="accuracy on variants",
        says="Share of right answers to variants or conclusions. An unreadable answer is wrong.",
        formula="mean of [label ∈ accepted], in each group and then over groups",
        better="high",
        docs="docs/methods.md#accuracy-accuracy_variants",
    ),
)
