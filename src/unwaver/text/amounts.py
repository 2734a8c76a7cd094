r"""The one number that a text gives as its answer, to the last digit; nothing if that is not certain.

    amount_of("It is about 1,200 people.")      -> Amount(1200)
    amount_of("3 + 4 = 7")                      -> Amount(7)
    amount_of("1 or 2"), amount_of("2x = 10"), amount_of(r"\sqrt{2}"), amount_of("at least 5") -> None

A text is read only as a whole: if a second number, a variable, an operator or a word that changes the number is
left beside it, there is no amount. What is marked as the answer (a box, ####, "answer is") goes before the rest.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from unwaver.text.marked import after_cue, after_hashes, boxed, plain_latex
from unwaver.text.numbers import exact, number_matches
from unwaver.text.units import CURRENCIES, SIGNS, Unit, unit_after

LONGEST = 20_000  # characters: longer texts are not read


class Amount(NamedTuple):
    value: Fraction
    percent: bool = False
    unit: Unit | None = None
    thing: str = ""  # "apples" in "12 apples", where that is all that is said
    name: str = ""  # "x" in "x = 5"


class _Place(NamedTuple):
    amount: Amount
    start: int
    end: int


def amount_of(text: str) -> Amount | None:
    if len(text) > LONGEST:
        return None
    box = boxed(text)
    if box is not None:
        return _only(plain_latex(box))
    text = plain_latex(text)
    for part in (after_hashes(text), after_cue(text)):
        if part is not None:
            return _only(part)
    found = _only(text)
    return _concluded(text) if found is None else found


def all_amounts(text: str) -> list[Amount] | None:
    """All numbers of a text, smallest first; None if it holds what is more than numbers and words."""
    text = plain_latex(text[: LONGEST + 1])
    places = _places(text)
    if len(text) > LONGEST or not places or "\\" in _rest(text, places):
        return None
    joined = (_JOINED.search(text[max(0, p.start - 1) : p.start]) or _JOINED.match(text, p.end) for p in places)
    return None if any(joined) else sorted((place.amount for place in places), key=lambda amount: amount.value)


class Tolerance(NamedTuple):
    """How far two numbers that agree may be apart, in their own unit or as a share of the larger one."""

    size: Fraction = Fraction(0)
    relative: bool = False

    def covers(self, one: Fraction, other: Fraction) -> bool:
        return abs(one - other) <= self.size * (max(abs(one), abs(other)) if self.relative else 1)


def same_amount(one: Amount, other: Amount, tolerance: Tolerance = Tolerance()) -> bool | None:  # noqa: B008
    """None if it depends on the question: 50 % and 50, 5 km and 5, x = 5 and y = 5, 12 apples and 12 pears."""
    if (one.name and other.name and one.name != other.name) or (
        one.thing and other.thing and one.thing != other.thing
    ):
        return None
    if one.percent != other.percent:
        return _same_share(*((one, other) if one.percent else (other, one)), tolerance)
    if one.unit is None or other.unit is None:
        unit = one.unit or other.unit
        same = tolerance.covers(one.value, other.value)
        return None if same and unit is not None and unit.dimension not in CURRENCIES else same
    if one.unit.dimension != other.unit.dimension:
        return None if {one.unit.dimension, other.unit.dimension} == {"mass", "sterling"} else False  # pounds
    if one.unit == other.unit:
        return tolerance.covers(one.value, other.value)
    return tolerance.covers(one.value * one.unit.factor, other.value * other.unit.factor)


def _same_share(share: Amount, other: Amount, tolerance: Tolerance) -> bool | None:
    if tolerance.covers(share.value / 100, other.value):
        return True
    return None if tolerance.covers(share.value, other.value) else False


# --- reading --------------------------------------------------------------------------------------------------

_EQUALS = re.compile(r"(?<![<>!=≠:])=(?!=)")
_NO_EQUALITY = re.compile(r"[<>≤≥≠±∓]|\\(?:le|ge|leq|geq|lt|gt|ne|neq|pm|mp)\b|:=|==|!=")
_EXPRESSION = re.compile(
    r"(?P<lead>[^\W\d]?[^\d=]*?)(?P<sum>[-(\d][\d\s.,+\-−*/×÷·⋅^()$€£%]*|\d[\d\s.,]*(?:\s*x\s*\d[\d\s.,]*)+)?"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CONCLUSION = re.compile(
    r"\W*(?:so|therefore|thus|hence|consequently|in\s+total|altogether|in\s+all|this\s+gives|that\s+makes)\b",
    re.IGNORECASE,
)


def _concluded(text: str) -> Amount | None:
    """The number of a last sentence that begins with "So" or "Therefore"."""
    last = next((part for part in reversed(_SENTENCE.split(text)) if part.strip()), "")
    return _only(last) if _CONCLUSION.match(last) else None


def _only(text: str) -> Amount | None:
    """The amount of a text that holds no other; what stands right of the last = in a chain without commas."""
    if _NO_EQUALITY.search(text):
        return None
    *before, last = _EQUALS.split(text)
    if not before:
        return _single(text)
    if len(before) > 1 and re.search(r"[,;\n]\s|\b(?:and|or)\b", "=".join(before[1:])):
        return None  # x = 3, y = 4
    name = _left_side(before[0])
    if name is None or any(_left_side(part) is None for part in before[1:]):
        return None
    found = _single(last)
    return None if found is None else found._replace(name=name)


def _left_side(text: str) -> str | None:
    """The variable on the left side of =, "" for words or a sum of numbers; None for what must be solved: "2x"."""
    found = _EXPRESSION.fullmatch(text.strip())
    if found is None:
        return None
    words = re.findall(r"[^\W\d_]+", found["lead"])
    letters = [word for word in words if len(word) == 1 and word not in "aAI"]
    if re.search(r"[^\w\s.,;:'’\"“”()-]", found["lead"]) or len(letters) > 1:
        return None
    if found["sum"]:
        return None if letters or re.search(r"\w\($", found["lead"]) else ""
    if letters and (words[-1] != letters[0] or "(" in found["lead"]):
        return None
    return letters[0] if letters else ""


def _single(text: str) -> Amount | None:
    places = _places(text)
    if not places or len({place.amount[:3] for place in places}) > 1:
        return None
    if any(_may_be_pair(text, place) for place in places):
        return None
    if not all(_stands_alone(text, place) for place in places) or not _is_harmless(_rest(text, places)):
        return None
    amount = places[0].amount
    return amount._replace(thing=_thing(text, places)) if len(places) == 1 else amount


def _places(text: str) -> list[_Place] | None:
    """None if one of the numbers cannot be kept as it is."""
    found: list[_Place] = []
    for match in number_matches(text):
        if found and match.start() < found[-1].end:
            continue  # the 2 of "5 m^2"
        value = exact(match)
        if value is None:
            return None
        unit, end = None, match.end()
        if not match["percent"] and (follows := unit_after(text, end)):
            unit, end = follows
        if unit is None and match["money"]:
            unit = Unit(SIGNS[match["money"]], Fraction(1))
        if unit is not None and not unit.dimension:  # a dozen is a number
            value, unit = value * unit.factor, None
        found.append(_Place(Amount(value, bool(match["percent"]), unit), match.start(), end))
    return found


_JOINED = re.compile(r"[\w^_!√|/*]")
_BEFORE = re.compile(r"[\w^_\\{}\[\]/*+×÷·√|∛!<>=~-]$|[\w)\]}]\($|[\w)\]][-−+*/^]\s*$")
_AFTER = re.compile(r"[\w^_\\{}\[\]/*+×÷·√|!°-]|\s*[-+*/^×÷·√]|\s*\(\s*\w|\.\w|,\d|:\d|\.\.|…")


def _stands_alone(text: str, place: _Place) -> bool:
    """Whether nothing is joined to the number: not "5x", "5!", "f(5)", "5 + x", "3,14"."""
    return not _BEFORE.search(text[max(0, place.start - 8) : place.start]) and not _AFTER.match(text, place.end)


_INSIDE = re.compile(r"[\^_√|]\{?\(?$|\\[a-zA-Z]+\s*\{?$")
_VARIABLE = re.compile(r"\^|_\{|!(?=\w)|\s?\\[a-zA-Z]|\s?[π√]|[b-hj-zB-Z](?![\w])|\s*[-+*/]\s*[\\b-zB-Z]\b")


def is_part(text: str, start: int, end: int) -> bool:
    r"""Whether a number is a part of an expression: the 2 of "\sqrt{2}", "x^2", "2x", "2\pi" or "2 + x"."""
    if _INSIDE.search(text[max(0, start - 20) : start]):
        return True
    return unit_after(text, end) is None and _VARIABLE.match(text, end) is not None


def _may_be_pair(text: str, place: _Place) -> bool:
    """ "(1,234)" may be the point (1, 234)."""
    return "," in text[place.start : place.end] and text[: place.start].rstrip().endswith(("(", "[", "{"))


def _rest(text: str, places: list[_Place]) -> str:
    parts, end = [], 0
    for place in places:
        parts.append(text[end : place.start])
        end = place.end
    return " ".join([*parts, text[end:]])


_MARKS = frozenset(" \t\n\r.,;:!?'’‘\"“”()~≈=")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# words that make another number, or no number, of the one they stand beside
_CHANGES = re.compile(
    r"not|no|never|cannot|neither|nor|without|or|from|between|than|least|most|under|over|above|below|beyond|min|max"
    r"|minimum|maximum|up|exceed\w*|within|fewer|less|more|greater|larger|smaller|squared?|cubed?|roots?|factorial"
    r"|power|log|ln|lg|exp|(?:arc)?(?:sin|cos|tan)|cot|half|halves|thirds?|quarters?|fourths?|fifths?|sixths?"
    r"|sevenths?|eighths?|ninths?|tenths?|hundredths?|thousandths?|twice|double|triple|thrice|times|plus|minus|mod"
    r"|modulo|divided|multiplied|per|pi|infinit\w*|except|excluding|base|score|pairs?|couple|lakh|crore|mn|bn|mln|mio"
    r"|mrd|hundreds?|thousands?|millions?|billions?|trillions?|inclusive|exclusive|positive|negative|opposite|inverse"
    r"|reciprocal|absolute|modulus|complement|wrong|incorrect|false|page|step|equation|question|chapter|section|option"
    r"|choice|room|line|row|part|figure|table|version|increas\w*|decreas\w*|gain\w*|loss\w*|los(?:es?|ing|t)|win\w*|won"
    r"|profits?|deficit|debt|owes?|ahead|behind|down|before|after|early|late|ago|bce?|ad|january|february|march|april"
    r"|may|june|july|august|september|october|november|december"
    r"|nicht|keine?|oder|pas|ou|non|ni|.*n['’]t",
    re.IGNORECASE,
)


_RATE = re.compile(
    r"\b(?:an?|each|every)\s+(?:second|minute|hour|day|week|month|year|piece|person)\b", re.IGNORECASE
)


def _is_harmless(rest: str) -> bool:
    if _RATE.search(rest):
        return False
    words = _WORD.findall(rest)
    left = _WORD.sub("", rest)
    if any(mark not in _MARKS and unicodedata.category(mark) not in ("Zs", "Cf") for mark in left):
        return False
    return all(not _CHANGES.fullmatch(word) and _is_word(word) for word in words)


def _is_word(word: str) -> bool:
    """One letter is a variable; scripts without spaces have words of one letter too."""
    return len(word) > 1 or word in "aAI" or ord(word) > 0x2E7F


def _thing(text: str, places: list[_Place]) -> str:
    """What is counted, if the answer is a number and one more word: "12 apples" -> "apple"."""
    place = places[0]
    before, after = text[: place.start].strip(), _WORD.findall(text[place.end :])
    if _WORD.findall(before) or len(after) != 1 or place.amount.unit is not None:
        return ""
    return str(after[0]).casefold().removesuffix("s")
