"""Wordings: templates with slots that agree in grammar.

fill("is {thing|a} red?", {"thing": "apple"}) -> "is an apple red?"
sentence("is an apple red?") -> "Is an apple red?"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SLOT = re.compile(r"\{([\w.]+)(?:\|(\w+))?\}")
# vowels that sound like consonants, and the other way round
_A_BEFORE = ("uni", "use", "usu", "euro", "one", "u-", "ukulele", "utensil")
_AN_BEFORE = ("hour", "honest", "heir", "x-ray", "f ", "8", "11", "18")
FILTERS = ("a", "A", "cap")


def slots(template: str) -> list[str]:
    """slots("is {x.thing|a} red?") -> ["x.thing"]."""
    return [m[1] for m in _SLOT.finditer(template)]


def fill(template: str, values: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        text = str(values[match[1]]).split("|", 1)[0]
        return _filtered(text, match[2])

    return _SLOT.sub(value, template)


def _filtered(text: str, name: str | None) -> str:
    if name == "a":
        return with_article(text)
    if name == "A":
        return sentence(with_article(text))
    return sentence(text) if name == "cap" else text


def with_article(noun: str) -> str:
    """with_article("apple") -> "an apple", with_article("university") -> "a university"."""
    low = noun.lower()
    vowel = low.startswith(("a", "e", "i", "o", "u")) and not low.startswith(_A_BEFORE)
    return f"{'an' if vowel or low.startswith(_AN_BEFORE) else 'a'} {noun}"


def sentence(text: str) -> str:
    """With a capital at the beginning: sentence("is it?") -> "Is it?"."""
    return text[:1].upper() + text[1:]


def localised(row: Mapping[str, Any], lang: str) -> Mapping[str, Any]:
    """The row with the cells of a language in place of the English ones: capital_de becomes capital."""
    if lang == "en":
        return row
    ending = f"_{lang}"
    own = {name.removesuffix(ending): cell for name, cell in row.items() if name.endswith(ending)}
    return {**row, **own}
