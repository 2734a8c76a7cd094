"""Answers from which no label can be read: what they say, and which of them are frequent.

The column `said` of a table holds the text of such answers; a table without them has no such column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from unwaver.answers.schema import BLOCK
from unwaver.state import UNREADABLE
from unwaver.text.shown import safe_json
from unwaver.types import Answer

SAID = "said"
LONGEST = 200  # characters of a text that are shown to people
_RELATION = ("suite", "task", "kind")


class Frequent(NamedTuple):
    """A text that a model gave as an unreadable answer, and how often."""

    model: str
    method: str
    relation: str
    text: str
    answers: int  # with this text
    of: int  # unreadable answers of the model about the relation


def texts_of(
    places: Iterable[tuple[str, int]], statuses: Sequence[str], answers: Mapping[tuple[str, int], Answer]
) -> pl.Series:
    """Per row: the text of an unreadable answer, null for all others."""
    found = []
    for place, status in zip(places, statuses, strict=True):
        answer = answers.get(place) if status in UNREADABLE else None
        found.append(None if answer is None else answer.text or "")
    return pl.Series(SAID, found, dtype=pl.String)


def rows_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of unreadable answers whose text is known."""
    if SAID not in frame.columns:
        return frame.clear().with_columns(pl.lit(None, pl.String).alias(SAID))
    return frame.filter(pl.col("status").is_in(UNREADABLE) & pl.col(SAID).is_not_null())


def frequent(frame: pl.DataFrame) -> list[Frequent]:
    """The texts of each model about each relation, the most frequent first."""
    rows = rows_of(frame)
    if rows.is_empty():
        return []
    relation = pl.concat_str(*_RELATION, separator="/").alias("relation")
    counted = (
        rows.with_columns(relation)
        .group_by("model", "method", "relation", SAID, maintain_order=True)
        .agg(pl.len().alias("answers"))
        .with_columns(of=pl.col("answers").sum().over("model", "method", "relation"))
        .sort("answers", descending=True, maintain_order=True)
    )
    columns = ("model", "method", "relation", SAID, "answers", "of")
    return [Frequent(*row) for row in counted.select(columns).iter_rows()]


def records(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One object for each unreadable answer, for a file."""
    columns = (*BLOCK, "group", "item", "role", "replicate", "status", SAID)
    for row in rows_of(frame).select(columns).iter_rows(named=True):
        yield {"version": 1, "unreadable": row.pop(SAID), **row}


def as_jsonl(frames: Iterable[pl.DataFrame]) -> str:
    """Lossless, and without a character that steers a terminal: {"version": 1, "unreadable": "\\u001b[31m", …}"""
    lines = (json.dumps(record, ensure_ascii=False) for frame in frames for record in records(frame))
    return "".join(safe_json(line) + "\n" for line in lines)


def shortened(text: str, most: int = LONGEST) -> str:
    """On one line, as people are shown it; an empty answer says so."""
    line = " ".join(text.split())
    return (line if len(line) <= most else line[: most - 1] + "…") or "(empty)"
