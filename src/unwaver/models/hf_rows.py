"""Prompts of a causal model continued together token by token, after beginnings that were read once.

Columns of a batch, for two prompts of which the first stands on a beginning of three tokens:

    . . .|b b b|. a a|x y z      . padding, never seen    b beginning, copied into the row
    . . .|. . .|a a a|x y z      a the rest of a prompt   x y z what is written

Keys and values lie in one piece of memory that has room for all that will be written: appending to them, as
transformers does, would copy them with every token.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.hf_prefix import attention_window, forked, memory_hint, only_places
from unwaver.models.prefix import Path

TRIED = 3  # tokens written when a model is tried


class Reader:
    """Reads with a loaded model.

    `window`: how many tokens a prompt and its text may have together; 0 if the model is not exact by rows.
    """

    def __init__(self, torch: Any, model: Any):
        self.torch = torch
        self.model = model
        self.device = model.get_input_embeddings().weight.device
        self.dtype = model.get_input_embeddings().weight.dtype
        self._kept: dict[Path, Any] = {(): None}
        self.window = attention_window(model.config)
        given = model.config._attn_implementation
        if self.window and given == "sdpa":
            with contextlib.suppress(Exception):  # a model that brings its own attention keeps it
                model.set_attn_implementation(_grouped())
        if self.window and not self._is_exact():
            self.window = 0
            if model.config._attn_implementation != given:
                model.set_attn_implementation(given)

    def rows(self, prompts: Sequence[Path], chains: Sequence[tuple[int, ...]], room: int) -> Rows:
        """Read some prompts; chains[i] are the lengths of the beginnings of prompt i that are read apart and
        kept, each standing on the one before: those of the rows read last are still there."""
        begun = [p[: max(chain, default=0)] for p, chain in zip(prompts, chains, strict=True)]
        needed = {p[:n] for p, chain in zip(prompts, chains, strict=True) for n in (0, *chain)}
        self._kept = {tokens: cache for tokens, cache in self._kept.items() if tokens in needed}
        for prompt, chain in zip(prompts, chains, strict=True):
            for before, length in zip((0, *chain), chain, strict=False):
                if prompt[:length] not in self._kept:
                    self._kept[prompt[:length]] = self._beginning(prompt[:before], prompt[before:length])
        return Rows(self, prompts, begun, [self._kept[b] for b in begun], room)

    def _beginning(self, before: Path, tokens: Path) -> Any:
        cache = forked(self._kept[before], 1)
        real = self.torch.ones(1, len(before) + len(tokens), dtype=self.torch.bool, device=self.device)
        positions = [list(range(len(before), len(before) + len(tokens)))]
        self.forward([list(tokens)], positions, self.causal_mask(real, len(tokens)), cache)
        return cache

    def forward(self, tokens: list[list[int]], positions: list[list[int]], mask: Any, cache: Any) -> Any:
        """What the model predicts after the last token of each row; the cache grows."""
        torch = self.torch
        last = [(row, len(tokens[0]) - 1) for row in range(len(tokens))]
        with torch.inference_mode(), only_places(torch, self.model, last) as restore, memory_hint(torch):
            out = self.model(
                input_ids=torch.tensor(tokens, device=self.device),
                position_ids=torch.tensor(positions, device=self.device),
                attention_mask=mask,
                past_key_values=cache,
                use_cache=True,
            )
            return restore(out.logits)

    def causal_mask(self, real: Any, fresh: int) -> Any:
        """For the last `fresh` of the columns, of which real[row, column] is not padding."""
        torch = self.torch
        column = torch.arange(real.shape[1], device=self.device)
        query = column[-fresh:, None]
        # Padding sees itself: a row of the mask without any 0 is a division by zero in some kernels.
        sees = (real[:, None, :] & (column <= query)) | (column == query)
        return self.additive(sees)[:, None]

    def additive(self, sees: Any) -> Any:
        """0 if a token may look, the least number elsewhere."""
        mask = self.torch.zeros(sees.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~sees, self.torch.finfo(self.dtype).min)

    def _is_exact(self) -> bool:
        """Whether the model predicts after rows what it predicts after whole prompts: tried, not looked up.

        Models with a recurrent state, with positions of their own making or without a cache of plain keys and
        values do not, or raise.
        """
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        ids = tuple((7 * i + 3) % vocabulary for i in range(16))
        prompts = [(*ids[:5], ids[9]), (*ids[:5], *ids[6:8]), ids[8:11]]
        try:
            rows = self.rows(prompts, [(2, 4), (2,), ()], TRIED)
            found = [rows.logits]
            for n in range(TRIED - 1):
                if n == 1:
                    rows.keep([0, 2])
                found.append(rows.step([ids[n]] * len(rows.lengths)))
            plain = [[self._plain((*p, *ids[:n])) for p in prompts] for n in range(TRIED)]
        except ModelError:
            raise
        except Exception:
            return False
        finally:
            self._kept = {(): None}
        plain[-1] = [plain[-1][0], plain[-1][2]]
        tolerance = 1e-3 if self.dtype == self.torch.float32 else 0.1
        return all(
            bool(self.torch.allclose(_chances(row), _chances(told), atol=tolerance, rtol=tolerance))
            for step, expected in zip(found, plain, strict=True)
            for row, told in zip(step, expected, strict=True)
        )

    def _plain(self, tokens: Path) -> Any:
        with self.torch.inference_mode():
            return self.model(self.torch.tensor([tokens], device=self.device), use_cache=False).logits[0, -1]


def _chances(logits: Any) -> Any:
    return logits.float().softmax(-1)


class Rows:
    """Prompts that are being continued. `logits` are the predictions for the next token of each."""

    def __init__(
        self, reader: Reader, prompts: Sequence[Path], begun: Sequence[Path], caches: Sequence[Any], room: int
    ):
        torch, self._reader = reader.torch, reader
        self.lengths = [len(p) for p in prompts]
        kept = max(map(len, begun))
        rests = [p[len(b) :] for p, b in zip(prompts, begun, strict=True)]
        width = max(map(len, rests))
        column = torch.arange(kept + width + room, device=reader.device)
        start = torch.tensor([kept - len(b) for b in begun], device=reader.device)[:, None]
        rest = torch.tensor([kept + width - len(r) for r in rests], device=reader.device)[:, None]
        real = ((column >= start) & (column < kept)) | (column >= rest)
        self._cache = _roomy_cache(torch, caches, kept, kept + width + room)
        self._filled = kept + width
        self._mask = reader.additive(real)[:, None, None]
        self.logits = reader.forward(
            [[0] * (width - len(r)) + list(r) for r in rests],
            [
                [0] * (width - len(r)) + list(range(len(b), len(b) + len(r)))
                for b, r in zip(begun, rests, strict=True)
            ],
            reader.causal_mask(real[:, : self._filled], width),
            self._cache,
        )

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row."""
        self._filled += 1
        mask = self._mask[..., : self._filled]
        self.logits = self._reader.forward([[t] for t in tokens], [[n] for n in self.lengths], mask, self._cache)
        self.lengths = [n + 1 for n in self.lengths]
        return self.logits

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only."""
        chosen = self._reader.torch.tensor(list(rows), device=self._reader.device)
        self.lengths = [self.lengths[r] for r in rows]
        self._mask = self._mask[chosen]
        self.logits = self.logits[chosen]
        for layer in self._cache.layers:
            layer.room = [memory[chosen.to(memory.device)] for memory in layer.room]
            layer.keys, layer.values = (memory[:, :, : self._filled] for memory in layer.room)


def _roomy_cache(torch: Any, caches: Sequence[Any], kept: int, width: int) -> Any:
    """A cache of `width` columns, the first `kept` of which hold the beginnings of the rows on their right."""
    from transformers import DynamicCache

    cache = DynamicCache()
    cache.layer_class_to_replicate = lambda: _roomy_layer(torch, width)  # layers come as the model asks for them
    for number, sample in enumerate(next((c.layers for c in caches if c is not None), ())):
        layer = _roomy_layer(torch, width)
        layer.make_room(sample.keys.expand(len(caches), -1, -1, -1), sample.values.expand(len(caches), -1, -1, -1))
        for row, begun in enumerate(caches):
            if begun is not None:
                for memory, states in zip(
                    layer.room, (begun.layers[number].keys, begun.layers[number].values), strict=True
                ):
                    memory[row, :, kept - states.shape[2] : kept] = states[0]
        layer.keys, layer.values = (memory[:, :, :kept] for memory in layer.room)
        cache.layers.append(layer)
    return cache


def _roomy_layer(torch: Any, width: int) -> Any:
    """A layer as transformers makes them, but for the way it grows: into memory that is there already."""
    from transformers.cache_utils import DynamicLayer

    layer: Any = DynamicLayer()
    layer.room = []

    def make_room(keys: Any, values: Any) -> None:
        layer.lazy_initialization(keys, values)
        # Zeros: what is never seen is multiplied by nought, and must not be an infinity.
        layer.room = [
            torch.zeros(*s.shape[:2], width, s.shape[3], dtype=s.dtype, device=s.device) for s in (keys, values)
        ]
        layer.keys, layer.values = (memory[:, :, :0] for memory in layer.room)

    def update(keys: Any, values: Any, *_args: Any, **_options: Any) -> tuple[Any, Any]:
        if not layer.room:
            make_room(keys, values)
        begin = layer.keys.shape[2]
        end = begin + keys.shape[2]
        for memory, states in zip(layer.room, (keys, values), strict=True):
            memory[:, :, begin:end] = states
        layer.keys, layer.values = (memory[:, :, :end] for memory in layer.room)
        return layer.keys, layer.values

    layer.make_room, layer.update = make_room, update
    return layer


def _grouped() -> str:
    """The name by which models find `_grouped_attention`; masks are those of sdpa."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register("unwaver_grouped", _grouped_attention)
    AttentionMaskInterface.register("unwaver_grouped", sdpa_mask)
    return "unwaver_grouped"


def _grouped_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Any, None]:
    """Attention in which several heads share their keys and values, these taken as they are.

    transformers would write them out for each head, with every token: heads of one group become further queries
    instead.
    """
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    rows, heads, length, size = query.shape
    groups = heads // key.shape[1]
    unusual = options.get("softcap") is not None or options.get("position_bias") is not None
    many = groups * length > key.shape[2]  # whole prompts, where the mask would be larger than what it saves
    if groups == 1 or many or unusual or attention_mask is None or attention_mask.shape[1] != 1:
        told: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return told
    stacked = query.reshape(rows, key.shape[1], groups * length, size)
    mask = attention_mask.repeat(1, 1, groups, 1) if length > 1 else attention_mask
    seen = scaled_dot_product_attention(stacked, key, value, attn_mask=mask, scale=scaling)
    return seen.reshape(rows, heads, length, -1).transpose(1, 2).contiguous(), None
