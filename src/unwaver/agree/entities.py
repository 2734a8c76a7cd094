"""Named entities in common: those in both texts, of those in either.

"Ann met Bob in Rome." and "Bob went to Rome." -> 2 / 3. Case, spacing, a leading "the" and a final "'s" aside, and
whatever kind of entity each is taken for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from unwaver.agree import Agreement, Pair
from unwaver.errors import UsageError
from unwaver.text.english import INSTALL, installed

LONGEST = 100_000  # characters: of longer texts only the beginning is read


def entities() -> Agreement:
    """None if neither text has an entity."""
    return Agreement("entities", True, "high", same=1.0, threshold=0.8, compare=_compare, compares_identical=True)


def _compare(pairs: Sequence[Pair]) -> list[float | None]:
    found = entities_of(list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b))))
    return [_overlap(found[pair.a], found[pair.b]) for pair in pairs]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float | None:
    return len(one & other) / len(one | other) if one | other else None


def entities_of(texts: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """{"The Beatles met Ann's aunt.": {"beatles", "ann"}}"""
    # spaCy takes no half of a surrogate pair, which broken JSON may bring
    readable = [text[:LONGEST].encode("utf-8", "replace").decode() for text in texts]
    read = pipeline().pipe(readable, batch_size=64)
    named = (frozenset(_plain(entity.text) for entity in document.ents) - {""} for document in read)
    return dict(zip(texts, named, strict=True))


_THE, _GENITIVE = re.compile(r"^the\s+"), re.compile(r"['’]s?$")


def _plain(entity: str) -> str:
    return _GENITIVE.sub("", _THE.sub("", " ".join(entity.casefold().split())))


@cache
def pipeline() -> Any:
    """The English pipeline that is installed, with nothing but what finds entities."""
    try:
        import spacy
    except ImportError:
        raise UsageError("the agreement entities needs spaCy", hint=INSTALL) from None
    found = installed(spacy.util.get_installed_models())
    if found is None:
        raise UsageError("no English pipeline of spaCy is installed", hint=INSTALL)
    loaded = spacy.load(found, exclude=["tagger", "parser", "senter", "attribute_ruler", "lemmatizer"])
    if "ner" not in loaded.pipe_names:
        raise UsageError(f"the spaCy pipeline {found} finds no entities", hint=INSTALL)
    # in most pipelines `ner` has vectors of its own: those of the others would take as long again
    if "tok2vec" in loaded.pipe_names and "ner" not in loaded.get_pipe("tok2vec").listening_components:
        loaded.disable_pipe("tok2vec")
    return loaded
