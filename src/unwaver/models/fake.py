"""Models without weights, for tests, documentation and first steps.

    fake/constant   always the first choice, or `label`: perfectly consistent and knows nothing
    fake/random     each answer drawn from a hash of the text and `seed`: the order of asking does not matter
    fake/keyword    `label` when one of `words` occurs in the text, else the first other choice; by default a
                    negation word and the negative label: "She is not here" -> contradiction
    fake/oracle     the right answer wherever it is known, else the first choice: checks a file of groups

Each gives a word and log-probabilities. `delay` is in seconds an answer, `fail` is the share of calls that fail.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence

from unwaver.errors import ModelError, UsageError, near
from unwaver.types import Answer, Batch, Request

SURE = 0.9  # the probability that constant and keyword give to their answer
NEGATIONS = ("not", "no", "never", "nobody", "nothing")
NEGATIVE = ("contradiction", "not_entailment", "not_equivalent", "not_duplicate", "negative", "false")
KINDS = ("constant", "random", "keyword", "oracle")


class Fake:
    method = "fake"
    reads: tuple[str, ...] = ("segments", "choices", "words")

    def __init__(self, kind: str, label: str | None, words: tuple[str, ...], seed: int, delay: float, fail: float):
        self.name = self.identity = f"fake/{kind}"
        self.settings: Mapping[str, object] = {"label": label, "words": words, "seed": seed, "fail": fail}
        self.deterministic = kind != "random"
        if kind == "oracle":
            self.reads = (*self.reads, "accepted")
        self._kind, self._label, self._seed, self._delay, self._fail = kind, label, seed, delay, fail
        self._word = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        size = 1 if self._delay else 1024
        for start in range(0, len(requests), size):
            time.sleep(self._delay)
            yield [(start + i, self._answer(r)) for i, r in enumerate(requests[start : start + size])]

    def close(self) -> None:
        pass

    def _answer(self, request: Request) -> Answer:
        if self._fail and self._share("fail", request) < self._fail:
            return Answer(error="made to fail")
        if not request.choices and request.accepted:
            return Answer(text=request.accepted[0])
        if not request.choices:
            drawn = f"fake {int(4 * self._share('text', request)) + 1}" if self._kind == "random" else "fake"
            return Answer(text=self._label or drawn)
        weights = self._weights(request)
        best = weights.index(max(weights))
        logs = tuple(math.log(w / sum(weights)) for w in weights)
        return Answer(text=(request.words or request.choices)[best], logprobs=logs)

    def _weights(self, request: Request) -> list[float]:
        count = len(request.choices)
        if self._kind == "random":
            asked = _asked(request)
            return [-math.log(self._share(str(i), request, asked)) for i in range(count)]
        if self._kind == "oracle" and request.accepted:
            return [SURE if choice == request.accepted[0] else (1 - SURE) / count for choice in request.choices]
        label = self._label or (request.choices[0] if self._kind != "keyword" else _negative(request.choices))
        if label not in request.choices:
            raise ModelError(f"{label} is not a label of {request.task}", hint=near(label, request.choices))
        text = re.sub("n['’]t", " not", " ".join(request.segments))
        chosen = request.choices.index(label)
        if self._kind == "keyword" and not self._word.search(text):
            chosen = 1 if chosen == 0 and count > 1 else 0
        return [SURE if i == chosen else (1 - SURE) / max(1, count - 1) for i in range(count)]

    def _share(self, purpose: str, request: Request, asked: str = "") -> float:
        """A number in (0, 1) that depends on the question alone."""
        drawn = f"({self._seed!r}, {purpose!r}, {asked or _asked(request)}"
        number = int.from_bytes(hashlib.sha256(drawn.encode("utf-8", "replace")).digest()[:6])
        return (number + 1) / (2**48 + 2)


def _asked(request: Request) -> str:
    return repr((request.task, request.segments, request.choices, request.replicate))[1:]


def _negative(choices: Sequence[str]) -> str:
    return next((n for n in NEGATIVE if n in choices), choices[-1])


def open_model(
    name: str,
    *,
    label: str | None = None,
    words: str | Sequence[str] = NEGATIONS,
    seed: int = 0,
    delay: float = 0.0,
    fail: float = 0.0,
) -> Fake:
    """`words` may be one text with commas: "not,never"."""
    kind = name.removeprefix("fake/")
    if kind not in KINDS:
        raise UsageError(f"unknown fake {kind}", hint=near(kind, KINDS))
    given = words.split(",") if isinstance(words, str) else words
    listed = tuple(w.strip() for w in given if w.strip())
    if not listed:
        raise UsageError("no words given", hint="words=not,never")
    return Fake(kind, label, listed, seed, delay, fail)
