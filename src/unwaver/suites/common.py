"""What suites read from tables: texts, and the gold label of a row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from unwaver.files import Row, extension, shown
from unwaver.tasks import Task

NO_GOLD = ("", "-", "-1", "none")  # how sets write that people did not agree, or that the label is secret


_UNQUOTED = ("mnli", "kornli", "paws")  # published as .tsv without csv quoting: a " is a sign like any other


def is_quoted(task: str, path: Path) -> bool:
    """Whether cells of a table are in csv quotes: is_quoted("mnli", Path("dev.tsv")) -> False."""
    return not (task in _UNQUOTED and extension(path) == ".tsv")


def gold(row: Row, column: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    """The label of a row, by name or by number ("2", "2.0"): () where the set gives none.

    gold(row with "label": "2", "label", ("entailment", "neutral", "contradiction")) -> ("contradiction",)
    """
    return read_label(row, column, row.cells[column], labels)


def read_label(row: Row, column: str, value: Any, labels: tuple[str, ...]) -> tuple[str, ...]:
    if value in labels:
        return (value,)
    known = _names(labels)
    key = "" if value is None else _key(int(value) if isinstance(value, bool) else value)
    if key in known:
        return (known[key],)
    if key not in NO_GOLD:
        raise row.where.error(
            f'column "{column}": found {shown(value)}, expected '
            + ", ".join(f"{n} {label}" for n, label in enumerate(labels)),
            hint="write a label as its number or its name; leave the cell empty if there is none",
        )
    return ()


@cache
def _names(labels: tuple[str, ...]) -> Mapping[str, str]:
    names = {_key(label): label for label in labels}
    if any(label.strip("-").replace(".", "").isdecimal() for label in labels):
        return names  # "1" is a name here, not the number of a label
    return {number: label for n, label in enumerate(labels) for number in (str(n), f"{n}.0")} | names


def _key(value: object) -> str:
    """_key("Not entailment") -> "not_entailment"; "-1" keeps its sign."""
    text = str(value).strip().casefold()
    return text if text.startswith("-") else text.replace(" ", "_").replace("-", "_")


def task_fields(row: Row, task: Task) -> dict[str, str]:
    return {name: row.text(name) for name in task.fields}
