"""Two texts compared by an encoder: mean-pooled embeddings, and their cosine as the probability of "same".

The last choice, "same", gets (1 + cosine) / 2: cosine 1 -> 1, 0 -> 0.5. A judge or a measure, not a model to test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.hf_common import (
    check_vocabulary,
    folder_identity,
    import_torch,
    length_batches,
    pick_device,
    read_config,
)
from unwaver.types import Answer, Batch, Request

BATCH_TOKENS = 4096
CHUNK = 512  # pairs answered at once


def open_model(name: str, *, device: str | None = None) -> Embedding:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ModelError(f"there is no model folder {name}", hint="give the folder of an encoder: embedding/PATH")
    read_config(folder)
    return Embedding(folder, device)


class Embedding:
    method, reads, deterministic = "embed", ("segments",), True

    def __init__(self, folder: Path, device: str | None):
        self.name, self.identity = folder.resolve().name, folder_identity(folder)
        self.settings = {"pooling": "mean", "dtype": "float32"}
        self._folder = str(folder)
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        self._model: Any = None
        self._tokenizer: Any = None

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self._load()
        for start in range(0, len(requests), CHUNK):
            part = requests[start : start + CHUNK]
            for request in part:
                if len(request.segments) != 2 or len(request.choices) != 2:
                    raise ModelError("an encoder compares two texts: same or different", hint="give it pairs")
            texts = list(dict.fromkeys(text for request in part for text in request.segments))
            vectors = dict(zip(texts, self.vectors(texts), strict=True))
            yield [(start + n, _answer(*(vectors[t] for t in r.segments))) for n, r in enumerate(part)]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """One row of length 1 for each text."""
        self._load()
        torch = self._torch
        limit = min(self._tokenizer.model_max_length, getattr(self._model.config, "max_position_embeddings", 512))
        ids = self._tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        rows = np.empty((len(texts), self._model.config.hidden_size))
        for batch in length_batches([len(i) for i in ids], BATCH_TOKENS):
            padded = self._tokenizer.pad({"input_ids": [ids[i] for i in batch]}, return_tensors="pt")
            padded = {name: tensor.to(self._device) for name, tensor in padded.items()}
            with torch.inference_mode():
                hidden = self._model(**padded).last_hidden_state
            mask = padded["attention_mask"].unsqueeze(-1)
            rows[batch] = ((hidden * mask).sum(1) / mask.sum(1)).double().cpu().numpy()
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def _load(self) -> None:
        if self._model is not None:
            return
        import transformers

        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder)
            check_vocabulary(self._tokenizer, self._folder)
            model = transformers.AutoModel.from_pretrained(self._folder, dtype=self._torch.float32)
        except (OSError, ValueError, KeyError, ImportError) as e:
            first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
            raise ModelError(f"{self._folder} cannot be loaded: {first_line}", hint="give an encoder") from e
        self._model = model.to(self._device).eval()

    def close(self) -> None:
        self._model = None


def _answer(one: np.ndarray, other: np.ndarray) -> Answer:
    same = min(max((1 + float(one @ other)) / 2, 0.0), 1.0)
    logs = [math.log(p) if p > 0 else -math.inf for p in (1 - same, same)]
    return Answer(logprobs=tuple(logs))
