"""Text-to-text models of Hugging Face (T5, BART …): the log-probability of each choice, or a generated text."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.decoding import longest
from unwaver.models.hf_common import folder_errors, length_batches
from unwaver.models.hf_generate import TextGenerator
from unwaver.models.hf_prefix import memory_hint
from unwaver.models.hf_text import Options, Tokens, apart, load_weights, padding_id
from unwaver.tasks import T5
from unwaver.types import Answer, Batch, Request, replace

CPU_BATCH = 2048  # tokens of the prompts of a batch
GPU_BATCH = 16384

Words = tuple[tuple[int, ...], ...]


def text_to_text(
    path: str, *, name: str, identity: str, max_tokens: int | None = None, **options: Any
) -> TextToText:
    """An encoder-decoder from a folder or a hub id; weights are loaded when it is first asked. See `Options`.

    Free text is written, whatever the method; `max_tokens` is 16 to say a label and 64 in free text if not given.
    """
    short, long = longest(max_tokens)
    own = Options(**options, max_tokens=short)
    free = replace(own, method="generate", max_tokens=long)
    return TextToText(path, name, identity, own, None if free == own else TextToText(path, name, identity, free))


@dataclass
@folder_errors
class TextToText:
    path: str
    name: str
    identity: str
    options: Options
    free_text: TextToText | None = None  # who answers if there are no choices, with the same weights
    reads: tuple[str, ...] = ("prompt", "words")
    form: str = ""
    n_best = True  # see unwaver.models.parts
    settings: Mapping[str, object] = field(init=False)
    method: str = field(init=False)
    decoding: str = field(init=False)
    deterministic: bool = field(init=False)
    _tokens: Tokens | None = field(init=False, default=None, repr=False)
    _loaded: tuple[Any, Any] | None = field(init=False, default=None, repr=False)

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
            self._loaded = load_weights("AutoModelForSeq2SeqLM", self.path, self.options)
        if self.free_text:
            self.free_text._tokens, self.free_text._loaded = self._tokens, self._loaded

    def close(self) -> None:
        self._loaded = None
        if self.free_text:
            self.free_text.close()
        gc.collect()

    def count_tokens(self, requests: Sequence[Request]) -> int:
        """Tokens of the prompts, and of the choices where these are scored. Loads the tokenizer only."""
        prompts = self.tokens.encode_dressed([self.tokens.render(r) for r in requests])
        choices = Counter(w for r in requests for w in r.words) if self.method == "logprob" else Counter()
        words = self.tokens.encode_bare(list(choices))
        return sum(map(len, prompts)) + sum(len(w) * n for w, n in zip(words, choices.values(), strict=True))

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        if not requests:
            return
        self.load()
        yield from apart(self, requests, self._answer)

    def _answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        assert self._loaded is not None
        torch, model = self._loaded
        window = self.tokens.window(model.config)
        whole = self.tokens.encode_dressed([self.tokens.render(r) for r in requests])
        prompts = [ids[-window:] or (self.tokens.start(),) for ids in whole]
        cut = [len(p) < len(w) for p, w in zip(prompts, whole, strict=True)]
        budget = self.options.batch_tokens or (CPU_BATCH if model.device.type == "cpu" else GPU_BATCH)
        if self.method == "generate":
            generator = TextGenerator(torch, model, self.tokens.tokenizer, self.options, budget)
            for written in generator.answers(requests, prompts, cut):
                yield [(i, self._as_label(requests[i], answer)) for i, answer in written]
            return
        words = [tuple(self.tokens.encode_bare(r.words)) for r in requests]
        good = [i for i, choices in enumerate(words) if all(choices)]
        if bad := sorted(set(range(len(words))) - set(good)):
            yield [(i, Answer(error="a choice has no tokens")) for i in bad]
        for part in length_batches([len(prompts[i]) for i in good], budget):
            batch = [good[k] for k in part]
            sums = _score(torch, model, [prompts[i] for i in batch], [words[i] for i in batch], self._pad())
            yield [
                (i, Answer(logprobs=s, tokens=tuple(map(len, words[i])), truncated=cut[i]))
                for i, s in zip(batch, sums, strict=True)
            ]

    def _as_label(self, request: Request, answer: Answer) -> Answer:
        """In T5's form an answer is the name of a label: one that is longer than every label was not cut short
        of one, it is none."""
        if self.form != T5 or answer.finish != "length" or not request.words:
            return answer
        longest_label = max(map(len, self.tokens.encode_bare(request.words)))
        return replace(answer, finish="longer than a label") if longest_label < self.options.max_tokens else answer

    def _pad(self) -> int:
        return padding_id(self.tokens.tokenizer)


def _score(
    torch: Any, model: Any, prompts: Sequence[Sequence[int]], words: Sequence[Words], pad: int
) -> list[tuple[float, ...]]:
    """The encoder reads each prompt once; the decoder then reads every choice of every prompt."""
    start = model.config.decoder_start_token_id
    if start is None:
        start = getattr(model.generation_config, "decoder_start_token_id", None)
    if start is None:
        raise ModelError("the model does not say what its decoder starts with", hint="set it in config.json")
    device = model.device
    width = max(map(len, prompts))
    ids = torch.tensor([[*p, *[pad] * (width - len(p))] for p in prompts], device=device)
    seen = torch.tensor([[1] * len(p) + [0] * (width - len(p)) for p in prompts], device=device)
    owner = [i for i, choices in enumerate(words) for _ in choices]
    flat = [choice for choices in words for choice in choices]
    longest = max(map(len, flat))
    read = torch.tensor([[start, *c[:-1], *[pad] * (longest - len(c))] for c in flat], device=device)
    target = torch.tensor([[*c, *[0] * (longest - len(c))] for c in flat], device=device)
    wanted = torch.tensor([[1.0] * len(c) + [0.0] * (longest - len(c)) for c in flat], device=device)
    of = torch.tensor(owner, device=device)
    with torch.inference_mode(), memory_hint(torch):
        states = model.get_encoder()(input_ids=ids, attention_mask=seen).last_hidden_state
        logits = model(
            encoder_outputs=(states[of],), attention_mask=seen[of], decoder_input_ids=read, use_cache=False
        ).logits.float()
        values = logits.gather(-1, target[..., None])[..., 0] - logits.logsumexp(-1)
        sums = iter((values * wanted).sum(-1).tolist())
    return [tuple(next(sums) for _ in choices) for choices in words]
