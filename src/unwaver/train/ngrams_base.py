"""Training a bag of n-grams as fastText does: --base ngrams.

It takes seconds, so there are no checkpoints: a training that was stopped begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from unwaver.console import Progress
from unwaver.errors import UsageError
from unwaver.models.bow import VERSION, Bow, by_descent
from unwaver.models.ngrams import Descent
from unwaver.tasks import Task, segments_of
from unwaver.train.consistency import Variant
from unwaver.train.recipes import Recipe
from unwaver.train.rows import EncodedRow
from unwaver.train.setup import Setup
from unwaver.types import Item


class TextRows:
    """Items as rows with a text and the number of its label, as RowEncoder makes rows of tokens."""

    text_to_text = False

    def __init__(self, labels: Sequence[str]):
        self._labels = labels
        self.texts = 0  # in an item

    def row(self, item: Item, task: Task, number: int | None, beside: Variant | None = None) -> EncodedRow:
        del number
        row = self._encoded(item, task)
        return row if beside is None else {**row, "variant": self._encoded(beside.item, task)}

    def _encoded(self, item: Item, task: Task) -> EncodedRow:
        texts = segments_of(item, task.form_of(item))
        if self.texts and len(texts) != self.texts:
            hint = "pool sets with the same number of texts, or give them one form"
            raise UsageError(f"{task.name} has {len(texts)} texts, others have {self.texts}", hint=hint)
        self.texts = len(texts)
        label = self._labels.index(item.accepted[0]) if len(item.accepted) == 1 else None
        return {"text": " ".join(texts), "label": label}


def fit_bag(
    setup: Setup,
    rows: Sequence[EncodedRow],
    segments: int,
    recipe: Recipe,
    seed: int,
    track: Callable[[int], AbstractContextManager[Progress]],
) -> Bow:
    """A variant that has a label of its own is one row more."""
    everything = [each for row in rows for each in (row, row.get("variant")) if each and each["label"] is not None]
    task = setup.parts[0].task
    how = Descent(recipe.epochs, recipe.lr, setup.dimension or Descent.dimension)
    classes = np.array([row["label"] for row in everything], dtype=np.int64)
    texts = [row["text"] for row in everything]
    with track(how.epochs) as progress:
        linear, told = by_descent(texts, classes, len(task.labels), how, seed, progress)
    about: dict[str, Any] = {
        "version": VERSION,
        "task": " + ".join(part.task.name for part in setup.parts),
        "labels": list(task.labels),
        "segments": list(range(segments)),
        **told,
        "examples": len(everything),
        "seed": seed,
    }
    return Bow(linear, about)
