"""A judge as the model under test: which of two answers is better."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.suites.core import instructions
from unwaver.suites.core.asked import Asked, number
from unwaver.suites.core.book import Book, implied, made
from unwaver.suites.core.table import PREFERENCE, Question, Row, Table, first
from unwaver.types import Group
from unwaver.variants.around import draw

TIE = "tie"
TEMPLATE = "pair"


def preference(
    table: Table, question: Question, row: Row, shown: tuple[str, str], better: str, n: int = 0
) -> Asked:
    """`shown` are the columns of the two answers, A first; `better` is one of them or tie. A padded answer goes by
    the name of the one that it pads: they say the same."""
    names = ("bad" if column == "padded" else column for column in shown)
    texts = [first(row[column]) for column in ("question", *shown)]
    heads = ("Question", "Answer A", "Answer B")
    return Asked(
        table.name, table.fact(row), PREFERENCE, question.rubric["en"][n], instructions.PREFERENCE["en"],
        (*names, TIE), (better,), TEMPLATE, context=tuple(zip(heads, texts, strict=True)),
    )  # fmt: skip


def _rows(book: Book) -> Iterator[tuple[Table, Question, Row, tuple[str, str]]]:
    """Each row with the order in which its good and bad answers are shown first."""
    for table in book.tables:
        for question in table.questions:
            if question.task == PREFERENCE:
                for row in draw(f"{book.seed}/facts", table.rows, table.fact):
                    turned = number(f"{book.seed}/order/{table.fact(row)}", 2)
                    yield table, question, row, ("bad", "good") if turned else ("good", "bad")


def _pair(book: Book, kind: str, row: Row, asked: list[Asked], note: str = "") -> Group:
    del row
    items = [a.item("variant" if n else "original") for n, a in enumerate(asked)]
    expect = "bucket" if kind == "paraphrase" else "same"
    return made(book, kind, expect, (asked[0].table, asked[0].fact, PREFERENCE), items, note)  # type: ignore[arg-type]


def swapped(book: Book) -> Iterator[Group]:
    """The two answers in the other order: the verdict is about the same answer, or stays a tie."""
    for table, question, row, shown in _rows(book):
        both = [preference(table, question, row, order, "good") for order in (shown, shown[::-1])]
        yield _pair(book, "options", row, both)
        if row.get("equal"):
            equal = [preference(table, question, row, o, TIE) for o in (("good", "equal"), ("equal", "good"))]
            yield _pair(book, "options", row, equal, "equal")


def padded(book: Book) -> Iterator[Group]:
    """The worse answer with words that add nothing: it stays the worse one."""
    for table, question, row, shown in _rows(book):
        if row.get("padded"):
            long = tuple("padded" if column == "bad" else column for column in shown)
            both = [preference(table, question, row, o, "good") for o in (shown, (long[0], long[1]))]
            yield _pair(book, "padded", row, both)


def rubric(book: Book) -> Iterator[Group]:
    """The request for a verdict in other words."""
    for table, question, row, shown in _rows(book):
        places = draw(f"{book.seed}/rubric/{table.fact(row)}", range(1, len(question.rubric["en"])))
        asked = [preference(table, question, row, shown, "good", n) for n in (0, *places[: book.wordings - 1])]
        yield _pair(book, "paraphrase", row, asked)


def best_of_three(book: Book) -> Iterator[Group]:
    """The good answer beats the bad one, which beats the worst: the good one beats the worst."""
    for n, (table, question, row, shown) in enumerate(_rows(book)):
        if row.get("worst"):
            pairs = [
                shown,
                ("bad", "worst") if n % 2 else ("worst", "bad"),
                ("good", "worst") if n % 3 else ("worst", "good"),
            ]
            asked = [
                preference(table, question, row, p, b) for p, b in zip(pairs, ("good", "bad", "good"), strict=True)
            ]
            yield implied(book, "transitive", asked[:2], asked[2])
