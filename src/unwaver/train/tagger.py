"""Parts of speech of words in their sentences, by the English pipeline of spaCy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from unwaver.text.english import pipeline
from unwaver.train.attack_words import WordText
from unwaver.variants.lexicon import Pos

_MOST_KNOWN = 200_000
_LETTERS: dict[str, Pos] = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}


class Tagged(NamedTuple):
    """A word in its sentence: ("NOUN", "NNS", "cat")."""

    pos: str
    tag: str
    lemma: str

    @property
    def form(self) -> str:
        """Part of speech and inflection: a plural stays a plural. A verb's plain form and its present are spelt
        alike, and so mixed up by taggers."""
        return "VB" if self.tag == "VBP" else self.tag

    @property
    def letter(self) -> Pos | None:
        """As WordNet names it; None of names and function words."""
        return _LETTERS.get(self.pos)


class Tagger:
    def __init__(self) -> None:
        self._pipeline = pipeline()
        self._known: dict[tuple[str, int], Tagged | None] = {}

    def tagged(self, places: Sequence[tuple[WordText, int]]) -> list[Tagged | None]:
        """None where spaCy finds other words than we do."""
        wanted = []
        for text, n in places:
            window, start = text.window(n)
            wanted.append((window, start, len(text.words[n])))
        new = dict.fromkeys(
            (window, start, length) for window, start, length in wanted if (window, start) not in self._known
        )
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
            new = dict.fromkeys(wanted)
        texts = list(dict.fromkeys(window for window, _, _ in new))
        with self._pipeline.select_pipes(disable=[p for p in ("parser",) if p in self._pipeline.pipe_names]):
            docs = dict(zip(texts, self._pipeline.pipe(texts, batch_size=64), strict=True))
        for window, start, length in new:
            self._known[window, start] = _of(docs[window], start, length)
        return [self._known[window, start] for window, start, _ in wanted]


def _of(doc: Any, start: int, length: int) -> Tagged | None:
    span = doc.char_span(start, start + length)
    if span is None or len(span) != 1:
        return None
    token = span[0]
    return Tagged(token.pos_, token.tag_, token.lemma_.lower())
