"""Broken groups as examples: of each relation the worst one, cut to what a reader needs to see that it is broken.

reworded, expects the same answer
original   Can I return order 4?            Yes, within 30 days.
variant    Please say: may order 4 go back? No.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unwaver.answers.unreadable import shortened
from unwaver.groups.conversations import shown_fields
from unwaver.metrics.block import Block
from unwaver.reports.ranking import BROKEN, Ranked
from unwaver.reports.source import Source

Row = Mapping[str, Any]
MOST_SIDES = 3


@dataclass(frozen=True)
class Side:
    """What was asked, by the names of its fields, and what was answered; `right` is None where nobody knows."""

    role: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    right: bool | None


@dataclass(frozen=True)
class Example:
    block: tuple[str, ...]  # suite, task, kind, model, method
    expect: str
    group: str
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class Counts:
    broken: int
    of: int  # groups that were measured


def counts(sources: Sequence[Source]) -> Counts:
    """How many groups are broken, of those that were measured."""
    states = [found.state for source in sources for found in source.ranked]
    broken = sum(int((state == BROKEN).sum()) for state in states)
    return Counts(broken, sum(int((state <= BROKEN).sum()) for state in states))


def examples(sources: Sequence[Source]) -> list[Example]:
    """The worst broken group of each relation and model, in the order of the sources."""
    worst = (
        _worst(source, block, frame, found)
        for source in sources
        for (block, frame), found in zip(source.blocks, source.ranked, strict=True)
    )
    return [example for example in worst if example is not None]


def _worst(source: Source, block: Block, frame: pl.DataFrame, found: Ranked) -> Example | None:
    places = np.flatnonzero(found.state == BROKEN)
    if not len(places):
        return None
    order = np.lexsort((-np.nan_to_num(found.sure[places]), -found.bad[places]))
    rows = frame.filter(pl.Series(block.group == places[order[0]])).to_dicts()
    sides = tuple(_sides(source, rows, block.expect))
    key = (block.suite, block.task, block.kind, block.model, block.method)
    return Example(key, block.expect, rows[0]["group"], sides)


def _sides(source: Source, rows: Sequence[Row], expect: str) -> Iterator[Side]:
    group = source.groups.get(rows[0]["group"])
    fields = {item.id: shown_fields(item) for item in group.items} if group else {}
    shown = [(row, _texts(row, fields)) for row in _chosen(rows, expect)]
    shared = set.intersection(*(set(texts) for _, texts in shown)) if len(shown) > 1 else set()
    if expect == "implied" or all(set(texts) <= shared for _, texts in shown):
        shared = set()
    for row, texts in shown:
        # a conversation may go on where another ended: then that one is shown whole
        own = [pair for pair in texts if pair not in shared] or texts
        yield Side(row["role"], tuple(own), _answer(row), _right(row))


def _texts(row: Row, fields: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """What was asked; of a log the prompt, or the name of the wording if that is all there is."""
    known = fields.get(row["item"])
    if known is not None:
        return [(name, text) for name, text in known.items() if text]
    prompt = row.get("prompt")
    return [("prompt", prompt)] if prompt else [("wording", str(row["item"]))]


def _chosen(rows: Sequence[Row], expect: str) -> Sequence[Row]:
    """The answer to the original, and the first one that breaks the relation with it."""
    if expect == "implied":
        return rows[:MOST_SIDES]
    first = next((row for row in rows if row["role"] == "original"), rows[0])
    others = [row for row in rows if row is not first and row["role"] != "original"]
    others = others or [row for row in rows if row is not first]
    breaks = [row for row in others if (_said(row) == _said(first)) == (expect == "different")]
    torn = [row for row in others if _right(row) is not None and _right(row) is not _right(first)]
    return [first, *(breaks or torn or others)[:1]]


def _said(row: Row) -> Any:
    label = row["label"]
    return " ".join(label.split()).casefold().rstrip(".!") if isinstance(label, str) else (row["status"],)


def _answer(row: Row) -> str:
    if row["label"] is not None:
        return str(row["label"])
    said = row.get("said")
    told = str(row["status"]).replace("_", " ")
    return f"{told}: {shortened(said)}" if said else told if told != "answered" else ""


def _right(row: Row) -> bool | None:
    judged, gold, label = row.get("right"), row.get("gold"), row["label"]
    if judged is not None:
        return bool(judged == 1)
    return None if not gold or label is None else label in ([gold] if isinstance(gold, str) else gold)
