"""PAWS (Zhang et al. 2019): pairs of sentences with much the same words, a 1 for those that mean the same.

Its files have the columns id, sentence1, sentence2 and label, without csv quotes; some releases have no header. In
PAWS-QQP the texts are Python bytes: b'How old …'.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from unwaver.files import Row, Where, read_rows
from unwaver.suites.common import is_quoted, read_label
from unwaver.tasks import Task
from unwaver.types import Item, replace

COLUMNS = ("id", "sentence1", "sentence2", "label")
# sets in the same folder that are not PAWS-Wiki, which is what a split means by its name
OTHER_SETS = ("qqp", "pawsx", "paws-x", "x-final")


def read_paws(task: Task, path: Path) -> list[Item]:
    items = []
    for row in _with_header(read_rows(path, quoting=is_quoted(task.name, path)), path):
        for column in COLUMNS[1:]:
            if column not in row.cells:
                found = ", ".join(row.cells)
                raise row.where.error(f"found columns {found}, expected {', '.join(COLUMNS)}", "is it PAWS?")
        fields = {name: _text(row.text(name)) for name in task.fields}
        label = read_label(row, "label", row.cells["label"], task.labels)
        id = str(row.cells.get("id", row.where.line))
        items.append(Item(id, task.name, "original", fields, task.labels, label))
    return items


def _with_header(rows: Sequence[Row], path: Path) -> list[Row]:
    """Without a header the first pair was taken for one."""
    first = list(rows[0].cells)
    if len(first) != len(COLUMNS) or first[-1] not in ("0", "1"):
        return list(rows)
    named = [replace(row, cells=dict(zip(COLUMNS, row.cells.values(), strict=True))) for row in rows]
    return [Row(dict(zip(COLUMNS, first, strict=True)), Where(str(path), 1)), *named]


def _text(text: str) -> str:
    """ "b'How old …'" -> "How old …"; other texts stay."""
    if not text.startswith(("b'", 'b"')) or text[-1] != text[1]:
        return text
    try:
        return bytes(ast.literal_eval(text)).decode()
    except (SyntaxError, ValueError, TypeError):
        return text
