"""CALM's input format: an indicator before each of two texts."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.errors import UsageError

COLON = "X:"
# X is the indicator; the order is the one of the ten variants in a group
FARTHEST = 8  # characters before an indicator
SIGNS = ("[X]", "{X}", "(X)", "<X>", "X;", "X#", "X!", "X@", "X~", "X-")


def checked_signs(signs: Sequence[str]) -> tuple[str, ...]:
    """The signs, each of which must say where the indicator goes."""
    for sign in signs:
        if sign.count("X") != 1 or sign.strip() != sign or len(sign.partition("X")[0]) > FARTHEST:
            hint = f"write X once, for the indicator, with at most {FARTHEST} characters before it: '[X]', 'X |'"
            raise UsageError(f"--sign {sign!r} is not a sign", hint=hint)
        if sign == COLON:
            raise UsageError(f"--sign {sign!r} is the sign of the originals", hint="give another sign, as in 'X;'")
    if len(set(signs)) < len(signs):
        twice = next(sign for sign in signs if signs.count(sign) > 1)
        raise UsageError(f"--sign {twice!r} is given twice", hint="give each sign once")
    return tuple(signs)


def calm_fields(
    first_indicator: str,
    first_text: str,
    second_indicator: str,
    second_text: str,
    sign: str = COLON,
    reverse: bool = False,
) -> dict[str, str]:
    """calm_fields("Premise", "a", "Hypothesis", "b") -> {"first": "Premise: a", "second": "Hypothesis: b"}.

    sign="[X]" -> {"first": "[Premise] a", "second": "[Hypothesis] b"}; reverse=True -> the two texts change
    places, each with its indicator.
    """
    first = f"{sign.replace('X', first_indicator)} {first_text}"
    second = f"{sign.replace('X', second_indicator)} {second_text}"
    return {"first": second, "second": first} if reverse else {"first": first, "second": second}
