"""Groups as columns for a browser: every text once, worst groups first.

A *case* is one group as one model answered it. Its answers are a range of rows in the columns of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unwaver.answers.unreadable import shortened
from unwaver.groups.conversations import shown_fields
from unwaver.metrics.block import Block
from unwaver.reports.ranking import BROKEN as BROKEN
from unwaver.reports.ranking import HELD as HELD
from unwaver.reports.ranking import MISSING as MISSING
from unwaver.reports.ranking import NOT_APPLICABLE as NOT_APPLICABLE
from unwaver.reports.ranking import Ranked, worst_first
from unwaver.reports.source import Source
from unwaver.result import method_names
from unwaver.state import NO_ANSWER
from unwaver.types import Item

VERSION = 1
CHUNK = 1000  # groups before progress is shown
MOST_CASES = 100_000  # what a browser carries without effort; the worst ones
UNREADABLE, FAILED, NOT_ASKED, CUT, REFUSED, EMPTY, TOOL_CALL = -1, -2, -3, -4, -5, -6, -7
# an answer without a label that has one all the same is only known to be right or wrong
NO_LABEL = {
    "answered": UNREADABLE,
    "cut_read": UNREADABLE,
    "unreadable": UNREADABLE,
    "empty": EMPTY,
    "tool_call": TOOL_CALL,
    "failed": FAILED,
    "not_asked": NOT_ASKED,
    "not_needed": NOT_ASKED,
    "cut": CUT,
    "refused": REFUSED,
}


def columns(
    sources: Sequence[Source], most: int = MOST_CASES, progress: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """All that the explorer shows, as one JSON document."""
    parts = [(source, block, frame) for source in sources for block, frame in source.blocks]
    ranked = [found for source in sources for found in source.ranked]
    place = np.concatenate([np.full(len(r.bad), n) for n, r in enumerate(ranked)]) if ranked else np.empty(0, int)
    number = np.concatenate([np.arange(len(r.bad)) for r in ranked]) if ranked else np.empty(0, int)
    worst = worst_first(ranked)
    chosen = worst[:most]
    written = _Columns(parts, ranked, [number[chosen[place[chosen] == n]] for n in range(len(ranked))])
    for done, (at, group) in enumerate(zip(place[chosen].tolist(), number[chosen].tolist(), strict=True)):
        written.add(at, group)
        if done % CHUNK == 0:
            progress(min(CHUNK, len(chosen) - done))
    return {**written.document(), "all": len(worst), "broken": int(sum((r.state == BROKEN).sum() for r in ranked))}


class _Names:
    """Numbers 0, 1, … for distinct values in order of appearance."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        return self.of.setdefault(value, len(self.of))

    def listed(self) -> list[Any]:
        return [list(v) if isinstance(v, tuple) else v for v in self.of]


class _Columns:
    def __init__(
        self,
        parts: Sequence[tuple[Source, Block, pl.DataFrame]],
        ranked: Sequence[Ranked],
        shown: Sequence[NDArray[np.int64]],
    ):
        """`shown` are the numbers of the groups of each part that will be added."""
        self._parts = parts
        blocks = [block for _, block, _ in parts]
        self._methods = method_names(((b.suite, b.task, b.kind), b.model, b.method) for b in blocks)
        # lists: one number of an array at a time is slow
        self._ranked = [
            (r.state.tolist(), r.bad.tolist(), r.sure.tolist(), block.unreadable.tolist())
            for r, (_, block, _) in zip(ranked, parts, strict=True)
        ]
        self._rows = [
            _rows_of(block, frame, groups) for (_, block, frame), groups in zip(parts, shown, strict=True)
        ]
        self.texts, self.labels, self.label_sets = _Names(), _Names(), _Names()
        self.fields, self.relations, self.models = _Names(), _Names(), _Names()
        self._items: dict[tuple[object, ...], int] = {}
        names = ("relation", "model", "group", "state", "bad", "sure", "unreadable", "first")
        self.case: dict[str, list[int]] = {name: [] for name in names}
        self.answer: dict[str, list[int]] = {name: [] for name in ("item", "label", "right", "prob", "said")}
        self.item: dict[str, list[int]] = {name: [] for name in ("role", "gold", "choices", "first")}
        self.field: dict[str, list[int]] = {"name": [], "text": []}
        self.probs: list[int] = []

    def add(self, place: int, number: int) -> None:
        source, block, _ = self._parts[place]
        state, bad, sure, unreadable = (column[number] for column in self._ranked[place])
        starts, columns = self._rows[place]
        rows = range(starts[number], starts[number + 1])
        name = columns["group"][rows.start]
        group = source.groups.get(name)
        relation = self.relations((block.suite, block.task, block.kind, block.expect))
        self.case["relation"].append(relation)
        self.case["model"].append(self.models((block.model, self._methods[block.model, block.method])))
        self.case["group"].append(self.texts(name))
        self.case["state"].append(state)
        self.case["bad"].append(round(100 * bad))
        self.case["sure"].append(-1 if sure != sure else int(100 * sure))
        self.case["unreadable"].append(int(unreadable))
        self.case["first"].append(len(self.answer["item"]))
        items = {item.id: item for item in group.items} if group else {}
        for n in rows:
            self._add_answer(columns, n, (id(source), relation, name), items)

    def _add_answer(
        self,
        columns: Mapping[str, Sequence[Any]],
        n: int,
        where: tuple[object, ...],
        items: Mapping[str, Item],
    ) -> None:
        item = items.get(columns["item"][n])
        label, probs = columns["label"][n], columns["probs"][n]
        self.answer["item"].append(self._item(columns, n, where, item))
        self.answer["label"].append(NO_LABEL[columns["status"][n]] if label is None else self.labels(label))
        said = columns["said"][n] if label is None else None
        self.answer["said"].append(-1 if said is None else self.texts(shortened(said)))
        right, lacking = columns["_right"][n], columns["status"][n] in NO_ANSWER
        self.answer["right"].append(2 if lacking or right != right else int(right))
        self.answer["prob"].append(len(self.probs) if probs else -1)
        if probs:
            self.probs.append(len(probs))
            self.probs += [round(1000 * (p or 0)) for p in probs]

    def _item(
        self, columns: Mapping[str, Sequence[Any]], n: int, where: tuple[object, ...], item: Item | None
    ) -> int:
        """The number of an item, which several models of one run may have answered."""
        key = (*where, columns["item"][n] or n)
        if key not in self._items:
            self._items[key] = len(self.item["role"])
            gold = columns["gold"][n]
            self.item["role"].append(ROLES.index(columns["role"][n]))
            self.item["gold"].append(self.label_sets(tuple(self.labels(g) for g in gold or ())))
            choices = item.choices if item else ()
            self.item["choices"].append(self.label_sets(tuple(self.labels(c) for c in choices)))
            self.item["first"].append(len(self.field["name"]))
            for field, text in shown_fields(item).items() if item else _named(columns, n):
                if text:
                    self.field["name"].append(self.fields(field))
                    self.field["text"].append(self.texts(text))
        return self._items[key]

    def document(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "texts": self.texts.listed(),
            "labels": self.labels.listed(),
            "label_sets": self.label_sets.listed(),
            "fields": self.fields.listed(),
            "relations": self.relations.listed(),
            "models": self.models.listed(),
            "roles": list(ROLES),
            "case": self.case,
            "answer": self.answer,
            "item": self.item,
            "field": self.field,
            "probs": self.probs,
        }


ROLES = ("original", "variant", "conclusion")


def _named(columns: Mapping[str, Sequence[Any]], n: int) -> list[tuple[str, str]]:
    """Of an item that no group has: the prompt in a log, else the name of the wording."""
    prompt = columns["prompt"][n]
    return [("prompt", prompt)] if prompt else [("item", columns["item"][n])]


def _rows_of(
    block: Block, frame: pl.DataFrame, shown: NDArray[np.int64]
) -> tuple[list[int], dict[str, list[Any]]]:
    """Where the rows of each group begin, and the columns with groups standing together, of those that are
    shown."""
    is_shown = np.zeros(block.groups, dtype=bool)
    is_shown[shown] = True
    rows = np.flatnonzero(is_shown[block.group])
    order = rows[np.argsort(block.group[rows], kind="stable")]
    counts = np.bincount(block.group[rows], minlength=block.groups)
    starts = [0, *np.cumsum(counts).tolist()]
    if len(order) < frame.height or not (np.diff(order) >= 0).all():
        frame = frame[order]
    names = ("group", "item", "role", "label", "gold", "probs", "status")
    columns = {name: frame[name].to_list() for name in names}
    for name in ("said", "prompt"):
        columns[name] = frame[name].to_list() if name in frame.columns else [None] * frame.height
    columns["gold"] = [[g] if isinstance(g, str) else g for g in columns["gold"]]
    columns["_right"] = block.right[order].tolist()
    return starts, columns
