"""How texts become tokens for a Hugging Face language model, and tokens a generated text."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.hf_common import import_torch, pick_device, pick_dtype
from unwaver.models.hf_prefix import memory_hint

UNLIMITED = 1 << 40  # tokenizers say 10**30 where they know no limit


@dataclass(frozen=True)
class Options:
    """What the two kinds of language model share. See `causal_lm` for what each is."""

    method: str = "logprob"
    system: str | None = None
    chat: bool | None = None
    device: str | None = None
    dtype: str | None = None
    batch_tokens: int | None = None
    max_tokens: int = 16
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    trust_remote_code: bool = False
    revision: str | None = None

    def checked(self) -> Options:
        if self.method not in ("logprob", "generate"):
            raise ModelError(f"unknown method {self.method}", hint="known: logprob, generate")
        if self.max_tokens < 1:
            raise ModelError(f"max_tokens is {self.max_tokens}", hint="give at least 1")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise ModelError(f"batch_tokens is {self.batch_tokens}", hint="give at least 1")
        if self.temperature < 0:
            raise ModelError(f"temperature is {self.temperature}", hint="0 is greedy, 1 is as trained")
        if not 0 < self.top_p <= 1:
            raise ModelError(f"top_p is {self.top_p}", hint="greater than 0, at most 1")
        return self

    def settings(self) -> Mapping[str, object]:
        """Only what can change an answer: it becomes part of the key under which answers are kept."""
        said: dict[str, object] = {
            "method": self.method,
            "system": self.system,
            "chat": self.chat is not False,
            "dtype": self.dtype or default_dtype(self.device),
        }
        if self.method == "generate":
            said |= {"max_tokens": self.max_tokens, "temperature": self.temperature}
            if self.temperature > 0:
                said |= {"top_p": self.top_p, "seed": self.seed}
        return said


def default_dtype(device: str | None) -> str:
    """float32 on a CPU, elsewhere what the checkpoint stores ("auto")."""
    if device is None:
        device = pick_device(import_torch(), None)
    return "float32" if device.split(":")[0] == "cpu" else "auto"


def load_weights(kind: str, path: str, options: Options) -> tuple[Any, Any]:
    """torch and the model: kind is the name of one of transformers' Auto classes."""
    torch = import_torch()
    import transformers
    from safetensors import SafetensorError

    device = pick_device(torch, options.device)
    try:
        with memory_hint(torch):
            model = getattr(transformers, kind).from_pretrained(
                path,
                dtype=pick_dtype(torch, device, options.dtype),
                trust_remote_code=options.trust_remote_code,
                revision=options.revision,
            )
            model = model.to(device).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as e:
        raise load_error(path, e) from e
    return torch, model


def load_error(path: str, error: Exception) -> ModelError:
    first_line = (str(error).strip() or type(error).__name__).split("\n", 1)[0]
    code = "trust_remote_code" in str(error)
    hint = (
        "it brings code of its own; if you trust it: --model-arg trust_remote_code=true"
        if code
        else "give a folder that save_pretrained wrote, or the id of a model on the hub"
    )
    return ModelError(f"{path} cannot be loaded: {first_line}", hint=hint)


class Tokens:
    """A tokenizer that says which special tokens it puts before a text, and never puts any after it."""

    def __init__(self, path: str, options: Options):
        import_torch()
        import transformers

        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                path, trust_remote_code=options.trust_remote_code, revision=options.revision
            )
        except (OSError, ValueError, KeyError, ImportError) as e:
            raise load_error(path, e) from e
        # Some tokenizers also end a text with a special token: a continuation after that would mean nothing.
        bare, dressed = self._bare(["a"])[0], self.tokenizer("a")["input_ids"]
        self.lead = tuple(dressed[: next((i for i in range(len(dressed)) if dressed[i] == bare[0]), 0)])
        self.chat = _wants_chat(self.tokenizer, options, path)
        self.system = options.system

    def _bare(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return ids

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """With the special tokens before, unless a text (a rendered chat) begins with them already."""
        if not texts:
            return []
        bos = self.tokenizer.bos_token
        return [
            (() if bos and text.startswith(bos) else self.lead) + tuple(ids)
            for text, ids in zip(texts, self._bare(texts), strict=True)
        ]

    def encode_dressed(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """With all special tokens, before and after: what an encoder reads."""
        return [tuple(ids) for ids in self.tokenizer(list(texts))["input_ids"]] if texts else []

    def encode_bare(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        return [tuple(ids) for ids in self._bare(texts)] if texts else []

    def render(self, prompt: str) -> str:
        """The prompt as the model reads it: in its chat template, or after the system text."""
        if not self.chat:
            return prompt if not self.system else f"{self.system}\n\n{prompt}"
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": prompt})
        try:
            text: str = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        except Exception as e:  # templates are programs and raise what they like
            raise ModelError(
                f"the chat template does not take this: {e}",
                hint="leave the system text out, or --model-arg chat=false",
            ) from e
        return text

    def start(self) -> int:
        """What stands before an empty prompt: the token that begins a text, else the one that ends it."""
        special = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        return next((int(i) for i in special if i is not None), 0)

    def window(self, config: Any) -> int:
        """How many tokens the model can read."""
        text = config.get_text_config()
        names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
        limits = [getattr(text, name, None) for name in names]
        limits.append(self.tokenizer.model_max_length)
        return min([int(x) for x in limits if isinstance(x, int | float) and 0 < x < UNLIMITED], default=UNLIMITED)


def _wants_chat(tokenizer: Any, options: Options, path: str) -> bool:
    has = getattr(tokenizer, "chat_template", None) is not None
    if options.chat and not has:
        raise ModelError(f"{path} has no chat template", hint="leave chat out, or --model-arg chat=false")
    return has and options.chat is not False


@dataclass(frozen=True, slots=True)
class Generated:
    text: str
    tokens: int  # with the one that ended it
    finish: str  # stop, length


def generate(
    torch: Any,
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    draws: Sequence[str],
    options: Options,
) -> list[Generated]:
    """One batch, padded on the left for causal models and on the right for encoders.

    `draws` name the random numbers of each prompt: equal names, equal numbers, whatever else is in the batch.
    """
    from transformers import GenerationConfig, LogitsProcessorList

    pad, ends = padding_id(tokenizer), end_ids(model, tokenizer)
    width = max(len(p) for p in prompts)
    on_left = not model.config.is_encoder_decoder
    ids = [_pad(p, width, pad, on_left) for p in prompts]
    seen = [_pad([1] * len(p), width, 0, on_left) for p in prompts]
    # Spelled out, or the checkpoint's own defaults (a repetition penalty, say) would come in.
    config = GenerationConfig(
        max_new_tokens=options.max_tokens,
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        pad_token_id=pad,
        eos_token_id=ends or None,
        decoder_start_token_id=getattr(model.generation_config, "decoder_start_token_id", None),
    )
    processors = LogitsProcessorList()
    if options.temperature > 0:
        processors.append(Sampler(torch, draws, options.temperature, options.top_p))
    with torch.inference_mode(), memory_hint(torch):
        out = model.generate(
            torch.tensor(ids, device=model.device),
            attention_mask=torch.tensor(seen, device=model.device),
            generation_config=config,
            logits_processor=processors,
        )
    new = out[:, width:] if on_left else out[:, 1:]
    return [_read(tokenizer, row, set(ends)) for row in new.tolist()]


class Sampler:
    """Chooses each row's next token with that row's own random numbers, and leaves the others no chance.

    Handed to greedy decoding. Sampling inside `generate` draws from one global stream, so that an answer
    would depend on its neighbours in the batch.
    """

    def __init__(self, torch: Any, draws: Sequence[str], temperature: float, top_p: float):
        self.torch = torch
        self.temperature = temperature
        self.top_p = top_p
        self.streams = [random.Random(name) for name in draws]

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        # In double precision on the CPU, so that the draw is the same on every device.
        probabilities = (scores.float().cpu().double() / self.temperature).softmax(-1)
        chosen = self.torch.full_like(scores, float("-inf"))
        for row, stream in enumerate(self.streams):
            chosen[row, self._draw(probabilities[row], stream.random())] = 0
        return chosen

    def _draw(self, probabilities: Any, uniform: float) -> int:
        ordered, tokens = probabilities.sort(descending=True, stable=True)
        cumulative = ordered.cumsum(-1)
        # The nucleus: the fewest of the likeliest tokens that make up top_p.
        last = min(int(self.torch.searchsorted(cumulative, self.top_p)), len(tokens) - 1)
        place = int(self.torch.searchsorted(cumulative, uniform * float(cumulative[last]), right=True))
        return int(tokens[min(place, last)])


def padding_id(tokenizer: Any) -> int:
    special = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id)
    return next((int(i) for i in special if i is not None), 0)


def end_ids(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a text: those of the checkpoint, which may know more of them than the tokenizer."""
    known = getattr(model.generation_config, "eos_token_id", None)
    listed = known if isinstance(known, list) else [known]
    return sorted({int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None})


def _pad(ids: Sequence[int], width: int, value: int, on_left: bool) -> list[int]:
    padding = [value] * (width - len(ids))
    return [*padding, *ids] if on_left else [*ids, *padding]


def _read(tokenizer: Any, ids: list[int], ends: set[int]) -> Generated:
    stop = next((i for i, token in enumerate(ids) if token in ends), None)
    text = tokenizer.decode(ids if stop is None else ids[:stop], skip_special_tokens=True)
    return Generated(text, len(ids) if stop is None else stop + 1, "length" if stop is None else "stop")


def draw_name(seed: int, replicate: int, prompt: str) -> str:
    """The prompt is part of it: with the same numbers for all prompts, variants would agree by construction."""
    return f"{seed}/{replicate}/{prompt}"
