"""Sequence classifiers: one text or a pair in, the log-probability of each label of the task out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unwaver.errors import ModelError
from unwaver.models.hf_common import (
    check_vocabulary,
    folder_errors,
    import_torch,
    in_threads,
    length_batches,
    pick_device,
    pick_dtype,
    token_limit,
)
from unwaver.models.pretrained import pretrained
from unwaver.models.trained import Trained
from unwaver.types import Answer, Batch, Request

# on a CPU several batches are read at a time
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 1024, 65536


@folder_errors
class Classifier:
    method = "classify"
    reads = ("segments",)
    deterministic = True

    def __init__(
        self,
        path: str,
        name: str,
        identity: str,
        *,
        map: Mapping[str, str],
        batch_tokens: int | None,
        device: str | None,
        dtype: str | None,
        revision: str | None,
        trust_remote_code: bool,
        trained: Trained | None = None,
    ):
        self.trained = trained
        self.name, self.identity = name, identity
        self._path, self._map, self._batch_tokens = path, dict(map), batch_tokens
        self._loading: dict[str, Any] = {"revision": revision, "trust_remote_code": trust_remote_code}
        self._torch = import_torch()
        self._device = pick_device(self._torch, device)
        self._dtype = pick_dtype(self._torch, self._device, dtype)
        self.settings: dict[str, object] = {
            "map": self._map,
            "dtype": str(self._dtype).removeprefix("torch."),
        }
        self._tokenizer = self._load("AutoTokenizer")
        check_vocabulary(self._tokenizer, path)
        self._config = self._load("AutoConfig")
        self._limit = token_limit(self._tokenizer, self._config)
        self._joined: dict[tuple[str, tuple[str, ...]], list[list[int]]] = {}
        self._model: Any = None

    def check(self, requests: Sequence[Request]) -> None:
        """Raise now, not after an hour, if the model's labels cannot be joined to those of a task."""
        for task, choices in {(r.task, r.choices) for r in requests}:
            self._columns(task, choices)

    def count_tokens(self, requests: Sequence[Request]) -> int:
        return sum(len(ids) for ids in self._encode(requests)["input_ids"])

    def load(self) -> None:
        if self._model is None and self.trained is not None and self.trained.heads:
            self._model = self._load_heads(self.trained).to(self._device).eval()
        elif self._model is None:
            model, found = self._load(
                "AutoModelForSequenceClassification", dtype=self._dtype, output_loading_info=True
            )
            if missing := sorted(found["missing_keys"]):  # transformers would fill them with random numbers
                raise ModelError(
                    f"{self._path} lacks {len(missing)} of its weights: {', '.join(missing[:3])} …",
                    hint="is it a trained classifier, and is the folder complete?",
                )
            self._model = model.to(self._device).eval()

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.check(requests)
        for batch in self.outputs(requests):
            logits = np.array([row for _, row, _ in batch], dtype=np.float64)
            logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
            yield [
                (i, self._as_answer(requests[i], row, cut)) for (i, _, cut), row in zip(batch, logs, strict=True)
            ]

    def outputs(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, np.ndarray, bool]]]:
        """Batches of (index of the request, what the model's head says, whether the text was cut)."""
        self.load()
        encoded = self._encode(requests)
        budget = self._batch_tokens or (CPU_BATCH_TOKENS if self._device == "cpu" else GPU_BATCH_TOKENS)

        def read(indices: list[int]) -> np.ndarray:
            return self._logits(encoded, indices, [requests[i].task for i in indices])

        batches = length_batches([len(ids) for ids in encoded["input_ids"]], budget)
        for indices, rows in in_threads(read, batches, self._torch, self._device):
            yield [(i, row, i in encoded["truncated"]) for i, row in zip(indices, rows, strict=True)]

    def close(self) -> None:
        self._model = None

    def _encode(self, requests: Sequence[Request]) -> dict[str, Any]:
        pairs = [r.segments for r in requests]
        widths = {len(p) for p in pairs}
        if not widths <= {1, 2}:
            raise ModelError(
                "a classifier reads one text or a pair, this item has " + str(max(widths)),
                hint="give the task `segments` of one or two texts",
            )
        encoded: dict[str, Any] = {"truncated": set()}
        for width in widths:
            rows = [i for i, p in enumerate(pairs) if len(p) == width]
            texts = [[pairs[i][side] for i in rows] for side in range(width)]
            for name, values in self._tokenize(texts, encoded["truncated"], rows).items():
                column = encoded.setdefault(name, [None] * len(pairs))
                for i, value in zip(rows, values, strict=True):
                    column[i] = value
        return encoded

    def _tokenize(self, texts: list[list[str]], truncated: set[int], rows: list[int]) -> dict[str, Any]:
        columns: dict[str, Any] = dict(self._tokenizer(*texts, truncation=False, verbose=False))
        too_long = [k for k, ids in enumerate(columns["input_ids"]) if len(ids) > self._limit]
        if too_long:
            cut = self._tokenizer(
                *[[side[k] for k in too_long] for side in texts], truncation=True, max_length=self._limit
            )
            for name, column in columns.items():
                for k, value in zip(too_long, cut[name], strict=True):
                    column[k] = value
            truncated.update(rows[k] for k in too_long)
        return columns

    def _logits(self, encoded: Mapping[str, Any], indices: list[int], tasks: list[str]) -> np.ndarray:
        torch = self._torch
        width = max(len(encoded["input_ids"][i]) for i in indices)
        inputs = {}
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            if name not in encoded:
                continue
            padding = self._tokenizer.pad_token_id or 0 if name == "input_ids" else 0
            rows = np.full((len(indices), width), padding, dtype=np.int64)
            for row, i in zip(rows, indices, strict=True):
                row[: len(encoded[name][i])] = encoded[name][i]
            inputs[name] = torch.from_numpy(rows).to(self._device)
        if self.trained is not None and self.trained.heads:
            places = {task: n for n, task in enumerate(self.trained.tasks)}
            inputs["task"] = torch.tensor([places[task] for task in tasks], device=self._device)
        try:
            with torch.inference_mode():
                logits = self._model(**inputs).logits
        except torch.OutOfMemoryError as e:
            raise ModelError(
                f"out of memory on {self._device} with {len(indices)} texts of {width} tokens",
                hint="try a smaller --model-arg batch_tokens=…",
            ) from e
        found: np.ndarray = logits.float().cpu().numpy()
        return found

    def _as_answer(self, request: Request, logs: np.ndarray, truncated: bool) -> Answer:
        columns = self._columns(request.task, request.choices)
        # several labels of the model may stand for one of the task: their probabilities are summed
        summed = [float(np.logaddexp.reduce(logs[c])) for c in columns]
        return Answer(logprobs=tuple(summed), truncated=truncated)

    def _columns(self, task: str, choices: tuple[str, ...]) -> list[list[int]]:
        """For each choice the model's labels that mean it."""
        if (task, choices) not in self._joined:
            known = self._labels(task)
            self._joined[task, choices] = joined_labels(task, choices, known, self._map)
        return self._joined[task, choices]

    def _labels(self, task: str) -> dict[int, str]:
        """The model's labels by their numbers, or those of the head that a task has."""
        if self.trained is None or not self.trained.heads:
            return {int(i): str(label) for i, label in self._config.id2label.items()}
        if task not in self.trained.tasks:
            present = ", ".join(self.trained.tasks)
            raise ModelError(
                f"{self.name} has no head for {task}; it has {present}",
                hint=f"ask it about {present}, or train one with {task} too: unwaver train --multi-task",
            )
        return dict(enumerate(self.trained.tasks[task]["labels"]))

    def _load_heads(self, trained: Trained) -> Any:
        from unwaver.models.hf_heads import load_heads

        labels = {task: entry["labels"] for task, entry in trained.tasks.items()}
        return self._guarded(lambda: load_heads(self._path, labels, dtype=self._dtype))

    def _load(self, auto_class: str, **options: Any) -> Any:
        return self._guarded(lambda: pretrained(auto_class, self._path, **self._loading, **options))

    def _guarded(self, load: Callable[[], Any]) -> Any:
        try:
            return load()
        except (ModelError, MemoryError):
            raise
        except Exception as e:  # transformers raises many kinds for one broken folder
            first_line = str(e).strip().split("\n", 1)[0][:300]
            raise ModelError(
                f"{self._path} cannot be loaded: {first_line}",
                hint="if the model folder is damaged or incomplete, copy or download it again",
            ) from e


def joined_labels(
    task: str, choices: Sequence[str], model_labels: Mapping[int, str], mapping: Mapping[str, str]
) -> list[list[int]]:
    """Which of the model's labels stand for each choice, by `--map` where it names one, else by name.

    choices (entailment, not_entailment), model {0: "entailment", 1: "neutral"}, map {neutral: not_entailment}
    -> [[0], [1]]. Of several targets (not_entailment|weakener) the one that the task has.
    """
    places = {_plain(c): k for k, c in enumerate(choices)}
    given = {_plain(k): [_plain(v) for v in several.split("|")] for k, several in mapping.items()}
    columns: list[list[int]] = [[] for _ in choices]
    unplaced = []
    for index, label in model_labels.items():
        target = next((t for t in given.get(_plain(label), ()) if t in places), _plain(label))
        place = places.get(target)
        if place is None:
            unplaced.append(label)
        else:
            columns[place].append(index)
    empty = [c for c, found in zip(choices, columns, strict=True) if not found]
    if unplaced or empty:
        model_side, task_side = ", ".join(model_labels.values()), ", ".join(choices)
        unmapped = (unplaced or list(model_labels.values()))[: 1 if len(empty) > 1 else None]
        example = " ".join(f"--map {label}={(empty or list(choices))[-1]}" for label in unmapped)
        raise ModelError(
            f"the model's labels ({model_side}) do not match those of {task} ({task_side})",
            hint=f"say which means which, once for each: {example}",
        )
    return columns


def _plain(label: str) -> str:
    return label.strip().casefold().replace("-", "_").replace(" ", "_")
