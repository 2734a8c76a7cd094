"""The texts that letters stand for: "B" of the choices Rome, Paris -> "Paris".

Letters are places. Where choices were shuffled, the same letter stands for another text in each sample, so answers
are compared by the text, never by the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_ONE = re.compile(r"\(?(?:([A-Za-z])|(\d{1,3}))\)?[.:)]?")
_LETTERS = 26  # beyond, choices are numbered from 1


def choice_of(answer: str | None, choices: Sequence[str]) -> str | None:
    """The text of the choice, or of several in order of the alphabet; None if the answer names none.

    "B", "(b)", "B." of ("Rome", "Paris") -> "Paris"; "A, B" -> "Paris; Rome"; "paris" -> "Paris"; "C" -> None
    """
    if not answer or not choices:
        return None
    places = [_place(part, len(choices)) for part in re.split(r"[,\s]+", answer.strip())]
    known = [choices[place] for place in places if place is not None]
    if known and len(known) == len(places):
        return "; ".join(sorted(set(known)))
    folded = answer.strip().casefold()
    return next((choice for choice in choices if choice.strip().casefold() == folded), None)


def _place(part: str, count: int) -> int | None:
    """ "B" -> 1; with more than 26 choices "1" -> 26."""
    found = _ONE.fullmatch(part)
    if found is None:
        return None
    if found[1]:
        place = ord(found[1].upper()) - ord("A")
    else:
        place = _LETTERS + int(found[2]) - 1 if count > _LETTERS and int(found[2]) else count
    return place if place < count else None


def are_letters(names: Sequence[str]) -> bool:
    """Whether these are the letters A, B, C … of choices that stand elsewhere: "(A)", "(B)" -> True."""
    return len(names) > 1 and [_place(name, len(names)) for name in names] == list(range(len(names)))


def choices_shown(doc: Any, prompt: Any) -> list[str]:
    """The choices of a document in the order of the letters that the prompt gives them; [] if it does not say so.

    {"choices": ["Rome", "Paris"]}, "… (A) Paris (B) Rome" -> ["Paris", "Rome"]
    """
    listed = _choices_in(doc)
    if not isinstance(prompt, str) or len(set(listed)) != len(listed):
        return []
    shown: dict[str, str] = {}
    for letter, choice in _marks(prompt, listed):
        shown[letter] = choice  # the last: solved examples come first
    ordered = [shown.get(chr(ord("A") + n), "") for n in range(len(listed))]
    return ordered if sorted(ordered) == sorted(listed) else []


def _marks(prompt: str, choices: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The letters and their choices, in order. Where one choice begins another, or holds the mark of another
    ("Plan B: Paris"), the longer counts."""
    at: dict[int, tuple[int, str, str]] = {}
    for choice in sorted(choices, key=lambda c: len(c.strip())):
        for found in re.finditer(rf"(?<!\w)([A-Z])[).:]\s*{re.escape(choice.strip())}(?!\w)", prompt):
            at[found.start()] = found.end(), found[1], choice
    done = 0
    for start in sorted(at):
        if start >= done:
            done, letter, choice = at[start]
            yield letter, choice


def _choices_in(doc: Any) -> list[str]:
    """{"choices": […]}, {"choices": {"text": […]}}, {"options": […]} -> […]"""
    for name in ("choices", "options"):
        found = doc.get(name) if isinstance(doc, dict) else None
        if isinstance(found, dict):
            found = found.get("text")
        if isinstance(found, list) and 0 < len(found) <= _LETTERS and all(isinstance(c, str) for c in found):
            return found
    return []
