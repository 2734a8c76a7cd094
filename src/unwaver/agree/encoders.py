"""Vectors of an encoder: of each word (BERTScore), or of the whole text.

bertscore   F1 of the best matches between words; with idf, rare words count more
embedding   the cosine of two mean-pooled embeddings, 0 if it is negative
"""

from __future__ import annotations

from functools import partial

from unwaver.agree import Agreement
from unwaver.agree.asked import probability, request_of
from unwaver.types import Answer, Request

TASK = "same_meaning"


def bertscore(model: str, *, layer: int | None = None, idf: bool = False) -> Agreement:
    """`model` is bertscore/PATH. Values are not rescaled. `layer` is the last one if not given; with `idf` the
    model is opened with the distinct answers of the run, which say how rare a word is: bertscore_idf."""
    return Agreement(
        name="bertscore_idf" if idf else "bertscore",
        symmetric=True,
        better="high",
        same=1.0,
        threshold=0.9,
        model=model,
        options={"layer": layer, "idf": idf},
        needs_texts=idf,
        request=partial(request_of, TASK),
        value=_number,
    )


def _number(_: Request, answer: Answer) -> float | None:
    if answer.error is not None or answer.text is None:
        return None
    return min(max(float(answer.text), 0.0), 1.0)  # rounding may go beyond


def embedding(model: str) -> Agreement:
    """`model` is embedding/PATH."""
    return Agreement(
        name="embedding",
        symmetric=True,
        better="high",
        same=1.0,
        threshold=0.8,
        model=model,
        request=partial(request_of, TASK),
        value=_cosine,
    )


def _cosine(request: Request, answer: Answer) -> float | None:
    """The probability of "same" is (1 + cosine) / 2. No relation is 0, not 0.5: few cosines are negative, and what
    they say is not more than that."""
    same = probability(request, answer, "same")
    return None if same is None else max(2 * same - 1, 0.0)
