"""Contrast: a small edit that changes the answer. It counts where the original was answered right."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.suites.core.asked import Asked
from unwaver.suites.core.book import Book, implied
from unwaver.suites.core.facts import claims, labelled_source, open_source, pair_claim, pairs
from unwaver.suites.core.kinds_logic import FRAME, MOST_PAIRS
from unwaver.suites.core.table import Question, Table, first
from unwaver.types import Group, replace
from unwaver.variants.around import draw


def contrast(book: Book) -> Iterator[Group]:
    """Austria and Australia, before and after, heaviest and lightest: the answer is another."""
    for table in book.tables:
        for question in table.questions:
            if question.chains_only or question.task == "preference":
                continue
            for edited in (_near, _other_question, _other_answer, _opposite, _flipped):
                yield from edited(book, table, question)


def _near(book: Book, table: Table, question: Question) -> Iterator[Group]:
    for one, other in question.near if question.open else ():
        original, edited = (open_source(table, question, table.by_fact[fact], book.seed) for fact in (one, other))
        yield implied(book, "contrast", [original.original], edited.make("en", original.first), question.name)


def _other_question(book: Book, table: Table, question: Question) -> Iterator[Group]:
    if not question.contrast:
        return
    other = table.named(question.contrast)
    for row in draw(f"{book.seed}/facts", table.rows, table.fact):
        original, edited = (open_source(table, q, row, book.seed) for q in (question, other))
        if first(row[question.answer]) != first(row[other.answer]):
            yield implied(book, "contrast", [original.original], edited.make("en", original.first), question.name)


def _other_answer(book: Book, table: Table, question: Question) -> Iterator[Group]:
    """A true statement, and the same with another name: false."""
    if not question.statement or question.pair:
        return
    for n, row in enumerate(draw(f"{book.seed}/facts", table.rows, table.fact)):
        both = claims(table, question, row, book.seed)
        if len(both) == 2:
            one, other = both if n % 2 else both[::-1]
            yield implied(
                book, "contrast", [one.asked("en", FRAME)], other.asked("en", FRAME), f"{question.name}.answer"
            )


def _opposite(book: Book, table: Table, question: Question) -> Iterator[Group]:
    if "en" not in question.opposite:
        return
    for n, (x, y) in enumerate(pairs(table, question, book.seed)):
        if n < MOST_PAIRS:
            claim = pair_claim(table, question, x, y)
            edited = claim.asked("en", FRAME, "opposite", not claim.truth)
            yield implied(book, "contrast", [claim.asked("en", FRAME)], edited, question.name)


def _flipped(book: Book, table: Table, question: Question) -> Iterator[Group]:
    for row in draw(f"{book.seed}/facts", table.rows, table.fact) if question.flipped else ():
        if text := row[question.flipped]:
            source = (labelled_source if question.task else open_source)(table, question, row, book.seed)
            original = source.original
            gold = _flipped_label(question, row)
            edited: Asked = replace(
                original,
                context=(*original.context[:-1], (original.context[-1][0], first(text))),
                accepted=(gold,),
            )
            yield implied(book, "contrast", [original], edited, question.name)


def _flipped_label(question: Question, row: object) -> str:
    cells = dict(row)  # type: ignore[call-overload]
    if question.flipped_answer:
        return str(cells[question.flipped_answer])
    return next(label for label in question.labels if label != cells[question.answer])
