"""Groups as they are read from JSON: into types, then into a group, with defaults for what is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET

from unwaver.errors import near
from unwaver.files import Where, shown
from unwaver.groups import ALONE, KINDS, expect_of
from unwaver.groups.conversations import (
    SPEAKERS,
    MessageRecord,
    check_awaited,
    fields_of,
    format_from_json,
    hint_of_message,
    messages_of,
    tools_from_json,
)
from unwaver.typed import AboveZero, Count, Share, Wrong, typed
from unwaver.types import Expect, Group, Item, Message, Role

Text = str | msgspec.UnsetType  # left out is another thing than empty or null
Same = Callable[[Any, Any], Any]


class ItemRecord(msgspec.Struct, frozen=True, gc=False):
    id: Text = UNSET
    task: Text = UNSET
    role: Role | msgspec.UnsetType = UNSET
    fields: dict[str, str] | None = None
    text: Text = UNSET
    choices: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    template: str = ""
    judge: str = ""
    about: str = ""
    at_least: Share | None = None
    certified: bool | None = None
    certified_by: str = ""
    messages: Annotated[tuple[MessageRecord, ...], msgspec.Meta(min_length=1)] | msgspec.UnsetType = UNSET
    tools: Any = None
    response_format: Any = None


class GroupRecord(msgspec.Struct, frozen=True, gc=False):
    """One line of groups.jsonl."""

    items: tuple[ItemRecord, ...]
    version: Literal[1] = 1
    id: Text = UNSET
    suite: Text = UNSET
    task: Text = UNSET
    kind: Text = UNSET
    expect: Expect | msgspec.UnsetType = UNSET
    cluster: str = ""
    tag: str = ""
    keep: AboveZero | None = None
    epsilon: Share | None = None
    units: tuple[str, ...] = ()
    repeats: Count | None = None
    task_hash: Any = UNSET
    task_definition: Any = UNSET


_ITEMS = 'write "items": [{"text": "the original"}, {"text": "the variant"}]'
_FIELDS = 'an item needs "text": "…", "fields": {"premise": "…", "hypothesis": "…"} or "messages": […]'
_HINTS = {"version": "update unwaver", "items": _ITEMS, "fields": _FIELDS}
_HINTS |= {"keep": "leave it out for all", "repeats": "leave it out for none", "certified": "leave it out"}


def group_from_json(
    record: Mapping[str, Any], where: Where, *, suite: str = "own", task: str = "own", kind: str = "semantic"
) -> Group:
    """A group from one line of groups.jsonl; all but the items and their texts may be left out.

    {"items": [{"text": "Is it late?"}, {"text": "Is it late now?"}]} on line 3
      -> Group("own/own/semantic/3", expect="same", items=(original, variant))
    """
    return group_of(record_from_json(record, where), where, suite, task, kind)


def record_from_json(record: Mapping[str, Any], where: Where) -> GroupRecord:
    found: GroupRecord = typed(GroupRecord, record, where, _hint, halves=True, infinite=True)
    return found


def _hint(wrong: Wrong) -> str:
    """What to write in place of what is wrong."""
    names = ["items", *(name for name in wrong.at.split(".") if name and not name.isdecimal())]
    name, in_list = names[-1], wrong.at[-1:].isdecimal()
    known = {"expect": get_args(Expect), "role": SPEAKERS if "messages" in names else get_args(Role)}
    if name in known and isinstance(wrong.found, str):
        return near(wrong.found, known[name])
    if "messages" in names:
        return hint_of_message(wrong, name)
    if "fields" in names:
        name = "fields"
    if name in _HINTS or "text" not in wrong.expected:
        return _HINTS.get(name, "correct it")
    return f'write "{name}": ["…"]' if in_list or "list" in wrong.expected else f'write "{name}": "…"'


def _plainly(value: Any, _: Any) -> Any:
    return value


def group_of(record: GroupRecord, where: Where, suite: str, task: str, kind: str, same: Same = _plainly) -> Group:
    """The group of a record. `same(value, value)` gives an equal value that others have, too: it saves memory."""
    suite = suite if record.suite is UNSET else same(record.suite, record.suite)
    task = task if record.task is UNSET else same(record.task, record.task)
    kind = kind if record.kind is UNSET else same(record.kind, record.kind)
    expect = expect_of(kind) if record.expect is UNSET else record.expect
    if expect is None:
        known = ", ".join(get_args(Expect))
        hint = f"{near(kind, KINDS)} (with an expectation of their own: {', '.join(KINDS)})"
        raise where.error(f'kind "{kind}" is not known, so "expect" is needed: {known}', hint)
    count = len(record.items)
    if count < 2 and not (count and _may_be_alone(record, kind)):
        raise where.error(f'"items": found a list of {count}, expected one of two or more', _ITEMS)
    id = f"{suite}/{task}/{kind}/{where.line}" if record.id is UNSET else record.id
    roles = default_roles(expect, count)
    items = tuple([item_of(each, where, id, n, task, roles[n], same) for n, each in enumerate(record.items)])
    if [item for item in items if item.role == "test"] and (count > 1 or expect != "bucket"):
        hint = 'write each item of a test set as a group of its own, with "expect": "bucket"'
        raise where.error('"role": found test in a group of several items, or in one that is not a bucket', hint)
    group = Group(
        id, suite, task, kind, expect, items, record.cluster, same(record.tag, record.tag), record.keep,
        record.epsilon, record.units, record.repeats or 0,
    )  # fmt: skip
    if [item for item in items if item.messages]:
        check_awaited(group, where)
    return group


def _may_be_alone(record: GroupRecord, kind: str) -> bool:
    """An original whose variants are still to come, or an item of a test set."""
    return kind.partition("_")[0] in ALONE or record.keep is not None or record.items[0].role == "test"


@cache
def default_roles(expect: Expect, count: int) -> tuple[Role, ...]:
    """same, 3 -> original, variant, variant; implied, 3 -> original, original, conclusion."""
    first: Role = "original"
    rest: Role = "variant"
    if expect == "implied":
        return (*[first] * (count - 1), "conclusion")
    if expect == "bucket":  # all paraphrases of one problem: the original is not among them
        return (rest,) * count
    return (first, *[rest] * (count - 1))


def item_of(record: ItemRecord, where: Where, group: str, n: int, task: str, role: Role, same: Same) -> Item:
    """The item at place n of a group."""
    fields, own = record.fields, record.task
    messages: tuple[Message, ...] = ()
    if record.messages is not UNSET:
        if fields is not None or record.text is not UNSET:
            hint = "put the text into a message, or leave the messages out"
            raise where.error(f'"items.{n}" has "messages" and also "fields" or "text"', hint)
        messages = messages_of(record.messages, where)
        fields = fields_of(messages)
    elif fields is None and record.text is not UNSET:
        fields = {"text": record.text}
    if not fields:
        raise where.error(f'"items.{n}.fields": found {shown(fields)}, expected texts by name', _FIELDS)
    return Item(
        f"{group}/{n}" if record.id is UNSET else record.id,
        task if own is UNSET else same(own, own),
        role if record.role is UNSET else record.role,
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
        "" if record.tools is None else tools_from_json(record.tools, where),
        "" if record.response_format is None else format_from_json(record.response_format, where),
    )
