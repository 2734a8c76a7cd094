"""CALM's input format: an indicator before each of two texts."""

from __future__ import annotations

COLON = "X:"
# X is the indicator; the order is the one of the ten variants in a group
SIGNS = ("[X]", "{X}", "(X)", "<X>", "X;", "X#", "X!", "X@", "X~", "X-")


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
