"""Two texts compared by an encoder: mean-pooled embeddings, and their cosine as the probability of "same".

The last choice, "same", gets (1 + cosine) / 2: cosine 1 -> 1, 0 -> 0.5. A judge or a measure, not a model to test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.encoder import Encoder
from unwaver.types import Answer, Batch, Request

CHUNK = 512  # pairs answered at once


def open_model(name: str, *, device: str | None = None) -> Embedding:
    return Embedding(Encoder(name, device, "give the folder of an encoder: embedding/PATH"))


class Embedding:
    method, reads, deterministic = "embed", ("segments",), True

    def __init__(self, encoder: Encoder):
        self.name, self.identity = encoder.name, encoder.identity
        self.settings = {"pooling": "mean", "dtype": "float32"}
        self._encoder = encoder

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        for start in range(0, len(requests), CHUNK):
            part = requests[start : start + CHUNK]
            for request in part:
                if len(request.segments) != 2 or len(request.choices) != 2:
                    raise ModelError("an encoder compares two texts: same or different", hint="give it pairs")
            texts = list(dict.fromkeys(text for request in part for text in request.segments))
            tokens = self._encoder.tokens(texts)
            vectors = dict(zip(texts, self._pooled([t.ids for t in tokens]), strict=True))
            cut = {text for text, t in zip(texts, tokens, strict=True) if t.cut}
            yield [
                (start + n, _answer(*(vectors[t] for t in r.segments), truncated=not cut.isdisjoint(r.segments)))
                for n, r in enumerate(part)
            ]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """One row of length 1 for each text."""
        return self._pooled([t.ids for t in self._encoder.tokens(texts)])

    def _pooled(self, texts: Sequence[list[int]]) -> np.ndarray:
        found = [np.empty(0)] * len(texts)
        for i, hidden in self._encoder.hidden(texts):
            found[i] = hidden.mean(axis=0, dtype=np.float64)
        rows = np.array(found)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def close(self) -> None:
        self._encoder.close()


def cosines(encoder: Embedding, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Of the two texts of each pair; a text that is in several pairs is embedded once."""
    texts = list(dict.fromkeys([*(one for one, _ in pairs), *(other for _, other in pairs)]))
    if not texts:
        return []
    vectors = dict(zip(texts, encoder.vectors(texts), strict=True))
    return [float(vectors[one] @ vectors[other]) for one, other in pairs]


def _answer(one: np.ndarray, other: np.ndarray, *, truncated: bool) -> Answer:
    same = min(max((1 + float(one @ other)) / 2, 0.0), 1.0)
    logs = [math.log(p) if p > 0 else -math.inf for p in (1 - same, same)]
    return Answer(logprobs=tuple(logs), truncated=truncated)
