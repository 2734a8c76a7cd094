"""A text without what does not matter: case, punctuation, articles, white space."""

from __future__ import annotations

import re
import string
import unicodedata


def is_blank(text: str) -> bool:
    """Whether nothing is written: white space, control and format characters alone ("\\u200b")."""
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in text)


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
