"""Are two answers paraphrases of one another? By any pair classifier, or any model that can be asked."""

from __future__ import annotations

from functools import partial

from unwaver.agree import Agreement
from unwaver.agree.asked import probability, request_of

TASK = "mrpc"


def paraphrase(model: str) -> Agreement:
    """Both orders are asked: to a classifier that reads the two texts as one, a, b is not b, a."""
    return Agreement(
        name="paraphrase",
        symmetric=False,
        better="high",
        same=1.0,
        threshold=0.8,
        model=model,
        request=partial(request_of, TASK),
        value=partial(probability, label="equivalent"),
    )
