"""A small set of every relation, written for unwaver: about 340 items in sample.jsonl, next to this file.

A line of the file is a group with its items in order. Two kinds of line hold a single item: a `pair`, from
which the two changes of the input format are made here, and an `example`, which is never tested:

    {"task": "snli", "kind": "semantic", …}  -> sample/snli/semantic/0, its items …/0/0 and …/0/1
    {"task": "mnli", "kind": "pair", …}      -> sample/mnli/reverse/0 and sample/mnli/signal/0
    {"task": "mnli", "kind": "example", …}   -> sample/mnli/example/0
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple, TypedDict

from unwaver.groups import expect_of
from unwaver.suites import check_case
from unwaver.tasks import Task, task_named
from unwaver.tasks.calm_layout import COLON, SIGNS, calm_fields
from unwaver.types import Group, Item, Role, Suite

NAME = "sample"
CALM = "calm"
FORMATS = ("reverse", "signal")  # the kinds made of a `pair`


class Entry(TypedDict):
    role: Role
    fields: dict[str, str]
    accepted: list[str]


class Line(TypedDict):
    task: str
    kind: str
    tag: str
    items: list[Entry]


class Layout(NamedTuple):
    """Which role an item has, and what becomes of its two texts."""

    role: Role
    sign: str = COLON
    reverse: bool = False


LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "reverse": (Layout("original"), Layout("variant", reverse=True)),
    "signal": (Layout("original"), *(Layout("variant", sign) for sign in SIGNS)),
}


def suite() -> Suite:
    return Suite(NAME, _cases(), _groups, _examples, _notes)


@cache
def lines() -> tuple[Line, ...]:
    """The file as it is written."""
    text = resources.files("unwaver.suites").joinpath("sample.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def _of(task: str, kind: str) -> list[Line]:
    return [line for line in lines() if line["task"] == task and line["kind"] == kind]


def _cases() -> dict[str, tuple[str, ...]]:
    kinds: dict[str, dict[str, None]] = {}
    for line in lines():
        if line["kind"] != "example":
            made = FORMATS if line["kind"] == "pair" else (line["kind"],)
            kinds.setdefault(line["task"], {}).update(dict.fromkeys(made))
    return {task: tuple(of_task) for task, of_task in kinds.items()}


def _groups(task: str, kind: str) -> Iterator[Group]:
    check_case(NAME, _cases(), task, kind)
    made = _formats if kind in FORMATS else _written
    return made(task_named(task), kind)


def _written(task: Task, kind: str) -> Iterator[Group]:
    for n, line in enumerate(_of(task.name, kind)):
        group_id = f"{NAME}/{task.name}/{kind}/{n}"
        items = (_item(f"{group_id}/{i}", task, entry) for i, entry in enumerate(line["items"]))
        yield _group(group_id, kind, items, line)


def _formats(task: Task, kind: str) -> Iterator[Group]:
    for n, line in enumerate(_of(task.name, "pair")):
        group_id, entry = f"{NAME}/{task.name}/{kind}/{n}", line["items"][0]
        items = (_calm(f"{group_id}/{i}", task, entry, layout) for i, layout in enumerate(LAYOUTS[kind]))
        yield _group(group_id, kind, items, line, cluster=f"{NAME}/{task.name}/pair/{n}")


def _group(group_id: str, kind: str, items: Iterable[Item], line: Line, cluster: str = "") -> Group:
    expect = expect_of(kind) or "same"
    return Group(group_id, NAME, line["task"], kind, expect, tuple(items), cluster=cluster, tag=line["tag"])


def _item(item_id: str, task: Task, entry: Entry) -> Item:
    accepted = tuple(entry["accepted"])
    return Item(item_id, task.name, entry["role"], entry["fields"], task.labels, accepted=accepted)


def _calm(item_id: str, task: Task, entry: Entry, layout: Layout) -> Item:
    first, second = task.forms[CALM].indicators
    text1, text2 = (entry["fields"][name] for name in task.fields)
    fields = calm_fields(first, text1, second, text2, sign=layout.sign, reverse=layout.reverse)
    accepted = tuple(entry["accepted"])
    return Item(item_id, task.name, layout.role, fields, task.labels, accepted=accepted, template=CALM)


def _examples(name: str) -> Iterator[Item]:
    """In the form of the items that are tested: a solved example is laid out as the question after it is."""
    task = task_named(name)
    calm = bool(_of(name, "pair"))
    for n, line in enumerate(_of(name, "example")):
        item_id, entry = f"{NAME}/{name}/example/{n}", line["items"][0]
        yield _calm(item_id, task, entry, Layout("original")) if calm else _item(item_id, task, entry)


def _notes(task: str, kind: str) -> list[str]:  # noqa: ARG001
    return ["written for unwaver to show each relation: too few groups to rank models by"]
