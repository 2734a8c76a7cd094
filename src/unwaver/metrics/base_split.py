"""Accuracy and macro-averaged F1 on a whole base split (kind base_test), and both beside the sets made from it.

gold a, a, b, answers a, b, b  ->  F1 of a = 2/3, of b = 2/3, macro_f1 = 2/3
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unwaver.groups import BASE, SEEN_SUFFIX
from unwaver.meaning import Meaning
from unwaver.metrics.accuracy import accuracy
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.papers import BECEL
from unwaver.metrics.violation import accepts
from unwaver.stats import Floats
from unwaver.suites import becel
from unwaver.types import Score


def metrics(block: Block) -> Iterator[Metric]:
    if is_base(block.kind):
        yield Metric("macro_f1", label_counts, reduce=macro_f1)


def is_base(kind: str) -> bool:
    return kind.partition("_")[0] == BASE


def label_counts(block: Block) -> Floats:
    """Per group, for each label that is right or was given: hits, answers with it, items whose gold it is."""
    known = ~np.isnan(block.right)
    columns = []
    for label in labels_of(block):
        gold = accepts(block, label)
        said = (block.code == block.labels.index(label)) if label in block.labels else np.zeros(len(gold), bool)
        columns += [block.per_group(values.astype(float), known) for values in (gold * said, said, gold)]
    return np.column_stack(columns or [np.full(block.groups, np.nan)])


def labels_of(block: Block) -> list[str]:
    gold = block.gold.explode() if block.gold.dtype.is_nested() else block.gold
    return sorted({*gold.drop_nulls().unique().to_list(), *block.labels})


def macro_f1(sums: Floats) -> Floats:
    """The mean over labels of 2 · hits / (answers + gold); a label that nobody has or gives does not count. An
    unreadable answer is an answer with no label."""
    hits, said, gold = (sums[..., n:-1:3] for n in range(3))
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * hits / (said + gold)
    there = said + gold > 0
    return np.asarray(np.where(there, f1, 0.0).sum(axis=-1) / there.sum(axis=-1))


def with_base(scores: Sequence[Score], blocks: Sequence[Block]) -> list[Score]:
    """The scores, those of sets made from a base split with its accuracy and F1."""
    found: dict[tuple[str, ...], list[Block]] = {}
    for block in blocks:
        if is_base(block.kind):
            found.setdefault(_place(block, block.kind.removesuffix(SEEN_SUFFIX)), []).append(block)
    values = {place: (_accuracy(parts), _f1(parts)) for place, parts in found.items()}
    return [_beside(s, values) for s in scores]


def _place(of: Block | Score, kind: str) -> tuple[str, ...]:
    return of.suite, of.task, of.model, of.method, kind


def _beside(s: Score, values: dict[tuple[str, ...], tuple[float | None, float | None]]) -> Score:
    if is_base(s.kind) or s.suite != "becel" or s.task not in becel.CASES:
        return s
    place = _place(s, f"{BASE}_{becel.base_of(s.task, s.kind.removesuffix(SEEN_SUFFIX))}")
    base = values.get(place)
    return s if base is None else replace(s, base_accuracy=base[0], base_f1=base[1])


def _accuracy(parts: Sequence[Block]) -> float | None:
    values = np.concatenate([accuracy(block)[block.complete] for block in parts])
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _f1(parts: Sequence[Block]) -> float | None:
    """Over the parts together: texts that a model was trained on are a part of their own."""
    labels = sorted({label for block in parts for label in labels_of(block)})
    total = np.zeros(3 * len(labels) + 1)
    for block in parts:
        counts = label_counts(block)[block.complete]
        sums = counts[~np.isnan(counts).any(axis=1)].sum(axis=0)
        for n, label in enumerate(labels_of(block)):
            place = 3 * labels.index(label)
            total[place : place + 3] += sums[3 * n : 3 * n + 3]
    return float(macro_f1(total)) if total.any() else None


MEANINGS = (
    Meaning(
        "macro_f1",
        title="macro-averaged F1",
        says="Mean over the labels of their F1, on the whole split that a set was made from. An unreadable answer "
        "counts as a miss for the right label only.",
        formula="mean over labels of 2 · hits / (answers with the label + items whose gold it is)",
        better="high",
        paper=BECEL,
        docs="docs/methods.md#base-splits",
    ),
)
