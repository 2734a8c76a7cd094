"""Superficial cues: how far words of a text give its label away, whatever the text means.

    shares(rows, NEGATIONS)   of the rows with such a word, the share of each label (BECEL, section 4.3)
    strongest(rows)           the words with the greatest PMI with a label (Gururangan et al. 2018)

PMI of word w and label l = log2 of P(l | w) / P(l), over rows; a word counts once in a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unwaver.stats import Floats, Ints, binomial, estimate

NEGATIONS = (
    "no", "not", "n't", "never", "nobody", "none", "nothing", "nowhere", "neither", "nor", "cannot", "without",
)  # fmt: skip
FEWEST_ROWS = 20
_TOKEN = re.compile(r"n't\b|\w+?(?=n't\b)|\w+")


class Row(NamedTuple):
    """A training row: the words of its text, its label, and what it shares with rows that depend on it."""

    words: frozenset[str]
    label: str
    cluster: Hashable


@dataclass(frozen=True)
class Share:
    """The share of a label among the rows with a listed word, and among all rows."""

    label: str
    rows: int
    share: float | None
    low: float | None
    high: float | None
    overall: float


@dataclass(frozen=True)
class Cue:
    """A word and the label that it speaks for; `share` is that of the label among the rows with the word."""

    word: str
    label: str
    pmi: float
    low: float | None
    high: float | None
    share: float
    rows: int


def words_of(text: str) -> frozenset[str]:
    """words_of("He can't; I cannot.") -> {"he", "ca", "n't", "i", "cannot"}"""
    return frozenset(_TOKEN.findall(text.lower().replace("’", "'")))


def shares(rows: Sequence[Row], listed: Iterable[str]) -> list[Share]:
    """Of each label among the rows that have a listed word, with an interval that resamples clusters."""
    wanted = {word.lower().replace("’", "'") for word in listed}
    chosen = [row for row in rows if row.words & wanted]
    clusters = _codes([row.cluster for row in chosen])
    found = []
    for label in sorted({row.label for row in rows}):
        hits = np.array([float(row.label == label) for row in chosen])
        value = estimate(hits, clusters)
        overall = sum(row.label == label for row in rows) / len(rows)
        found.append(Share(label, int(hits.sum()), value.value, value.low, value.high, overall))
    return found


def strongest(rows: Sequence[Row], *, most: int = 20, fewest: int = FEWEST_ROWS, seed: int = 0) -> list[Cue]:
    """The words with the greatest PMI, by the lower end of its interval: a rare word can be a cue by chance."""
    labels = Counter(row.label for row in rows)
    seen: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for row in rows:
        seen.update(row.words)
        together.update((word, row.label) for word in row.words)
    ranked = []
    for (word, label), count in together.items():
        if seen[word] < fewest or seen[word] == len(rows):
            continue
        low, _ = binomial(count, seen[word])
        base = labels[label] / len(rows)
        if count / seen[word] > base:
            ranked.append((np.log2(max(low, 1e-12) / base), word, label))
    ranked.sort(key=lambda each: (-each[0], each[1:]))
    clusters = _codes([row.cluster for row in rows])
    return [_cue(rows, clusters, word, label, seed) for _, word, label in ranked[:most]]


def _cue(rows: Sequence[Row], clusters: Ints, word: str, label: str, seed: int) -> Cue:
    has = np.array([word in row.words for row in rows], dtype=float)
    is_label = np.array([row.label == label for row in rows], dtype=float)
    found = estimate(np.column_stack([has * is_label, has, is_label]), clusters, _pmi, share=False, seed=seed)
    count, total = int((has * is_label).sum()), int(has.sum())
    low, high = found.low, found.high
    if count == total:  # a bootstrap sees no spread in what is always so
        base = is_label.mean()
        low, high = (float(np.log2(end / base)) for end in binomial(count, len(np.unique(clusters[has == 1]))))
    assert found.value is not None
    return Cue(word, label, found.value, low, high, count / total, total)


def _pmi(sums: Floats) -> Floats:
    """Of rows with word and label, with the word, with the label, and all rows."""
    both, word, label, rows = (sums[..., n] for n in range(4))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(both * rows / (word * label)))


def _codes(values: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
