"""CALM's input format: an indicator before each of two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unwaver.tasks import CALM
from unwaver.types import Group
from unwaver.variants.source import Build, Refused, Source, group_of, label_refused

COLON = "X:"
# X is the indicator; the order is the one of the ten variants in a group
SIGNS = ("[X]", "{X}", "(X)", "<X>", "X;", "X#", "X!", "X@", "X~", "X-")


class Layout(NamedTuple):
    """How two texts are laid out; the default is that of an original."""

    sign: str = COLON
    reverse: bool = False


def reverse() -> Build:
    """Kind `reverse`: the two texts in the other order, each keeping its indicator."""
    return _laid_out("reverse", [Layout(reverse=True)])


def signal() -> Build:
    """Kind `signal`: ten variants, in each the colon after both indicators is another sign."""
    return _laid_out("signal", [Layout(sign) for sign in SIGNS])


def _laid_out(kind: str, variants: Sequence[Layout]) -> Build:
    def build(source: Source) -> Iterator[Group | Refused]:
        source.task.check_relation(kind)
        first, second = source.task.form_named(CALM).indicators
        for item in source.items:
            if reason := label_refused(source.task, kind, item):
                yield Refused(reason, item.id)
                continue
            a, b = (item.fields[name] for name in source.task.fields)
            layouts = (Layout(), *variants)
            texts = [(calm_fields(first, a, second, b, *layout), item.accepted) for layout in layouts]
            yield group_of(source, kind, item.id, texts, template=CALM)

    return build


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
