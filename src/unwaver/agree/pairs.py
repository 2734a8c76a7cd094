"""Which pairs of answers have to be compared, and the values of all pairs made of theirs.

answers "x", "y", "x", ""   ->   compare ("x", "y"), and ("y", "x") where the direction counts; one was empty

Each pair of distinct texts is compared once; identical ones are worth `Agreement.same`, or are compared as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwaver.agree import Agreement, Pair
from unwaver.stats import Floats
from unwaver.text.normalise import is_blank


@dataclass(frozen=True)
class Distinct:
    """The answers to one question: `texts` without repeats, `place` of each answer among them, -1 if empty."""

    texts: tuple[str, ...]
    place: NDArray[np.int64]

    @property
    def empty(self) -> int:
        """How many answers were dropped because nothing is written in them."""
        return int(np.count_nonzero(self.place < 0))


def distinct(texts: Sequence[str | None]) -> Distinct:
    """ "x", "y", "x", " " -> texts ("x", "y"), place [0, 1, 0, -1]."""
    places: dict[str, int] = {}
    place = [places.setdefault(t, len(places)) if t and not is_blank(t) else -1 for t in texts]
    return Distinct(tuple(places), np.array(place, dtype=np.int64))


def to_compare(question: str, answers: Distinct, symmetric: bool, identical: bool = False) -> list[Pair]:
    """The pairs of distinct texts in the order in which `spread` takes their values.

    Of d texts d(d-1)/2 pairs; else, where the direction counts, both directions of each, one after the other.
    With `identical` each text with itself comes first.
    """
    texts = answers.texts
    return [Pair(question, texts[i], texts[j]) for i, j in _indices(len(texts), symmetric, identical)]


def _indices(count: int, symmetric: bool, identical: bool = False) -> Iterator[tuple[int, int]]:
    if identical:
        yield from ((i, i) for i in range(count))
    for i in range(count):
        for j in range(i + 1, count):
            yield i, j
            if not symmetric:
                yield j, i


def spread(answers: Distinct, values: Sequence[float | None], agreement: Agreement) -> Floats:
    """The value of each ordered pair of answers: a table of all answers by all answers.

    NaN stands for what does not count: an answer with itself, an empty one, a value that cannot be told.
    """
    known = _among_distinct(len(answers.texts), values, agreement)
    count = len(answers.place)
    table = np.full((count, count), np.nan)
    rows = np.flatnonzero(answers.place >= 0)
    places = answers.place[rows]
    table[np.ix_(rows, rows)] = known[np.ix_(places, places)]
    np.fill_diagonal(table, np.nan)
    return table


def _among_distinct(count: int, values: Sequence[float | None], agreement: Agreement) -> Floats:
    table = np.full((count, count), np.nan)
    pairs = list(_indices(count, agreement.symmetric, agreement.compares_identical))
    for (i, j), value in zip(pairs, values, strict=True):
        table[i, j] = np.nan if value is None else value
        if agreement.symmetric:
            table[j, i] = table[i, j]
    if agreement.combine is not None and not agreement.symmetric:
        for i, j in _indices(count, True):
            one, other = float(table[i, j]), float(table[j, i])
            both_known = not np.isnan(one) and not np.isnan(other)
            table[i, j] = table[j, i] = agreement.combine(one, other) if both_known else np.nan
    if not agreement.compares_identical:
        np.fill_diagonal(table, agreement.same)
    return table


def swap_agreement(values: Sequence[float | None], threshold: float = 0.5) -> float | None:
    """How consistent the one who compares is: the share of pairs with the same verdict in both directions.

    `values` are those of `to_compare` with both directions: 0.9, 0.8, 0.7, 0.2 -> 0.5. None without such a pair.
    """
    both = [(a, b) for a, b in zip(values[::2], values[1::2], strict=True) if a is not None and b is not None]
    return sum((a >= threshold) == (b >= threshold) for a, b in both) / len(both) if both else None
