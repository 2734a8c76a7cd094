"""CALM's input format: an indicator before each of two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unwaver.tasks import CALM
from unwaver.tasks.calm_layout import COLON, SIGNS, calm_fields, checked_signs
from unwaver.text.refused import Refused
from unwaver.types import Group
from unwaver.variants.source import Build, Source, group_of, label_refused


class Layout(NamedTuple):
    """How two texts are laid out; the default is that of an original."""

    sign: str = COLON
    reverse: bool = False


def reverse() -> Build:
    """Kind `reverse`: the two texts in the other order, each keeping its indicator."""
    return _laid_out("reverse", [Layout(reverse=True)])


def signal(signs: Sequence[str] = ()) -> Build:
    """Kind `signal`: ten variants, in each the colon after both indicators is another sign; `signs` replaces
    them, with X for the indicator: ["[X]", "X |"]."""
    return _laid_out("signal", [Layout(sign) for sign in checked_signs(signs) or SIGNS])


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
