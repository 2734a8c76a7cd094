"""The first groups of each task and kind of a user's file (--limit): the rest of the file is read, but not built.
The groups are those that a run of the whole file would begin with, with the same clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from unwaver.files import Where
from unwaver.groups import expect_of
from unwaver.groups.clusters import Joined
from unwaver.groups.conversations import fields_of, messages_of
from unwaver.groups.from_json import GroupRecord, ItemRecord, default_roles, item_of
from unwaver.groups.from_lines import GroupLines, Ids
from unwaver.tasks import OPTIONS
from unwaver.types import Group, Item

_encode = msgspec.msgpack.Encoder().encode


class Seen(NamedTuple):
    """A group that may be built: its task and kind, hashes of its originals, and how it is built."""

    case: tuple[str, str]
    originals: Sequence[bytes]
    make: Callable[[], Group]
    where: Where


@dataclass
class First:
    """The first groups of a case, and how all groups of the case share originals."""

    joined: Joined = field(default_factory=lambda: Joined(keep=True))
    chosen: list[Seen] = field(default_factory=list)


def first_of_each(seen: Iterable[Seen], limit: int) -> dict[tuple[str, str], First]:
    cases: dict[tuple[str, str], First] = {}
    for each in seen:
        first = cases.setdefault(each.case, First())
        first.joined.add(each.originals)
        if len(first.chosen) < limit:
            first.chosen.append(each)
    return cases


def key_of(*parts: object) -> bytes:
    """A hash of what is asked: of two originals it is the same if, and only if, they are one question."""
    return blake2b(_encode(parts), digest_size=16).digest()


class Glance:
    """What is seen of the lines of a file without building groups. After the last, `is_whole` tells whether each
    id is that of one thing, `suites` has the names of suites, and `forms` an item of each form that tasks have."""

    def __init__(self, lines: GroupLines):
        self._lines = lines
        self._ids = Ids()
        self.suites: set[str] = set()
        self.forms: dict[tuple[Any, ...], tuple[Item, Where]] = {}

    @property
    def is_whole(self) -> bool:
        return self._ids.are_unique()

    def __iter__(self) -> Iterator[Seen]:
        lines = self._lines
        for record, where in lines.records():
            task = lines.task if record.task is UNSET else record.task
            kind = lines.kind if record.kind is UNSET else record.kind
            expect = expect_of(kind) if record.expect is UNSET else record.expect
            roles = default_roles(expect or "same", len(record.items))
            suite = lines.suite if record.suite is UNSET else record.suite
            id = f"{suite}/{task}/{kind}/{where.line}" if record.id is UNSET else record.id
            self.suites.add(suite)
            originals = []
            for n, item in enumerate(record.items):
                texts = _texts(item, where)
                self._ids.note_item(f"{id}/{n}" if item.id is UNSET else item.id, texts)
                own = task if item.task is UNSET else item.task
                if (roles[n] if item.role is UNSET else item.role) == "original":
                    originals.append(key_of(own, item.template, item.messages is UNSET, _asked(texts)))
                self._note_form(item, own, texts, where)
            self._ids.note_group(id)
            yield Seen((task, kind), originals, _maker(lines, record, where), where)

    def _note_form(self, item: ItemRecord, task: str, texts: Mapping[str, str], where: Where) -> None:
        """Two items with different choices tell as much of a task as a million do."""
        names: object = item.messages is not UNSET or tuple(sorted(texts))
        lettered = item.template in OPTIONS
        choices = tuple(sorted(item.choices)) if lettered else item.choices
        form = task, names, lettered, choices
        if form not in self.forms and sum(each[:3] == form[:3] for each in self.forms) < 2:
            made = item_of(item, where, "", 0, task, "original", lambda value, _: value)
            self.forms[form] = made, where


def _maker(lines: GroupLines, record: GroupRecord, where: Where) -> Callable[[], Group]:
    return lambda: lines.made(record, where)


def _texts(item: ItemRecord, where: Where) -> Mapping[str, str]:
    if item.messages is not UNSET:
        return fields_of(messages_of(item.messages, where))
    return item.fields or ({} if item.text is UNSET else {"text": item.text})


def _asked(texts: Mapping[str, str]) -> object:
    """The texts in any order; the name of a single one may be "text" or that of the task's field."""
    return list(texts.values()) if len(texts) == 1 else sorted(texts.items())
