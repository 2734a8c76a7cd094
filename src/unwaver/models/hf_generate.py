"""Texts that a Hugging Face language model writes: greedy, drawn, or the best of several beams.

Prompts of a causal model that begin alike (instructions and solved examples, or a passage) share that beginning:
it is read once. Where the model does not allow that, with several beams, and for encoders, whole prompts go
through `generate` of transformers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from unwaver.models.decoding import before_stop, stop_strings
from unwaver.models.hf_common import length_batches
from unwaver.models.hf_prefix import memory_hint
from unwaver.models.hf_rows import Reader
from unwaver.models.hf_text import Options, padding_id
from unwaver.models.prefix import COPY, FORWARD, UNLIMITED, Path, cheapest_cuts, common
from unwaver.types import Answer, Batch, Request, replace

SHARE_FROM = 64  # a shared beginning of fewer tokens is read again rather than kept
CACHE = 16  # times as many tokens are kept as keys and values as are read at once, where these are few
CACHE_TOKENS = 16384
MOST_ROWS = 256
LIKELY = 1e-4  # tokens less likely than this are sorted only when they are needed

Chain = tuple[int, ...]  # the lengths of the beginnings that a prompt stands on


@dataclass(frozen=True, slots=True)
class Generated:
    text: str
    tokens: int  # with the one that ended it
    finish: str  # stop, length


class TextGenerator:
    """Writes with a loaded model; `budget` is how many tokens are read at once."""

    def __init__(self, torch: Any, model: Any, tokenizer: Any, options: Options, budget: int):
        self.torch, self.model, self.tokenizer = torch, model, tokenizer
        self.options, self.budget = options, budget
        self.returned = 1  # texts of a prompt, where all the most likely of several beams are wanted
        self.stops = stop_strings(options.stop)
        self.pad, self.ends = padding_id(tokenizer), end_ids(model, tokenizer)
        by_rows = not model.config.is_encoder_decoder and options.num_beams == 1
        self.reader = Reader(torch, model) if by_rows else None

    def answers(
        self, requests: Sequence[Request], prompts: Sequence[Path], truncated: Sequence[bool]
    ) -> Iterator[Batch]:
        for (limit, temperature, beams), where in self._by_way(requests, prompts).items():
            writer = copy(self)
            chosen = [requests[i] for i in where], [prompts[i] for i in where], [truncated[i] for i in where]
            if beams:
                from unwaver.models.n_best import n_best

                most = max(beams, self.options.num_beams)
                writer.options = replace(self.options, max_tokens=limit, temperature=0.0, num_beams=most)
                writer.returned = beams
                batches = n_best(writer, *chosen)
            else:
                writer.options = replace(self.options, max_tokens=limit, temperature=temperature)
                batches = writer._answers(*chosen)
            for batch in batches:
                yield [(where[k], answer) for k, answer in batch]

    def _by_way(
        self, requests: Sequence[Request], prompts: Sequence[Path]
    ) -> dict[tuple[int, float, int], list[int]]:
        """The places of the requests by the most tokens of their answers, temperature and number of beams:
        {(64, 0.6, 0): [0, 1, 2]}."""
        window = self.reader.window if self.reader else 0
        found: dict[tuple[int, float, int], list[int]] = {}
        for place, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            limit = self.options.max_tokens if request.limit is None else request.limit
            if window and limit > self.options.max_tokens:
                limit = max(self.options.max_tokens, min(limit, window - len(prompt)))
            heat = self.options.temperature if request.temperature is None else request.temperature
            found.setdefault((limit, heat, request.beams), []).append(place)
        return found

    def _answers(
        self, requests: Sequence[Request], prompts: Sequence[Path], truncated: Sequence[bool]
    ) -> Iterator[Batch]:
        draws = [draw_name(self.options.seed, r.replicate, r.prompt) for r in requests]
        for batch in self.write(prompts, draws):
            yield [(i, self.answer(written, prompts[i], truncated[i])) for i, written in batch]

    def answer(self, written: Generated, prompt: Path, truncated: bool) -> Answer:
        usage = (len(prompt), written.tokens)
        return Answer(text=written.text, usage=usage, finish=written.finish, truncated=truncated)

    def write(self, prompts: Sequence[Path], draws: Sequence[str]) -> Iterator[list[tuple[int, Generated]]]:
        """Batches of (index of the prompt, text), in the order in which they are done.

        `draws` name the random numbers of each prompt: equal names, equal numbers, whatever else is in the batch.
        """
        window = self.reader.window if self.reader else 0
        longest = window - self.options.max_tokens
        apart = [i for i, p in enumerate(prompts) if len(p) > longest]
        sizes = [(len(prompts[i]) + self.options.max_tokens) * self.options.num_beams for i in apart]
        for batch in length_batches(sizes, self.budget, MOST_ROWS):
            chosen = [apart[k] for k in batch]
            yield list(zip(chosen, self.whole(prompts, draws, chosen), strict=True))
        together = [i for i, p in enumerate(prompts) if len(p) <= longest]
        for rows in row_batches(prompts, together, self.options.max_tokens, self.budget, window):
            chosen = [i for i, _ in rows]
            yield list(zip(chosen, self._continued(prompts, draws, rows), strict=True))

    def _continued(
        self, prompts: Sequence[Path], draws: Sequence[str], batch: Sequence[tuple[int, Chain]]
    ) -> list[Generated]:
        assert self.reader is not None
        asked = [prompts[i] for i, _ in batch]
        rows = self.reader.rows(asked, [chain for _, chain in batch], self.options.max_tokens)
        choose = self._chooser(asked, [draws[i] for i, _ in batch])
        written: list[list[int]] = [[] for _ in batch]
        done = [False] * len(batch)
        going = list(range(len(batch)))  # which prompt each row is of
        for left in reversed(range(self.options.max_tokens)):
            for i, token in zip(going, choose(rows.logits, going, written), strict=True):
                if not done[i]:
                    written[i].append(token)
                    done[i] = token in self.ends or self._says_stop(written[i])
            if not left or all(done):
                break
            # Fewer rows are faster, but to leave some behind copies the others.
            if 2 * done.count(False) <= len(going):
                rows.keep([row for row, i in enumerate(going) if not done[i]])
                going = [i for i in going if not done[i]]
            rows.step([written[i][-1] for i in going])
        return [self._read(tokens) for tokens in written]

    def _chooser(
        self, prompts: Sequence[Path], draws: Sequence[str]
    ) -> Callable[[Any, list[int], list[list[int]]], list[int]]:
        """A function (logits, which prompt each row is of, what was written) -> the next token of each row."""
        sampler = self._sampler(draws)

        def choose(logits: Any, rows: list[int], written: list[list[int]]) -> list[int]:
            scores = logits.float()
            if self.options.no_repeat_ngram:
                whole = [(*prompts[r], *written[r]) for r in rows]
                width = max(map(len, whole))
                ids = self.torch.tensor([_padded(w, width, self.pad, True) for w in whole], device=scores.device)
                scores = self._unrepeated(ids, scores, [width - len(w) for w in whole])
            return sampler.draw(scores, rows) if sampler else scores.argmax(-1).tolist()

        return choose

    def _unrepeated(self, ids: Any, scores: Any, padding: Sequence[int]) -> Any:
        """No chance for a token that would repeat as many tokens in a row; ids[r] has padding[r] before it."""
        from transformers import NoRepeatNGramLogitsProcessor

        # Padding becomes a token that is none, or the length of other prompts would decide what is refused.
        before = self.torch.tensor(padding, device=ids.device)[:, None]
        column = self.torch.arange(ids.shape[1], device=ids.device)
        return NoRepeatNGramLogitsProcessor(self.options.no_repeat_ngram)(
            ids.masked_fill(column < before, scores.shape[1]), scores
        )

    def _sampler(self, draws: Sequence[str]) -> Sampler | None:
        drawn = self.options.temperature > 0
        return Sampler(self.torch, draws, self.options.temperature, self.options.top_p) if drawn else None

    def whole(self, prompts: Sequence[Path], draws: Sequence[str], chosen: Sequence[int]) -> list[Generated]:
        """One batch by transformers, padded on the left for causal models and on the right for encoders; of each
        prompt `returned` texts."""
        from transformers import LogitsProcessorList, StoppingCriteriaList

        width = max(len(prompts[i]) for i in chosen)
        on_left = not self.model.config.is_encoder_decoder
        ids = [_padded(prompts[i], width, self.pad, on_left) for i in chosen]
        seen = [_padded([1] * len(prompts[i]), width, 0, on_left) for i in chosen]
        start = width if on_left else 1  # a decoder begins with a token of its own
        padding = [
            width - len(prompts[i]) if on_left else 0 for i in chosen for _ in range(self.options.num_beams)
        ]

        def unrepeated(input_ids: Any, scores: Any) -> Any:
            return self._unrepeated(input_ids, scores, padding)

        def stopped(input_ids: Any, _scores: Any, **_options: Any) -> Any:
            done = [self._says_stop(row) for row in input_ids[:, start:].tolist()]
            return self.torch.tensor(done, device=input_ids.device)

        sampler = self._sampler([draws[i] for i in chosen])
        refused = [unrepeated] if self.options.no_repeat_ngram else []
        with self.torch.inference_mode(), memory_hint(self.torch):
            out = self.model.generate(
                self.torch.tensor(ids, device=self.model.device),
                attention_mask=self.torch.tensor(seen, device=self.model.device),
                generation_config=self._config(),
                logits_processor=LogitsProcessorList([*refused, *([sampler] if sampler else [])]),
                stopping_criteria=StoppingCriteriaList([stopped] if self.stops else []),
            )
        return [self._read(row) for row in out[:, start:].tolist()]

    def _config(self) -> Any:
        from transformers import GenerationConfig

        # Spelled out, or the checkpoint's own defaults (a repetition penalty, say) would come in.
        return GenerationConfig(
            max_new_tokens=self.options.max_tokens,
            do_sample=False,
            num_beams=self.options.num_beams,
            num_return_sequences=self.returned,
            length_penalty=1.0,
            early_stopping=False,
            repetition_penalty=1.0,
            no_repeat_ngram_size=0,
            pad_token_id=self.pad,
            eos_token_id=self.ends or None,
            decoder_start_token_id=getattr(self.model.generation_config, "decoder_start_token_id", None),
        )

    def _says_stop(self, tokens: list[int]) -> bool:
        """Whether a stop string is complete with the last token. Only the end is decoded: texts may be long."""
        if not self.stops:
            return False
        # A token may be a single byte, and the first of them may lose a space.
        enough = max(len(s.encode()) for s in self.stops) + 8
        return self._before_stop(tokens[-enough:]) is not None and self._before_stop(tokens) is not None

    def _before_stop(self, tokens: list[int]) -> str | None:
        return before_stop(self.tokenizer.decode(tokens, skip_special_tokens=True), self.stops)

    def _read(self, tokens: list[int]) -> Generated:
        """The text of a row, without the text after its end."""
        end = next((i for i, token in enumerate(tokens) if token in self.ends), None)
        if end is not None:
            tokens = tokens[: end + 1]
        while end is None and self.stops and tokens and tokens[-1] == self.pad:
            tokens = tokens[:-1]  # a row that has stopped is filled up
        text = self.tokenizer.decode(tokens if end is None else tokens[:end], skip_special_tokens=True)
        cut = before_stop(text, self.stops)
        finish = "length" if end is None and cut is None else "stop"
        return Generated(text if cut is None else cut, len(tokens), finish)


def row_batches(
    prompts: Sequence[Path], chosen: Sequence[int], room: int, budget: int, window: int = UNLIMITED
) -> Iterator[list[tuple[int, Chain]]]:
    """Batches of (index, chain), of at most `budget` tokens to read and to write, no row wider than `window`:
    some models count it by place in the row, padding included."""
    rows = list(shared_chains(prompts, chosen))
    most_kept = max(budget, min(CACHE * budget, CACHE_TOKENS))

    def costs(start: int) -> Iterator[float]:
        """A batch is as wide as its longest row; a further batch passes through the model token by token."""
        kept = rest = 0
        for count, (index, chain) in enumerate(rows[start : start + MOST_ROWS], 1):
            begun = max(chain, default=0)
            kept, rest = max(kept, begun), max(rest, len(prompts[index]) - begun)
            width = kept + rest + room
            if count > 1 and (count * (rest + room) > budget or count * width > most_kept or width > window):
                return
            yield FORWARD * (1 + room) + count * (rest + room + COPY * room * width)

    return (rows[a:b] for a, b in cheapest_cuts(len(rows), costs))


def shared_chains(prompts: Sequence[Path], chosen: Sequence[int]) -> Iterator[tuple[int, Chain]]:
    """The chosen prompts with the beginnings to keep for each, those of one beginning together, long ones first.

    With SHARE_FROM 2: (1, 2, 3, 4), (1, 2, 3, 5), (6,) -> (2, ()), (0, (3,)), (1, (3,))
    """
    order = sorted(chosen, key=lambda i: prompts[i])
    shared = [0, *(common(prompts[a], prompts[b]) for a, b in itertools.pairwise(order))]

    def below(members: list[int], chain: Chain) -> Iterator[tuple[int, Chain]]:
        """`members` are places in `order` that stand on `chain`."""
        kept = max(chain, default=0)
        alone, runs = [], []
        for run in _runs(members, lambda k: shared[k] >= kept + SHARE_FROM):
            # The last token of a prompt is not kept: what follows it is asked of each row.
            deepest = min([*(shared[k] for k in run[1:]), *(len(prompts[order[k]]) - 1 for k in run)])
            if len(run) > 1 and deepest >= kept + SHARE_FROM:
                runs.append((run, deepest))
            else:
                alone += run
        for k in sorted(alone, key=lambda k: -len(prompts[order[k]])):
            yield order[k], chain
        for run, deepest in sorted(runs, key=lambda r: -max(len(prompts[order[k]]) for k in r[0])):
            yield from below(run, (*chain, deepest))

    return below(list(range(len(order))), ())


def _runs(members: Sequence[int], joined: Callable[[int], bool]) -> Iterator[list[int]]:
    """Cut before each member that is not joined to the one before it."""
    run = list(members[:1])
    for member in members[1:]:
        if not joined(member):
            yield run
            run = []
        run.append(member)
    if run:
        yield run


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
        chosen = self.torch.full_like(scores, float("-inf"))
        for row, token in enumerate(self.draw(scores, range(len(scores)))):
            chosen[row, token] = 0
        return chosen

    def draw(self, scores: Any, rows: Sequence[int]) -> list[int]:
        """The next token of each row; `rows` says which of the names each is of."""
        # In double precision on the CPU, so that the draw is the same on every device.
        probabilities = (scores.float().cpu().double() / self.temperature).softmax(-1)
        return [self._draw(p, self.streams[row].random()) for p, row in zip(probabilities, rows, strict=True)]

    def _draw(self, probabilities: Any, uniform: float) -> int:
        # To sort the whole vocabulary takes longer than to predict it, and most of it is never drawn.
        likely = (probabilities >= LIKELY).nonzero()[:, 0]
        token = self._draw_among(likely, probabilities, uniform)
        everything = self.torch.arange(len(probabilities))
        return token if token is not None else self._draw_among(everything, probabilities, uniform) or 0

    def _draw_among(self, tokens: Any, probabilities: Any, uniform: float) -> int | None:
        """The token drawn, None if it may be one that is not among them."""
        if not len(tokens):
            return None
        ordered, order = probabilities[tokens].sort(descending=True, stable=True)
        cumulative = ordered.cumsum(-1)
        # The nucleus: the fewest of the most likely tokens that make up top_p.
        last = min(int(self.torch.searchsorted(cumulative, self.top_p)), len(tokens) - 1)
        weight = float(cumulative[last])
        some = len(tokens) < len(probabilities)
        if some and weight < self.top_p:
            if self.top_p < 1:
                return None
            weight = 1.0
        place = int(self.torch.searchsorted(cumulative, uniform * weight, right=True))
        return None if some and place > last else int(tokens[order[min(place, last)]])


def end_ids(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a text: those of the checkpoint, which may know more of them than the tokenizer."""
    known = getattr(model.generation_config, "eos_token_id", None)
    listed = known if isinstance(known, list) else [known]
    return sorted({int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None})


def _padded(ids: Sequence[int], width: int, value: int, on_left: bool) -> list[int]:
    padding = [value] * (width - len(ids))
    return [*padding, *ids] if on_left else [*ids, *padding]


def draw_name(seed: int, replicate: int, prompt: str) -> str:
    """The prompt is part of it: with the same numbers for all prompts, variants would agree by construction."""
    return f"{seed}/{replicate}/{prompt}"
