"""Kinds whose variants ask the same: the answer must not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver.suites.core.asked import STYLES, Source, number
from unwaver.suites.core.book import Book, made, same
from unwaver.suites.core.facts import answers, open_source
from unwaver.suites.core.surface import surface_variants
from unwaver.suites.core.table import Row, Table, first
from unwaver.types import Group, replace
from unwaver.variants.around import beside, draw

_CLEAR = ("text", "passage", "story", "above", "these lines")  # "the text" says little where there are three


def paraphrase(book: Book) -> Iterator[Group]:
    """The question in other words: written by hand, and none changes what is asked."""
    for source in book.every_source():
        others = draw(f"{book.seed}/wordings/{source.cluster}/{source.task}", source.others(), lambda a: a.text)
        yield same(book, "paraphrase", source, others[: book.wordings], "bucket")


def surface(book: Book) -> Iterator[Group]:
    """A typing error in a word that no answer depends on, polite words, filler."""
    for source in book.every_source():
        yield same(book, "surface", source, surface_variants(source, book.seed)[: book.variants])


def layout(book: Book) -> Iterator[Group]:
    """Markdown, JSON, other signs, the instruction first, capitals: the words are the same."""
    for source in book.every_source():
        styles = [s for s in STYLES if s != "capitals" or source.has_case]
        drawn = draw(f"{book.seed}/format/{source.cluster}/{source.task}", styles)[: book.variants]
        yield same(book, "format", source, [replace(source.original, style=style) for style in drawn])


def options(book: Book) -> Iterator[Group]:
    """The same options in another order or with other marks: answers are compared by the text of the option."""
    for source in book.every_source():
        original = source.original
        if not original.options:
            continue
        seed = f"{book.seed}/options/{source.cluster}/{source.question}"
        places = list(range(len(original.options)))
        shift = 1 + number(seed, len(places) - 1)
        rotated = original.reordered([*places[shift:], *places[:shift]])
        numeric = any(choice.strip("-").isdigit() for choice in original.choices)
        marks = original.marked("small" if numeric else ("small", "numbers")[number(seed, 2)])
        yield same(
            book, "options", source, [rotated, marks, original.reordered(reversed(places))][: book.variants]
        )


def distractor(book: Book) -> Iterator[Group]:
    """A true sentence about something else, before or after the question."""
    for source in book.every_source():
        original, seed = source.original, f"{book.seed}/distractor/{source.cluster}/{source.task}"
        texts = [entry["text"]["en"] for entry in draw(seed, beside("distractors", source.table))]
        both = [replace(original, before=texts[0]), replace(original, after=texts[-1])]
        yield same(book, "distractor", source, draw(seed, both, lambda a: a.text)[: book.variants])


def persona(book: Book) -> Iterator[Group]:
    """Who asks: no fact depends on it."""
    for source in book.every_source():
        seed = f"{book.seed}/persona/{source.cluster}/{source.task}"
        people = draw(seed, beside("personas", source.table))[: book.variants]
        yield same(book, "persona", source, [replace(source.original, before=p["text"]["en"]) for p in people])


def language(book: Book) -> Iterator[Group]:
    """The same question in another language, answered in that language: answers are compared as canonical ones."""
    for source in book.every_source():
        seed = f"{book.seed}/language/{source.cluster}/{source.task}"
        others = draw(seed, [lang for lang in source.counts if lang != "en"])[: book.variants]
        if others:
            asked = [source.make(lang, number(f"{seed}/{lang}", source.counts[lang])) for lang in others]
            yield same(book, "language", source, asked)


def documents(book: Book) -> Iterator[Group]:
    """Three texts, of which one has the answer, in another order."""
    for table in book.tables:
        for question in table.questions:
            if question.task or not question.context or not question.open or not question.among:
                continue
            for row in draw(f"{book.seed}/facts", table.rows, table.fact):
                source = open_source(table, question, row, book.seed)
                beside_it = _apart(table, question.answer, question.among, row, book.seed)
                if len(beside_it) == 2:
                    texts = [first(r[question.context[0]]) for r in (row, *beside_it)]
                    people = set().union(*(_people(r, question.answer, question.among) for r in (row, *beside_it)))
                    choices = tuple(name for name in answers(table, question) if name in people)
                    yield _documents(book, source, texts, choices)


def _apart(table: Table, answer: str, among: str, row: Row, seed: object) -> list[Row]:
    """Two more rows whose texts are about other people."""
    taken = _people(row, answer, among)
    found: list[Row] = []
    for other in draw(f"{seed}/apart/{table.fact(row)}", table.rows, table.fact):
        people = _people(other, answer, among)
        if len(found) < 2 and not taken & people:
            found.append(other)
            taken |= people
    return found


def _people(row: Row, answer: str, among: str) -> set[str]:
    return {first(name) for name in (row[answer], *row[among])}


def _documents(book: Book, source: Source, texts: Sequence[str], choices: tuple[str, ...]) -> Group:
    clear = [n for n in range(source.counts["en"]) if not any(w in source.make("en", n).question for w in _CLEAR)]
    plain = replace(source.make("en", clear[0] if clear else 0), choices=choices)
    seed = f"{book.seed}/documents/{source.cluster}"
    orders = draw(seed, [(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1)])[: 1 + book.variants]
    asked = [replace(plain, context=tuple(("Text", texts[i]) for i in order)) for order in orders]
    items = [a.item("variant" if n else "original") for n, a in enumerate(asked)]
    return made(book, "documents", "same", (source.table, source.fact, source.task), items, source.question)
