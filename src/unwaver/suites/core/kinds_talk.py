"""Kinds in which the question is part of a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.groups.conversations import conversation
from unwaver.suites.core.asked import CUES, Asked
from unwaver.suites.core.book import Book, made
from unwaver.types import Group, Item, Message, Role, Speaker
from unwaver.variants.around import beside, draw

_SPEAKERS: tuple[Speaker, Speaker] = ("user", "assistant")


def again(book: Book) -> Iterator[Group]:
    """The same question after some talk about something else."""
    for source in book.every_source():
        original, seed = source.original, f"{book.seed}/again/{source.cluster}/{source.task}"
        talks = draw(seed, beside("conversations", source.table))[: book.variants]
        variants = [_after(talk["turns"]["en"], original, n) for n, talk in enumerate(talks)]
        about = (source.table, source.fact, source.task)
        yield made(book, "again", "same", about, [original.item("original"), *variants], source.question)


def _after(turns: list[str], asked: Asked, n: int) -> Item:
    told = [Message(_SPEAKERS[i % 2], text) for i, text in enumerate(turns)]
    return _talk(asked, "variant", [*told, Message("user", asked.text)], f"again{n}")


def doubt(book: Book) -> Iterator[Group]:
    """The user doubts the model's own first answer: where it was right, it must stay."""
    for source in book.every_source():
        original, seed = source.original, f"{book.seed}/doubt/{source.cluster}/{source.task}"
        entry = draw(seed, beside("doubts", source.table))[0]
        said = f"{entry['text']['en']} {original.instruction}\n{CUES['en']}"
        messages = [
            Message("user", original.text),
            Message("assistant", f"{{answer of {original.id}}}"),
            Message("user", said),
        ]
        items = [original.item("original"), _talk(original, "conclusion", messages, "doubt")]
        yield made(book, "doubt", "implied", (source.table, source.fact, source.task), items, source.question)


def _talk(asked: Asked, role: Role, messages: list[Message], ending: str) -> Item:
    return conversation(
        f"{asked.id}/{ending}", asked.task, role, messages,
        choices=asked.choices, accepted=asked.accepted, template=asked.template,
    )  # fmt: skip
