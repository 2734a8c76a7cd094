"""The same number, however it is written: "about 1,200", "1200.0" and "twelve hundred" agree.

What is read as the number of an answer: unwaver.text.amounts. A text that may say something else ("1 or 2",
"at least 5", an expression) has none, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from unwaver.agree import Agreement, Pair
from unwaver.errors import UsageError
from unwaver.text.amounts import Amount, Tolerance, all_amounts, amount_of, same_amount


def numeric(*, every: bool = False, tolerance: str = "0") -> Agreement:
    """1 if both texts give the same number, or the same numbers in any order with `every` (numeric_all); None if
    one cannot be read for certain, or if it depends on the question: 50 % and 50, 5 km and 5.

    `tolerance` is the largest difference of two numbers that agree: 0.01, or 1% of the larger one.
    """
    within = parse_tolerance(tolerance)

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        texts = dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b))
        if every:
            lists = {text: all_amounts(text) for text in texts}
            return [_every(lists[pair.a], lists[pair.b], within) for pair in pairs]
        found = {text: amount_of(text) for text in texts}
        return [_value(found[pair.a], found[pair.b], within) for pair in pairs]

    name = "numeric_all" if every else "numeric"
    return Agreement(name, True, "high", same=1.0, threshold=0.5, compare=compare, compares_identical=True)


def _value(one: Amount | None, other: Amount | None, within: Tolerance) -> float | None:
    if one is None or other is None:
        return None
    same = same_amount(one, other, within)
    return None if same is None else float(same)


def _every(one: list[Amount] | None, other: list[Amount] | None, within: Tolerance) -> float | None:
    if not one or not other:
        return None
    if len(one) != len(other):
        return 0.0
    values = [_value(a, b, within) for a, b in zip(one, other, strict=True)]
    return 0.0 if 0.0 in values else None if None in values else 1.0


def parse_tolerance(text: str) -> Tolerance:
    """ "0.01" -> 0.01 in any unit; "1%" -> a hundredth of the larger number."""
    share = text.strip().removesuffix("%")
    try:
        size = Fraction(share)
    except (ValueError, ZeroDivisionError):
        size = Fraction(-1)
    if size < 0:
        raise UsageError(f"tolerance={text}: expected a number of at least 0", hint="tolerance=0.01, tolerance=1%")
    relative = share != text.strip()
    return Tolerance(size / 100 if relative else size, relative)
