"""Is a free answer right? It is where it is closer to a true reference than to every false one.

    "It is round." with the true "The earth is round." and the false "The earth is flat." -> True

How close a text is to a reference is any function of pairs: ROUGE-1 (R1-A), or a regression model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from unwaver.groups.certify import Reading
from unwaver.state import NO_ANSWER
from unwaver.text.normalise import normalise
from unwaver.text.numbers import numbers
from unwaver.types import Item

ROUGE1, CONTAINS = "rouge1", "contains"


class Referenced(NamedTuple):
    """An answer and what it is compared with."""

    text: str
    true: tuple[str, ...]
    false: tuple[str, ...]


TextAndReference = tuple[str, str]  # text, reference
# pairs in, aligned values out: higher is closer, None if it cannot be told
Similarity = Callable[[Sequence[TextAndReference]], Sequence[float | None]]


def accurate_all(answers: Sequence[Referenced], similarity: Similarity) -> list[bool | None]:
    """For each answer whether its greatest similarity to a true reference is strictly above the greatest to a
    false one; one call of `similarity` with each distinct pair once.

    None if there is nothing to hold it against: no true or no false reference. An empty text is not accurate.
    """
    pairs = list(dict.fromkeys(pair for answer in answers for pair in _pairs(answer)))
    values = dict(zip(pairs, similarity(pairs) if pairs else (), strict=True))
    return [_verdict(answer, values) for answer in answers]


def _pairs(answer: Referenced) -> Iterable[TextAndReference]:
    if answer.text.strip() and answer.true and answer.false:
        return ((answer.text, reference) for reference in (*answer.true, *answer.false))
    return ()


def _verdict(answer: Referenced, values: Mapping[TextAndReference, float | None]) -> bool | None:
    if not answer.true or not answer.false:
        return None
    if not answer.text.strip():
        return False
    closest_true, closest_false = (
        _closest(values[answer.text, reference] for reference in references)
        for references in (answer.true, answer.false)
    )
    return None if closest_true is None or closest_false is None else closest_true > closest_false


def _closest(values: Iterable[float | None]) -> float | None:
    """None if one is missing: it may be the closest."""
    found = [math.nan if value is None else value for value in values]
    return None if not found or any(map(math.isnan, found)) else max(found)


def contains(text: str, true: Sequence[str]) -> bool:
    """Whether a right answer stands in the text, whole words, case, marks and articles aside.

    "It is the Pacific Ocean.", ("pacific",) -> True; "Pacifica", ("pacific",) -> False. Numbers keep their sign
    and point: "3", ("-3",) -> False. "A", ("A",) -> True, though A is an article.
    """
    words = f" {normalise(text)} "
    return any(_stands(answer, text, words) for answer in true)


def _stands(answer: str, text: str, words: str) -> bool:
    form = normalise(answer)
    if not form:  # an article alone, or marks: only the whole text can be it
        return bool(_bare(answer)) and _bare(answer) == _bare(text)
    if f" {form} " not in words:
        return False
    here = {number.value for number in numbers(text)}
    return all(number.value in here for number in numbers(answer))


def _bare(text: str) -> str:
    return re.sub(r"^\W+|\W+$", "", text.casefold())


def right_texts(items: Sequence[Item], readings: Sequence[Reading]) -> tuple[list[float | None], list[str | None]]:
    """Whether free texts are right, and by what: closer to a true reference than to every false one, or, where
    only right answers are known, whether one of them stands in the text. Unreadable is wrong."""
    from unwaver.text.rouge import rouge1_of

    found: list[float | None] = [None] * len(items)
    ways: list[str | None] = [None] * len(items)
    free = [n for n, item in enumerate(items) if not item.choices and item.accepted]
    held = [Referenced(readings[n].label or "", items[n].accepted, items[n].rejected) for n in free]
    for n, answer, near_true in zip(free, held, accurate_all(held, rouge1_of), strict=True):
        ways[n] = ROUGE1 if items[n].rejected else CONTAINS
        if readings[n].status not in NO_ANSWER:
            found[n] = float(contains(answer.text, answer.true) if near_true is None else near_true)
    return found, ways
