"""The same number, however it is written: "about 1,200", "1200.0" and "twelve hundred" agree.

What is read as a number: unwaver.text.numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.agree import Agreement, Pair
from unwaver.text.numbers import Number, numbers, same_amount


def numeric(*, every: bool = False) -> Agreement:
    """1 if the last number of both texts is the same, or `every` one (numeric_all); None if one has none.

    The last one is the result of a text that reasons: "3 + 4 = 7" and "7" -> 1.
    """

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        found = {text: list(numbers(text)) for pair in pairs for text in (pair.a, pair.b)}
        return [_value(found[pair.a], found[pair.b], every) for pair in pairs]

    name = "numeric_all" if every else "numeric"
    return Agreement(name, True, "high", same=1.0, threshold=0.5, compare=compare, compares_identical=True)


def _value(one: list[Number], other: list[Number], every: bool) -> float | None:
    if not one or not other:
        return None
    if every:
        return float(len(one) == len(other) and all(map(same_amount, sorted(one), sorted(other))))
    return float(same_amount(one[-1], other[-1]))
