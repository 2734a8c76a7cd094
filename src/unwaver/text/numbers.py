"""The numbers of a text, however they are written.


It reads digits of all scripts, thousands separators (10,000, 10 000, 1,00,000, 1.000.000), decimals, signs,
fractions (3/4, 1 3/4, 1½), powers (1e6, 6.02×10^23, 10⁶, 2^10), hexadecimals (0x10), percent, English number
words, "1.5 million" and "$2M". English notation: "3,14" is two numbers; only "1.000,5" can be nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple


class Number(NamedTuple):
    value: Decimal
    percent: bool = False


# --- reading ------------------------------------------------------------------------------------------------

_CONTEXT = Context(prec=50, traps=[])  # of longer numbers the first 50 digits count
_LONGEST_HEX = 40  # digits
_LONGEST = 400  # characters, or powers of ten, of a number that is compared to its last digit
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
_POWER = r"[-+−]?\d{1,3}(?!\d)"


def _raised(name: str) -> str:
    return rf"(?:\s?(?:\^|\*\*)\s?[{{(]?(?P<{name}>{_POWER})[)}}]?|(?P<{name}_small>[⁺⁻]?[⁰¹²³⁴-⁹]{{1,3}}))"


_GROUPED = "|".join(
    (
        r"\d{1,3}(?:\.\d{3})+,\d+(?![.,]?\d)",  # 1.000,5
        r"\d{1,3}(?:\.\d{3}){2,}(?![.,]?\d)",  # 1.000.000
        r"(?:\d{1,3}(?:[,'’ \u00a0\u2009\u202f]\d{3})+(?!\d)|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)|\d+)(?:\.\d+)?|\.\d+",
    )
)
# A digit after a letter or a point belongs to a name or a version: "H2O", "v1.2.3"
_DIGITS = (
    r"(?<![\w.])[+]?(?P<money>[$€£¥])?(?:0x(?P<hex>[\da-f]+)(?!\w)"
    r"|(?:(?P<whole>\d{1,3})\s)?(?P<part>\d+)/(?P<of>\d+)(?![\w/])"
    r"|(?P<ones>\d{1,3})?\s?(?P<vulgar>[¼½¾⅐-⅞])"
    rf"|(?P<digits>{_GROUPED})"
    rf"(?:e(?P<power>{_POWER})|\s?[×x*·⋅]\s?10{_raised('ten')}|{_raised('raised')})?"
    rf"(?P<scales>(?:\s+(?:{'|'.join(_SCALES)})\b)*)(?(money)(?P<short>k|m|bn?)?(?!\w)|))"
)
_WORDS = rf"\b(?P<words>{_WORD}(?:(?:\s+and)?[\s-]+{_WORD})*)\b"
_NUMBER = re.compile(
    rf"(?<![\w.)]){_MINUS}(?:{_DIGITS}|{_WORDS})(?P<percent>\s?(?:[%٪]|per\s?cent\b))?", re.IGNORECASE
)
_SEPARATORS = re.compile(r"[,'’ \u00a0\u2009\u202f]")
# "one" stands for a thing, not an amount: "the last one", "no one", "one of them", "one should"
_THING_BEFORE = re.compile(
    r"\b(?:no|any|every|some|each|the|this|that|which|only|last|first|other)\s+$", re.IGNORECASE
)
_THING_AFTER = re.compile(r"['’]|\s+(?:of|who|that|can|cannot|could|may|might|must|should|would)\b", re.IGNORECASE)


def numbers(text: str) -> Iterator[Number]:
    """numbers("-1,200.50 or twenty-five percent") -> Number(-1200.5), Number(25, percent=True)."""
    for match in number_matches(text):
        for value in _amounts(match):
            if value.is_finite():
                yield Number(value.copy_negate() if match["minus"] else value, bool(match["percent"]))


def number_matches(text: str) -> Iterator[re.Match[str]]:
    """Where the numbers are. `exact` gives the value of one."""
    for match in _NUMBER.finditer(text):
        if match["words"] and match["words"].lower() == "one" and _is_thing(text, match):
            continue
        yield match


def exact(match: re.Match[str]) -> Fraction | None:
    """The value to the last digit; None if it is not one number ("two five", "5/0"), or too long to keep."""
    if len(match[0]) > _LONGEST:
        return None
    if match["words"]:
        said = _in_digits(match["words"])
        value = Fraction(said[0]) if len(said) == 1 else None
    elif match["part"]:
        value = _exact_share(match)
    elif match["vulgar"]:
        of_ten = Fraction(unicodedata.numeric(match["vulgar"])).limit_denominator(10)
        value = int(match["ones"] or 0) + of_ten
    elif match["hex"]:
        value = Fraction(int(match["hex"], 16))
    else:
        value = _exact_digits(match)
    return -value if value is not None and match["minus"] else value


def _exact_share(match: re.Match[str]) -> Fraction | None:
    part, of = int(match["part"]), int(match["of"])
    if not of or (match["whole"] and part >= of):
        return None
    return int(match["whole"] or 0) + Fraction(part, of)


def _exact_digits(match: re.Match[str]) -> Fraction | None:
    value, power = Fraction(_plain(match["digits"])), _power(match)
    raised = _exponent(match["raised"] or match["raised_small"] or "1")
    if abs(power) > _LONGEST or abs(raised) > _LONGEST or (raised < 0 and not value):
        return None
    return value**raised * Fraction(10) ** power


def _is_thing(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start("words") - 20) : match.start("words")]
    return bool(_THING_BEFORE.search(before) or _THING_AFTER.match(text, match.end("words")))


def _amounts(match: re.Match[str]) -> list[Decimal]:
    """One, but for words that make no single number: "two five" is two."""
    return [Decimal(n) for n in _in_digits(match["words"])] if match["words"] else [_amount(match)]


def _amount(match: re.Match[str]) -> Decimal:
    if match["hex"]:
        return _CONTEXT.create_decimal(int(match["hex"][:_LONGEST_HEX], 16))
    if match["vulgar"]:
        of_ten = Fraction(unicodedata.numeric(match["vulgar"])).limit_denominator(10)
        return _CONTEXT.add(Decimal(match["ones"] or 0), _CONTEXT.divide(of_ten.numerator, of_ten.denominator))
    if match["part"]:
        part, of = _CONTEXT.create_decimal(match["part"]), _CONTEXT.create_decimal(match["of"])
        share = _CONTEXT.divide(part, of) if of else part
        return _CONTEXT.add(Decimal(match["whole"]), share) if match["whole"] and part < of else share
    digits = _CONTEXT.create_decimal(_plain(match["digits"]))
    if raised := match["raised"] or match["raised_small"]:
        digits = _CONTEXT.power(digits, _exponent(raised))
    return digits.scaleb(min(_power(match), _GREATEST_POWER), _CONTEXT)


def _power(match: re.Match[str]) -> int:
    """Of ten: "1.5e3 million" -> 9."""
    power = _exponent(match["power"] or match["ten"] or match["ten_small"] or "0")
    power += sum(_SCALES[scale.lower()] for scale in match["scales"].split())
    return power + {"k": 3, "m": 6, "b": 9}.get((match["short"] or "")[:1].lower(), 0)


def _plain(digits: str) -> str:
    """ "1,000.5" -> "1000.5"; "1.000,5" and "1.000.000", which can be no English, -> "1000.5", "1000000"."""
    if digits.count(".") > 1 or "," in digits.partition(".")[2]:
        digits = digits.replace(".", "").replace(",", ".")
    return _SEPARATORS.sub("", digits)


def _exponent(text: str) -> int:
    return int(unicodedata.normalize("NFKC", text).replace("−", "-"))


def _in_digits(words: str) -> list[int]:
    """ "two hundred and five thousand" -> 205000, "twelve hundred" -> 1200, "nineteen eighty-four" -> 1984."""
    found: list[int] = []
    total = current = 0
    begun = False
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "hundred":
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * 10 ** _SCALES[word]
            current = 0
        elif word != "and":
            value = _VALUES[word]
            if value >= 10 and 10 <= current < 100 and not total:  # a year
                current = 100 * current + value
            elif begun and (current % 10 or (value >= 10 and current % 100) or value == 0):  # it is said again
                found.append(total + current)
                total, current = 0, value
            else:
                current += value
        begun = True
    return [*found, total + current]


def same_amount(one: Number, other: Number) -> bool:
    """50 % is 50 % whether "50" or "0.5" is written beside it; but 0.5 % is not 50 %."""
    if one.value == other.value:
        return True
    if one.percent == other.percent:
        return False
    share, whole = (one, other) if one.percent else (other, one)
    return _CONTEXT.divide(share.value, Decimal(100)) == whole.value
