"""A regression model on pairs (BLEURT is one): how close a text is to a reference, as a number.

Any sequence classifier with one output, from a folder or the hub. A measure, not a model to test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver.errors import ModelError
from unwaver.models.hf import found
from unwaver.models.hf_classifier import Classifier
from unwaver.types import Answer, Batch, Request


def open_model(
    name: str, *, device: str | None = None, revision: str | None = None, trust_remote_code: bool = False
) -> Regression:
    path, config, identity, shown = found(name, revision, trust_remote_code)
    outputs = len(config.get("id2label") or {}) or config.get("num_labels", 2)
    if outputs != 1:
        raise ModelError(
            f"{name} has {outputs} outputs, expected one number",
            hint="give a regression model; a classifier of pairs is an agreement: --agree paraphrase=hf/PATH",
        )
    reader = Classifier(
        path,
        shown,
        identity,
        map={},
        batch_tokens=None,
        device=device,
        dtype=None,
        revision=revision,
        trust_remote_code=trust_remote_code,
    )
    return Regression(reader)


class Regression:
    method, reads, deterministic = "regress", ("segments",), True

    def __init__(self, reader: Classifier):
        self.name, self.identity = reader.name, reader.identity
        self.settings = {"dtype": reader.settings["dtype"]}
        self._reader = reader

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        for batch in self._reader.outputs(requests):
            yield [(i, Answer(text=repr(float(row[0])), truncated=cut)) for i, row, cut in batch]

    def close(self) -> None:
        self._reader.close()
