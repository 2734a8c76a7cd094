"""Causal language models of Hugging Face: the log-probability of each choice, or a generated text."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unwaver.models.decoding import longest
from unwaver.models.hf_common import folder_errors
from unwaver.models.hf_generate import TextGenerator
from unwaver.models.hf_prefix import Scorer, Want
from unwaver.models.hf_text import Options, Tokens, apart, load_weights
from unwaver.types import Answer, Batch, Request, replace

CPU_BATCH = 1024  # tokens of a batch: a second or two of a small model on two cores
GPU_BATCH = 16384


def causal_lm(path: str, *, name: str, identity: str, max_tokens: int | None = None, **options: Any) -> CausalLM:
    """A causal model from a folder or a hub id; its weights are loaded when it is first asked. See `Options`.

    Free text is written, whatever the method; `max_tokens` is 16 to say a label and 64 in free text if not given.
    """
    short, long = longest(max_tokens)
    own = Options(**options, max_tokens=short)
    free = replace(own, method="generate", max_tokens=long)
    return CausalLM(path, name, identity, own, None if free == own else CausalLM(path, name, identity, free))


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as tokens: what each choice is continued from, and with what."""

    contexts: tuple[tuple[int, ...], ...]
    continuations: tuple[tuple[int, ...], ...]
    truncated: bool = False
    error: str | None = None

    def wants(self) -> list[Want]:
        return [] if self.error else [Want(c, w) for c, w in zip(self.contexts, self.continuations, strict=True)]


@dataclass
@folder_errors
class CausalLM:
    path: str
    name: str
    identity: str
    options: Options
    free_text: CausalLM | None = None  # who answers if there are no choices, with the same weights
    reads: tuple[str, ...] = ("prompt", "words")
    n_best = True  # see unwaver.models.parts
    takes = ("tools",)  # by its chat template
    settings: Mapping[str, object] = field(init=False)
    method: str = field(init=False)
    decoding: str = field(init=False)
    deterministic: bool = field(init=False)
    _tokens: Tokens | None = field(init=False, default=None, repr=False)
    _loaded: tuple[Any, Any] | None = field(init=False, default=None, repr=False)
    _scorer: Scorer | None = field(init=False, default=None, repr=False)
    _generator: TextGenerator | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.settings = self.options.settings()
        self.method = self.options.method
        self.decoding = self.options.decoding()
        self.deterministic = self.method == "logprob" or self.options.temperature == 0

    @property
    def tokens(self) -> Tokens:
        if self._tokens is None:
            self._tokens = Tokens(self.path, self.options)
        return self._tokens

    def load(self) -> None:
        if self._loaded is None:
            _ = self.tokens
            self._loaded = load_weights("AutoModelForCausalLM", self.path, self.options)
        if self.free_text:
            self.free_text._tokens, self.free_text._loaded = self._tokens, self._loaded

    def close(self) -> None:
        self._loaded = self._scorer = self._generator = None
        if self.free_text:
            self.free_text.close()
        gc.collect()

    def count_tokens(self, requests: Sequence[Request]) -> int:
        """Tokens of the prompts, and of the choices where these are scored. Loads the tokenizer only."""
        prompts = self.tokens.encode([self.tokens.render(r) for r in requests])
        choices = Counter(w for r in requests for w in r.words) if self.method == "logprob" else Counter()
        words = self.tokens.encode_bare(list(choices))
        return sum(map(len, prompts)) + sum(len(w) * n for w, n in zip(words, choices.values(), strict=True))

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        if not requests:
            return
        self.load()
        own = self._score if self.method == "logprob" else self._generate
        yield from apart(self, requests, own)

    def _budget(self, model: Any) -> int:
        return self.options.batch_tokens or (CPU_BATCH if model.device.type == "cpu" else GPU_BATCH)

    def _score(self, requests: Sequence[Request]) -> Iterator[Batch]:
        assert self._loaded is not None
        torch, model = self._loaded
        if self._scorer is None:
            self._scorer = Scorer(torch, model, self._budget(model))
        asked = encode_choices(self.tokens, requests, self.tokens.window(model.config))
        failed = [(i, Answer(error=a.error)) for i, a in enumerate(asked) if a.error]
        if failed:
            yield failed
        yield from _gathered(self._scorer, asked)

    def _generate(self, requests: Sequence[Request]) -> Iterator[Batch]:
        assert self._loaded is not None
        torch, model = self._loaded
        if self._generator is None:
            self._generator = TextGenerator(torch, model, self.tokens.tokenizer, self.options, self._budget(model))
        room = max(self.tokens.window(model.config) - self.options.max_tokens, 1)
        whole = self.tokens.encode([self.tokens.render(r) for r in requests])
        prompts = [p[-room:] or (self.tokens.start(),) for p in whole]
        yield from self._generator.answers(requests, prompts, [len(p) > room for p in whole])


def _gathered(scorer: Scorer, asked: Sequence[Asked]) -> Iterator[Batch]:
    """Score all choices of all requests together; yield a request when its last choice is done."""
    wants: list[Want] = []
    owner: list[tuple[int, int]] = []
    for i, a in enumerate(asked):
        for nth, want in enumerate(a.wants()):
            wants.append(want)
            owner.append((i, nth))
    values = [[0.0] * len(a.continuations) for a in asked]
    missing = [len(a.continuations) for a in asked]
    for part in scorer.logprobs(wants):
        batch: Batch = []
        for w, value in part:
            i, nth = owner[w]
            values[i][nth] = value
            missing[i] -= 1
            if missing[i] == 0:
                counts = tuple(len(c) for c in asked[i].continuations)
                batch.append((i, Answer(logprobs=tuple(values[i]), tokens=counts, truncated=asked[i].truncated)))
        if batch:
            yield batch


def encode_choices(tokens: Tokens, requests: Sequence[Request], window: int) -> list[Asked]:
    """The choices of each request as lm-evaluation-harness would encode them, cut to the window."""
    texts = [_split(tokens.render(r), r.words, tokens.chat) for r in requests]
    unique = dict.fromkeys(t for context, rest in texts for t in (context, *(context + c for c in rest)))
    ids = dict(zip(unique, tokens.encode(list(unique)), strict=True))
    return [_asked(tokens, ids, context, rest, window) for context, rest in texts]


def _split(prompt: str, words: Sequence[str], chat: bool) -> tuple[str, list[str]]:
    """Context and continuations: ("A: ", ["x"]) -> ("A:", ["  x"]), since spaces belong to the word after.

    A rendered chat is left whole: its last line break belongs to the template, and the word stands next to it.
    """
    if chat:
        return prompt, list(words)
    context = prompt.rstrip()
    return context, [prompt[len(context) :] + " " + w for w in words]


def _asked(
    tokens: Tokens, ids: Mapping[str, tuple[int, ...]], context: str, rest: Sequence[str], window: int
) -> Asked:
    before = ids[context]
    # Where tokens grow together across the border the continuation is what lies beyond the context's length.
    after = [ids[context + c][len(before) :] or tokens.encode_bare([c])[0] for c in rest]
    if not all(after):
        empty = rest[next(i for i, a in enumerate(after) if not a)]
        return Asked((), (), error=f"the choice {empty!r} has no tokens")
    longest = max(map(len, after))
    if longest > window:
        return Asked((), (), error=f"a choice has {longest} tokens, the model reads {window}")
    before = before or (tokens.start(),)
    # The last token of a choice is predicted, not read; every choice gets the same context.
    kept = before[-(window + 1 - longest) :]
    return Asked((kept,) * len(after), tuple(after), truncated=len(kept) < len(before))
