"""How many groups of what: core has the first of each table, task and kind; core-mini a small part that shares
as many requests as it can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unwaver.suites.core.book import Book
from unwaver.suites.core.families import KINDS
from unwaver.types import Group


def every_group(book: Book) -> Iterator[Group]:
    """All groups that the tables allow; one without a variant is none."""
    seen: set[str] = set()
    for kind in KINDS:
        for group in kind.make(book):
            if len(group.items) > 1 and group.id not in seen and _differ(group):
                seen.add(group.id)
                yield group


def _differ(group: Group) -> bool:
    """No item of the group asks exactly what another asks."""
    return len({item.id for item in group.items}) == len(group.items)


def capped(groups: Iterable[Group], most: int) -> list[Group]:
    """At most so many of each table, task and kind."""
    counts: dict[tuple[str, str, str], int] = {}
    kept = []
    for group in groups:
        key = (group.tag, group.task, group.kind)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= most:
            kept.append(group)
    return kept


def balanced(groups: Sequence[Group]) -> list[Group]:
    """The first of each table, then the second of each: any beginning is balanced over tables."""
    counts: dict[str, int] = {}
    places = []
    for group in groups:
        counts[group.tag] = counts.get(group.tag, 0) + 1
        places.append(counts[group.tag])
    order = sorted(range(len(groups)), key=lambda n: (places[n], n))
    return [groups[n] for n in order]
