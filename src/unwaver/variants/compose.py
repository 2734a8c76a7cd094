"""Addition: two texts with one label, joined, have that label too."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from unwaver.errors import UsageError, near
from unwaver.text.refused import Refused
from unwaver.types import Group
from unwaver.variants.source import Build, Source, group_of, label_refused

KIND = "additive"
CAP = 50_000
PUBLISHED = "published"
WAYS = ("disjoint", "all", PUBLISHED)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

TwoItems = tuple[int, int]  # by their places


class Pairs(NamedTuple):
    """The pairs of items, by their places in the source; how many there could be; the greatest length of two."""

    pairs: list[TwoItems]
    possible: int
    limit: float


def additive(*, how: str = "disjoint", cap: int = CAP, limit: float | None = None, seed: int = 0) -> Build:
    """Kind `additive`: two texts of one label and, as the conclusion, the two joined by a space.

    `how` is "disjoint" (each text in at most one pair) or "all" (every pair, at most `cap` of them, drawn under
    the seed). No joined text is longer than `limit` tokens, by default the 75 % quantile of the source's own
    lengths. "published" is "all" with that default.
    """
    _check(how, cap)

    def build(source: Source) -> Iterator[Group | Refused]:
        made = additive_pairs(source, how=how, cap=cap, limit=limit, seed=seed)
        field, paired = source.task.modified, set[int]()
        for i, j in made.pairs:
            a, b = source.items[i], source.items[j]
            texts = [a.fields[field], b.fields[field], joined(a.fields[field], b.fields[field])]
            yield group_of(source, KIND, f"{a.id}+{b.id}", [({field: text}, a.accepted) for text in texts])
            paired |= {i, j}
        for n, item in enumerate(source.items):
            if n not in paired:
                no_partner = f"no partner of its label left with which it has at most {made.limit:g} tokens"
                yield Refused(_refused(source, n) or no_partner, item.id)

    return build


def additive_pairs(
    source: Source, *, how: str = "disjoint", cap: int = CAP, limit: float | None = None, seed: int = 0
) -> Pairs:
    """What `additive` joins."""
    _check(how, cap)
    task = source.task
    task.check_relation(KIND)
    if len(task.fields) > 1:
        raise UsageError(
            f"{KIND} does not hold for {task.name}: an item is {len(task.fields)} texts, "
            "joining two items makes no item",
            hint="take a task of one text",
        )
    texts = [item.fields[task.modified] for item in source.items]
    limit = length_limit(texts) if limit is None or how == PUBLISHED else limit
    # what may not be joined shares its label with no other
    labels = [f"none {n}" if _refused(source, n) else item.accepted[0] for n, item in enumerate(source.items)]
    lengths = [length(text) for text in texts]
    random = Random(f"{seed}/{task.name}")
    if how != "disjoint":
        return Pairs(*all_pairs(labels, lengths, limit, random, cap), limit)
    pairs = disjoint_pairs(labels, lengths, limit, random)
    return Pairs(pairs, len(pairs), limit)


def _check(how: str, cap: int) -> None:
    if how not in WAYS:
        raise UsageError(f"additive: how={how} is not known", hint=near(how, WAYS))
    if cap < 1:
        raise UsageError(f"additive: cap={cap} leaves no pairs", hint="give 1 or more")


def _refused(source: Source, n: int) -> str | None:
    item = source.items[n]
    if len(item.accepted) != 1:
        return "no gold label" if not item.accepted else "the gold is not one label"
    return label_refused(source.task, KIND, item)


def joined(first: str, second: str) -> str:
    """joined("a film . ", "a joy . ") -> "a film . a joy ."."""
    return f"{first.strip()} {second.strip()}"


def length(text: str) -> int:
    """In tokens, which are what white space separates."""
    return len(text.split())


def length_limit(texts: Sequence[str]) -> float:
    """The 75 % quantile of the lengths: lengths 1, 2, 3, 4 -> 3.25."""
    lengths = [length(text) for text in texts]
    if len(lengths) < 2:
        return float(sum(lengths))
    return statistics.quantiles(lengths, n=4, method="inclusive")[2]


def disjoint_pairs(labels: Sequence[str], lengths: Sequence[int], limit: float, random: Random) -> list[TwoItems]:
    """As many pairs (i, j), i < j, of one label as fit the limit, each text in at most one of them.

    The longest text is paired with the shortest, and left out where even that is too long: no other way gives
    more pairs. Chance decides only between texts of one length.
    """
    pairs = []
    for rows in _rows_by_label(labels):
        random.shuffle(rows)
        rows.sort(key=lambda row: lengths[row])
        short, long = 0, len(rows) - 1
        while short < long:
            i, j = rows[short], rows[long]
            if lengths[i] + lengths[j] <= limit:
                pairs.append((min(i, j), max(i, j)))
                short += 1
            long -= 1
    return sorted(pairs)


def all_pairs(
    labels: Sequence[str], lengths: Sequence[int], limit: float, random: Random, cap: int
) -> tuple[list[TwoItems], int]:
    """Every pair of one label that fits the limit, or `cap` of them drawn at random; and how many there are.

    Of 10,000 texts there are millions: they are counted, and only those that are drawn are written out.
    """
    import numpy as np

    starts, partners = [0], []
    for rows in _rows_by_label(labels):
        places, sizes = np.asarray(rows), np.asarray([lengths[row] for row in rows])
        for n, row in enumerate(rows):
            fitting = partial(_fitting, places[n + 1 :], sizes[n + 1 :], limit - sizes[n])
            starts.append(starts[-1] + len(fitting()))
            partners.append((row, fitting))
    count = starts[-1]
    drawn = range(count) if count <= cap else sorted(random.sample(range(count), cap))
    return sorted(_numbered(drawn, starts, partners)), count


def _fitting(places: Places, sizes: Places, most: float) -> Places:
    return places[sizes <= most]


def _numbered(
    numbers: Iterable[int], starts: Sequence[int], partners: Sequence[tuple[int, Callable[[], Places]]]
) -> Iterator[TwoItems]:
    """The pairs with these numbers, in order: those of one first text follow one another."""
    for n, of_one in groupby(numbers, key=lambda number: bisect_right(starts, number) - 1):
        first, fitting = partners[n]
        others = fitting()
        yield from ((first, int(others[number - starts[n]])) for number in of_one)


def _rows_by_label(labels: Sequence[str]) -> Iterator[list[int]]:
    by_label: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        by_label.setdefault(label, []).append(row)
    yield from by_label.values()
