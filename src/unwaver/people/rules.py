"""Which cards stay, by what people said of them.

    mean>=4    the mean of the grades is 4 or more (BECEL, semantic)
    mean<=2    … 2 or less (BECEL, negational)
    2-of-3     two people or more, and two thirds of all, say yes (BECEL, transitive sets of SNLI)
    majority   more than half say yes
    all-yes    nobody says anything but yes

"yes" is yes, ok, right or true; unsure is no yes. Who skips a card says nothing of it. A card of which nobody says
anything has no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from unwaver.errors import DataError, near

YES = ("yes", "ok", "right", "true", "same")
MEAN = re.compile(r"mean\s*(>=|<=)\s*(\d+(?:\.\d+)?)")
_SHARE = re.compile(r"([1-9]\d?)-of-([1-9]\d?)")
PRESETS = ("mean>=4", "mean<=2", "2-of-3", "majority", "all-yes")


def check_rule(rule: str, file: Path) -> None:
    share = _SHARE.fullmatch(rule)
    if rule in PRESETS or MEAN.fullmatch(rule) or (share and int(share[1]) <= int(share[2])):
        return
    raise DataError(f'rule = "{rule}" is not known', file=file, hint=near(rule, PRESETS))


def verdict(rule: str, values: Sequence[str]) -> bool | None:
    """verdict("mean>=4", ["5", "4", "3"]) -> True; verdict("2-of-3", ["yes", "no", "yes"]) -> True; None without a
    value, and for means without a grade."""
    if not values:
        return None
    if found := MEAN.fullmatch(rule):
        grades = [Fraction(value) for value in values if re.fullmatch(r"\d+", value)]
        if not grades:
            return None
        mean, bar = sum(grades) / len(grades), Fraction(found[2])
        return mean >= bar if found[1] == ">=" else mean <= bar
    count = sum(value in YES for value in values)
    yes = Fraction(count, len(values))
    if found := _SHARE.fullmatch(rule):
        return count >= int(found[1]) and yes >= Fraction(int(found[1]), int(found[2]))
    return yes == 1 if rule == "all-yes" else yes > Fraction(1, 2)


def of_one(rule: str, value: str) -> bool | None:
    """What one person says, taken alone: of_one("2-of-3", "yes") -> True; a grade by its bar."""
    return verdict(rule if MEAN.fullmatch(rule) else "majority", [value])


def presets_for(kind: str) -> tuple[str, ...]:
    """Those that say something of what people are asked in this kind of job."""
    return tuple(rule for rule in PRESETS if bool(MEAN.fullmatch(rule)) == (kind == "rate"))
