"""How many groups of what: core has the first of each table, task and kind; core-mini is a small part of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unwaver.suites.core.book import Book
from unwaver.suites.core.families import KINDS
from unwaver.suites.core.table import LABELLED
from unwaver.types import Group

FACTS = 15  # a table gets one more group of each task and kind for as many facts


@dataclass(frozen=True)
class Shape:
    """At least `most` groups of a table, task and kind, and more as `most_of` says. A `quota` limits the
    groups of a task and kind; what it does not name is left out."""

    variants: int = 2
    wordings: int = 4
    most: int = 3
    by_kind: Mapping[str, int] = field(
        default_factory=lambda: dict.fromkeys(("transitive", "symmetric", "inherited", "documents"), 12)
    )
    by_task: Mapping[str, int] = field(default_factory=lambda: {"preference": 40, **dict.fromkeys(LABELLED, 12)})
    quota: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def most_of(self, task: str, kind: str, facts: int) -> int:
        """Groups of a table with so many facts: more of a long one, and where few tables have the task or kind."""
        return max(self.by_task.get(task, 0), self.by_kind.get(kind, 0), self.most + facts // FACTS)


MINI_SHAPE = Shape(
    variants=1,
    wordings=3,
    quota={
        ("open", "paraphrase"): 10,
        ("choice", "surface"): 8,
        ("open", "distractor"): 10,
        ("yes_no", "negational"): 10,
        ("yes_no", "symmetric"): 8,
        ("yes_no", "inverse"): 8,
        ("yes_no", "transitive"): 8,
        ("yes_no", "inherited"): 8,
        ("yes_no", "additive"): 8,
        ("yes_no", "contrast"): 8,
        ("open", "contrast"): 8,
        ("choice", "options"): 10,
        ("open", "format"): 8,
        ("open", "documents"): 8,
        ("open", "persona"): 8,
        ("open", "again"): 8,
        ("open", "doubt"): 10,
        ("open", "language"): 12,
        ("choice", "language"): 8,
        ("preference", "options"): 10,
        ("preference", "padded"): 8,
        ("preference", "paraphrase"): 8,
        ("preference", "transitive"): 8,
    },
)


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


def chosen(groups: Iterable[Group], shape: Shape, facts: Mapping[str, int]) -> list[Group]:
    """Those that a suite of this shape has; `facts` are how many each table has."""
    counts = Counter[tuple[str, str, str]]()
    kept = []
    for group in groups:
        key = (group.tag, group.task, group.kind)
        counts[key] += 1
        if counts[key] <= shape.most_of(group.task, group.kind, facts[group.tag]):
            kept.append(group)
    return _shared(kept, shape.quota) if shape.quota else kept


def _shared(groups: Sequence[Group], quota: Mapping[tuple[str, str], int]) -> list[Group]:
    """As many groups of each task and kind as the quota says, spread over tables: of those whose table has been
    used least, the one with the fewest requests that no other group has asked for."""
    asked: set[str] = set()
    found: list[Group] = []
    for case, count in quota.items():
        left = [group for group in groups if (group.task, group.kind) == case]
        used = Counter[str]()
        for _ in range(min(count, len(left))):
            best = min(left, key=lambda g: (used[g.tag], len({i.id for i in g.items} - asked), g.id))
            left.remove(best)
            used[best.tag] += 1
            asked |= {item.id for item in best.items}
            found.append(best)
    return found


def balanced(groups: Sequence[Group]) -> list[Group]:
    """The first of each table, then the second of each: any beginning is balanced over tables."""
    counts = Counter[str]()
    places = []
    for group in groups:
        counts[group.tag] += 1
        places.append(counts[group.tag])
    return [groups[n] for n in sorted(range(len(groups)), key=lambda n: (places[n], n))]
