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

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.encoder import Encoder, Tokens
from unwaver.stats import Floats
from unwaver.types import Answer, Batch, Request

KEPT_TOKENS = 65_536  # whose vectors are held at once
# what configurations call their number of layers; BART has the first and the last, and goes by the first
LAYERS = ("encoder_layers", "n_layers", "n_layer", "num_layers", "num_hidden_layers")
_GIVE = "give the folder of an encoder: bertscore/PATH"


def open_model(
    name: str,
    *,
    layer: int | None = None,
    idf: bool = False,
    texts: Sequence[str] = (),
    device: str | None = None,
) -> BertScore:
    """`layer`: whose output is compared, from 1; the last if not given. `texts`: what idf is counted over."""
    if idf and not texts:
        raise ModelError("idf needs texts to count words in", hint="give the answers of the run as texts")
    encoder = Encoder(name, device, _GIVE)
    known = encoder.config
    key = next((key for key in LAYERS if isinstance(known.get(key), int)), None)
    if key is None:
        where = encoder.folder
        raise ModelError("the configuration does not say how many layers there are", hint=_GIVE, file=where)
    if layer is not None and not 1 <= layer <= known[key]:
        hint = f"the layers are 1 to {known[key]}"
        raise ModelError(f"there is no layer {layer}", hint=hint, file=encoder.folder)
    encoder.changes = {key: layer or known[key]}  # layers above the one that is read are not built
    return BertScore(encoder, layer or known[key], tuple(dict.fromkeys(texts)) if idf else ())


class BertScore:
    method, reads, deterministic = "bertscore", ("segments",), True

    def __init__(self, encoder: Encoder, layer: int, texts: tuple[str, ...]):
        self.name, self.identity = encoder.name, encoder.identity
        self.settings: dict[str, object] = {"layer": layer, "idf": _digest(texts), "dtype": "float32"}
        self._encoder, self._texts = encoder, texts

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        for request in requests:
            if len(request.segments) != 2:
                raise ModelError("BERTScore compares two texts", hint="give it pairs")
        texts = list(dict.fromkeys(text for request in requests for text in request.segments))
        words = dict(zip(texts, self._tokens(texts), strict=True))
        weight = self._weights()
        for part in _parts(requests, words):
            told = list(dict.fromkeys(text for i in part for text in requests[i].segments))
            vectors = dict(zip(told, self._vectors([words[t].ids for t in told]), strict=True))
            weights = {t: np.array([weight(word) for word in words[t].ids]) for t in told}
            batch = []
            for i in part:
                a, b = requests[i].segments
                value = f1(vectors[a], vectors[b], weights[a], weights[b])
                batch.append((i, Answer(text=repr(value), truncated=words[a].cut or words[b].cut)))
            yield batch

    def close(self) -> None:
        self._encoder.close()

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        return self._encoder.tokens([text.strip() for text in texts])

    def _vectors(self, words: Sequence[list[int]]) -> list[np.ndarray]:
        """For each text the vectors of its words, one row of length 1 each."""
        found: list[np.ndarray] = [np.empty(0)] * len(words)
        for i, rows in self._encoder.hidden(words):
            found[i] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return found

    def _weights(self) -> Callable[[int], float]:
        """What a word counts. The marks of both ends count nothing: with idf because all texts have them."""
        if not self._texts:
            tokenizer = self._encoder.tokenizer
            marks = {tokenizer.cls_token_id, tokenizer.sep_token_id}
            return lambda word: float(word not in marks)
        counts = Counter(word for words in self._tokens(self._texts) for word in set(words.ids))
        texts = len(self._texts)
        weights = {word: math.log((texts + 1) / (count + 1)) for word, count in counts.items()}
        never_met = math.log(texts + 1)
        return lambda word: weights.get(word, never_met)


def f1(one: np.ndarray, other: np.ndarray, weights: Floats, other_weights: Floats) -> float:
    """Rows of length 1, and what each counts -> F1 of the best matches; 0 if a text has no word that counts.

    A word that is like none matches with 0, not with less: so does bert-score wherever it pads a text.
    """
    if not weights.sum() > 0 or not other_weights.sum() > 0:
        return 0.0
    cosines = np.maximum(one @ other.T, 0.0)
    precision = float(cosines.max(axis=1) @ weights / weights.sum())
    recall = float(cosines.max(axis=0) @ other_weights / other_weights.sum())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _parts(requests: Sequence[Request], words: Mapping[str, Tokens]) -> Iterator[list[int]]:
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
