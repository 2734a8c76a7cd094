"""Groups from lines of JSON, fast: a line that is as it should be is decoded into its types at once.

Anything else (a wrong type, broken JSON, a number that is spelled oddly) is left to unwaver.groups.from_json,
which says what is wrong with it, or takes it. Both give the same group of the same line.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from unwaver.files import Row, Where, extension, json_row, lines_of, read_rows, shown
from unwaver.groups import expect_of
from unwaver.groups.from_json import default_roles, group_from_json
from unwaver.groups.many import together
from unwaver.tables import read_table
from unwaver.types import Expect, Group, Item, Message, Role

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


# left out is another thing than empty or null
Text = str | msgspec.UnsetType


class _Message(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    content: str


class _Item(msgspec.Struct, frozen=True, gc=False):
    id: Text = msgspec.UNSET
    task: Text = msgspec.UNSET
    role: Role | msgspec.UnsetType = msgspec.UNSET
    fields: dict[str, str] | None = None
    text: Text = msgspec.UNSET
    choices: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    template: str = ""
    judge: str = ""
    about: str = ""
    at_least: Share | None = None
    certified: bool | None = None
    certified_by: str = ""
    messages: tuple[_Message, ...] | msgspec.UnsetType = msgspec.UNSET
    tools: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    response_format: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Group(msgspec.Struct, frozen=True, gc=False):
    items: list[_Item]
    version: Literal[1] = 1
    id: Text = msgspec.UNSET
    suite: Text = msgspec.UNSET
    task: Text = msgspec.UNSET
    kind: Text = msgspec.UNSET
    expect: Expect | msgspec.UnsetType = msgspec.UNSET
    cluster: str = ""
    tag: str = ""
    keep: Annotated[int, msgspec.Meta(ge=1)] | None = None
    epsilon: Share | None = None
    units: tuple[str, ...] = ()
    repeats: Annotated[int, msgspec.Meta(ge=0)] | None = None
    task_hash: Any = msgspec.UNSET
    task_definition: Any = msgspec.UNSET


_decoder = msgspec.json.Decoder(_Group)


class GroupLines:
    """The groups of a file with the places they stand at. After the last, `told` has the lines that say more about
    their task than its name, and `named` the tasks that lines name, with None if one names none."""

    def __init__(self, path: Path, *, suite: str = "own", task: str = "own", kind: str = "semantic"):
        self.path, self._suite, self._task, self._kind = path, suite, task, kind
        self._same: dict[Any, Any] = {}  # one object for all names and labels that are equal
        self.told: list[Row] = []
        self.named: dict[str | None, None] = {}

    def __iter__(self) -> Iterator[tuple[Group, Where]]:
        if extension(self.path) != ".jsonl":
            for row in read_rows(self.path):
                yield self._slowly(row), row.where
            return
        for number, line in lines_of(self.path):
            try:
                record = _decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                record = None
            where = Where(str(self.path), number)
            if record is None or (group := self._group(record, where)) is None:
                group = self._slowly(json_row(line, where))
            yield group, where

    def _slowly(self, row: Row) -> Group:
        if "task_hash" in row.cells or "task_definition" in row.cells:
            self.told.append(row)
        named = row.cells.get("task")
        self.named[named if isinstance(named, str) else None] = None
        return group_from_json(row.cells, row.where, suite=self._suite, task=self._task, kind=self._kind)

    def _is_new(self, record: _Group) -> bool:
        """Whether the task and its hash were not yet told: every line of such a task has them."""
        try:
            said = "task", record.task, record.task_hash
            return self._same.setdefault(said, record) is record
        except TypeError:  # not a text
            return True

    def _group(self, record: _Group, where: Where) -> Group | None:
        """None where the slow way has to look."""
        same = self._same.setdefault
        suite, task, kind = (
            same(name, name)
            for name in (
                _or(record.suite, self._suite),
                _or(record.task, self._task),
                _or(record.kind, self._kind),
            )
        )
        expect = expect_of(kind) if record.expect is msgspec.UNSET else record.expect
        count = len(record.items)
        if expect is None or count < 2 or record.task_definition is not msgspec.UNSET:
            return None
        id = _or(record.id, f"{suite}/{task}/{kind}/{where.line}")
        roles = default_roles(expect, count)
        try:
            items = tuple([_item(item, same, id, n, task, roles[n]) for n, item in enumerate(record.items)])
        except LookupError:
            return None
        if record.task_hash is not msgspec.UNSET and self._is_new(record):
            self.told.append(Row({"task": _or(record.task, None), "task_hash": record.task_hash}, where))
        self.named[_or(record.task, None)] = None
        return Group(
            id, suite, task, kind, expect, items, record.cluster, same(record.tag, record.tag),
            record.keep, record.epsilon, record.units, record.repeats or 0,
        )  # fmt: skip


def _or(text: str | msgspec.UnsetType, default: Any) -> Any:
    return default if text is msgspec.UNSET else text


def _item(record: _Item, same: Callable[[Any, Any], Any], group: str, number: int, task: str, role: Role) -> Item:
    """Raises LookupError where the slow way has to look."""
    fields = record.fields
    messages: tuple[Message, ...] = ()
    if record.messages is not msgspec.UNSET:
        fields, messages = _conversation(record)
    elif fields is None and record.text is not msgspec.UNSET:
        fields = {"text": record.text}
    if not fields or record.role == "test" or record.tools or record.response_format:
        raise LookupError
    own = record.task
    return Item(
        f"{group}/{number}" if record.id is msgspec.UNSET else record.id,
        task if own is msgspec.UNSET else same(own, own),
        role if record.role is msgspec.UNSET else record.role,
        fields,
        same(record.choices, record.choices),
        same(record.accepted, record.accepted),
        same(record.rejected, record.rejected),
        same(record.template, record.template),
        same(record.judge, record.judge),
        record.about,
        record.at_least or 0.0,
        record.certified,
        record.certified_by,
        messages,
    )


def _conversation(record: _Item) -> tuple[dict[str, str], tuple[Message, ...]]:
    """Fields and messages, where all is plain text and no answer is awaited."""
    from unwaver.groups.conversations import fields_of

    found = record.messages
    if not found or record.fields is not None or record.text is not msgspec.UNSET:
        raise LookupError
    if found[-1].role != "user" or any("{answer of" in each.content for each in found):
        raise LookupError
    messages = tuple([Message(each.role, each.content) for each in found])
    return fields_of(messages), messages


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
        self._groups, self._items, self._texts = array("q"), array("q"), array("q")

    def noting(self, placed: Iterable[tuple[Group, Where]]) -> Iterator[Group]:
        for group, where in placed:
            self.note(group, where)
            yield group

    def note(self, group: Group, where: Where) -> None:
        self.lines.append(where.line)
        self._groups.append(hash(group.id))
        for item in group.items:
            self._items.append(hash(item.id))
            self._texts.append(hash((item.id, *item.fields.items())))

    def check(self, groups: Iterable[Group], path: Path) -> None:
        """Each id is that of one thing. `groups` are those that were noted."""
        hashes = self._groups, self._items, self._texts
        found, items, texts = (len(np.unique(np.asarray(each))) for each in hashes)
        if found < len(self._groups) or items != texts:  # or two hashes are equal by chance
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
