"""Where substitutes for a word come from: word vectors, WordNet, or a masked language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from unwaver.console import Progress
from unwaver.models.word_vectors import WordVectors, read_vectors
from unwaver.train.attack_words import WordText, is_word
from unwaver.train.masked_lm import MaskedLM
from unwaver.train.tagger import Tagger

WORD_BAR = 0.5  # cosine of word vectors below which a neighbour is none: TextFooler's
BLOCK = 256  # words looked up at a time


class Substitutes(Protocol):
    def of(self, places: Sequence[tuple[WordText, int]]) -> list[list[str]]:
        """For each place other words in lower case, the best first."""


class FromMaskedLM:
    def __init__(self, model: MaskedLM, most: int):
        self._model, self._most = model, most

    def of(self, places: Sequence[tuple[WordText, int]]) -> list[list[str]]:
        found = self._model.guesses(places, self._most)
        return [
            [w for w in guessed if is_word(w) and w != text.words[n].lower()]
            for guessed, (text, n) in zip(found, places, strict=True)
        ]


class FromVectors:
    def __init__(self, vectors: WordVectors, most: int, bar: float = WORD_BAR):
        self._vectors, self._most, self._bar = vectors, most, bar
        self._known: dict[str, list[str]] = {}

    def of(self, places: Sequence[tuple[WordText, int]]) -> list[list[str]]:
        words = [text.words[n] for text, n in places]
        new = [w for w in dict.fromkeys(words) if w not in self._known]
        for start in range(0, len(new), BLOCK):
            self._look_up(new[start : start + BLOCK])
        return [self._known[word] for word in words]

    def _look_up(self, words: Sequence[str]) -> None:
        place = self._vectors.place
        rows = {w: n for w in words if (n := place.get(w, place.get(w.lower()))) is not None}
        self._known.update({w: [] for w in words})
        if not rows:
            return
        units = self._vectors.unit_rows
        cosines = units[list(rows.values())] @ units.T
        for word, line in zip(rows, cosines, strict=True):
            self._known[word] = self._nearest(word.lower(), line)

    def _nearest(self, word: str, cosines: np.ndarray) -> list[str]:
        """The `most` nearest words of another spelling; a cosine at the bar counts, whatever is rounded."""
        near = np.flatnonzero(cosines >= self._bar - 1e-6)
        ordered = near[np.argsort(-cosines[near], kind="stable")]
        found = dict.fromkeys(self._vectors.words[n].lower() for n in ordered.tolist())
        return [w for w in found if w != word and is_word(w)][: self._most]


class FromWordNet:
    """Lemmas of all synsets of the word in its part of speech, in its form."""

    def __init__(self, tagger: Tagger, most: int):
        self._tagger, self._most = tagger, most

    def of(self, places: Sequence[tuple[WordText, int]]) -> list[list[str]]:
        from unwaver.variants.lexicon import synonyms_of_senses
        from unwaver.variants.rules.grammar import inflected

        found = []
        for (text, n), tagged in zip(places, self._tagger.tagged(places), strict=True):
            lemmas = synonyms_of_senses(tagged.lemma, tagged.letter) if tagged and tagged.letter else []
            forms = [inflected(lemma, tagged.tag) for lemma in lemmas if is_word(lemma)] if tagged else []
            words = dict.fromkeys(form.lower() for form in forms if form)
            found.append([w for w in words if w != text.words[n].lower()][: self._most])
        return found


def vectors_of(path: str, progress: Progress) -> WordVectors:
    """Words that can be substitutes or be substituted; the rest of a large file is not kept."""
    return read_vectors(Path(path).expanduser(), wanted=is_word, progress=progress)
