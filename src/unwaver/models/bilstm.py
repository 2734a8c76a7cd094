"""A BiLSTM that `unwaver train --base bilstm` has trained, asked as hf/FOLDER.

config.json          sizes and labels
words.json           the words that it knows, by their numbers
model.safetensors    the weights
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from unwaver.errors import DataError, ModelError
from unwaver.files import read_json
from unwaver.models.choosing import Outputs, check_alternatives, chosen
from unwaver.models.hf_classifier import joined_labels
from unwaver.models.hf_common import folder_errors, import_torch, length_batches, pick_device
from unwaver.models.ngrams import words_of
from unwaver.models.trained import Trained
from unwaver.typed import Count, typed
from unwaver.types import Answer, Batch, Request

WORDS, WEIGHTS = "words.json", "model.safetensors"
PADDING, UNKNOWN = 0, 1
BATCH_TOKENS = 16384
_HINT = "train it again: unwaver train --base bilstm; or copy the whole folder again"


class _Config(msgspec.Struct):
    labels: Annotated[list[str], msgspec.Meta(min_length=1)]
    dimension: Count
    hidden: Count
    length: Count
    pair: bool


class Words:
    """Texts as numbers of words: 0 is padding, 1 any word that is not known. Called as a tokeniser is."""

    pad_token_id = PADDING

    def __init__(self, words: Sequence[str]):
        self.words = tuple(words)
        self._number = {word: n for n, word in enumerate(self.words, 2)}

    def __len__(self) -> int:
        return len(self.words) + 2

    def __call__(self, *texts: str, max_length: int, **_: Any) -> dict[str, list[int]]:
        """Each text has its share of `max_length`; what is longer is cut."""
        most = max(1, max_length // len(texts))
        ids = [[self._number.get(word, UNKNOWN) for word in words_of(text)[:most]] for text in texts]
        if not any(ids):
            ids[0] = [UNKNOWN]
        kinds = [side for side, several in enumerate(ids) for _ in several]
        return {"input_ids": [*chain(*ids)], "attention_mask": [1] * len(kinds), "token_type_ids": kinds}

    def save(self, folder: Path) -> None:
        (folder / WORDS).write_text(json.dumps(self.words, ensure_ascii=False) + "\n", encoding="utf-8")


@folder_errors
class BiLstmModel:
    reads, deterministic = ("segments",), True

    def __init__(
        self,
        folder: Path,
        name: str,
        identity: str,
        config: Mapping[str, Any],
        trained: Trained,
        device: str | None,
        map: Mapping[str, str],
    ):
        self.name, self.identity, self.trained = name, identity, trained
        self.method = "choose" if trained.chooses else "classify"
        self.settings: Mapping[str, object] = {"map": dict(map)}
        self._folder, self._config, self._map = folder, config, map
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        self._words = Words(_known_words(folder))
        self._model: Any = None

    def check(self, requests: Sequence[Request]) -> None:
        if self.trained.chooses:
            check_alternatives(self.name, requests)
            return
        for task, choices, texts in {(r.task, r.choices, len(r.segments)) for r in requests}:
            self._columns(task, choices)
            self._check_texts(texts, task)

    def load(self) -> None:
        if self._model is None:
            from safetensors.torch import load_file

            from unwaver.models.bilstm_net import BiLstm

            sizes = {name: self._config[name] for name in ("dimension", "hidden", "pair")}
            labels = 1 if self.trained.chooses else len(self._config["labels"])
            model = BiLstm(words=len(self._words), labels=labels, **sizes)
            model.load_state_dict(load_file(self._folder / WEIGHTS))  # strict: a missing weight is an error
            self._model = model.to(self._device).eval()

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.check(requests)
        if self.trained.chooses:
            yield from chosen(requests, self.outputs)
            return
        for batch in self.outputs(requests):
            yield [(i, self._as_answer(requests[i], row, cut)) for i, row, cut in batch]

    def outputs(self, requests: Sequence[Request]) -> Outputs:
        self.load()
        length = self._config["length"]
        rows = [self._words(*r.segments, max_length=length) for r in requests]
        for indices in length_batches([len(row["input_ids"]) for row in rows], BATCH_TOKENS):
            logits = self._logits([rows[i] for i in indices])
            yield [(i, logits[n], _is_cut(requests[i], length)) for n, i in enumerate(indices)]

    def close(self) -> None:
        self._model = None

    def _logits(self, rows: Sequence[Mapping[str, list[int]]]) -> np.ndarray:
        torch = self._torch
        inputs = {}
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            table = np.zeros((len(rows), max(len(row[name]) for row in rows)), dtype=np.int64)
            for line, row in zip(table, rows, strict=True):
                line[: len(row[name])] = row[name]
            inputs[name] = torch.from_numpy(table).to(self._device)
        with torch.inference_mode():
            found: np.ndarray = self._model(**inputs).logits.double().cpu().numpy()
        return found

    def _as_answer(self, request: Request, logits: np.ndarray, cut: bool) -> Answer:
        logs = logits - np.logaddexp.reduce(logits)
        columns = self._columns(request.task, request.choices)
        return Answer(logprobs=tuple(float(np.logaddexp.reduce(logs[c])) for c in columns), truncated=cut)

    def _columns(self, task: str, choices: tuple[str, ...]) -> list[list[int]]:
        return joined_labels(task, choices, dict(enumerate(self._config["labels"])), self._map)

    def _check_texts(self, texts: int, task: str) -> None:
        most = 2 if self._config["pair"] else 1
        if not 1 <= texts <= most:
            hint = f"ask it about {', '.join(self.trained.tasks)}, or train one on {task}"
            raise ModelError(f"{self.name} reads {most} text{'s' * (most > 1)}, {task} has {texts}", hint=hint)


def open_bilstm(
    folder: Path,
    name: str,
    identity: str,
    config: Mapping[str, Any],
    trained: Trained | None,
    device: str | None,
    map: Mapping[str, str],
) -> BiLstmModel:
    if trained is None:
        raise ModelError("a BiLSTM without unwaver.json", file=folder, hint=_HINT)
    try:
        typed(_Config, config, folder / "config.json", _HINT)
    except DataError as e:
        raise ModelError(e.message, file=e.file, hint=_HINT) from None
    return BiLstmModel(folder, name, identity, config, trained, device, map)


def _known_words(folder: Path) -> list[str]:
    try:
        found = read_json(folder / WORDS)
        typed(list[str], found, folder / WORDS, _HINT)
    except DataError as e:
        raise ModelError(e.message, file=e.file, hint=_HINT) from None
    return list(found)


def _is_cut(request: Request, length: int) -> bool:
    most = max(1, length // len(request.segments))
    return any(len(words_of(text)) > most for text in request.segments)
