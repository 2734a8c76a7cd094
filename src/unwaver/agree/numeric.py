"""The same number, however it is written: "about 1,200", "1200.0" and "twelve hundred" agree.

Read are digits of all scripts, thousands separators, decimals, signs, fractions (3/4), exponents (1e6), percent,
English number words, and "1.5 million". English notation: "3,14" is two numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import NamedTuple

from unwaver.agree import Agreement, Pair


class Number(NamedTuple):
    value: Decimal
    percent: bool = False


def numeric(*, every: bool = False) -> Agreement:
    """1 where the last number of both texts is the same, or `every` one (numeric_all); None where one has none.

    The last one is the result of a text that reasons: "3 + 4 = 7" and "7" -> 1.
    """

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        found = {text: list(numbers(text)) for pair in pairs for text in (pair.a, pair.b)}
        return [_value(found[pair.a], found[pair.b], every) for pair in pairs]

    name = "numeric_all" if every else "numeric"
    return Agreement(name, True, "high", same=1.0, threshold=0.5, compare=compare)


def _value(one: list[Number], other: list[Number], every: bool) -> float | None:
    if not one or not other:
        return None
    if every:
        return float(len(one) == len(other) and all(map(_equal, sorted(one), sorted(other))))
    return float(_equal(one[-1], other[-1]))


def _equal(one: Number, other: Number) -> bool:
    """50 % is 50 % whether "50" or "0.5" is written beside it; but 0.5 % is not 50 %."""
    if one.value == other.value:
        return True
    if one.percent == other.percent:
        return False
    share, whole = (one, other) if one.percent else (other, one)
    return _CONTEXT.divide(share.value, Decimal(100)) == whole.value


# --- reading ------------------------------------------------------------------------------------------------

_CONTEXT = Context(prec=50, traps=[])  # of longer numbers the first 50 digits count
_GREATEST_POWER = 100_000  # beyond: no number, however many millions a text strings together
_UP_TO_NINETEEN = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}  # powers of ten
_VALUES = {word: n for n, word in enumerate(_UP_TO_NINETEEN)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}

_WORD = rf"(?:{'|'.join([*_VALUES, *_SCALES])})"
_MINUS = r"(?P<minus>[-−–]|\b(?:minus|negative)\s+)?"
# A digit after a letter or a point belongs to a name or a version: "H2O", "v1.2.3"
_DIGITS = (
    r"(?<![\w.])[+]?[$€£¥]?(?:(?P<part>\d+)/(?P<of>\d+)(?![\w/])"
    r"|(?P<digits>(?:\d{1,3}(?:[,'’\u00a0\u2009\u202f]\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    rf"(?:[eE](?P<power>[-+]?\d{{1,3}})(?!\w))?(?P<scales>(?:\s+(?:{'|'.join(_SCALES)})\b)*))"
)
_WORDS = rf"\b(?P<words>{_WORD}(?:(?:\s+and)?[\s-]+{_WORD})*)\b"
_NUMBER = re.compile(
    rf"(?<![\w.)]){_MINUS}(?:{_DIGITS}|{_WORDS})(?P<percent>\s?(?:[%٪]|per\s?cent\b))?", re.IGNORECASE
)
_SEPARATORS = re.compile(r"[,'’\u00a0\u2009\u202f]")
# "one" stands for a thing, not an amount: "the last one", "no one", "one of them", "one should"
_THING_BEFORE = re.compile(
    r"\b(?:no|any|every|some|each|the|this|that|which|only|last|first|other)\s+$", re.IGNORECASE
)
_THING_AFTER = re.compile(r"['’]|\s+(?:of|who|that|can|cannot|could|may|might|must|should|would)\b", re.IGNORECASE)


def numbers(text: str) -> Iterator[Number]:
    """numbers("-1,200.50 or twenty-five percent") -> Number(-1200.5), Number(25, percent=True)."""
    for match in _NUMBER.finditer(text):
        if match["words"] and match["words"].lower() == "one" and _is_thing(text, match):
            continue
        value = _amount(match)
        yield Number(value.copy_negate() if match["minus"] else value, bool(match["percent"]))


def _is_thing(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start("words") - 20) : match.start("words")]
    return bool(_THING_BEFORE.search(before) or _THING_AFTER.match(text, match.end("words")))


def _amount(match: re.Match[str]) -> Decimal:
    if match["words"]:
        return Decimal(_in_digits(match["words"]))
    if match["part"]:
        part, of = _CONTEXT.create_decimal(match["part"]), _CONTEXT.create_decimal(match["of"])
        return _CONTEXT.divide(part, of) if of else part
    digits = _CONTEXT.create_decimal(_SEPARATORS.sub("", match["digits"]))
    power = int(match["power"] or 0) + sum(_SCALES[scale.lower()] for scale in match["scales"].split())
    return digits.scaleb(min(power, _GREATEST_POWER), _CONTEXT)


def _in_digits(words: str) -> int:
    """ "two hundred and five thousand" -> 205000, "twelve hundred" -> 1200."""
    total = current = 0
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "hundred":
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * 10 ** _SCALES[word]
            current = 0
        elif word != "and":
            current += _VALUES[word]
    return total + current
