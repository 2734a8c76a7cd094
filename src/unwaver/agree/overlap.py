"""Words in common: ROUGE-1 and BLEU, with the values of the libraries that others use.

rouge1   "a cat sat", "a cat ran" -> 0.67: the F measure of shared words, without a stemmer
bleu     shared runs of one to four words, with a as the output and b as the reference: asymmetric
"""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.agree import Agreement, Pair
from unwaver.errors import missing_extra
from unwaver.text.rouge import ANY, ENGLISH, rouge1_of


def rouge1(*, any_script: bool = False) -> Agreement:
    """rouge-score knows no letters but a to z: texts of other scripts have no word in common, not even with
    themselves. `any_script` takes words of every script instead, under the name rouge1_any."""

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        return list(rouge1_of([(pair.a, pair.b) for pair in pairs], ANY if any_script else ENGLISH))

    name = "rouge1_any" if any_script else "rouge1"
    return Agreement(name, True, "high", same=1.0, threshold=0.5, compare=compare)


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
