"""What the two kinds of Hugging Face language model share: options, weights, and how texts become tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from unwaver.errors import ModelError
from unwaver.groups.conversations import has_system, prompt_after, sent, without_system
from unwaver.models.decoding import described, stop_strings
from unwaver.models.hf_common import check_vocabulary, import_torch, pick_device, pick_dtype
from unwaver.models.hf_prefix import memory_hint
from unwaver.models.parts import way_of
from unwaver.models.pretrained import pretrained
from unwaver.types import Batch, Model, Request

Ask = Callable[[Sequence[Request]], Iterator[Batch]]

UNLIMITED = 1 << 40  # tokenizers say 10**30 where they know no limit


@dataclass(frozen=True)
class Options:
    """What the two kinds of language model share.

    method       logprob: the log-probability of each choice; generate: write, and let the text be read
    system, chat a system text; whether to use the chat template (None: if there is one)
    dtype        float32 on a CPU unless said otherwise, whatever the checkpoint stores
    batch_tokens tokens read at once; changes speed and memory, not answers

    For generate:

    max_tokens   the most tokens written
    temperature, top_p, seed   0 is greedy; else a token is drawn among the most likely that make up top_p
    num_beams    how many texts are kept at a time; the most likely is given
    stop         strings before which a text ends: a list, or one text as "\\n|Q:"
    no_repeat_ngram   this many tokens in a row are not written twice, prompt of a causal model included; 0 is off
    """

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
    num_beams: int = 1
    stop: str | Sequence[str] | None = None
    no_repeat_ngram: int = 0
    trust_remote_code: bool = False
    revision: str | None = None

    def __post_init__(self) -> None:
        if self.method not in ("logprob", "generate"):
            raise ModelError(f"unknown method {self.method}", hint="known: logprob, generate")
        if self.max_tokens < 1:
            raise ModelError(f"max_tokens is {self.max_tokens}", hint="give at least 1")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise ModelError(f"batch_tokens is {self.batch_tokens}", hint="give at least 1")
        if not 0 <= self.temperature < math.inf:
            raise ModelError(f"temperature is {self.temperature}", hint="0 is greedy, 1 is as trained")
        if not 0 < self.top_p <= 1:
            raise ModelError(f"top_p is {self.top_p}", hint="greater than 0, at most 1")
        if self.no_repeat_ngram < 0:
            raise ModelError(f"no_repeat_ngram is {self.no_repeat_ngram}", hint="0 is off, 2 repeats no pair")
        if self.num_beams < 1:
            raise ModelError(f"num_beams is {self.num_beams}", hint="give at least 1")
        if self.num_beams > 1 and self.temperature > 0:
            raise ModelError(
                f"num_beams is {self.num_beams} and temperature {self.temperature:g}: beams are kept by their "
                "probability, nothing is drawn",
                hint="leave one of the two out",
            )
        stop_strings(self.stop)

    def settings(self) -> Mapping[str, object]:
        """Only what can change an answer: it becomes part of the key under which answers are kept.

        Options of generation that are off are left out: a key must stay what it was before they existed.
        """
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
            if self.num_beams > 1:
                said["num_beams"] = self.num_beams
            if self.stop is not None:
                said["stop"] = list(stop_strings(self.stop))
            if self.no_repeat_ngram:
                said["no_repeat_ngram"] = self.no_repeat_ngram
        return said

    def decoding(self) -> str:
        """How tokens are chosen, "" where none are or where it is greedy: "nucleus top_p 0.9 temperature 0.7"."""
        return described(self.settings()) if self.method == "generate" else ""


def apart(model: Model, requests: Sequence[Request], own: Ask) -> Iterator[Batch]:
    """The requests that the model answers itself, by `own`, and then those that its free-text twin answers."""
    of_way: dict[Ask, list[int]] = {own: []}
    for place, request in enumerate(requests):
        way = way_of(model, request)
        of_way.setdefault(own if way is model else way.answer, []).append(place)
    for ask, where in of_way.items():
        if where:
            for batch in ask([requests[i] for i in where]):
                yield [(where[k], answer) for k, answer in batch]


def default_dtype(device: str | None) -> str:
    """float32 on a CPU, elsewhere what the checkpoint stores ("auto")."""
    if device is None:
        device = pick_device(import_torch(), None)
    return "float32" if device.split(":")[0] == "cpu" else "auto"


def load_weights(kind: str, path: str, options: Options) -> tuple[Any, Any]:
    """torch and the model: kind is the name of one of transformers' Auto classes."""
    torch = import_torch()
    from safetensors import SafetensorError

    device = pick_device(torch, options.device)
    try:
        with memory_hint(torch):
            model, found = pretrained(
                kind,
                path,
                dtype=pick_dtype(torch, device, options.dtype),
                trust_remote_code=options.trust_remote_code,
                revision=options.revision,
                output_loading_info=True,
            )
            model = model.to(device).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as e:
        raise load_error(path, e) from e
    if missing := sorted(found["missing_keys"]):  # transformers would fill them with random numbers
        raise ModelError(
            f"{path} lacks {len(missing)} of its weights: {', '.join(missing[:3])} …",
            hint="is it a trained language model, and is the folder complete?",
        )
    return torch, model


def load_error(path: str, error: Exception) -> ModelError:
    first_line = (str(error).strip() or type(error).__name__).split("\n", 1)[0]
    hint = "give a folder that save_pretrained wrote, or the id of a model on the hub"
    return ModelError(f"{path} cannot be loaded: {first_line}", hint=hint)


class Tokens:
    """A tokenizer that says which special tokens it puts before a text, and never puts any after it."""

    def __init__(self, path: str, options: Options):
        import_torch()
        try:
            self.tokenizer = pretrained(
                "AutoTokenizer",
                path,
                trust_remote_code=options.trust_remote_code,
                revision=options.revision,
            )
        except (OSError, ValueError, KeyError, ImportError) as e:
            raise load_error(path, e) from e
        check_vocabulary(self.tokenizer, path)
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

    def render(self, request: Request) -> str:
        """The request as the model reads it: in its chat template, or after the system text."""
        if not self.chat:
            return prompt_after(request, self.system)
        messages = with_parsed_calls(sent(request, self.system or None))
        tools = json.loads(request.tools) if request.tools else None
        try:
            return self._templated(messages, tools)
        except Exception as refused:  # templates are programs and raise what they like
            if has_system(request):  # a template without a system role
                with suppress(Exception):
                    return self._templated(without_system(messages), tools)
            raise ModelError(
                f"the chat template does not take {_as_roles(messages)}: {refused}",
                hint=_ALTERNATE if len(request.messages) > 1 else _NO_SYSTEM,
            ) from refused

    def _templated(self, messages: list[dict[str, Any]], tools: list[Any] | None) -> str:
        more: dict[str, Any] = {"tools": tools} if tools else {}
        text: str = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False, **more
        )
        return text

    def start(self) -> int:
        """The text before an empty prompt: the token that begins a text, else the one that ends it."""
        special = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        return next((int(i) for i in special if i is not None), 0)

    def window(self, config: Any) -> int:
        """How many tokens the model can read."""
        text = config.get_text_config()
        names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
        limits = [getattr(text, name, None) for name in names]
        limits.append(self.tokenizer.model_max_length)
        return min([int(x) for x in limits if isinstance(x, int | float) and 0 < x < UNLIMITED], default=UNLIMITED)


_NO_SYSTEM = "leave the system text out, or --model-arg chat=false"
_ALTERNATE = "let user and assistant take turns, after one system message or none; or --model-arg chat=false"


def _as_roles(messages: Sequence[Mapping[str, Any]]) -> str:
    """ "the messages system, user, user": which ones a template refuses."""
    return f"the messages {', '.join(str(message['role']) for message in messages)}"


def with_parsed_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Templates want the arguments of a call as an object, services as a text."""
    for message in messages:
        for call in message.get("tool_calls", ()):
            function = call.get("function", {}) if isinstance(call, dict) else {}
            if isinstance(function.get("arguments"), str):
                with suppress(ValueError):
                    function["arguments"] = json.loads(function["arguments"])
    return messages


def _wants_chat(tokenizer: Any, options: Options, path: str) -> bool:
    has = getattr(tokenizer, "chat_template", None) is not None
    if options.chat and not has:
        raise ModelError(f"{path} has no chat template", hint="leave chat out, or --model-arg chat=false")
    return has and options.chat is not False


def padding_id(tokenizer: Any) -> int:
    special = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id)
    return next((int(i) for i in special if i is not None), 0)
