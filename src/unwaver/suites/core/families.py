"""The kinds of core, with the family that each belongs to and the reason why its relation holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from unwaver.suites.core import kinds_contrast, kinds_judging, kinds_logic, kinds_same, kinds_talk
from unwaver.suites.core.book import Book
from unwaver.types import Group


@dataclass(frozen=True)
class Kind:
    name: str
    family: str
    make: Callable[[Book], Iterator[Group]]

    @property
    def reason(self) -> str:
        return (self.make.__doc__ or "").strip()


KINDS = (
    Kind("paraphrase", "wording", kinds_same.paraphrase),
    Kind("surface", "wording", kinds_same.surface),
    Kind("distractor", "wording", kinds_same.distractor),
    Kind("negational", "logic", kinds_logic.negational),
    Kind("symmetric", "logic", kinds_logic.symmetric),
    Kind("inverse", "logic", kinds_logic.inverse),
    Kind("transitive", "logic", kinds_logic.transitive),
    Kind("inherited", "logic", kinds_logic.inherited),
    Kind("additive", "logic", kinds_logic.additive),
    Kind("contrast", "logic", kinds_contrast.contrast),
    Kind("options", "format", kinds_same.options),
    Kind("format", "format", kinds_same.layout),
    Kind("documents", "format", kinds_same.documents),
    Kind("persona", "conversation", kinds_same.persona),
    Kind("again", "conversation", kinds_talk.again),
    Kind("doubt", "conversation", kinds_talk.doubt),
    Kind("language", "language", kinds_same.language),
    Kind("options", "judging", kinds_judging.swapped),
    Kind("padded", "judging", kinds_judging.padded),
    Kind("paraphrase", "judging", kinds_judging.rubric),
    Kind("transitive", "judging", kinds_judging.best_of_three),
)
