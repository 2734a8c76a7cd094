"""A user's table as the items that builders start from: a column for each field of the task, and perhaps gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from unwaver.console import silent
from unwaver.errors import near
from unwaver.files import Row, Where, missing_column, stem
from unwaver.suites.common import gold, is_quoted
from unwaver.tables import read_table
from unwaver.tasks import Task
from unwaver.types import Item
from unwaver.variants.source import Source

GOLD = ("gold", "label", "gold_label", "answer", "is_duplicate")
_ALIASES = {
    "premise": ("premise", "sentence1", "context", "text1"),
    "hypothesis": ("hypothesis", "sentence2", "text2"),
    "sentence1": ("sentence1", "premise", "text1", "question1"),
    "sentence2": ("sentence2", "hypothesis", "text2", "question2"),
    "sentence": ("sentence", "text", "review"),
    "text": ("text", "sentence", "description"),
    "passage": ("passage", "context"),
}
_ONE_TEXT = ("text", "sentence", "question", "prompt", "input", "original")


def read_source(
    path: Path,
    task: Task,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    quoting: bool | None = None,
    say: Callable[[str], None] = silent,
) -> Source:
    """The items of a table. `columns` says which column is a field, gold or id, where the names do not tell."""
    rows = read_table(path, quoting=is_quoted(task.name, path) if quoting is None else quoting, say=say)
    names = list(dict.fromkeys(name for row in rows for name in row.cells))
    found = _columns(names, task, columns or {}, Where(str(path), 1))
    ids = Counter[str]()
    items = []
    for row in rows:
        name = str(row.cells.get(found["id"]) or row.where.line) if "id" in found else str(row.where.line)
        ids[name] += 1
        fields = {field: _text(row, found[field]) for field in task.fields}
        accepted = _gold(row, found.get("gold"), task)
        id = name if ids[name] == 1 else f"{name}.{ids[name]}"
        items.append(Item(id, task.name, "original", fields, task.labels, accepted))
    return Source(stem(path), task, tuple(items))


def _columns(
    names: Sequence[str], task: Task, given: Mapping[str, str | Sequence[str]], where: Where
) -> dict[str, str]:
    plain = {name.strip().casefold(): name for name in reversed(names)}
    found: dict[str, str] = {}
    for role, column in given.items():
        if role not in (*task.fields, "gold", "id"):
            raise where.error(f"no column can be the {role}", near(role, [*task.fields, "gold", "id"]))
        if column not in names:
            raise where.error(missing_column(str(column), names), near(str(column), names))
        found[role] = str(column)
    for field in task.fields:
        aliases = (field, *_ALIASES.get(field, ()), *(_ONE_TEXT if len(task.fields) == 1 else ()))
        name = found.get(field) or next((plain[a] for a in aliases if a in plain), None)
        if name is None:
            hint = f"needed: {', '.join(task.fields)} as names in the first line, or --column {field}=NAME"
            raise where.error(missing_column(field, names), hint)
        found[field] = name
    for role, aliases in (("gold", GOLD), ("id", ("id",))):
        name = found.get(role) or next((plain[a] for a in aliases if a in plain), None)
        if name is not None and name not in [found[f] for f in task.fields]:
            found[role] = name
    return found


def _text(row: Row, column: str) -> str:
    if column not in row.cells or row.cells[column] is None:
        raise row.where.error(
            f'column "{column}": found nothing, expected a text', "fill the cell, or drop the row"
        )
    return row.text(column)


def _gold(row: Row, column: str | None, task: Task) -> tuple[str, ...]:
    if column is None or row.cells.get(column) in (None, ""):
        return ()
    if task.labels:
        return gold(row, column, task.labels)
    return (str(row.cells[column]),)
