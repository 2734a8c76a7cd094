"""Doing what a plan says: train what is missing, evaluate what is not evaluated yet."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unwaver.answers.domains import read_domains
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder, stored
from unwaver.engine.runs import go
from unwaver.errors import DataError, StoreFull, UsageError
from unwaver.files import read_rows
from unwaver.study.plan import Evaluation, Job, StudyPlan
from unwaver.study.sides import Condition, Side
from unwaver.study.victims import depth
from unwaver.study.workers import side_by_side
from unwaver.suites.library import library
from unwaver.suites.select import cases
from unwaver.train.base import is_text_to_text, open_base
from unwaver.train.data import labelled
from unwaver.train.finetune import is_trained, train
from unwaver.train.own_bases import identity_of, model_name
from unwaver.train.setup import task_and_form


@dataclass(frozen=True)
class StudyModel:
    """A trained model of the study, and the runs that evaluated it."""

    base: str
    condition: Condition
    tasks: tuple[str, ...]
    seed: int
    folder: Path
    runs: tuple[Path, ...]

    @property
    def side(self) -> Side:
        return Side(self.base, self.condition.setting, self.condition.fraction)


def work(
    plan: StudyPlan, out: Path, console: Console, *, data_dir: str | None, device: str | None, workers: int = 1
) -> list[StudyModel]:
    """All models of the plan, trained and evaluated; what is there already is taken as it is."""
    jobs = list(plan.jobs(out, data_dir, device))
    checked: set[str] = set()
    for job in jobs:  # what is wrong is said before anything is trained
        for seed in range(job.seeds if plan.draw_by_seed else 1):
            job.setup.at(seed).check()
        for task in job.tasks:
            if task not in checked:
                _check_evaluations(plan, task, job)
            checked.add(task)
    if workers > 1:
        _side_by_side(plan, jobs, out, console, workers)
        console = replace(console, say=_quiet)  # all is there: what follows only looks
    models = []
    for n, job in enumerate(jobs, 1):
        console.say(f"{n} of {len(jobs)}: {job.place.relative_to(out)}")
        made = train(job.setup, job.place, range(job.seeds), say=_quiet, track=console.track)
        for each in made:
            runs = tuple(_evaluated(plan, job, each.folder, out, console))
            models.append(StudyModel(job.base, job.condition, job.tasks, each.seed, each.folder, runs))
            _give_back_memory()
    return models


def _side_by_side(plan: StudyPlan, jobs: Sequence[Job], out: Path, console: Console, workers: int) -> None:
    """Those that need another model after it, the longest first; each model is one call."""
    longest = sorted(jobs, key=lambda job: -job.rows)
    depths = {job.place: depth(plan.settings[job.condition.setting], plan.settings) for job in jobs}
    with console.track("models", sum(job.seeds for job in jobs)) as progress:

        def done(arguments: tuple[Any, ...]) -> None:
            job, seed = arguments[1:3]
            console.say(f"{job.place.relative_to(out)}/seed{seed}")
            progress(1)

        for level in sorted(set(depths.values())):
            some = [job for job in longest if depths[job.place] == level]
            calls = [(plan, _fresh(job), seed, out) for job in some for seed in range(job.seeds)]
            missing = [call for call in calls if not _is_there(*call)]
            progress(len(calls) - len(missing))
            side_by_side(one_model, missing, workers, done)


def _is_there(plan: StudyPlan, job: Job, seed: int, out: Path) -> bool:
    """Trained and evaluated: to start a process that finds nothing to do takes seconds."""
    model = job.place / f"seed{seed}"
    return is_trained(job.setup, job.place, seed) and all(
        _is_done(place, config, model) for place, config in _evaluations(plan, job, model, out)
    )


def _fresh(job: Job) -> Job:
    """Without the data that it has read: another process reads them itself."""
    return replace(job, setup=replace(job.setup))


def one_model(plan: StudyPlan, job: Job, seed: int, out: Path) -> None:
    (made,) = train(job.setup, job.place, [seed])
    for _ in _evaluated(plan, job, made.folder, out, Console()):
        pass


def _check_evaluations(plan: StudyPlan, task: str, job: Job) -> None:
    """All can be asked, and none twice: it would count as another seed."""
    known: set[str] = set()
    for evaluation in plan.tasks[task].evaluate:
        config = _config(plan, job, task, evaluation, job.place)
        options = {"data_dir": _data_folder(job), "task": config.task, "variants": config.variants}
        for case in cases(config.suites, options):
            if case.name in known:
                hint = f"tasks.{task}.evaluate: leave one out, or give one of two files another name"
                raise DataError(f"{case.name} would be measured twice", file=plan.file, hint=hint)
            known.add(case.name)


def _data_folder(job: Job) -> Path | None:
    return Path(job.setup.data_dir).expanduser() if job.setup.data_dir else None


def _give_back_memory() -> None:
    """glibc keeps what tensors of ever other sizes have left in pieces: gigabytes over a long study."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _quiet(_: str) -> None:
    pass


def _evaluations(plan: StudyPlan, job: Job, model: Path, out: Path) -> Iterator[tuple[Path, Config]]:
    """The folder of each run that evaluates a model, and what it asks."""
    for task in job.tasks:
        for n, evaluation in enumerate(plan.tasks[task].evaluate):
            parent = out / "runs" / model.relative_to(out / "models")
            config = _config(plan, job, task, evaluation, model)
            place = parent / f"{task_and_form(task)[0].name}-{n}-{config.id[:6]}"  # another limit is another run
            yield place, replace(config, out=str(place))


def _evaluated(plan: StudyPlan, job: Job, model: Path, out: Path, console: Console) -> Iterator[Path]:
    for place, config in _evaluations(plan, job, model, out):
        if not _is_done(place, config, model):
            go(config, console)
            if not _is_done(place, config, model):
                hint = "run the same command again to continue"
                raise StoreFull("an evaluation was not finished", file=place, hint=hint)
        yield place


def _config(plan: StudyPlan, job: Job, task: str, evaluation: Evaluation, model: Path) -> Config:
    general: dict[str, Any] = {
        "limit": plan.limit,
        "data_dir": job.setup.data_dir,
        "device": job.setup.device,
        "method": _method(plan, job, task),
    }
    models = (model_name(model),)
    if evaluation.suite:
        base = plan.base_accuracy and evaluation.has_base
        given = dict(evaluation.options)
        if "domain" in given:
            given["domain"] = read_domains(given["domain"])
        return Config((evaluation.suite,), models, base_accuracy=base, **general, **given)
    chosen = task_and_form(task)[0]
    files = library(_data_folder(job))
    file = labelled(chosen, evaluation.split, files).file
    name = task if task.endswith(".toml") else chosen.name
    return Config((file,), models, task=name, variants=evaluation.variants, **general)


def _method(plan: StudyPlan, job: Job, task: str) -> str | None:
    """Only a model that writes has a choice of methods."""
    method = plan.method_of(plan.settings[job.condition.setting], task)
    if method is None:
        return None
    config = open_base(job.base)[1]
    if not is_text_to_text(config, job.setup.head):
        hint = "leave method out, or give it to settings and tasks of a text-to-text model (T5) only"
        raise UsageError(f"method {method}: {job.base} is trained to classify", file=plan.file, hint=hint)
    return method


def _is_done(place: Path, config: Config, model: Path) -> bool:
    """Scores are there, of this question and of these weights, and nothing was left out."""
    if not (place / folder.SCORES).exists() or not (place / folder.RUN).exists():
        return False
    record = stored.read_run(place)
    if dict(record["config"].get("domain") or {}) != dict(config.domain):  # other averages of the same answers
        return False
    same = record.get("id") == config.id and record["models"][0].get("identity") == identity_of(model)
    asked_base = not config.base_accuracy or record["config"].get("base_accuracy", False)  # not part of the id
    return same and asked_base and not record.get("spent", {}).get("stopped")


def answers_to_test(model: StudyModel) -> list[dict[str, Any]]:
    """What the model said to the rows of the test set: task, id, cluster, label, gold."""
    from unwaver.train.finetune import TEST

    path = model.folder / TEST
    if not path.exists() or not path.stat().st_size:
        return []
    return [dict(row.cells) for row in read_rows(path, required=("task", "id", "cluster", "label", "gold"))]
