"""The beginning of a BiLSTM: the words that it knows, and their vectors, random or the user's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unwaver.errors import DataError
from unwaver.models.bilstm import WEIGHTS, Words
from unwaver.models.hf import BILSTM as ARCHITECTURE
from unwaver.models.ngrams import words_of
from unwaver.models.word_vectors import WordVectors, read_vectors
from unwaver.tasks import segments_of
from unwaver.train.material import formed
from unwaver.train.own_bases import BILSTM
from unwaver.train.setup import Setup

HIDDEN, DIMENSION = 128, 100
# words of a file of vectors that are kept beside those of the training rows: the first, as a rule the most
# frequent, so that texts with other words than the training rows can be read
OF_FILE = 20_000


@dataclass(frozen=True, eq=False)
class Beginning:
    """What a BiLSTM starts from; `pair`: there are rows with two texts."""

    words: Words
    vectors: WordVectors | None
    labels: tuple[str, ...]
    chooses: bool
    dimension: int
    length: int
    pair: bool

    def start(self, seed: int) -> Any:
        import torch

        from unwaver.models.bilstm_net import BiLstm

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = BiLstm(
                words=len(self.words),
                labels=1 if self.chooses else len(self.labels),
                dimension=self.dimension,
                hidden=HIDDEN,
                pair=self.pair,
            )
        if self.vectors is not None:
            with torch.no_grad():
                for n, word in enumerate(self.words.words, 2):
                    if (row := self.vectors.place.get(word)) is not None:
                        net.embedding.weight[n] = torch.from_numpy(self.vectors.rows[row])
        return net

    def save(self, net: Any, folder: Path) -> None:
        from safetensors.torch import save_file

        config: Mapping[str, Any] = {
            "architectures": [ARCHITECTURE],
            "model_type": BILSTM,
            "labels": self.labels,
            "dimension": self.dimension,
            "hidden": HIDDEN,
            "length": self.length,
            "pair": self.pair,
        }
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        self.words.save(folder)
        weights = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def beginning(setup: Setup, length: int, chooses: bool) -> Beginning:
    """Words are those of the training rows: all that have a vector, of others those that stand there twice, so
    that what stands for unknown words is trained too."""
    counts, most = Counter[str](), 0
    for part in setup.parts:
        for item in formed(part, part.divided[0]):
            texts = segments_of(item, part.task.form_of(item))
            counts.update(words_of(" ".join(texts)))
            most = max(most, len(texts) // (len(part.task.labels) if chooses else 1))
    vectors = _vectors(setup.vectors, counts) if setup.vectors else None
    known = set(vectors.words) if vectors else set[str]()
    words = [word for word, count in counts.items() if count > 1 or word in known]
    dimension = vectors.rows.shape[1] if vectors else setup.dimension or DIMENSION
    labels = setup.parts[0].task.labels
    every = Words([*words, *sorted(known - set(words))])
    return Beginning(every, vectors, labels, chooses, dimension, length, most > 1)


def _vectors(file: str, counts: Mapping[str, int]) -> WordVectors:
    left = iter(range(OF_FILE))

    def wanted(word: str) -> bool:
        return word in counts or (words_of(word) == [word] and next(left, None) is not None)

    found = read_vectors(Path(file).expanduser(), wanted=wanted)
    if not any(word in counts for word in found.words):
        hint = "unwaver compares words in lower case; are these vectors of words of this language?"
        raise DataError("no word of the training rows has a vector", file=file, hint=hint)
    return _scaled(found)


def _scaled(vectors: WordVectors) -> WordVectors:
    """With a spread of 1 on average, as random vectors have: a network starts from either in the same way."""
    spread = float(np.std(vectors.rows)) or 1.0
    return WordVectors(vectors.words, (vectors.rows / spread).astype(np.float32))
