"""transformers' Trainer with what it cannot do by itself: batches of one task and of similar length, pairs of an
original and a variant, and the consistency loss between the two.

Imported only when something is trained: torch and transformers are heavy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, kl_div, log_softmax
from torch.utils.data import DataLoader, Sampler
from transformers import Trainer, TrainerCallback

from unwaver.train.rows import EncodedRow, diverged

NO_LABEL = -100  # what torch leaves out of a loss
POOL = 50  # batches whose rows are sorted by length together


class Batches(Sampler[list[int]]):  # type: ignore[misc]
    """Row numbers in batches, another order in each epoch: rows of one task, of about one length, in random order.

    A random order is cut into pools; in a pool rows are sorted by length, and its batches are shuffled again.
    """

    def __init__(self, lengths: Sequence[int], tasks: Sequence[int], size: int, seed: int):
        self._lengths, self._tasks = np.asarray(lengths), np.asarray(tasks)
        self._size, self._seed, self._epoch = size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __len__(self) -> int:
        counts = np.bincount(self._tasks)
        return int(np.ceil(counts / self._size).sum())

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng([self._seed, self._epoch])
        batches: list[list[int]] = []
        for task in np.unique(self._tasks):
            order = random.permutation(np.flatnonzero(self._tasks == task))
            for start in range(0, len(order), self._size * POOL):
                pool = order[start : start + self._size * POOL]
                pool = pool[np.argsort(self._lengths[pool], kind="stable")]
                batches += [pool[k : k + self._size].tolist() for k in range(0, len(pool), self._size)]
        for n in random.permutation(len(batches)):
            yield batches[n]


class Collate:
    """Rows to tensors, padded: the originals first, then the variants that some of them have. Alternatives make a
    third dimension.

    `pair_of` says for each variant the row of its original, where both must be answered alike, else -1.
    """

    def __init__(self, padding: int):
        self._padding = padding

    def __call__(self, rows: Sequence[EncodedRow]) -> dict[str, Any]:
        variants = [(n, row["variant"], row["alike"]) for n, row in enumerate(rows) if row.get("variant")]
        everything = [*rows, *(variant for _, variant, _ in variants)]
        texts = [text for row in everything for text in row.get("alternatives", [row])]
        batch: dict[str, Any] = {
            name: _padded([text[name] for text in texts], self._padding if name == "input_ids" else 0)
            for name in ("input_ids", "attention_mask", "token_type_ids")
            if name in texts[0]
        }
        if "alternatives" in rows[0]:
            batch = {name: table.view(len(everything), -1, table.shape[-1]) for name, table in batch.items()}
        labels = [row["labels"] for row in everything]
        batch["labels"] = _padded(labels, NO_LABEL) if isinstance(labels[0], list) else torch.tensor(labels)
        if "task" in rows[0]:
            batch["task"] = torch.tensor([row["task"] for row in everything])
        if variants:
            batch["pair_of"] = torch.tensor([n if alike else -1 for n, _, alike in variants])
        return batch


def _padded(values: Sequence[Sequence[int]], padding: int) -> Any:
    table = np.full((len(values), max(map(len, values))), padding, dtype=np.int64)
    for line, row in zip(table, values, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


def length_of(row: EncodedRow) -> int:
    texts = [text for each in (row, row.get("variant")) if each for text in each.get("alternatives", [each])]
    return max(len(text["input_ids"]) for text in texts)


def consistency_loss(logits: Any, pair_of: Any) -> Any:
    """The mean of ½D(p‖q) + ½D(q‖p), in nats, over pairs of an original and a variant that must be alike.

    The last rows are the variants; (0.5, 0.5) beside (0.9, 0.1) -> 0.4394.
    """
    alike = pair_of >= 0
    if not bool(alike.any()):
        return logits.sum() * 0.0
    logs = log_softmax(logits, dim=-1)
    original, variant = logs[pair_of[alike]], logs[len(logs) - len(pair_of) :][alike]
    forward = kl_div(variant, original, log_target=True, reduction="batchmean")
    back = kl_div(original, variant, log_target=True, reduction="batchmean")
    return (forward + back) / 2


def logits_of(model: Any, inputs: dict[str, Any]) -> Any:
    """One row an input. Of alternatives (three dimensions) each is read alone, and its number is a column."""
    ids = inputs["input_ids"]
    if ids.ndim == 2:
        return model(**inputs).logits
    flat = {name: value.reshape(-1, value.shape[-1]) for name, value in inputs.items()}
    return model(**flat).logits.reshape(ids.shape[0], ids.shape[1])


class Tuner(Trainer):  # type: ignore[misc]
    """`consistency` is the weight of the consistency loss beside that of the labels."""

    loss_is_scaled_for_ga = False

    def __init__(self, *, size: int, consistency: float = 0.0, **options: Any):
        super().__init__(**options)
        self._size, self._consistency = size, consistency

    def compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        inputs = dict(inputs)
        pair_of = inputs.pop("pair_of", None)
        labels = inputs["labels"]
        if labels.ndim == 2:  # text to text: the model itself makes what its decoder reads of the labels
            outputs = model(**inputs)
            loss, logits = outputs.loss, outputs.logits
        else:
            del inputs["labels"]
            logits = logits_of(model, inputs)
            loss = cross_entropy(logits, labels, ignore_index=NO_LABEL)
            if pair_of is not None and self._consistency:
                loss = loss + self._consistency * consistency_loss(logits, pair_of)
        return (loss, {"loss": loss, "logits": logits}) if return_outputs else loss

    def training_step(self, *inputs: Any, **options: Any) -> Any:
        loss = super().training_step(*inputs, **options)
        if not bool(torch.isfinite(loss)):
            raise diverged()
        return loss

    def get_train_dataloader(self) -> Any:
        rows = self.train_dataset
        batches = Batches(
            [length_of(r) for r in rows], [r.get("task", 0) for r in rows], self._size, self.args.seed
        )
        return self.accelerator.prepare(DataLoader(rows, batch_sampler=batches, collate_fn=self.data_collator))


class Watch(TrainerCallback):  # type: ignore[misc]
    """Tells of every step, and saves a checkpoint at a fixed interval, so that a kill costs little."""

    def __init__(self, progress: Callable[[int], None], seconds: float):
        self._progress, self._seconds, self._saved = progress, seconds, time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress(1)
        # the end of an epoch is saved anyway, once the hold-out is measured: not before it
        ends_epoch = state.global_step % max(1, state.max_steps // int(args.num_train_epochs)) == 0
        if time.monotonic() - self._saved >= self._seconds and not ends_epoch:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        self._saved = time.monotonic()
