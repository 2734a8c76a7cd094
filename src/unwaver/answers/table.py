"""Answers as a Polars frame, one row per answer, with one written schema (unwaver.answers.schema).

What a label is, is decided here and nowhere else. Tables from elsewhere: unwaver.answers.given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unwaver.answers.labels import read_label
from unwaver.answers.running_text import is_settled
from unwaver.answers.schema import OPTIONAL, SCHEMA
from unwaver.groups import SELF_CERTIFIED, is_plain, is_self_certified
from unwaver.groups.certify import Reading, counted, reading_of
from unwaver.state import NO_ANSWER, UNREADABLE, CutMode, Status, is_cut, status_of
from unwaver.tasks import is_open
from unwaver.types import Answer, Group, Item


def table_of(
    groups: Sequence[Group],
    answers: Mapping[tuple[str, int], Answer],
    words: Mapping[tuple[str, str], Sequence[str]],
    *,
    model: str,
    method: str,
    writes: str | None = None,
    replicates: int = 1,
    normalise: bool = False,
    read: str = "text",
    cut: CutMode = "exclude",
) -> pl.DataFrame:
    """The answers of one model about these groups: `answers` by (item id, replicate).

    `words` are what a language model writes for the labels, by (task, template). `normalise` divides the
    log-probability of each choice by its number of tokens before the greatest is taken. `writes` is the method by
    which free text came about, where it is another. `cut`: "keep" takes answers that were cut as they are.
    """
    told = label_reader(answers, words, normalise, read, cut)
    rows = _rows(groups, told, replicates)
    items, readings, places = rows.items, rows.readings, rows.places
    right: list[float | None] = [None] * len(items)
    right_by: list[str | None] = []
    if any(item.accepted and not item.choices for item in items):
        from unwaver.answers.references import right_texts

        right, right_by = right_texts(items, readings)
    columns: dict[str, Any] = {
        **_of_groups(rows.groups),
        **_of_items(items, method, writes or method),
        **_of_readings(readings),
        "model": [model] * len(items),
        "replicate": [replicate for _, replicate in places],
        "right": right,
        "truncated": _were_truncated(places, answers),
        "weight": [None] * len(items),
    }
    columns |= {name: lists(columns[name], SCHEMA[name]) for name in ("gold", "probs")}
    table = pl.DataFrame({name: columns[name] for name in SCHEMA}, schema=SCHEMA)
    extra = _extra_columns(rows.groups, items, told)
    if any(right_by):
        extra["right_by"] = pl.Series("right_by", right_by, dtype=pl.String)
    if any(status in UNREADABLE for status in set(columns["status"])):
        from unwaver.answers.unreadable import texts_of

        extra["said"] = texts_of(places, columns["status"], answers)
    if any(item.tools or item.response_format for item in items):
        from unwaver.answers.formats import formats_of

        extra["format"] = formats_of(
            [(item, answers.get(place)) for item, place in zip(items, places, strict=True)], columns["status"]
        )
    table = table.with_columns(**extra)
    if any(item.role == "test" for item in items):
        from unwaver.answers.weights import weighted_by_items

        table = weighted_by_items(table, items)
    return table


class _Rows(NamedTuple):
    """Columns of the same length: a tuple for each row would take twice the time."""

    groups: list[Group]
    items: list[Item]
    places: list[tuple[str, int]]  # item id and replicate
    readings: list[Reading]


def _rows(groups: Sequence[Group], told: Callable[[Item, int], Reading], replicates: int) -> _Rows:
    rows = _Rows([], [], [], [])
    for group in groups:
        for replicate in range(max(replicates, 1 + group.repeats)):
            for item, reading in _counted(group, told, replicate):
                if not replicate or replicate < group.times(item, replicates):
                    rows.groups.append(group)
                    rows.items.append(item)
                    rows.places.append((item.id, replicate))
                    rows.readings.append(reading)
    return rows


def _of_groups(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """The columns that a row has from its group."""
    return {
        "suite": [g.suite for g in groups],
        "task": [g.task for g in groups],
        "kind": [g.kind for g in groups],
        "expect": [g.expect for g in groups],
        "group": [g.id for g in groups],
        "cluster": [g.cluster or g.id for g in groups],
    }


def _of_items(items: Sequence[Item], method: str, writes: str) -> dict[str, list[Any]]:
    return {
        "method": [method if i.choices and not is_open(i) else writes for i in items],
        "item": [i.id for i in items],
        "role": [i.role for i in items],
        "gold": [i.accepted or None for i in items],
    }


def _of_readings(readings: Sequence[Reading]) -> dict[str, list[Any]]:
    return {
        "label": [reading.label for reading in readings],
        "probs": [reading.probs for reading in readings],
        "status": [reading.status for reading in readings],
    }


def lists(values: Sequence[Sequence[Any] | None], dtype: Any) -> pl.Series:
    """A column of lists. Polars makes one of Python lists one by one; here equal ones are made once, and lists of
    numbers of one length together."""
    if dtype != pl.List(pl.Float64):
        places: dict[Any, int] = {}
        where = [places.setdefault(value, len(places)) for value in values]
        return pl.Series([None if value is None else list(value) for value in places], dtype=dtype).gather(where)
    if len(set(map(type, values))) == len({len(value) for value in values if value is not None}) == 1:
        return pl.Series(np.array(values, float)).cast(dtype)
    rows_of: dict[int, list[int]] = {}
    for row, value in enumerate(values):
        rows_of.setdefault(-1 if value is None else len(value), []).append(row)
    made = [
        pl.Series([None] * len(rows) if length < 0 else np.array([values[row] for row in rows], float)).cast(dtype)
        for length, rows in rows_of.items()
    ]
    order = np.argsort(np.concatenate([[], *rows_of.values()]))
    return pl.concat([pl.Series([], dtype=dtype), *made]).gather(order)


def _were_truncated(places: Sequence[tuple[str, int]], answers: Mapping[Any, Answer]) -> Sequence[bool]:
    truncated = {place for place, answer in answers.items() if answer.truncated}
    return [place in truncated for place in places] if truncated else [False] * len(places)


def label_reader(
    answers: Mapping[tuple[str, int], Answer],
    words: Mapping[tuple[str, str], Sequence[str]],
    normalise: bool,
    read: str = "text",
    cut: CutMode = "exclude",
) -> Callable[[Item, int], Reading]:
    """How the answers about items read. A judge is asked once, however many replicates there are.

    `read` says what of a free text is the answer: see unwaver.answers.extract. `cut` is about the models under
    test: what a judge did not finish is never a verdict.
    """
    extract = _text_reader(read)

    def told(item: Item, replicate: int) -> Reading:
        answer = answers.get((item.id, 0 if item.role == "judge" else replicate))
        known = words.get((item.task, item.template), ())
        label, probs = _read(item.choices, known, answer, normalise, extract)
        if label and answer and answer.text and not (answer.finish or answer.beside or item.tools):
            return Reading("answered", label, probs)  # as most are: see unwaver.state
        if item.tools and not item.choices and answer is not None and answer.error is None:
            from unwaver.answers.calls import calls_said

            label = calls_said(answer) or label
        keep: CutMode = "exclude" if item.role == "judge" else cut
        status = reading_status(answer, label, item.choices, known, keep)
        return Reading(status) if status in NO_ANSWER else Reading(status, label, probs)

    return told


def _text_reader(read: str) -> Callable[[str], str | None]:
    """What of a free text is the answer; labels need none of it."""

    @cache
    def reader() -> Callable[[str], str | None]:
        from unwaver.answers.extract import reader

        return reader(read)

    return lambda text: reader()(text)


def _counted(group: Group, told: Callable[[Item, int], Reading], replicate: int) -> list[tuple[Item, Reading]]:
    """The items of a group that stand in the table, and how they read."""

    def read(item: Item) -> Reading:
        return told(item, replicate)

    if not is_plain(group):
        return [(item, reading_of(group, item, read)) for item in counted(group, read)]
    return [(i, reading_of(group, i, read) if i.messages else told(i, replicate)) for i in group.items]


def _extra_columns(
    of_rows: Sequence[Group], items: Sequence[Item], told: Callable[[Item, int], Reading]
) -> dict[str, pl.Series]:
    """The columns of OPTIONAL that some group needs; `of_rows` has the group of each row."""
    groups = {id(group): group for group in of_rows}.values()
    columns: dict[str, Sequence[object]] = {}
    if any(group.units for group in groups):
        columns["units"] = [list(group.units) or None for group in of_rows]
    if any(group.epsilon is not None for group in groups):
        columns["epsilon"] = [group.epsilon for group in of_rows]
    if any(map(is_self_certified, groups)):
        columns[SELF_CERTIFIED] = [is_self_certified(group) for group in of_rows]
    if any(group.kind == "fooling" for group in groups):
        from unwaver.answers.fooled import columns_of

        columns |= columns_of(list(zip(of_rows, items, strict=True)), groups, told)
    return {name: pl.Series(name, values, dtype=OPTIONAL[name]) for name, values in columns.items()}


def reading_status(
    answer: Answer | None,
    label: str | None,
    choices: Sequence[str],
    words: Sequence[str],
    cut: CutMode = "exclude",
) -> Status:
    """The status of an answer that reads as `label`. What was cut counts only where it is a label for certain."""
    text = answer.text if answer is not None and is_cut(answer.finish) else None
    settled = bool(choices) and text is not None and label is not None and is_settled(text, label, choices, words)
    return status_of(answer, label, settled=settled, cut=cut)


def _read(
    choices: Sequence[str],
    words: Sequence[str],
    answer: Answer | None,
    normalise: bool,
    extract: Callable[[str], str | None],
) -> tuple[str | None, list[float] | None]:
    """The label that an answer gives, and the probabilities of the choices."""
    if answer is None or answer.error is not None or (answer.beside and answer.beside.tool_calls):
        return None, None
    scores = answer.logprobs
    if normalise and answer.tokens:
        scores = tuple(s / max(n, 1) for s, n in zip(scores, answer.tokens, strict=True))
    probs = softmax(scores) if scores and len(scores) == len(choices) else None
    if answer.text is not None:
        if not choices:  # free text: the words themselves are the answer
            return extract(answer.text), None
        return read_label(answer.text, choices, words), probs
    if probs is None:
        return None, None
    return choices[max(range(len(probs)), key=probs.__getitem__)], probs


def softmax(logs: Sequence[float]) -> list[float] | None:
    """softmax([0, 0]) -> [0.5, 0.5]; None if no choice is possible or a number is missing."""
    top = max(logs)
    if not math.isfinite(top):
        return None
    weights = [math.exp(x - top) for x in logs]
    total = sum(weights)
    return None if math.isnan(total) else [w / total for w in weights]
