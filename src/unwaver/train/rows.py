"""Items as what a model is trained on and asked: rows of token ids, requests, and how many answers were right."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from unwaver.answers.labels import read_label
from unwaver.errors import ModelError, UsageError
from unwaver.stats import estimate
from unwaver.tasks import Task, segments_of
from unwaver.tasks.choice import CHOICE, alternatives
from unwaver.tasks.prompts import prompt_of
from unwaver.train.consistency import Variant
from unwaver.train.data import key_of
from unwaver.types import Item, Request

# input_ids … (or alternatives, each with them), labels; perhaps task, and variant (a row) with whether it must be
# answered alike
EncodedRow = dict[str, Any]


class RowEncoder:
    """Items as rows of token ids; `task` is the number of a head, None if there is one. Where one head is for
    several tasks, its `labels` decide the numbers."""

    def __init__(self, tokenizer: Any, length: int, text_to_text: bool, labels: Sequence[str] = ()):
        self._tokenizer, self._length, self.text_to_text = tokenizer, length, text_to_text
        self._labels = labels

    def row(self, item: Item, task: Task, number: int | None, beside: Variant | None = None) -> EncodedRow:
        row = self._encoded(item, task, number)
        if beside is not None:
            row["variant"], row["alike"] = self._encoded(beside.item, task, number), beside.alike
        return row

    def _encoded(self, item: Item, task: Task, number: int | None) -> EncodedRow:
        form = task.form_of(item)
        row: EncodedRow = {}
        if item.template == CHOICE:
            row["alternatives"] = [
                self._tokens([text.strip() for text in texts], task)
                for texts in alternatives(segments_of(item, form), len(task.labels))
            ]
        elif self.text_to_text:
            row |= self._tokens([prompt_of(item, form)], task)
        else:
            row |= self._tokens([text.strip() for text in segments_of(item, form)], task)
        known = len(item.accepted) == 1
        if self.text_to_text:
            words = dict(zip(task.labels, form.words, strict=True))
            row["labels"] = self._written(words[item.accepted[0]]) if known else [-100]
        else:
            row["labels"] = (self._labels or task.labels).index(item.accepted[0]) if known else -100
        if number is not None:
            row["task"] = number
        return row

    def _tokens(self, texts: Sequence[str], task: Task) -> dict[str, Any]:
        if len(texts) > 2:  # a tokeniser would take the third for something else
            hint = f'give the task file segments of at most two: segments = ["{{{task.fields[0]}}} …", "…"]'
            raise UsageError(f"a classifier reads one text or two; {task.name} has {len(texts)}", hint=hint)
        return dict(self._tokenizer(*texts, truncation=True, max_length=self._length, verbose=False))

    def _written(self, word: str) -> list[int]:
        ids: list[int] = self._tokenizer(word, add_special_tokens=False)["input_ids"]
        return [*ids, self._tokenizer.eos_token_id]


def training_request(item: Item, task: Task) -> Request:
    form = task.form_of(item)
    return Request(task.name, segments_of(item, form), prompt_of(item, form), item.choices, form.words)


def answered(model: Any, task: Task, items: Sequence[Item]) -> list[str]:
    """The label that the model gives to each item."""
    labels = [""] * len(items)
    for batch in model.answer([training_request(item, task) for item in items]):
        for n, answer in batch:
            logs = answer.logprobs
            if any(math.isnan(x) for x in logs):
                raise diverged()
            if logs:
                labels[n] = items[n].choices[max(range(len(logs)), key=logs.__getitem__)]
            else:
                labels[n] = _read(items[n], task, answer.text)
    return labels


def _read(item: Item, task: Task, text: str | None) -> str:
    """The label in what a text-to-text model wrote, "" if there is none."""
    return read_label(text, item.choices, task.form_of(item).words) or ""


def diverged() -> ModelError:
    return ModelError(
        "training diverged: the model's output is not a number",
        hint="give a lower --lr or --consistency, and another --out; the base model may also be damaged",
    )


def _right(items: Sequence[Item], labels: Sequence[str]) -> Any:
    return np.array([label in item.accepted for item, label in zip(items, labels, strict=True)], dtype=np.float64)


def _clusters(items: Sequence[Item], task: Task) -> list[int]:
    places: dict[Any, int] = {}
    return [places.setdefault(key_of(item, task), len(places)) for item in items]


def accuracy_on(items: Sequence[Item], labels: Sequence[str], task: Task) -> dict[str, Any]:
    found = estimate(_right(items, labels), np.array(_clusters(items, task)))
    return {"accuracy": found.value, "low": found.low, "high": found.high, "items": len(items)}


def lines_of_test(
    everything: Sequence[Item], items: Sequence[Item], labels: Sequence[str], task: Task
) -> Iterator[str]:
    """Clusters are numbered over all of the test set: they mean the same whatever is left out of it as seen."""
    places = dict(zip((key_of(i, task) for i in everything), _clusters(everything, task), strict=True))
    for item, label in zip(items, labels, strict=True):
        told = {"id": item.id, "cluster": places[key_of(item, task)], "label": label, "gold": item.accepted[0]}
        yield json.dumps({"task": task.name, **told}, ensure_ascii=False) + "\n"
