"""Words in common: ROUGE-1 and BLEU, with the values of the libraries that others use.

rouge1   "a cat sat", "a cat ran" -> 0.67: the F measure of shared words, without a stemmer
bleu     shared runs of one to four words, with a as the output and b as the reference: asymmetric
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from unwaver.agree import Agreement, Pair
from unwaver.errors import missing_extra


def rouge1(*, any_script: bool = False) -> Agreement:
    """rouge-score knows no letters but a to z: texts of other scripts have no word in common, not even with
    themselves. `any_script` takes words of every script instead, under the name rouge1_any."""

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        return list(rouge1_of([(pair.a, pair.b) for pair in pairs], _ANY if any_script else _ENGLISH))

    name = "rouge1_any" if any_script else "rouge1"
    return Agreement(name, True, "high", same=1.0, threshold=0.5, compare=compare)


_ENGLISH, _ANY = re.compile(r"[a-z0-9]+"), re.compile(r"[^\W_]+")


def rouge1_of(pairs: Sequence[tuple[str, str]], word: re.Pattern[str] = _ENGLISH) -> list[float]:
    """To the last digit what rouge-score gives, which splits a text again for every pair it is in."""
    words = {text: Counter(word.findall(text.lower())) for text in {text for pair in pairs for text in pair}}
    lengths = {text: counts.total() for text, counts in words.items()}
    return [_f_measure(_shared(words[a], words[b]), lengths[a], lengths[b]) for a, b in pairs]


def _shared(one: Counter[str], other: Counter[str]) -> int:
    if len(one) > len(other):
        one, other = other, one
    return sum(min(count, other[word]) for word, count in one.items() if word in other)


def _f_measure(shared: int, text: int, reference: int) -> float:
    """In the order of operations of rouge-score: the last digit decides whether two values are equal."""
    precision, recall = shared / max(text, 1), shared / max(reference, 1)
    return 2 * precision * recall / (precision + recall) if shared else 0.0


def bleu() -> Agreement:
    """Sentence BLEU / 100 with effective order: a text of two words is not blamed for having no run of four."""

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        try:
            from sacrebleu.metrics.bleu import BLEU
        except ImportError:
            raise missing_extra("sacrebleu", "text") from None
        metric = BLEU(effective_order=True)
        return [float(metric.sentence_score(pair.a, [pair.b]).score) / 100 for pair in pairs]

    return Agreement("bleu", False, "high", same=1.0, threshold=0.5, compare=compare)
