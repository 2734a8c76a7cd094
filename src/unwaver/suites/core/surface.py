"""Changes of a text that carry no meaning: a typing error, polite words, filler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from unwaver.suites.core.asked import Asked, Source, number
from unwaver.variants.around import beside, draw

SHORTEST = 6  # letters of a word that may get an error
# words that would become another word, or that carry the question
_KEPT = frozenset(
    ["before", "longer", "shorter", "heavier", "lighter", "earlier", "negative", "positive", "neither"]
)


def surface_variants(source: Source, seed: object) -> list[Asked]:
    """All that there are, in drawn order."""
    original = source.original
    found = [*_typos(original, seed), *_around(original, "politeness", seed), *_around(original, "filler", seed)]
    return draw(f"{seed}/surface/{source.cluster}/{source.task}", found, lambda a: a.text)


def _typos(asked: Asked, seed: object) -> Iterator[Asked]:
    names = (*asked.kept, *asked.choices)
    kept = {word for name in names for word in re.findall(r"\w+", name.lower())} | _KEPT
    words = [
        m
        for m in re.finditer(r"(?<![\w'’])[a-z]+(?![\w'’])", asked.question)
        if len(m[0]) >= SHORTEST and m[0] not in kept
    ]
    for match in draw(f"{seed}/typo/{asked.text}", words, lambda m: m.start())[:1]:
        typo = misspelt(match[0], f"{seed}/{asked.text}")
        if typo != match[0]:
            text = asked.question[: match.start()] + typo + asked.question[match.end() :]
            yield replace(asked, question=text)


def misspelt(word: str, seed: object) -> str:
    """Two different inner letters that stand side by side, swapped: "capital" -> "captial"."""
    places = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]
    if not places:
        return word
    i = places[number(f"{seed}/{word}", len(places))]
    return f"{word[:i]}{word[i + 1]}{word[i]}{word[i + 2 :]}"


def _around(asked: Asked, section: str, seed: object) -> Iterator[Asked]:
    for entry in draw(f"{seed}/{section}/{asked.text}", beside(section, asked.table))[:1]:
        before, after = (entry.get(side, {}).get("en", "") for side in ("before", "after"))
        yield replace(asked, before=before, after=after)
