"""CALM (Jang et al. 2021): meaning-free changes of the input format, on any one dev file of each task.

A dev file is one in the task's folder with "dev" or "validation" in its name and the columns of the task under
any name known here. Of several the first of these is taken: matched before mismatched, then .jsonl, .json, .tsv,
.csv, then plain before .gz, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from unwaver.errors import DataError
from unwaver.files import EXTENSIONS, Row, extension, read_rows
from unwaver.suites import check_case
from unwaver.suites.common import is_quoted, read_label
from unwaver.suites.library import Library, library
from unwaver.tasks import Task, built_in
from unwaver.tasks.calm_layout import calm_fields
from unwaver.types import Group, Item, Suite, replace
from unwaver.variants.render import reverse, signal
from unwaver.variants.source import Build, Source

_TASKS = ("mnli", "qnli", "rte", "qqp", "mrpc", "kornli", "klue-nli", "klue-sts")
CASES = dict.fromkeys(_TASKS, ("reverse", "signal"))

FOLDERS = {
    "rte": ("becel/rte", "rte"),
    "mrpc": ("becel/mrpc", "mrpc"),
    "klue-nli": ("klue_nli", "klue-nli"),
    "klue-sts": ("klue_sts", "klue-sts"),
}
_HOMES = {  # the dev file that --fetch gets
    "rte": "becel/rte/validation.tsv",
    "mrpc": "becel/mrpc/validation.tsv",
    "kornli": "kornli/xnli.dev.ko.tsv",
    "klue-nli": "klue_nli/klue-nli-v1.1_dev.json",
    "klue-sts": "klue_sts/klue-sts-v1.1_dev.json",
}
_FIRST = ("premise", "sentence1", "question1", "question")
_SECOND = ("hypothesis", "sentence2", "question2", "sentence")
_LABEL = ("gold_label", "label", "is_duplicate")
_STS_LABEL = ("labels.binary-label", "binary-label", "binary_label")  # "label" is a score from 0 to 5 there
_STS_SCORE, _STS_BAR = "label", 3.0  # learnt from if there is no other: the binary label is score >= 3

_DEV = re.compile(r"(?<![a-z])(dev|validation)(?![a-z])")  # not "nondev"
_TRAIN = re.compile(r"(?<![a-z])(train|nondev)(?![a-z])")
_ORDER = (".jsonl", ".json", ".tsv", ".csv")


class _Columns(NamedTuple):
    first: str
    second: str
    label: str


def suite(
    data_dir: Path | None = None,
    *,
    fetch: bool = False,
    say: Callable[[str], None] | None = None,
    signs: Sequence[str] = (),
) -> Suite:
    """`signs` replace the ten signs of the kind signal: ["[X]", "X;"]."""
    files = library(data_dir, fetch=fetch, say=say)
    builders: Mapping[str, Build] = {"reverse": reverse(), "signal": signal(signs)}

    @lru_cache(maxsize=1)  # the two kinds of a task are asked for one after the other
    def dev_file(task: str) -> tuple[list[Row], _Columns]:
        return _dev_file(built_in()[task], files)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case("calm", CASES, task, kind)
        return _groups(built_in()[task], builders[kind], _items(built_in()[task], *dev_file(task)))

    def examples(task: str) -> Iterator[Item]:
        check_case("calm", CASES, task, "reverse")
        train = _train_file(built_in()[task], files)
        name = "dev" if train is None else "train"
        return _examples(built_in()[task], name, *(train or dev_file(task)))

    def notes(task: str, kind: str) -> list[str]:
        check_case("calm", CASES, task, kind)
        others = [f"signs: {'  '.join(signs)}"] if signs and kind == "signal" else []
        return [f"from {dev_file(task)[0][0].where.file}", *others]

    return Suite("calm", CASES, groups, examples, notes)


# --- files --------------------------------------------------------------------------------------------------


def _dev_file(task: Task, files: Library) -> tuple[list[Row], _Columns]:
    folders = FOLDERS.get(task.name, (task.name,))
    candidates = [p for p in _tables(files, folders) if _DEV.search(p.name.lower())]
    if not candidates:
        candidates = [_fetched_dev_file(task, files, folders)]
    return _first_known(task, candidates)


def _tables(files: Library, folders: Sequence[str]) -> list[Path]:
    found = [p for p in files.files_in(folders) if extension(p) in EXTENSIONS]
    return sorted(
        found,
        key=lambda p: ("mismatched" in p.name, _ORDER.index(extension(p)), p.suffix == ".gz", p.name),
    )


def _fetched_dev_file(task: Task, files: Library, folders: Sequence[str]) -> Path:
    home = _HOMES.get(task.name)
    found = None if home is None else files.find_optional(home)
    if found is None:
        raise files.missing(
            home or f"{folders[0]}/dev.tsv",
            f'a file with "dev" or "validation" in its name in {" or ".join(folders)}',
        )
    return found


def read_pairs(task: Task, path: Path) -> list[Item]:
    """The pairs of one file of a task, whatever its columns are called; plain, not yet in CALM's form."""
    rows = _read(task, path)
    if task.name == "klue-sts" and _columns(task, rows[0]) is None and _STS_SCORE in rows[0].cells:
        rows = [replace(row, cells={**row.cells, _STS_LABEL[1]: _is_similar(row)}) for row in rows]
    return list(_items(task, rows, _known_columns(task, rows)))


def _is_similar(row: Row) -> bool:
    value = row.cells.get(_STS_SCORE)
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        score = -1.0
    if not 0 <= score <= 5:
        raise row.where.error(f"{_STS_SCORE}: found {value!r}, expected a score from 0 to 5", hint="correct it")
    return score >= _STS_BAR


def _train_file(task: Task, files: Library) -> tuple[list[Row], _Columns] | None:
    folders = FOLDERS.get(task.name, (task.name,))
    train = (_read(task, p) for p in _tables(files, folders) if _TRAIN.search(p.name.lower()))
    known = ((rows, columns) for rows in train if (columns := _columns(task, rows[0])) is not None)
    return next(known, None)


def _read(task: Task, path: Path) -> list[Row]:
    return read_rows(path, quoting=is_quoted(task.name, path))


def _first_known(task: Task, candidates: Sequence[Path]) -> tuple[list[Row], _Columns]:
    """The rows of the first file that has the columns of the task."""
    for path in candidates:
        rows = _read(task, path)
        if (columns := _columns(task, rows[0])) is not None:
            return rows, columns
    return rows, _known_columns(task, rows)


def _known_columns(task: Task, rows: Sequence[Row]) -> _Columns:
    columns = _columns(task, rows[0])
    if columns is None:
        raise DataError(
            f"no known columns for {task.name}; found: " + ", ".join(f'"{name}"' for name in rows[0].cells),
            hint="expected " + "; ".join(" or ".join(dict.fromkeys(names)) for names in _known(task)),
            file=rows[0].where.file,
            line=1,
        )
    return columns


def _known(task: Task) -> tuple[tuple[str, ...], ...]:
    label = _STS_LABEL if task.name == "klue-sts" else _LABEL
    return (task.fields[0], *_FIRST), (task.fields[1], *_SECOND), label


def _columns(task: Task, row: Row) -> _Columns | None:
    found = [next((n for n in names if _cell(row, n) is not _NOTHING), None) for names in _known(task)]
    first, second, label = found
    if first is None or second is None or label is None or first == second:
        return None
    return _Columns(first, second, label)


_NOTHING = object()


def _cell(row: Row, column: str) -> Any:
    """_cell(row, "labels.binary-label") -> row["labels"]["binary-label"]."""
    outer, _, inner = column.partition(".")
    value = row.cells.get(outer, _NOTHING)
    if not inner:
        return value
    return value.get(inner, _NOTHING) if isinstance(value, dict) else _NOTHING


def _items(task: Task, rows: Sequence[Row], columns: _Columns) -> Iterator[Item]:
    """The pairs with the texts as they are in the file; the id is the number of the row, from 0."""
    for n, row in enumerate(rows):
        for column in columns:
            if _cell(row, column) is _NOTHING:
                raise row.where.error(f'no "{column}", which other rows have', hint="complete the row")
        label = read_label(row, columns.label, _cell(row, columns.label), task.labels)
        fields = dict(zip(task.fields, (row.text(columns.first), row.text(columns.second)), strict=True))
        yield Item(str(n), task.name, "original", fields, task.labels, label)


# --- groups -------------------------------------------------------------------------------------------------


def _groups(task: Task, build: Build, items: Iterable[Item]) -> Iterator[Group]:
    """One by one, as a signal group holds eleven items and often only the first groups are wanted. A group has
    one original, so its cluster is that of the first pair with these texts."""
    first_id: dict[tuple[str, ...], str] = {}
    for group in build(Source("calm", task, tuple(items))):
        if isinstance(group, Group):
            texts = tuple(group.items[0].fields.values())
            yield replace(group, cluster=first_id.setdefault(texts, group.id))


def _examples(task: Task, name: str, rows: Sequence[Row], columns: _Columns) -> Iterator[Item]:
    first, second = task.forms["calm"].indicators
    for item in _items(task, rows, columns):
        if item.accepted:
            a, b = item.fields.values()
            fields = calm_fields(first, a, second, b)
            yield replace(item, id=f"calm/{task.name}/{name}/{item.id}", fields=fields, template="calm")
