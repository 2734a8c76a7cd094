"""Kinds in which one answer follows from others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from unwaver.suites.core import instructions, wording
from unwaver.suites.core.asked import Asked, number
from unwaver.suites.core.book import Book, implied, made
from unwaver.suites.core.facts import (
    Claim,
    claims,
    is_pair_true,
    labelled,
    labelled_source,
    open_source,
    pair_claim,
    pairs,
    wrong_answers,
)
from unwaver.suites.core.table import Question, Row, Table
from unwaver.types import Group, replace
from unwaver.variants.around import draw

MOST_PAIRS = 40  # of a table: more say little
FRAME = 1  # "Statement: … Is this statement true?", which takes a negation and an inversion


def every_claim(book: Book, table: Table) -> Iterator[Claim]:
    """Claims about single rows and about pairs of rows, true and false ones, in drawn order."""
    for question in table.questions:
        if not question.statement or question.chains_only:
            continue
        if question.pair:
            for n, (x, y) in enumerate(pairs(table, question, book.seed)):
                if n < MOST_PAIRS:
                    yield pair_claim(table, question, x, y)
            continue
        for row in _rows(book, table):
            both = claims(table, question, row, book.seed)
            yield from draw(f"{book.seed}/{table.fact(row)}/{question.name}", both, lambda c: c.truth)[:1]


def _rows(book: Book, table: Table) -> list[Row]:
    return draw(f"{book.seed}/facts", table.rows, table.fact)


def _pair(book: Book, kind: str, claim: Claim, other: Asked, original: Asked) -> Group:
    expect = "different" if kind == "negational" else "same"
    items = [original.item("original"), other.item("variant")]
    return made(book, kind, expect, (claim.table.name, claim.fact, "yes_no"), items, claim.question.name)  # type: ignore[arg-type]


def negational(book: Book) -> Iterator[Group]:
    """A statement and its negation: one of them is true."""
    for table in book.tables:
        for claim in every_claim(book, table):
            if "en" in claim.question.negation:
                n = instructions.JUDGING[number(f"{book.seed}/negation/{claim.fact}", len(instructions.JUDGING))]
                negated = claim.asked("en", n, "negation", not claim.truth)
                yield _pair(book, "negational", claim, negated, claim.asked("en", n))
        for question in table.questions:
            for row in _rows(book, table) if question.negated else ():
                if row[question.negated]:
                    yield _negated_text(book, table, question, row)


def _negated_text(book: Book, table: Table, question: Question, row: Row) -> Group:
    """What is entailed is contradicted once it is negated."""
    original = labelled_source(table, question, row, book.seed).original
    turned = ((*original.context[:-1], (original.context[-1][0], row[question.negated])), (question.labels[-1],))
    items = [original.item("original"), replace(original, context=turned[0], accepted=turned[1]).item("variant")]
    return made(book, "negational", "different", (table.name, original.fact, original.task), items, question.name)


def inverse(book: Book) -> Iterator[Group]:
    """The fact from the other side: X is the capital of Y, Y is the country whose capital is X."""
    for table in book.tables:
        for claim in every_claim(book, table):
            if "en" in claim.question.inverse:
                turned = claim.asked("en", FRAME, "inverse")
                yield _pair(book, "inverse", claim, turned, claim.asked("en", FRAME))
        for question in table.questions:
            if question.converse and question.open:
                back = table.named(question.converse)
                for row in _rows(book, table):
                    there, again = (open_source(table, q, row, book.seed).original for q in (question, back))
                    yield implied(book, "inverse", [there], again, question.name)


def symmetric(book: Book) -> Iterator[Group]:
    """A relation that holds in both directions: as red as, equal to, contradicts."""
    for table in book.tables:
        for question in table.questions:
            if "same" in question.pair:
                for n, (x, y) in enumerate(pairs(table, question, book.seed)):
                    if n < MOST_PAIRS:
                        claim, swapped = pair_claim(table, question, x, y), pair_claim(table, question, y, x)
                        asked = swapped.asked("en", FRAME)
                        yield _pair(book, "symmetric", claim, asked, claim.asked("en", FRAME))
            for row in _rows(book, table) if question.symmetric else ():
                if row[question.answer] in question.symmetric:
                    yield _swapped_texts(book, table, question, row)


def _swapped_texts(book: Book, table: Table, question: Question, row: Row) -> Group:
    source = labelled_source(table, question, row, book.seed)
    (head, text), (head2, text2) = source.original.context
    other = replace(source.original, context=((head, text2), (head2, text)))
    items = [source.original.item("original"), other.item("variant")]
    return made(book, "symmetric", "same", (table.name, source.fact, source.task), items, question.name)


def transitive(book: Book) -> Iterator[Group]:
    """x before y and y before z, so x before z; a sparrow is a bird and birds are animals."""
    for table in book.tables:
        for question in table.questions:
            if "less" in question.pair or "greater" in question.pair:
                yield from _ordered(book, table, question)
            if question.triple:
                yield from _entailed(book, table, question)
    yield from _chained(book, "transitive")


def inherited(book: Book) -> Iterator[Group]:
    """What is true of a class is true of its members."""
    yield from _chained(book, "inherited")


def _ordered(book: Book, table: Table, question: Question) -> Iterator[Group]:
    rows = _rows(book, table)
    for n, ((a, b), c) in enumerate(zip(pairwise(rows), [*rows[2:], *rows[:2]], strict=False)):
        x, y, z = sorted((a, b, c), key=lambda row: (-_rank(question, row, rows), table.fact(row)))
        if not (is_pair_true(question, x, y) and is_pair_true(question, y, z)):
            continue
        premises = [pair_claim(table, question, *both).asked("en", 0) for both in ((x, y), (y, z))]
        ends = (x, z) if n % 2 else (z, x)  # a conclusion that is true, or one that is false
        conclusion = pair_claim(table, question, *ends).asked("en", 0)
        name = f"{table.fact(x)}-{table.fact(y)}-{table.fact(z)}"
        yield implied(book, "transitive", premises, conclusion, question.name, name)


def _rank(question: Question, row: Row, rows: list[Row]) -> int:
    """How many rows the relation holds to: the first of an order has the most."""
    return sum(is_pair_true(question, row, other) for other in rows)


def _chained(book: Book, kind: str) -> Iterator[Group]:
    for table in book.tables:
        for chain in table.chains:
            if chain.kind != kind:
                continue
            one, two, last = (table.named(name) for name in (*chain.premises, chain.conclusion))
            for n, row in enumerate(_rows(book, table)):
                truth = n % 2 == 0 or chain.true_only
                said = "" if truth else _wrong_of_both(table, two, last, row, book.seed)
                if not (truth or said) or "" in (row[one.answer], row[two.answer]):
                    continue
                premise = claims(table, one, row, book.seed)[0]
                rule, end = (claims(table, q, row, book.seed, said)[0 if truth else 1] for q in (two, last))
                asked = [premise.asked("en", FRAME), rule.asked("en", FRAME)]
                yield implied(book, kind, asked, end.asked("en", FRAME), chain.conclusion)


def _wrong_of_both(table: Table, rule: Question, end: Question, row: Row, seed: object) -> str:
    """Nothing follows about feathers from "Insects have no backbone": a false rule and a false conclusion must say
    the same."""
    possible = wrong_answers(table, end, row, seed)
    return next((a for a in wrong_answers(table, rule, row, seed) if a in possible), "")


def _entailed(book: Book, table: Table, question: Question) -> Iterator[Group]:
    """The premise entails the hypothesis, which entails a further text: so does the premise."""
    one, two = question.context
    for row in _rows(book, table):
        if not row[question.triple] or row[question.answer] != question.labels[0]:
            continue
        steps = [row, {**row, one: row[two], two: row[question.triple]}, {**row, two: row[question.triple]}]
        first, second, last = (labelled(table, question, step, "en", 0) for step in steps)
        yield implied(book, "transitive", [first, second], last, question.name)


def additive(book: Book) -> Iterator[Group]:
    """Two statements joined are true if both are; two reviews with the same label have it together."""
    for table in book.tables:
        found = [c for c in every_claim(book, table) if not c.context]
        for n, (a, b) in enumerate(pairwise(found)):
            if a.question is b.question and a.fact != b.fact:
                frame = instructions.BOTH[n % 2]
                yield implied(book, "additive", [c.asked("en", FRAME) for c in (a, b)], _both(a, b, frame), b.fact)
        for question in table.questions:
            if "en" in question.joined:
                yield from _joined(book, table, question)


def _both(a: Claim, b: Claim, frame: str) -> Asked:
    one, two = a.said("statement", "en"), b.said("statement", "en")
    slots = {"{S}": wording.sentence(one), "{T}": wording.sentence(two), "{s}": one, "{t}": two}
    for slot, text in slots.items():
        frame = frame.replace(slot, text)
    return a.posed(frame, a.truth and b.truth)


def _joined(book: Book, table: Table, question: Question) -> Iterator[Group]:
    head = question.heads["en"][0]
    for label in question.labels:
        rows = [row for row in _rows(book, table) if row[question.answer] == label]
        for a, b in pairwise(rows):
            premises = [labelled(table, question, row, "en", 0) for row in (a, b)]
            texts = tuple((f"{head} {n}", asked.context[0][1]) for n, asked in enumerate(premises, 1))
            both = replace(premises[0], question=question.joined["en"], context=texts)
            yield implied(book, "additive", premises, both, table.fact(b))
