"""Negation and antonyms as groups: the meaning is reversed, so the answer must change."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.text.refused import Refused
from unwaver.types import Group, replace
from unwaver.variants import measured
from unwaver.variants.source import Build, Rewriter, Source, paired


def negate(*, lang: str = "en") -> Build:
    from unwaver.variants.negate import negate as rewriter

    return _negational(rewriter(lang=lang), measured.NEGATE)


def antonym(*, lang: str = "en", antonyms: str | None = None) -> Build:
    """`antonyms` is a file of pairs; else WordNet is looked for."""
    from unwaver.variants.antonym import antonym as rewriter

    return _negational(rewriter(lang=lang, antonyms=antonyms), measured.ANTONYM)


def _negational(rewriter: Rewriter, epsilon: float) -> Build:
    def build(source: Source) -> Iterator[Group | Refused]:
        for made in paired(source, "negational", rewriter):
            yield made if isinstance(made, Refused) else replace(made, epsilon=epsilon)

    return build
