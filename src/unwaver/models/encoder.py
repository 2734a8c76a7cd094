"""An encoder from a folder, for the measures that compare texts by its vectors: loaded once, batched by length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unwaver.errors import ModelError
from unwaver.models.absolute import absolute_hint
from unwaver.models.hf_common import (
    check_vocabulary,
    folder_errors,
    folder_identity,
    import_torch,
    length_batches,
    pick_device,
    read_config,
    token_limit,
)
from unwaver.models.pretrained import pretrained

BATCH_TOKENS = 4096


class Tokens(NamedTuple):
    """A text as the encoder reads it: the numbers of its words, those that mark its ends too."""

    ids: list[int]
    cut: bool  # something at the end did not fit


@folder_errors
class Encoder:
    """`config` is known at once, the weights come with the first text. `changes` replace values of config.json."""

    def __init__(self, name: str, device: str | None, hint: str):
        folder = Path(name).expanduser()
        if not folder.is_dir():
            hint = absolute_hint("embedding", name, hint)
            raise ModelError(f"there is no model folder {name}", hint=hint)
        self.config = read_config(folder)
        self.changes: dict[str, Any] = {}
        self.folder, self.name, self.identity = folder, folder.resolve().name, folder_identity(folder)
        self.tokenizer: Any = None
        self._hint = hint
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        self._model: Any = None
        self._limit = 0

    def load(self) -> None:
        if self._model is not None:
            return
        try:
            self.tokenizer = pretrained("AutoTokenizer", self.folder)
            check_vocabulary(self.tokenizer, str(self.folder))
            model, report = pretrained(
                "AutoModel", self.folder, dtype=self._torch.float32, output_loading_info=True, **self.changes
            )
        except (OSError, ValueError, KeyError, ImportError) as e:
            first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
            raise ModelError(f"{self.folder} cannot be loaded: {first_line}", hint=self._hint) from e
        if missing := sorted(name for name in report["missing_keys"] if "pooler" not in name):
            raise ModelError(
                f"{self.folder} lacks {len(missing)} of its weights: {', '.join(missing[:3])} …",
                hint="is the folder complete?",
            )
        encoder = model.get_encoder() if model.config.is_encoder_decoder else model
        self._limit = token_limit(self.tokenizer, model.config)
        self._model = encoder.to(self._device).eval()

    def close(self) -> None:
        self._model = None

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        self.load()
        # a tokeniser takes no half of a surrogate pair, which broken JSON may bring
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        whole = self.tokenizer(readable, verbose=False)["input_ids"] if readable else []
        found = [Tokens(ids, False) for ids in whole]
        if long := [i for i, ids in enumerate(whole) if len(ids) > self._limit]:
            cut = self.tokenizer([readable[i] for i in long], truncation=True, max_length=self._limit)
            for i, ids in zip(long, cut["input_ids"], strict=True):
                found[i] = Tokens(ids, True)
        return found

    def hidden(self, texts: Sequence[list[int]]) -> Iterator[tuple[int, Any]]:
        """(number of a text, the vectors of its tokens, a row each) of all texts, similar lengths together."""
        self.load()
        torch = self._torch
        from_left = self.tokenizer.padding_side == "left"
        for batch in length_batches([len(ids) for ids in texts], BATCH_TOKENS):
            padded = self.tokenizer.pad({"input_ids": [texts[i] for i in batch]}, return_tensors="pt")
            inputs = {name: padded[name].to(self._device) for name in ("input_ids", "attention_mask")}
            with torch.inference_mode():
                vectors = self._model(**inputs).last_hidden_state.float().cpu().numpy()
            for i, rows in zip(batch, vectors, strict=True):
                length = len(texts[i])
                yield i, rows[-length:] if from_left else rows[:length]
