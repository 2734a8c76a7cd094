"""Models that choose: each alternative gets one number from one head, and a softmax over them is the answer.

Texts that stand in several questions are read once for all of them, so a question with its alternatives in another
order gets the same numbers in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.hf_classifier import Classifier
from unwaver.tasks.choice import CHOICE, alternatives
from unwaver.types import Answer, Batch, Request

TOGETHER = 256  # questions


class Chooser(Classifier):
    method = "choose"

    def __init__(self, *arguments: Any, multiple_choice: bool = False, **options: Any):
        super().__init__(*arguments, **options)
        self.form = CHOICE
        self._multiple_choice = multiple_choice  # a …ForMultipleChoice, which reads all alternatives at once

    def check(self, requests: Sequence[Request]) -> None:
        for task, count, texts in {(r.task, len(r.choices), len(r.segments)) for r in requests}:
            if not count or texts not in (count, 2 * count):
                hint = "ask it about paranlu/anli, or a task of your own with a form choice"
                raise ModelError(
                    f"{self.name} chooses between alternatives, which {task} does not have", hint=hint
                )

    def count_tokens(self, requests: Sequence[Request]) -> int:
        return super().count_tokens([one for r in requests for one in _each(r)])

    def load(self) -> None:
        if self._model is not None or not self._multiple_choice:
            super().load()
            return
        model = self._load("AutoModelForMultipleChoice", dtype=self._dtype).to(self._device).eval()
        self._model = _OneByOne(model)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.check(requests)
        for start in range(0, len(requests), TOGETHER):
            some = requests[start : start + TOGETHER]
            asked = list({one.segments: one for r in some for one in _each(r)}.values())
            score = {
                asked[i].segments: (float(row[0]), cut) for batch in self.outputs(asked) for i, row, cut in batch
            }
            yield [(start + n, _answer([score[one.segments] for one in _each(r)])) for n, r in enumerate(some)]


def _each(request: Request) -> list[Request]:
    """A question for each alternative."""
    texts = alternatives(request.segments, len(request.choices))
    return [Request(request.task, each, "", (), ()) for each in texts]


def _answer(scores: Sequence[tuple[float, bool]]) -> Answer:
    values = np.array([score for score, _ in scores], dtype=np.float64)
    logs = values - np.logaddexp.reduce(np.sort(values))  # sorted: the sum does not depend on the order
    return Answer(logprobs=tuple(map(float, logs)), truncated=any(cut for _, cut in scores))


class _OneByOne:
    """A …ForMultipleChoice that is asked about questions with one alternative: a number for each."""

    def __init__(self, model: Any):
        self._model = model

    def __call__(self, **inputs: Any) -> Any:
        logits = self._model(**{name: value.unsqueeze(1) for name, value in inputs.items()}).logits
        return SimpleNamespace(logits=logits)
