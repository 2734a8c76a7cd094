"""Results as Python shows them: as text, as HTML in a notebook, and their broken groups as a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from unwaver.console import captured
from unwaver.frames import Frame
from unwaver.reports.listed import Listed, listed, records
from unwaver.reports.remarks import remarks
from unwaver.reports.terminal import LEFT, print_result, rows, tables
from unwaver.reports.verdict import Verdict, headline, verdicts
from unwaver.result import Result
from unwaver.text import displayed
from unwaver.text.shown import cut, safe

if TYPE_CHECKING:
    from unwaver.types import Group

MOST_VERDICTS = 5
KEY = ["suite", "task", "kind", "model", "method", "group"]
ANSWERS: dict[str, Any] = {
    "group": pl.String,
    "role": pl.String,
    "text": pl.String,
    "answer": pl.String,
    "right": pl.Boolean,
    "gold": pl.List(pl.String),
    "replicate": pl.Int64,
    "status": pl.String,
    "state": pl.String,
    "agreement": pl.Float64,
    "suite": pl.String,
    "task": pl.String,
    "kind": pl.String,
    "model": pl.String,
    "method": pl.String,
}


def as_text(result: Result) -> str:
    return captured(lambda console: print_result(result, console))


def as_html(result: Result) -> str:
    """The verdict, a table for each suite and model, and the notes."""
    found = verdicts(result)
    parts = [displayed.headline(headline(found), found[0].level if found else "")] if result.scores else []
    parts.append(displayed.verdicts(map(_verdict, found[:MOST_VERDICTS])))
    if len(found) > MOST_VERDICTS:
        parts.append(displayed.soft(f"and {len(found) - MOST_VERDICTS} more"))
    for title, part in tables(result):
        parts += [displayed.title(title), displayed.table(rows(part), LEFT)]
    parts.append(displayed.notes(list(remarks(result))))
    if stopped := (result.run.get("spent") or {}).get("stopped"):
        parts.append(displayed.notes([f"Stopped early: {stopped}."]))
    if result.folder is not None:
        parts.append(displayed.soft(f"Run folder: {result.folder}"))
    return displayed.framed(*parts)


def _verdict(v: Verdict) -> tuple[str, str, str, str]:
    several = f" ({v.score.model})" if v.score.model else ""
    return v.level, f"{v.subject}{several}", v.said, v.basis


def broken_frame(frame: pl.DataFrame, groups: Iterable[Group]) -> Frame:
    """Every answer of each broken group, with its text, the worst group first."""
    return answers_frame(listed([frame]), {group.id: group for group in groups})


def answers_frame(found: Sequence[Listed], known: Mapping[str, Group]) -> Frame:
    """One row for each answer of the groups, in their order; what `unwaver show --csv` writes."""
    rows = [
        {**record, **answer, "right": is_right(answer)}
        for record in records(found, known)
        for answer in record["answers"]
    ]
    data = [[row.get(name) for name in ANSWERS] for row in rows]
    return Frame(pl.DataFrame(data, schema=ANSWERS, orient="row"))


def is_right(answer: Mapping[str, Any]) -> bool | None:
    """Whether an answer is right: as others have judged it, else by gold; None where nobody knows."""
    judged, gold, said = answer["right"], answer["gold"], answer["answer"]
    if judged is not None:
        return bool(judged == 1)
    return None if not gold or said is None or answer["status"] == "unreadable" else said in gold


def broken_lines(found: pl.DataFrame, limit: int, width: int = 90) -> list[str]:
    """The first broken groups of `broken_frame`: texts and answers, cut."""
    lines: list[str] = []
    parts = found.partition_by(KEY, maintain_order=True)
    for part in parts[:limit]:
        lines.append(safe(f"{part['kind'][0]} · {part['group'][0]}"))
        for row in part.iter_rows(named=True):
            said = row["answer"] if row["answer"] is not None else row["status"].replace("_", " ")
            lines.append(f"  {_cut(row['text'], width)}  →  {_cut(said, width)}")
    if len(parts) > limit:
        lines.append(f"and {len(parts) - limit:,} more broken groups: result.broken() has all of them")
    return lines


def _cut(text: str, width: int) -> str:
    return cut(" ".join(safe(text).split()), width)
