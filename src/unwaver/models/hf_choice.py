"""Encoders that choose: one number for each alternative from one head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from unwaver.models.choosing import check_alternatives, chosen, each_alternative
from unwaver.models.hf_classifier import Classifier
from unwaver.tasks.choice import CHOICE
from unwaver.types import Batch, Request


class Chooser(Classifier):
    method = "choose"

    def __init__(self, *arguments: Any, multiple_choice: bool = False, **options: Any):
        super().__init__(*arguments, **options)
        self.form = CHOICE
        self._multiple_choice = multiple_choice  # a …ForMultipleChoice, which reads all alternatives at once

    def check(self, requests: Sequence[Request]) -> None:
        check_alternatives(self.name, requests)

    def count_tokens(self, requests: Sequence[Request]) -> int:
        return super().count_tokens([one for r in requests for one in each_alternative(r)])

    def load(self) -> None:
        if self._model is not None or not self._multiple_choice:
            super().load()
            return
        model = self._load("AutoModelForMultipleChoice", dtype=self._dtype).to(self._device).eval()
        self._model = _OneByOne(model)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.check(requests)
        yield from chosen(requests, self.outputs)


class _OneByOne:
    """A …ForMultipleChoice that is asked about questions with one alternative: a number for each."""

    def __init__(self, model: Any):
        self._model = model

    def __call__(self, **inputs: Any) -> Any:
        logits = self._model(**{name: value.unsqueeze(1) for name, value in inputs.items()}).logits
        return SimpleNamespace(logits=logits)
