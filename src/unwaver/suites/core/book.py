"""What groups are made from: tables, a seed, and how many variants a group has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from unwaver.suites.core.asked import Asked, Source
from unwaver.suites.core.facts import sources
from unwaver.suites.core.table import Table
from unwaver.types import Expect, Group, Item
from unwaver.variants.around import draw


@dataclass(frozen=True)
class Book:
    suite: str
    tables: tuple[Table, ...]
    seed: int = 0
    variants: int = 2  # of a group whose variants are drawn
    wordings: int = 4  # of a bucket, beside the original
    most_of: Callable[[str, str, int], int] = lambda _task, _kind, _facts: (
        1000
    )  # sources of a table that are used, the first
    known: dict[str, list[Source]] = field(default_factory=dict, compare=False, repr=False)

    def sources(self, table: Table) -> list[Source]:
        """In drawn order, so that all kinds begin with the same facts and share their originals."""
        if table.name not in self.known:
            found = list(sources(table, self.seed))
            drawn = draw(f"{self.seed}/facts", found, lambda s: (s.table, s.fact, s.question))
            counts = Counter[str]()
            self.known[table.name] = []
            for source in drawn:
                counts[source.task] += 1
                if counts[source.task] <= self.most_of(source.task, "", len(table.rows)):
                    self.known[table.name].append(source)
        return self.known[table.name]

    def every_source(self) -> Iterator[Source]:
        return (source for table in self.tables for source in self.sources(table))

    @cached_property
    def by_name(self) -> Mapping[str, Table]:
        return {table.name: table for table in self.tables}


def made(
    book: Book, kind: str, expect: Expect, about: tuple[str, str, str], items: Iterable[Item], note: str = ""
) -> Group:
    """A group about (table, fact, task); `note` tells groups of the same fact apart."""
    table, fact, task = about
    name = f"{book.suite}/{task}/{kind}/{table}/{fact}{note and '/'}{note}"
    cluster = f"{table}/{book.by_name[table].cluster_of(fact)}"
    return Group(name, book.suite, task, kind, expect, tuple(items), cluster=cluster, tag=table)


def same(book: Book, kind: str, source: Source, variants: Sequence[Asked], expect: Expect = "same") -> Group:
    """The original of a source and variants that must get the same answer."""
    items = [source.original.item("original"), *(asked.item("variant") for asked in variants)]
    return made(book, kind, expect, (source.table, source.fact, source.task), items, source.question)


def implied(
    book: Book, kind: str, premises: Sequence[Asked], conclusion: Asked, note: str = "", fact: str = ""
) -> Group:
    """Premises, and the conclusion that must be answered right if they are."""
    items = [*(p.item("original") for p in premises), conclusion.item("conclusion")]
    about = (conclusion.table, fact or premises[0].fact, conclusion.task)
    return made(book, kind, "implied", about, items, note)
