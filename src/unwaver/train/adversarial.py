"""Random substitution: samples of an item in which words are substituted, whatever a model answers.

    synonym      words become synonyms, and a text is kept if an encoder finds it similar enough
    masked-lm    a word is masked, and a masked language model says what else could stand there

The attacks on a victim model, BAE-R and TextFooler, are in `attack_search`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import Any

import numpy as np

from unwaver.models.embedding import Embedding, cosines
from unwaver.tasks import Task
from unwaver.text.english import parsed
from unwaver.text.refused import Refused
from unwaver.train import samples
from unwaver.train.attack_words import word_text
from unwaver.train.masked_lm import MaskedLM
from unwaver.train.samples import Attacked, Sample
from unwaver.types import Item
from unwaver.variants.rules import words
from unwaver.variants.rules.sentence import Edit, applied, rendered, sentence_of
from unwaver.variants.surface import word_survives

MOST_WORDS = 3  # that are substituted in one sample
GUESSES = 20  # of a masked language model, from which the first that is another word is taken
BLOCK = 256  # items at a time
_WORD = re.compile(r"[^\W\d_]{2,}")

Substitute = Callable[[Sequence[str]], list[list[str]]]  # for each text the others, best first


class Substitution:
    """Samples of items, a text of one field changed in each; `encoder` and `bar` say which stay."""

    def __init__(
        self,
        task: Task,
        fields: Sequence[str],
        rewrite: Substitute,
        *,
        wanted: int,
        encoder: Embedding | None,
        bar: float,
    ):
        self._task, self._fields, self._rewrite = task, fields, rewrite
        self._wanted, self._encoder, self._bar = wanted, encoder, bar

    def attacked(self, items: Sequence[Item], done: Callable[[int], None]) -> Iterator[list[Attacked]]:
        for start in range(0, len(items), BLOCK):
            block = items[start : start + BLOCK]
            by_field = [self._of_field(block, name) for name in self._fields]
            yield [self._joined([of_field[n] for of_field in by_field]) for n in range(len(block))]
            done(len(block))

    def _of_field(self, items: Sequence[Item], name: str) -> list[Attacked]:
        texts = [item.fields.get(name, "") for item in items]
        made = self._rewrite(texts)
        pairs = [(text, other) for text, others in zip(texts, made, strict=True) for other in others]
        known: Iterator[float | None] = iter(cosines(self._encoder, pairs)) if self._encoder else repeat(None)
        return [
            self._kept(item, name, [(other, next(known)) for other in others])
            for item, others in zip(items, made, strict=True)
        ]

    def _kept(self, item: Item, name: str, others: Sequence[tuple[str, float | None]]) -> Attacked:
        found, lost = [], Counter[str]()
        for text, cosine in others:
            if cosine is not None and cosine < self._bar:
                lost[samples.DISSIMILAR] += 1
            elif not word_survives(self._task, item, text, name):
                lost[samples.SENSE] += 1
            else:
                changed = ((name, *_change(item.fields[name], text)),)
                told = None if cosine is None else round(cosine, 4)
                found.append(Sample({**item.fields, name: text}, changed, told))
        otherwise = samples.NO_MORE if others else samples.NO_SUBSTITUTE
        return Attacked(tuple(found), max(lost, key=lost.__getitem__, default=otherwise))

    def _joined(self, by_field: Sequence[Attacked]) -> Attacked:
        """Fields take turns; the reason is that of the first field that has one besides a lack of words."""
        in_turn = chain.from_iterable(zip_longest(*(found.samples for found in by_field)))
        made = tuple(sample for sample in in_turn if sample is not None)[: self._wanted]
        reasons = [found.reason for found in by_field if found.reason != samples.NO_SUBSTITUTE]
        return Attacked(made, "" if len(made) >= self._wanted else (*reasons, samples.NO_SUBSTITUTE)[0])


def _change(before: str, after: str) -> tuple[str, str]:
    """The words that differ: ("He sat on the couch.", "He sat on the sofa.") -> ("couch.", "sofa.")."""
    one, other = before.split(), after.split()
    start = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return " ".join(one[start : len(one) - end]), " ".join(other[start : len(other) - end])


# --- synonyms -----------------------------------------------------------------------------------------------


def by_synonyms(random: np.random.Generator, wanted: int) -> Substitute:
    """By the synonyms of the paraphrase rules: of the same part of speech in this sentence, and in its form."""

    def rewrite(texts: Sequence[str]) -> list[list[str]]:
        plain = [" ".join(text.split()) for text in texts]
        return [
            [] if isinstance(doc, Refused) else list(dict.fromkeys(_with_synonyms(text, doc, random, wanted)))
            for text, doc in zip(plain, parsed(plain), strict=True)
        ]

    return rewrite


def _with_synonyms(text: str, doc: Any, random: np.random.Generator, wanted: int) -> Iterator[str]:
    """Twice as many as are wanted: some will not be similar enough."""
    sentence = sentence_of(text, doc)
    by_place: dict[int, list[Edit]] = {}
    for edit in (*words.word(sentence), *words.one_sense(sentence)):
        by_place.setdefault(edit.start, []).append(edit)
    places = list(by_place.values())
    for _ in range(2 * wanted if places else 0):
        count = int(random.integers(1, min(MOST_WORDS, len(places)) + 1))
        pieces: Sequence[int | str] = range(len(doc))
        for n in random.choice(len(places), count, replace=False).tolist():
            edit = places[n][int(random.integers(len(places[n])))]
            pieces = applied(pieces, edit) or pieces
        yield rendered(sentence, pieces)


# --- a masked language model --------------------------------------------------------------------------------


def by_masked_lm(model: MaskedLM, random: np.random.Generator, wanted: int) -> Substitute:
    """One word of a sample is another: the most likely one that the model has for its place."""

    def rewrite(texts: Sequence[str]) -> list[list[str]]:
        in_words = [word_text(text, _WORD) for text in texts]
        places = [
            (n, word)
            for n, text in enumerate(in_words)
            for word in sorted(random.permutation(len(text.words))[:wanted].tolist())
        ]
        guesses = model.guesses([(in_words[n], word) for n, word in places], GUESSES)
        made: list[list[str]] = [[] for _ in texts]
        for (n, word), guessed in zip(places, guesses, strict=True):
            new = next((w for w in guessed if w != in_words[n].words[word].lower()), None)
            if new is not None:
                other = in_words[n].with_word(word, new, english=False).text
                made[n] += [other] if other not in made[n] else []
        return made

    return rewrite
