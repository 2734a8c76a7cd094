"""ROUGE-1: the F measure of the words that two texts share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ENGLISH, ANY = re.compile(r"[a-z0-9]+"), re.compile(r"[^\W_]+")


def rouge1_of(pairs: Sequence[tuple[str, str]], word: re.Pattern[str] = ENGLISH) -> list[float]:
    """To the last digit what rouge-score gives, which splits a text again for every pair it is in."""
    words = {text: Counter(word.findall(text.lower())) for text in {text for pair in pairs for text in pair}}
    lengths = {text: counts.total() for text, counts in words.items()}
    return [_f_measure(_shared(words[a], words[b]), lengths[a], lengths[b]) for a, b in pairs]


def _shared(one: Counter[str], other: Counter[str]) -> int:
    if len(one) > len(other):
        one, other = other, one
    return sum(min(count, other[word]) for word, count in one.items() if word in other)


def _f_measure(shared: int, text: int, reference: int) -> float:
    """In the order of operations of rouge-score: the last digit decides whether two values are equal."""
    precision, recall = shared / max(text, 1), shared / max(reference, 1)
    return 2 * precision * recall / (precision + recall) if shared else 0.0
