"""Choosing between alternatives: each is scored alone, and a softmax over the scores is the answer.

Texts that stand in several questions are scored once for all of them, so a question with its alternatives in
another order gets the same numbers in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from unwaver.errors import ModelError
from unwaver.tasks.choice import alternatives
from unwaver.types import Answer, Batch, Request

TOGETHER = 256  # questions
Outputs = Iterable[Sequence[tuple[int, np.ndarray, bool]]]  # (number of a request, its scores, whether it was cut)


def check_alternatives(name: str, requests: Sequence[Request]) -> None:
    for task, count, texts in {(r.task, len(r.choices), len(r.segments)) for r in requests}:
        if not count or texts not in (count, 2 * count):
            hint = "ask it about paranlu/anli, or a task of your own with a form choice"
            raise ModelError(f"{name} chooses between alternatives, which {task} does not have", hint=hint)


def chosen(requests: Sequence[Request], outputs: Callable[[Sequence[Request]], Outputs]) -> Iterator[Batch]:
    """`outputs` gives one number for each alternative, which is a request of its own."""
    for start in range(0, len(requests), TOGETHER):
        some = requests[start : start + TOGETHER]
        asked = list({one.segments: one for r in some for one in each_alternative(r)}.values())
        score = {asked[i].segments: (float(row[0]), cut) for batch in outputs(asked) for i, row, cut in batch}
        yield [
            (start + n, _answer([score[one.segments] for one in each_alternative(r)])) for n, r in enumerate(some)
        ]


def each_alternative(request: Request) -> list[Request]:
    texts = alternatives(request.segments, len(request.choices))
    return [Request(request.task, each, "", (), ()) for each in texts]


def _answer(scores: Sequence[tuple[float, bool]]) -> Answer:
    values = np.array([score for score, _ in scores], dtype=np.float64)
    logs = values - np.logaddexp.reduce(np.sort(values))  # sorted: the sum does not depend on the order
    return Answer(logprobs=tuple(map(float, logs)), truncated=any(cut for _, cut in scores))
