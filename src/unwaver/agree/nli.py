"""Does one answer follow from the other? By any NLI model, a as the premise and b as the hypothesis.

entail          probability of entailment
contradict      probability of contradiction: lower is better
bidirectional   1 if the label is entailment in both directions, else 0: the two say the same
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from unwaver.agree import Agreement
from unwaver.agree.asked import chosen, probability, request_of
from unwaver.types import Answer, Request

TASK = "snli"


def entail(model: str) -> Agreement:
    return Agreement("entail", same=1.0, better="high", value=_of("entailment"), **_asked(model))


def contradict(model: str) -> Agreement:
    return Agreement("contradict", same=0.0, better="low", value=_of("contradiction"), **_asked(model))


def bidirectional(model: str) -> Agreement:
    """Asked what entail is asked, so where both are wanted the answers serve twice."""
    return Agreement("bidirectional", same=1.0, better="high", value=_entails, combine=min, **_asked(model))


def _asked(model: str) -> dict[str, Any]:
    """What the three have in common."""
    return {"symmetric": False, "threshold": 0.5, "model": model, "request": partial(request_of, TASK)}


def _of(label: str) -> Callable[[Request, Answer], float | None]:
    return partial(probability, label=label)


def _entails(request: Request, answer: Answer) -> float | None:
    label = chosen(request, answer)
    return None if label is None else float(label == "entailment")
