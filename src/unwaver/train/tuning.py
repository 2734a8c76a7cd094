"""One training from its first step, or from its last checkpoint, to the best epoch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unwaver.console import Progress
from unwaver.engine.folder import write_whole
from unwaver.errors import UsageError
from unwaver.train.base import load_classifier, load_multi_task, load_text_to_text
from unwaver.train.recipes import Recipe
from unwaver.train.rows import EncodedRow, diverged

EVALUATION_BATCH = 64
SCORE = "score"  # the one label of a head that scores alternatives
_CHECKPOINT = ("*.safetensors", "optimizer.pt", "scheduler.pt", "rng_state*")


@dataclass(frozen=True)
class Tuning:
    """What decides the weights, apart from the rows; `labels` by task, in the order of the heads."""

    base: str
    labels: Mapping[str, Sequence[str]]
    recipe: Recipe
    seed: int
    text_to_text: bool
    multi_task: bool
    consistency: float
    device: str | None
    checkpoints: Path
    chooses: bool = False  # one number for each alternative
    begin: Callable[[int], Any] | None = None  # a model of our own, by its seed

    def tune(
        self,
        rows: Sequence[EncodedRow],
        held: Sequence[EncodedRow],
        padding: int,
        track: Callable[[int], AbstractContextManager[Progress]],
        *,
        save_seconds: float,
        resumed: Callable[[int, int], None],
    ) -> tuple[Any, float]:
        """The tuned model and how many epochs it took. `resumed` hears of (steps done, all steps)."""
        import torch
        from transformers import EarlyStoppingCallback, PrinterCallback

        from unwaver.train.loop import Collate, Tuner, Watch

        with torch.random.fork_rng(devices=[]):
            model = self._start()
            last = last_checkpoint(self.checkpoints)
            steps = _steps(rows, self.recipe)
            done = int(last.name.rpartition("-")[2]) if last else 0
            if last:
                resumed(done, steps)
            with track(steps - done) as progress:
                tuner = Tuner(
                    model=model,
                    args=self._arguments(),
                    size=self.recipe.batch,
                    consistency=self.consistency,
                    train_dataset=rows,
                    eval_dataset=held,
                    data_collator=Collate(padding),
                    compute_metrics=None if self.text_to_text else partial(_accuracy, multi=self.multi_task),
                    callbacks=[
                        EarlyStoppingCallback(early_stopping_patience=self.recipe.patience),
                        Watch(progress, save_seconds),
                    ],
                )
                tuner.remove_callback(PrinterCallback)
                tuner.train(resume_from_checkpoint=str(last) if last else None)
            return tuner.model, float(tuner.state.epoch or 0)

    def _start(self) -> Any:
        if self.begin is not None:
            return self.begin(self.seed)
        if self.text_to_text:
            return load_text_to_text(self.base, self.seed)
        if self.multi_task:
            return load_multi_task(self.base, self.labels, self.seed)
        return load_classifier(self.base, [SCORE] if self.chooses else next(iter(self.labels.values())), self.seed)

    def _arguments(self) -> Any:
        from transformers import TrainingArguments

        return TrainingArguments(
            output_dir=str(self.checkpoints),
            per_device_train_batch_size=self.recipe.batch,
            per_device_eval_batch_size=EVALUATION_BATCH,
            learning_rate=self.recipe.lr,
            num_train_epochs=self.recipe.epochs,
            weight_decay=self.recipe.weight_decay,
            lr_scheduler_type="linear",
            warmup_steps=self.recipe.warmup,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,  # the best one stays beside the last
            load_best_model_at_end=True,
            metric_for_best_model="loss" if self.text_to_text else "accuracy",
            greater_is_better=not self.text_to_text,
            prediction_loss_only=self.text_to_text,
            label_names=["labels", "task"] if self.multi_task else ["labels"],
            seed=self.seed,
            use_cpu=self.device == "cpu",
            restore_callback_states_from_checkpoint=True,
            remove_unused_columns=False,
            dataloader_pin_memory=False,
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )


def own_checkpoints(folder: Path, id: str) -> None:
    """Make the folder, or check that the checkpoints in it are those of this training."""
    mark = folder / "id"
    known = mark.read_text().strip() if mark.is_file() else ""
    if known != id and any(folder.glob("checkpoint-*")):
        raise UsageError(
            "these are checkpoints of another training", file=folder, hint="choose another --out, or delete them"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(mark, id + "\n")


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole: its state, which is written last, can be read, and nothing is
    missing from when others were deleted."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda p: -int(p.name.rpartition("-")[2]))
    for place in found:
        try:
            json.loads((place / "trainer_state.json").read_text(encoding="utf-8"))
            if all(any(place.glob(files)) for files in _CHECKPOINT):
                return place
        except (OSError, ValueError):
            pass
        shutil.rmtree(place)
    return None


def _steps(rows: Sequence[EncodedRow], recipe: Recipe) -> int:
    counts = np.bincount([row.get("task", 0) for row in rows])
    return int(np.ceil(counts / recipe.batch).sum()) * recipe.epochs


def _accuracy(found: Any, multi: bool) -> dict[str, float]:
    """The mean of the tasks' accuracies: a large task does not decide alone when to stop."""
    if not np.isfinite(found.predictions).all():
        raise diverged()
    labels, tasks = found.label_ids if multi else (found.label_ids, np.zeros(len(found.label_ids), int))
    right = found.predictions.argmax(-1) == labels
    return {"accuracy": float(np.mean([right[tasks == t].mean() for t in np.unique(tasks)]))}
