"""Addition: two texts with one label, joined, have that label too."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

Pair = tuple[int, int]


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


def disjoint_pairs(labels: Sequence[str], lengths: Sequence[int], limit: float, random: Random) -> list[Pair]:
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
) -> tuple[list[Pair], int]:
    """Every pair of one label that fits the limit, or `cap` of them drawn at random; and how many there are."""
    pairs = [
        (i, j)
        for rows in _rows_by_label(labels)
        for i, j in combinations(rows, 2)
        if lengths[i] + lengths[j] <= limit
    ]
    kept = pairs if len(pairs) <= cap else random.sample(pairs, cap)
    return sorted(kept), len(pairs)


def _rows_by_label(labels: Sequence[str]) -> Iterator[list[int]]:
    for label in dict.fromkeys(labels):
        yield [row for row, other in enumerate(labels) if other == label]
