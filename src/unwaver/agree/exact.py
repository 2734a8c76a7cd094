"""The same text, letter for letter or in the main.

exact        "Paris" and "paris" -> 0: case and outer space count
normalised   "The Paris!" and "paris" -> 1: lower case, no punctuation, no articles, single spaces
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence

from unwaver.agree import Agreement, Pair


def exact() -> Agreement:
    return Agreement("exact", True, "high", same=1.0, threshold=0.5, compare=_exact)


def _exact(pairs: Sequence[Pair]) -> list[float | None]:
    return [float(pair.a == pair.b) for pair in pairs]


def normalised() -> Agreement:
    """None where nothing is left of both texts: "?" and "!"."""
    return Agreement("normalised", True, "high", same=1.0, threshold=0.5, compare=_normalised)


def _normalised(pairs: Sequence[Pair]) -> list[float | None]:
    plain = {text: normalise(text) for pair in pairs for text in (pair.a, pair.b)}
    return [float(plain[p.a] == plain[p.b]) if plain[p.a] or plain[p.b] else None for p in pairs]


_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """As SQuAD does it, and with the marks of all scripts: normalise("“The  U.S.”") -> "us"."""
    kept = "".join(c for c in text.lower() if not _is_mark(c))
    # composed at the end: a mark may have stood between a letter and its accent
    return " ".join(_ARTICLES.sub(" ", unicodedata.normalize("NFC", kept)).split())


def _is_mark(character: str) -> bool:
    """Punctuation, and what is written but not seen: control characters, marks of direction."""
    if character.isspace():
        return False
    return character in string.punctuation or unicodedata.category(character) in _UNSEEN_OR_MARKS


_UNSEEN_OR_MARKS = {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Cc", "Cf"}
