"""How far is a paraphrase from its original? Lexically, by Jaccard, and by vectors that are given.

lexical_distance("A dog runs.", "a dog ran")   0.14: of seven letters "runs" and "ran" share four
jaccard_distance("A dog runs.", "a dog ran")   0.5: two of four words are in both
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from unwaver.stats import Floats

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# what Penn tokens take apart once ASCII punctuation is gone: a few contractions, and typographic quotes
_CONTRACTIONS = re.compile(r"\b(can)(not)\b|\b(gim|lem)(me)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b")
_QUOTES = re.compile(r"([«“‘„»”’])")


def words(text: str) -> list[str]:
    """words("I can't – cannot! – go.") -> ["i", "cant", "–", "can", "not", "–", "go"]"""
    plain = _QUOTES.sub(r" \1 ", text.lower().translate(_NO_PUNCTUATION))
    return _CONTRACTIONS.sub(lambda m: " ".join(part for part in m.groups() if part), plain).split()


def lexical_distance(one: str, other: str) -> float:
    """The character edit distance between two bags of words, from 0 to 1 (Bandel et al. 2022).

    As many words as the shorter text has are matched one to one, so that they fit best; the rest count in full.
    """
    from scipy.optimize import linear_sum_assignment

    a, b = words(one), words(other)
    if not a or not b:
        return 0.0 if not a and not b else 1.0
    costs = np.array([[word_distance(x, y) for y in b] for x in a])
    matched = costs[linear_sum_assignment(costs)].sum()
    return float((2 * matched + abs(len(a) - len(b))) / (len(a) + len(b)))


@lru_cache(maxsize=1 << 18)
def word_distance(a: str, b: str) -> float:
    """Insertions and deletions over the sum of lengths: word_distance("runs", "ran") -> 3 / 7."""
    total = len(a) + len(b)
    return (total - 2 * _common(a, b)) / total if total else 0.0


def _common(a: str, b: str) -> int:
    """The length of the longest common subsequence, one bit for each letter of a (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, letter in enumerate(a):
        places[letter] = places.get(letter, 0) | 1 << i
    everything = (1 << len(a)) - 1
    rows = everything
    for letter in b:
        shared = rows & places.get(letter, 0)
        rows = (rows + shared | rows - shared) & everything
    return len(a) - rows.bit_count()


def jaccard_distance(one: str, other: str) -> float:
    """1 − |A∩B| / |A∪B| over sets of lower-cased words without punctuation."""
    a, b = (set(text.lower().translate(_NO_PUNCTUATION).split()) for text in (one, other))
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def cosine_similarity(one: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float:
    """cosine_similarity([1, 0], [1, 1]) -> 0.707…; NaN if a vector is 0."""
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))
