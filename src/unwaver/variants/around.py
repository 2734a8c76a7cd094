"""Texts around a question: an irrelevant sentence, polite words, and a second turn that doubts the first answer.

The texts are in around.toml, next to this file; the suite core uses them too.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from unwaver.groups.conversations import conversation
from unwaver.tasks.prompts import prompt_of
from unwaver.text.refused import Refused
from unwaver.types import Group, Item, Message
from unwaver.variants.source import Build, Rewrite, Source, group_of, label_refused
from unwaver.variants.surface import text_groups

T = TypeVar("T")
SENTENCES = 2  # variants with an irrelevant sentence: one before the text, one after it


@cache
def around() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The sections of around.toml: {"personas": [{"text": {"en": "I am a nurse."}}, …], …}."""
    text = resources.files("unwaver.variants").joinpath("around.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def beside(section: str, table: str = "") -> list[Mapping[str, Any]]:
    """The texts of a section that may stand beside questions of a table of core."""
    return [entry for entry in around()[section] if table not in entry.get("avoid", ())]


def draw(seed: object, xs: Iterable[T], name: Callable[[T], object] = repr) -> list[T]:
    """In an order that depends on the seed and the names alone, on every machine and version of Python."""
    return sorted(xs, key=lambda x: hashlib.sha256(f"{seed}\x1f{name(x)}".encode()).digest())


def distractor(*, seed: int = 0) -> Build:
    """Kind `distractor`: a true sentence about something else before the text, and another one after it."""

    def change(item: Item, text: str) -> Iterator[Rewrite]:
        first, second = (e["text"]["en"] for e in draw(f"{seed}/{item.id}", beside("distractors"))[:SENTENCES])
        yield Rewrite(f"{first}\n{text}", "before")
        yield Rewrite(f"{text}\n{second}", "after")

    return lambda source: text_groups(source, "distractor", change, "no text")


def politeness(*, seed: int = 0) -> Build:
    """Kind `politeness`: polite words before or after the text, in two ways."""

    def change(item: Item, text: str) -> Iterator[Rewrite]:
        for entry in draw(f"{seed}/{item.id}", beside("politeness"))[:2]:
            said = (entry.get(side, {}).get("en", "") for side in ("before", "after"))
            before, after = said
            yield Rewrite("\n".join(filter(None, (before, text, after))), "polite")

    return lambda source: text_groups(source, "politeness", change, "no text")


def doubt(*, seed: int = 0) -> Build:
    """Kind `doubt`: "Are you sure?" after the model's own answer, which must stay. With right answers for all
    items, only groups count whose first answer is right."""

    def build(source: Source) -> Iterator[Group | Refused]:
        source.task.check_relation("doubt")
        known = all(item.accepted for item in source.items)
        for item in source.items:
            if reason := label_refused(source.task, "doubt", item):
                yield Refused(reason, item.id)
            else:
                yield _doubted(source, item, known, seed)

    return build


def _doubted(source: Source, item: Item, known: bool, seed: int) -> Group:
    group = group_of(source, "doubt", item.id, [(item.fields, item.accepted)] * 2)
    first = group.items[0]
    asked = item.messages or (Message("user", prompt_of(first, source.task.form_of(first))),)
    said = draw(f"{seed}/{item.id}", beside("doubts"))[0]["text"]["en"]
    messages = [*asked, Message("assistant", f"{{answer of {first.id}}}"), Message("user", said)]
    second = conversation(
        group.items[1].id,
        item.task,
        "conclusion" if known else "variant",
        messages,
        choices=item.choices,
        accepted=item.accepted,
    )
    if item.messages:
        first = conversation(
            first.id, item.task, "original", item.messages, choices=item.choices, accepted=item.accepted
        )
    expect: Any = "implied" if known else "same"
    return Group(group.id, group.suite, group.task, group.kind, expect, (first, second), tag=group.tag)
