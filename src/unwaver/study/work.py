"""Doing what a plan says: train what is missing, evaluate what is not evaluated yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unwaver import folder
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import Run
from unwaver.loaders import library
from unwaver.models.hf_common import folder_identity
from unwaver.study.plan import Condition, Evaluation, Job, Plan
from unwaver.train.data import labelled
from unwaver.train.finetune import train
from unwaver.train.setup import named


@dataclass(frozen=True)
class Model:
    """A trained model of the study, and the runs that evaluated it."""

    base: str
    condition: Condition
    tasks: tuple[str, ...]
    seed: int
    folder: Path
    runs: tuple[Path, ...]


def work(plan: Plan, out: Path, console: Console, *, data_dir: str | None, device: str | None) -> list[Model]:
    """All models of the plan, trained and evaluated; what is there already is taken as it is."""
    jobs = list(plan.jobs(out, data_dir, device))
    for job in jobs:  # what is wrong with the data is said before anything is trained
        _ = job.setup.parts
    models = []
    for n, job in enumerate(jobs, 1):
        console.say(f"{n} of {len(jobs)}: {job.place.relative_to(out)}")
        made = train(job.setup, job.place, range(plan.seeds), say=_quiet, track=console.track)
        for each in made:
            runs = tuple(_evaluated(plan, job, each.folder, out, console))
            models.append(Model(job.base, job.condition, job.tasks, each.seed, each.folder, runs))
    return models


def _quiet(_: str) -> None:
    pass


def _evaluated(plan: Plan, job: Job, model: Path, out: Path, console: Console) -> Iterator[Path]:
    for task in job.tasks:
        for n, evaluation in enumerate(plan.tasks[task].evaluate):
            place = out / "runs" / model.relative_to(out / "models") / f"{named(task)[0].name}-{n}"
            config = _config(plan, job, task, evaluation, model, place)
            if not _is_done(place, config, model):
                Run(config, console).go()
            yield place


def _config(plan: Plan, job: Job, task: str, evaluation: Evaluation, model: Path, place: Path) -> Config:
    general: dict[str, Any] = {
        "limit": plan.limit,
        "data_dir": job.setup.data_dir,
        "device": job.setup.device,
        "out": str(place),
    }
    models = (f"hf/{model}",)
    if evaluation.suite:
        return Config((evaluation.suite,), models, **general)
    chosen = named(task)[0]
    files = library(Path(job.setup.data_dir) if job.setup.data_dir else None)
    file = labelled(chosen, evaluation.split, files).file
    return Config((file,), models, task=task.rpartition("/")[2], variants=evaluation.variants, **general)


def _is_done(place: Path, config: Config, model: Path) -> bool:
    """Scores are there, of this question and of these weights, and nothing was left out."""
    if not (place / folder.SCORES).exists() or not (place / folder.RUN).exists():
        return False
    record = folder.read_run(place)
    same = record.get("id") == config.id and record["models"][0].get("identity") == folder_identity(model)
    return same and not record.get("spent", {}).get("stopped")


def answers_to_test(model: Model) -> list[dict[str, Any]]:
    """What the model said to the rows of the test set: task, id, cluster, label, gold."""
    from unwaver.train.finetune import TEST

    path = model.folder / TEST
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
