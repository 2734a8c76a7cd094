"""The same text, letter for letter or in the main.

exact        "Paris" and "paris" -> 0: case and outer space count
normalised   "The Paris!" and "paris" -> 1: lower case, no punctuation, no articles, single spaces
"""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.agree import Agreement, Pair
from unwaver.text.normalise import normalise


def exact() -> Agreement:
    return Agreement("exact", True, "high", same=1.0, threshold=0.5, compare=_exact)


def _exact(pairs: Sequence[Pair]) -> list[float | None]:
    return [float(pair.a == pair.b) for pair in pairs]


def normalised() -> Agreement:
    """None if nothing is left of both texts: "?" and "!"."""
    return Agreement("normalised", True, "high", same=1.0, threshold=0.5, compare=_normalised)


def _normalised(pairs: Sequence[Pair]) -> list[float | None]:
    plain = {text: normalise(text) for pair in pairs for text in (pair.a, pair.b)}
    return [float(plain[p.a] == plain[p.b]) if plain[p.a] or plain[p.b] else None for p in pairs]
