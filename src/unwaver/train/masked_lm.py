"""A masked language model: which words it expects in a place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.hf_common import import_torch, length_batches, pick_device, token_limit
from unwaver.models.pretrained import pretrained
from unwaver.train.attack_words import WordText
from unwaver.train.base import open_base

BATCH_TOKENS = 4096
_WORD = re.compile(r"[^\W\d_]{2,}")
_HINT = "give a …ForMaskedLM such as bert-base-uncased: a folder that save_pretrained wrote, or a hub id"


def check_masked_lm(name: str) -> None:
    """What can be said before the weights are read: it has the head, and a token to mask words with."""
    path, config = open_base(name)
    _check_head(config, name)
    _tokenizer(path, name)


class MaskedLM:
    def __init__(self, name: str, device: str | None = None):
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        path, config = open_base(name)
        _check_head(config, name)
        self._tokenizer = _tokenizer(path, name)
        options = {"dtype": self._torch.float32, "output_loading_info": True}
        with _explained(name):
            model, report = pretrained("AutoModelForMaskedLM", path, **options)
        # the decoder shares the weights of the embeddings; a pooler is not asked
        missing = sorted(k for k in report["missing_keys"] if "decoder" not in k and "pooler" not in k)
        if missing:
            told = f"{name} lacks {len(missing)} of its weights: {', '.join(missing[:3])}"
            raise ModelError(told, hint="its guesses would be random; is the folder complete?")
        self._model = model.to(self._device).eval()
        self._limit = token_limit(self._tokenizer, model.config)
        self._marks_words = _marks_words(self._tokenizer)
        self._words: dict[int, str | None] = {}

    def guesses(self, places: Sequence[tuple[WordText, int]], most: int) -> list[list[str]]:
        """For each place whole words in lower case, the most likely first, from the `most` most likely tokens."""
        ids = [self._masked_ids(text, n) for text, n in places]
        found: list[list[str]] = [[] for _ in places]
        torch, mask = self._torch, self._tokenizer.mask_token_id
        known = [i for i, row in enumerate(ids) if mask in row]
        for batch in length_batches([len(ids[i]) for i in known], BATCH_TOKENS):
            rows = [ids[known[i]] for i in batch]
            padded = self._tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(self._device)
            with torch.inference_mode():
                logits = self._model(**padded).logits
            where = (padded["input_ids"] == mask).int().argmax(dim=1)
            at_mask = logits[torch.arange(len(rows)), where]
            best = at_mask.topk(min(most, at_mask.shape[-1])).indices.tolist()
            for i, tokens in zip(batch, best, strict=True):
                found[known[i]] = list(dict.fromkeys(w for token in tokens if (w := self._whole_word(token))))
        return found

    def _masked_ids(self, text: WordText, n: int) -> list[int]:
        """Fewer words around the mask where the model reads fewer tokens."""
        ids: list[int] = []
        for size in (60, 30, 15, 7, 3, 1):
            masked = text.masked(n, str(self._tokenizer.mask_token), size).encode("utf-8", "replace").decode()
            ids = self._tokenizer(masked, verbose=False)["input_ids"]
            if len(ids) <= self._limit:
                return ids
        return []

    def _whole_word(self, token: int) -> str | None:
        """A token that is a word and not the rest of one: "##ing" of BERT and "ing" of RoBERTa are none."""
        if token not in self._words:
            self._words[token] = self._as_word(token)
        return self._words[token]

    def _as_word(self, token: int) -> str | None:
        tokenizer = self._tokenizer
        piece = tokenizer.convert_ids_to_tokens(token)
        if piece is None or token in tokenizer.all_special_ids:  # a model may have more rows than words
            return None
        begins = piece.startswith(("Ġ", "▁")) if self._marks_words else not piece.startswith("##")
        word = str(tokenizer.decode([token])).strip().lower()  # pieces of byte-level BPE are not letters
        return word if begins and _WORD.fullmatch(word) else None


def _marks_words(tokenizer: Any) -> bool:
    """Whether the first token of a word says so, as in byte-level BPE and SentencePiece."""
    pieces = tokenizer.convert_ids_to_tokens(list(range(min(len(tokenizer), 1000))))
    return any(p.startswith(("Ġ", "▁")) for p in pieces if p)


class _explained:
    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        if isinstance(e, OSError | ValueError | KeyError | ImportError):
            first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
            raise ModelError(f"{self._name} cannot be loaded: {first_line}", hint=_HINT) from e


def _tokenizer(path: str, name: str) -> Any:
    import_torch()
    with _explained(name):
        tokenizer = pretrained("AutoTokenizer", path)
    if tokenizer.mask_token is None or tokenizer.mask_token_id is None:
        told = f"the tokeniser of {name} has no mask token, so no word can be masked"
        raise ModelError(told, hint=_HINT)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.mask_token
    return tokenizer


def _check_head(config: Mapping[str, Any], name: str) -> None:
    named = config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    if not architecture.endswith("ForMaskedLM"):
        told = f"{name} is not a masked language model (architecture: {architecture or 'none'})"
        raise ModelError(told, hint=f"its guesses would be random; {_HINT}")
