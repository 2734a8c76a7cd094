"""Which fields the JSON in answers has, for a reader that looks for another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from unwaver.answers.extract import json_values
from unwaver.answers.thoughts import without_thought

MOST, DEEPEST, LONGEST = 8, 3, 40  # fields that are named, steps of a path, characters of it


def fields_in(texts: Iterable[str]) -> list[str] | None:
    """The most frequent fields, written as --read json:FIELD takes them; None where no text holds JSON.

    fields_in(['{"answer": "Yes", "why": {"short": "x"}}']) -> ["answer", "why.short"]
    """
    counts: Counter[str] = Counter()
    found = False
    for text in texts:
        value = next(json_values(without_thought(text) or ""), None)
        if isinstance(value, dict | list):
            found = True
            counts.update(dict.fromkeys(_paths(value), 1))
    return [name for name, _ in counts.most_common(MOST)] if found else None


def _paths(value: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths to everything that is no object or list, down to DEEPEST steps."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside or len(before) == DEEPEST:
        path = ".".join(before)
        if before and len(path) <= LONGEST and "." not in "".join(before):
            yield path
        return
    for name, part in list(inside)[:MOST]:
        yield from _paths(part, (*before, str(name)))
