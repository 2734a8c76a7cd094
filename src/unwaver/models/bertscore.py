"""BERTScore (Zhang et al. 2020): two texts compared word by word, in the vectors of an encoder.

Each word is matched with the one most like it in the other text; precision and recall are the mean cosines of
these matches, the answer is their F1, written as a number. Equal to the library bert-score without rescaling. With
idf a word weighs log((n + 1) / (texts with it + 1)), of n texts that are given. A measure, not a model to test.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.hf_classifier import _token_limit
from unwaver.models.hf_common import (
    check_vocabulary,
    folder_identity,
    import_torch,
    length_batches,
    pick_device,
    read_config,
)
from unwaver.stats import Floats
from unwaver.types import Answer, Batch, Request

BATCH_TOKENS = 4096
KEPT_TOKENS = 65_536  # whose vectors are held at once
# what configurations call their number of layers; BART has the first and the last, and goes by the first
LAYERS = ("encoder_layers", "n_layers", "n_layer", "num_layers", "num_hidden_layers")
_GIVE = "give the folder of an encoder: bertscore/PATH"


class _Words(NamedTuple):
    """A text as the encoder reads it: the numbers of its words, those that mark its ends too."""

    ids: list[int]
    cut: bool  # something at the end did not fit


def open_model(
    name: str,
    *,
    layer: int | None = None,
    idf: bool = False,
    texts: Sequence[str] = (),
    device: str | None = None,
) -> BertScore:
    """`layer`: whose output is compared, from 1; the last if not given. `texts`: what idf is counted over."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ModelError(f"there is no model folder {name}", hint=_GIVE)
    if idf and not texts:
        raise ModelError("idf needs texts to count words in", hint="give the answers of the run as texts")
    config = read_config(folder)
    key = next((key for key in LAYERS if isinstance(config.get(key), int)), None)
    if key is None:
        raise ModelError("the configuration does not say how many layers there are", hint=_GIVE, file=folder)
    if layer is not None and not 1 <= layer <= config[key]:
        raise ModelError(f"there is no layer {layer}", hint=f"the layers are 1 to {config[key]}", file=folder)
    counted_over = tuple(dict.fromkeys(texts)) if idf else ()
    return BertScore(folder, key, layer or config[key], counted_over, device)


class BertScore:
    method, reads, deterministic = "bertscore", ("segments",), True

    def __init__(self, folder: Path, key: str, layer: int, texts: tuple[str, ...], device: str | None):
        self.name, self.identity = folder.resolve().name, folder_identity(folder)
        self.settings: dict[str, object] = {"layer": layer, "idf": _digest(texts), "dtype": "float32"}
        self._folder, self._layers, self._texts = str(folder), {key: layer}, texts
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        self._model: Any = None
        self._tokenizer: Any = None
        self._limit = 0
        self._weight: Callable[[int], float]

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        for request in requests:
            if len(request.segments) != 2:
                raise ModelError("BERTScore compares two texts", hint="give it pairs")
        self._load()
        texts = list(dict.fromkeys(text for request in requests for text in request.segments))
        words = dict(zip(texts, self._words(texts), strict=True))
        for part in _parts(requests, words):
            told = list(dict.fromkeys(text for i in part for text in requests[i].segments))
            vectors = dict(zip(told, self._vectors([words[t].ids for t in told]), strict=True))
            weights = {t: np.array([self._weight(word) for word in words[t].ids]) for t in told}
            batch = []
            for i in part:
                a, b = requests[i].segments
                value = f1(vectors[a], vectors[b], weights[a], weights[b])
                batch.append((i, Answer(text=repr(value), truncated=words[a].cut or words[b].cut)))
            yield batch

    def close(self) -> None:
        self._model = None

    def _words(self, texts: Sequence[str]) -> list[_Words]:
        # a tokeniser takes no half of a surrogate pair, which broken JSON may bring
        readable = [text.strip().encode("utf-8", "replace").decode() for text in texts]
        whole = self._tokenizer(readable, verbose=False)["input_ids"] if readable else []
        long = [i for i, ids in enumerate(whole) if len(ids) > self._limit]
        found = [_Words(ids, False) for ids in whole]
        if long:
            cut = self._tokenizer([readable[i] for i in long], truncation=True, max_length=self._limit)
            for i, ids in zip(long, cut["input_ids"], strict=True):
                found[i] = _Words(ids, True)
        return found

    def _vectors(self, words: Sequence[list[int]]) -> list[np.ndarray]:
        """For each text the vectors of its words, one row of length 1 each."""
        torch = self._torch
        found: list[np.ndarray] = [np.empty(0)] * len(words)
        for batch in length_batches([len(ids) for ids in words], BATCH_TOKENS):
            padded = self._tokenizer.pad({"input_ids": [words[i] for i in batch]}, return_tensors="pt")
            inputs = {name: padded[name].to(self._device) for name in ("input_ids", "attention_mask")}
            with torch.inference_mode():
                hidden = self._model(**inputs).last_hidden_state
                hidden = torch.nn.functional.normalize(hidden, dim=-1).float().cpu().numpy()
            padded_left = self._tokenizer.padding_side == "left"
            for i, row in zip(batch, hidden, strict=True):
                found[i] = row[-len(words[i]) :] if padded_left else row[: len(words[i])]
        return found

    def _load(self) -> None:
        if self._model is not None:
            return
        import transformers

        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder)
            check_vocabulary(self._tokenizer, self._folder)
            # layers above the one that is read are not built
            model, report = transformers.AutoModel.from_pretrained(
                self._folder, dtype=self._torch.float32, output_loading_info=True, **self._layers
            )
        except (OSError, ValueError, KeyError, ImportError) as e:
            first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
            raise ModelError(f"{self._folder} cannot be loaded: {first_line}", hint=_GIVE) from e
        if missing := sorted(name for name in report["missing_keys"] if "pooler" not in name):
            raise ModelError(
                f"{self._folder} lacks {len(missing)} of its weights: {', '.join(missing[:3])} …",
                hint="is the folder complete?",
            )
        encoder = model.get_encoder() if model.config.is_encoder_decoder else model
        self._limit = _token_limit(self._tokenizer, model.config)
        self._model = encoder.to(self._device).eval()
        self._weight = self._weights()

    def _weights(self) -> Callable[[int], float]:
        """What a word counts. The marks of both ends count nothing: with idf because all texts have them."""
        if not self._texts:
            marks = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
            return lambda word: float(word not in marks)
        counts = Counter(word for words in self._words(self._texts) for word in set(words.ids))
        texts = len(self._texts)
        weights = {word: math.log((texts + 1) / (count + 1)) for word, count in counts.items()}
        never_met = math.log(texts + 1)
        return lambda word: weights.get(word, never_met)


def f1(one: np.ndarray, other: np.ndarray, weights: Floats, other_weights: Floats) -> float:
    """Rows of length 1, and what each counts -> F1 of the best matches; 0 where a text has no word that counts.

    A word that is like none matches with 0, not with less: so does bert-score wherever it pads a text.
    """
    if not weights.sum() > 0 or not other_weights.sum() > 0:
        return 0.0
    cosines = np.maximum(one @ other.T, 0.0)
    precision = float(cosines.max(axis=1) @ weights / weights.sum())
    recall = float(cosines.max(axis=0) @ other_weights / other_weights.sum())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _parts(requests: Sequence[Request], words: Mapping[str, _Words]) -> Iterator[list[int]]:
    """The numbers of the requests in parts, so that the vectors of a part can be held at once."""
    part: list[int] = []
    texts: set[str] = set()
    tokens = 0
    for i, request in enumerate(requests):
        new = {text for text in request.segments if text not in texts}
        size = sum(len(words[text].ids) for text in new)
        if part and tokens + size > KEPT_TOKENS:
            yield part
            part, texts, tokens = [], set(), 0
            new = set(request.segments)
            size = sum(len(words[text].ids) for text in new)
        part.append(i)
        texts |= new
        tokens += size
    if part:
        yield part


def _digest(texts: Sequence[str]) -> str | None:
    """Of the texts that idf was counted over, in any order; None without idf."""
    if not texts:
        return None
    digest = hashlib.sha256()
    for text in sorted(texts):
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()
