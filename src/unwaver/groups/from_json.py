"""Groups as they are read from JSON, with defaults for what is left out; every value is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from unwaver.errors import near
from unwaver.files import Where, shown
from unwaver.groups import ALONE, KINDS, VERSION, expect_of
from unwaver.types import Expect, Group, Item, Role

_CONVERSATION = frozenset(("messages", "tools", "response_format"))


def group_from_json(
    record: Mapping[str, Any], where: Where, *, suite: str = "own", task: str = "own", kind: str = "semantic"
) -> Group:
    """A group from one line of groups.jsonl; all but the items and their texts may be left out.

    {"items": [{"text": "Is it late?"}, {"text": "Is it late now?"}]} on line 3
      -> Group("own/own/semantic/3", expect="same", items=(original, variant))
    """
    if record.get("version", VERSION) != VERSION:
        raise where.error(f'"version": found {shown(record["version"])}, expected {VERSION}', "update unwaver")
    suite, task = _text(record, "suite", suite, where), _text(record, "task", task, where)
    kind = _text(record, "kind", kind, where)
    id = _text(record, "id", f"{suite}/{task}/{kind}/{where.line}", where)
    expect = _expect(record, kind, where)
    items = record.get("items")
    if not isinstance(items, list) or not items or (len(items) < 2 and not _may_be_alone(record, kind)):
        raise where.error(
            f'"items": found {shown(items)}, expected a list of two or more',
            'write "items": [{"text": "the original"}, {"text": "the variant"}]',
        )
    roles = default_roles(expect, len(items))
    group = Group(
        id=id,
        suite=suite,
        task=task,
        kind=kind,
        expect=expect,
        items=tuple(
            _item(item, f"{id}/{n}", task, role, where)
            for n, (item, role) in enumerate(zip(items, roles, strict=True))
        ),
        cluster=_text(record, "cluster", "", where),
        tag=_text(record, "tag", "", where),
        keep=_whole(record, "keep", 1, where),
        epsilon=_share(record, "epsilon", where),
        units=_texts(record, "units", where),
        repeats=_whole(record, "repeats", 0, where) or 0,
    )
    if any(item.role == "test" for item in group.items) and (len(items) > 1 or expect != "bucket"):
        hint = 'write each item of a test set as a group of its own, with "expect": "bucket"'
        raise where.error('"role": found test in a group of several items, or in one that is not a bucket', hint)
    if any(item.messages for item in group.items):
        from unwaver.groups.conversations import check_awaited

        check_awaited(group, where)
    return group


def _may_be_alone(record: Mapping[str, Any], kind: str) -> bool:
    """An original whose variants are still to come, or an item of a test set."""
    item = record["items"][0]
    return (
        kind.partition("_")[0] in ALONE
        or "keep" in record
        or (isinstance(item, dict) and item.get("role") == "test")
    )


def _expect(record: Mapping[str, Any], kind: str, where: Where) -> Expect:
    known: tuple[Expect, ...] = get_args(Expect)
    found = record.get("expect", expect_of(kind))
    if found is None:
        raise where.error(
            f'kind "{kind}" is not known, so "expect" is needed: {", ".join(known)}',
            f"{near(kind, KINDS)} (with an expectation of their own: {', '.join(KINDS)})",
        )
    for expect in known:
        if expect == found:
            return expect
    raise where.error(
        f'"expect": found {shown(found)}, expected one of {", ".join(known)}', near(str(found), known)
    )


def default_roles(expect: Expect, count: int) -> list[Role]:
    """same, 3 -> original, variant, variant; implied, 3 -> original, original, conclusion."""
    first: Role = "original"
    rest: Role = "variant"
    if expect == "implied":
        return [*[first] * (count - 1), "conclusion"]
    if expect == "bucket":  # all paraphrases of one problem: the original is not among them
        return [rest] * count
    return [first, *[rest] * (count - 1)]


def _item(record: Any, id: str, task: str, role: Role, where: Where) -> Item:
    if not isinstance(record, Mapping):
        raise where.error(f'"items": found {shown(record)}, expected an object', 'write {"text": "…"}')
    more = _conversation(record, where) if not _CONVERSATION.isdisjoint(record) else {}
    return Item(
        id=_text(record, "id", id, where),
        task=_text(record, "task", task, where),
        role=_role(record, role, where),
        fields=more.pop("fields", None) or _fields(record, where),
        choices=_texts(record, "choices", where),
        accepted=_texts(record, "accepted", where),
        rejected=_texts(record, "rejected", where),
        template=_text(record, "template", "", where),
        judge=_text(record, "judge", "", where),
        about=_text(record, "about", "", where),
        at_least=_share(record, "at_least", where) or 0.0,
        certified=_certified(record, where),
        certified_by=_text(record, "certified_by", "", where),
        **more,
    )


def _conversation(record: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """What only some items have; with messages, the fields are theirs."""
    from unwaver.groups.conversations import fields_of, format_from_json, messages_from_json, tools_from_json

    found: dict[str, Any] = {
        "tools": tools_from_json(record.get("tools"), where),
        "response_format": format_from_json(record.get("response_format"), where),
    }
    if "messages" not in record:
        return found
    if "fields" in record or "text" in record:
        hint = "put the text into a message, or leave the messages out"
        raise where.error('an item has "messages" and also "fields" or "text"', hint)
    messages = messages_from_json(record["messages"], where)
    return {**found, "fields": fields_of(messages), "messages": messages}


def _role(record: Mapping[str, Any], default: Role, where: Where) -> Role:
    known: tuple[Role, ...] = get_args(Role)
    found = record.get("role", default)
    for role in known:
        if role == found:
            return role
    raise where.error(f'"role": found {shown(found)}, expected one of {", ".join(known)}', near(str(found), known))


def _fields(record: Mapping[str, Any], where: Where) -> dict[str, str]:
    fields = record.get("fields")
    if fields is None and "text" in record:
        fields = {"text": record["text"]}
    if not isinstance(fields, Mapping) or not fields or not all(isinstance(f, str) for f in fields.values()):
        raise where.error(
            f'"fields": found {shown(fields)}, expected texts by name',
            'an item needs "text": "…", "fields": {"premise": "…", "hypothesis": "…"} or "messages": […]',
        )
    return dict(fields)


def _text(record: Mapping[str, Any], key: str, default: str, where: Where) -> str:
    value = record.get(key, default)
    if not isinstance(value, str):
        raise where.error(f'"{key}": found {shown(value)}, expected text', f'write "{key}": "…"')
    return value


def _texts(record: Mapping[str, Any], key: str, where: Where) -> tuple[str, ...]:
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise where.error(f'"{key}": found {shown(value)}, expected a list of texts', f'write "{key}": ["…"]')
    return tuple(value)


def _whole(record: Mapping[str, Any], key: str, least: int, where: Where) -> int | None:
    value = record.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        without = "leave it out for all" if key == "keep" else "leave it out for none"
        raise where.error(f'"{key}": found {shown(value)}, expected a whole number from {least}', without)
    return value


def _share(record: Mapping[str, Any], key: str, where: Where) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise where.error(f'"{key}": found {shown(value)}, expected a number from 0 to 1', "correct it")
    return float(value)


def _certified(record: Mapping[str, Any], where: Where) -> bool | None:
    value = record.get("certified")
    if value is not None and not isinstance(value, bool):
        raise where.error(f'"certified": found {shown(value)}, expected true or false', "leave it out: unknown")
    return value
