"""Log-probabilities of continuations from any Hugging Face causal model, shared beginnings read once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.prefix import UNLIMITED, Path, Step, TokenRow, plain_steps, shared_steps

HEAD_ROWS = 128  # predictions over the whole vocabulary computed at once


@dataclass(frozen=True, slots=True)
class Want:
    """A continuation to score: the summed log-probability of `continuation` after `context`."""

    context: Path
    continuation: Path

    @property
    def path(self) -> Path:
        return self.context + self.continuation[:-1]


class Scorer:
    """Scores wants with a loaded model. `shares`: whether beginnings are shared or every path is read whole."""

    def __init__(self, torch: Any, model: Any, budget: int, share: bool = True):
        self.torch = torch
        self.model = model
        self.budget = budget
        self.device = model.get_input_embeddings().weight.device
        self.window = attention_window(model.config)
        self.shares = share and self.window > 0 and self._sharing_is_exact()

    def logprobs(self, wants: Sequence[Want]) -> Iterator[list[tuple[int, float]]]:
        """Batches of (index of the want, log-probability), in the order in which they are done."""
        paths = sorted({w.path for w in wants})
        short = [p for p in paths if self.shares and len(p) <= self.window]
        long = [p for p in paths if not self.shares or len(p) > self.window]
        apart, together = _Ledger(long, wants), _Ledger(short, wants)
        for step, logits, at in self._run(plain_steps(long, apart.first, self.budget), tree=False):
            yield apart.enter(self.torch, step, logits, at)
        # Rows stay inside the window too: some models count it by place in the row.
        for step, logits, at in self._run(
            shared_steps(short, together.first, self.budget, self.window), tree=True
        ):
            yield together.enter(self.torch, step, logits, at)

    def _run(self, steps: Iterator[Step], tree: bool) -> Iterator[tuple[Step, Any, dict[tuple[int, int], int]]]:
        """Each step with the predictions wanted and where to find (row, place in the row) among them."""
        kept: dict[int, Any] = {0: None}
        for step in steps:
            for deeper in [n for n in kept if n > step.kept]:
                del kept[deeper]
            places = sorted({(r, place) for r, row in enumerate(step.rows) for _, _, place in row.reads})
            logits, cache = self._forward(step, kept[step.kept], places, tree)
            if step.keep:
                kept[step.kept + len(step.rows[0].tokens)] = cache
            yield step, logits, {where: i for i, where in enumerate(places)}

    def _forward(self, step: Step, past: Any, places: list[tuple[int, int]], tree: bool) -> tuple[Any, Any]:
        torch = self.torch
        width = max(len(row.tokens) for row in step.rows)
        inputs: dict[str, Any] = {"input_ids": self._padded([row.tokens for row in step.rows], width)}
        cache = None
        if tree:
            inputs["position_ids"] = self._padded([row.depth for row in step.rows], width) + step.kept
            inputs["attention_mask"] = self._mask(step, width)
            if past is not None or step.keep:
                cache = forked(past, len(step.rows))
        # Without a tree nothing but padding on the right is in the way, which a causal model never sees.
        with torch.inference_mode(), only_places(torch, self.model, places) as restore, memory_hint(torch):
            out = self.model(**inputs, past_key_values=cache, use_cache=cache is not None)
            return restore(out.logits), cache

    def _padded(self, rows: list[list[int]], width: int) -> Any:
        full = [row + [0] * (width - len(row)) for row in rows]
        return self.torch.tensor(full, dtype=self.torch.long, device=self.device)

    def _mask(self, step: Step, width: int) -> Any:
        """0 if a token may look, the least number elsewhere: at what is kept, its ancestors and itself."""
        torch = self.torch
        # Padding sees itself: a row of the mask without any 0 is a division by zero in some kernels.
        ends = [row.end + list(range(len(row.end) + 1, width + 1)) for row in step.rows]
        end = torch.tensor(ends, device=self.device)[:, None, None, :]
        at = torch.arange(width, device=self.device)
        sees = (at[None, :] <= at[:, None]) & (at[:, None] < end)
        dtype = self.model.get_input_embeddings().weight.dtype
        mask = torch.zeros(len(step.rows), 1, width, step.kept + width, dtype=dtype, device=self.device)
        mask[..., step.kept :].masked_fill_(~sees, torch.finfo(dtype).min)
        return mask

    def _sharing_is_exact(self) -> bool:
        """Whether the model gives the same predictions for a tree as path by path: tried, not looked up.

        Models with a recurrent state, with positions of their own making or without a cache of plain keys
        and values do not, or raise.
        """
        parameters = inspect.signature(self.model.forward).parameters
        if not {"position_ids", "past_key_values", "attention_mask"} <= set(parameters):
            return False
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        ids = [(7 * i + 3) % vocabulary for i in range(12)]
        paths = sorted({(*ids[:6],), (*ids[:6], ids[7]), (*ids[:6], ids[8], ids[9]), (*ids[:3], ids[1])})
        beginning = TokenRow(ids[:2], [0, 1], [2, 2], [])
        first = [2] * len(paths)
        steps = [Step(0, [beginning], keep=True)]
        for step in shared_steps([p[2:] for p in paths], [0] * len(paths), 64):
            rows = [TokenRow(r.tokens, r.depth, r.end, [(p, i + 2, w) for p, i, w in r.reads]) for r in step.rows]
            steps.append(Step(2, [*rows, *rows]))
        try:
            tree = self._predictions(iter(steps), True)
            plain = self._predictions(plain_steps(paths, first, 64), False)
        except ModelError:
            raise
        except Exception:
            return False
        tolerance = 1e-3 if self.model.dtype == self.torch.float32 else 0.1
        return tree.keys() == plain.keys() and all(
            bool(self.torch.allclose(tree[k], plain[k], atol=tolerance, rtol=tolerance)) for k in tree
        )

    def _predictions(self, steps: Iterator[Step], tree: bool) -> dict[tuple[int, int], Any]:
        found = {}
        for step, logits, at in self._run(steps, tree):
            for r, row in enumerate(step.rows):
                for path, place, where in row.reads:
                    found[path, place] = logits[at[r, where]].float().log_softmax(-1).exp()
        return found


class _Ledger:
    """Which wants wait for which readings of which path, and what has come in."""

    def __init__(self, paths: Sequence[Path], wants: Sequence[Want]):
        number = {p: i for i, p in enumerate(paths)}
        self.wants = wants
        self.of_path: list[list[int]] = [[] for _ in paths]
        self.missing: dict[int, int] = {}
        self.sums: dict[int, float] = {}
        for w, want in enumerate(wants):
            p = number.get(want.path)
            if p is not None:
                self.of_path[p].append(w)
                self.missing[w] = len(want.continuation)
                self.sums[w] = 0.0
        self.first = [min(len(wants[w].context) - 1 for w in ws) for ws in self.of_path]

    def enter(
        self, torch: Any, step: Step, logits: Any, at: dict[tuple[int, int], int]
    ) -> list[tuple[int, float]]:
        """Add the readings of a step; the wants that are complete with it."""
        owners: list[int] = []
        rows: list[int] = []
        targets: list[int] = []
        for r, row in enumerate(step.rows):
            for p, place, where in row.reads:
                for w in self.of_path[p]:
                    nth = place - len(self.wants[w].context) + 1
                    if nth >= 0:
                        owners.append(w)
                        rows.append(at[r, where])
                        targets.append(self.wants[w].continuation[nth])
        done = []
        for w, value in zip(owners, target_logprobs(torch, logits, rows, targets), strict=True):
            self.sums[w] += value
            self.missing[w] -= 1
            if self.missing[w] == 0:
                done.append((w, self.sums[w]))
        return done


def target_logprobs(torch: Any, logits: Any, rows: list[int], targets: list[int]) -> list[float]:
    if not rows:
        return []
    with torch.inference_mode():
        total = torch.cat([part.float().logsumexp(-1) for part in logits.split(HEAD_ROWS)])
        row = torch.tensor(rows, device=logits.device)
        target = torch.tensor(targets, device=logits.device)
        values: list[float] = (logits[row, target].float() - total[row]).tolist()
    return values


@contextmanager
def only_places(torch: Any, model: Any, places: list[tuple[int, int]]) -> Iterator[Any]:
    """Let the model's head see the hidden states of `places` only; yields what picks their logits from its output.

    A hook before the head, rather than a call of the parts, so that whatever the model does to its logits
    (scaling, capping) is still done. A model whose head is not known computes all of them.
    """
    head = model.get_output_embeddings()
    row = torch.tensor([r for r, _ in places], dtype=torch.long)
    place = torch.tensor([p for _, p in places], dtype=torch.long)

    if head is None:
        yield lambda logits: logits[row.to(logits.device), place.to(logits.device)]
        return

    def pick(_module: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden = args[0]
        return (hidden[row.to(hidden.device), place.to(hidden.device)][None], *args[1:])

    handle = head.register_forward_pre_hook(pick)
    try:
        yield lambda logits: logits[0]
    finally:
        handle.remove()


def forked(past: Any, rows: int) -> Any:
    """A cache that starts from what `past` holds, once for each row, and leaves `past` as it is."""
    if past is None:
        from transformers import DynamicCache

        return DynamicCache()  # without a config: every layer keeps everything, the mask says what is seen
    fork = copy.copy(past)
    fork.layers = [copy.copy(layer) for layer in past.layers]
    for layer in fork.layers:
        layer.keys = layer.keys.expand(rows, -1, -1, -1)
        layer.values = layer.values.expand(rows, -1, -1, -1)
    return fork


def attention_window(config: Any) -> int:
    """How long a row may be with every token still seen by every later one; 0 if there is no telling.

    A mask of our own replaces the model's: in layers that look back a limited way only it would be wrong.
    """
    text = config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or ())
    if kinds - {"full_attention", "sliding_attention", "chunked_attention", "attention"}:
        return 0
    names = ("sliding_window", "attention_chunk_size", "window_size", "max_position_embeddings", "n_positions")
    limits = [getattr(text, name, None) for name in names]
    return min([limit for limit in limits if isinstance(limit, int) and limit > 0], default=UNLIMITED)


@contextmanager
def memory_hint(torch: Any) -> Iterator[None]:
    """Turn the ways in which PyTorch runs out of memory into one error that says what to do."""
    try:
        yield
    except (RuntimeError, MemoryError) as e:
        text = str(e).lower()
        if isinstance(e, (MemoryError, torch.OutOfMemoryError)) or "memory" in text:
            raise ModelError(
                f"out of memory: {str(e).splitlines()[0] if str(e) else 'no more is available'}",
                hint="smaller batches need less: --model-arg batch_tokens=256",
            ) from e
        raise
