"""Does one answer follow from the other? By any NLI model, a as the premise and b as the hypothesis.

entail          probability of entailment
contradict      probability of contradiction: lower is better
bidirectional   1 where the label is entailment in both directions, else 0: the two say the same
"""

from __future__ import annotations

from functools import partial

from unwaver.agree import Agreement
from unwaver.agree.asked import chosen, probability, request_of
from unwaver.types import Answer, Request

TASK = "snli"


def entail(model: str) -> Agreement:
    return Agreement(
        name="entail",
        symmetric=False,
        better="high",
        same=1.0,
        threshold=0.5,
        model=model,
        request=partial(request_of, TASK),
        value=partial(probability, label="entailment"),
    )


def contradict(model: str) -> Agreement:
    return Agreement(
        name="contradict",
        symmetric=False,
        better="low",
        same=0.0,
        threshold=0.5,
        model=model,
        request=partial(request_of, TASK),
        value=partial(probability, label="contradiction"),
    )


def bidirectional(model: str) -> Agreement:
    """Asked what entail is asked, so where both are wanted the answers serve twice."""
    return Agreement(
        name="bidirectional",
        symmetric=False,
        better="high",
        same=1.0,
        threshold=0.5,
        model=model,
        request=partial(request_of, TASK),
        value=_entails,
        combine=min,
    )


def _entails(request: Request, answer: Answer) -> float | None:
    label = chosen(request, answer)
    return None if label is None else float(label == "entailment")
