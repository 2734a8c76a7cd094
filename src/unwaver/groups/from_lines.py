"""Groups from lines of JSON, fast: a line that is as it should be is decoded into its types at once.

Anything else (a wrong type, broken JSON, a number that is spelled oddly) is decoded first and then read into the
same types, which says what is wrong with it: see unwaver.groups.from_json.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import UNSET

from unwaver.files import Row, Where, extension, json_row, lines_of, read_rows, shown
from unwaver.groups.from_json import GroupRecord, group_of, record_from_json
from unwaver.groups.many import together
from unwaver.tables import read_table
from unwaver.types import Group

_decoder = msgspec.json.Decoder(GroupRecord)


class GroupLines:
    """The groups of a file with the places they stand at. After the last, `told` has the lines that say more about
    their task than its name, and `named` the tasks that lines name, with None if one names none."""

    def __init__(self, path: Path, *, suite: str = "own", task: str = "own", kind: str = "semantic"):
        self.path, self.suite, self.task, self.kind = path, suite, task, kind
        self._same: dict[Any, Any] = {}  # one object for all names and labels that are equal
        self.told: list[Row] = []
        self.named: dict[str | None, None] = {}

    def __iter__(self) -> Iterator[tuple[Group, Where]]:
        return ((self.made(record, where), where) for record, where in self.records())

    def made(self, record: GroupRecord, where: Where) -> Group:
        return group_of(record, where, self.suite, self.task, self.kind, self._same.setdefault)

    def records(self) -> Iterator[tuple[GroupRecord, Where]]:
        if extension(self.path) != ".jsonl":
            for row in read_rows(self.path):
                yield self._slowly(row), row.where
            return
        file = str(self.path)
        for number, line in lines_of(self.path):
            try:
                record = _decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                record = None
            where = Where(file, number)
            if record is None or not _is_settled(record):
                record = self._slowly(json_row(line, where))
            else:
                self._note(record, where)
            yield record, where

    def _slowly(self, row: Row) -> GroupRecord:
        if "task_hash" in row.cells or "task_definition" in row.cells:
            self.told.append(row)
        named = row.cells.get("task")
        self.named[named if isinstance(named, str) else None] = None
        return record_from_json(row.cells, row.where)

    def _is_new(self, record: GroupRecord) -> bool:
        """Whether the task and its hash were not yet told: every line of such a task has them."""
        try:
            said = "task", record.task, record.task_hash
            return self._same.setdefault(said, record) is record
        except TypeError:  # not a text
            return True

    def _note(self, record: GroupRecord, where: Where) -> None:
        named = None if record.task is UNSET else record.task
        if record.task_hash is not UNSET and self._is_new(record):
            self.told.append(Row({"task": named, "task_hash": record.task_hash}, where))
        self.named[named] = None


def _is_settled(record: GroupRecord) -> bool:
    """Whether nothing of it was left undecoded: there, large numbers and the order of keys may be other ones."""
    if record.task_definition is not UNSET:
        return False
    return not [i for i in record.items if i.tools is not None or i.response_format is not None]


def begins_with_group(path: Path) -> bool:
    """Whether the first line of a .jsonl file is a group: then all others have to be."""
    if extension(path) != ".jsonl":
        return False
    number, line = next(lines_of(path))
    return "items" in json_row(line, Where(str(path), number)).cells


def holds_groups(path: Path) -> bool:
    """Whether a table is one of groups: a row has items, mostly the first."""
    return begins_with_group(path) or any("items" in row.cells for row in read_table(path))


def read_groups_file(path: Path) -> Sequence[Group]:
    """All groups of a file that unwaver wrote."""
    ids = Ids()
    groups = together(ids.noting(GroupLines(path)))
    ids.check(groups, path)
    return groups


class Ids:
    """Ids of groups and items as hashes: to remember very many needs little memory."""

    def __init__(self) -> None:
        self.lines = array("Q")
        self._all = self._groups, self._items, self._texts = array("q"), array("q"), array("q")

    def noting(self, placed: Iterable[tuple[Group, Where]]) -> Iterator[Group]:
        for group, where in placed:
            self.note(group, where)
            yield group

    def note(self, group: Group, where: Where) -> None:
        self.lines.append(where.line)
        self.note_group(group.id)
        for item in group.items:
            self.note_item(item.id, item.fields)

    def note_group(self, id: str) -> None:
        self._groups.append(hash(id))

    def note_item(self, id: str, fields: Mapping[str, Any]) -> None:
        self._items.append(hash(id))
        self._texts.append(hash((id, *fields.items())))

    def are_unique(self) -> bool:
        """Whether each id is that of one thing; now and then False because two hashes are equal by chance."""
        groups, items, texts = (pl.Series(np.asarray(each)).n_unique() for each in self._all)
        return groups == len(self._groups) and items == texts

    def check(self, groups: Iterable[Group], path: Path) -> None:
        """Each id is that of one thing. `groups` are those that were noted."""
        if not self.are_unique():
            places = (Where(str(path), line) for line in self.lines)
            check_ids(zip(groups, places, strict=True))


def check_ids(placed: Iterable[tuple[Group, Where]]) -> None:
    """Each id is that of one thing."""
    lines: dict[str, int] = {}
    items: dict[str, Mapping[str, str]] = {}
    for group, where in placed:
        if group.id in lines:
            raise where.error(
                f'"id": found {shown(group.id)}, which line {lines[group.id]} has too',
                "give each group an id of its own",
            )
        lines[group.id] = where.line
        for item in group.items:
            if items.setdefault(item.id, item.fields) != item.fields:
                raise where.error(
                    f'"id": found item {shown(item.id)} a second time with another text',
                    "give each item an id of its own",
                )
