"""The plan of a study, from a TOML file: bases × tasks × seeds × fractions × settings, and their evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from unwaver.errors import ModelError, UsageError, near
from unwaver.files import read_toml
from unwaver.study.checker import EXAMPLE, TRAINING, Checker
from unwaver.study.plan_file import StudyRecord
from unwaver.study.sides import (
    Comparison,
    Condition,
    Families,
    SidesReader,
    TaskComparison,
    read_families,
)
from unwaver.study.victims import check_settings_of_victims, depth
from unwaver.train.setup import ALL, Setup, task_and_form
from unwaver.typed import typed


@dataclass(frozen=True)
class Evaluation:
    """A suite by name, perhaps with a writer of paraphrases, or variants made of a split of the task: swapped test
    rows. `options` are fields of Config."""

    suite: str = ""
    split: str = ""
    variants: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def has_base(self) -> bool:
        """Sets of BECEL are made from a part of a split."""
        return self.suite.partition("/")[0] == "becel"


@dataclass(frozen=True)
class TaskPlan:
    name: str
    train: str = "train"
    test: str | None = None
    rows: int | None = None
    form: str | None = None
    method: str | None = None  # by which text-to-text models answer when they are evaluated
    evaluate: tuple[Evaluation, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One way to train. `tasks` are those it is for; `start` names the setting and the task it starts from."""

    name: str
    fractions: tuple[float, ...]
    multi_task: bool = False
    tasks: tuple[str, ...] = ()
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start: str | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)  # by task, "*": all
    pool: bool = False
    form: Mapping[str, str] = field(default_factory=dict)  # by task, "*": all
    method: Mapping[str, str] = field(default_factory=dict)  # the same
    attack: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # fields, by task

    @property
    def together(self) -> bool:
        """All its tasks are in one model."""
        return self.multi_task or self.pool

    @property
    def victim(self) -> str | None:
        """The model that its samples are to fool: a setting of the study, or a model by its path."""
        found: str | None = self.training.get("victim")
        return found

    @property
    def is_plain(self) -> bool:
        """One task at a time, on its rows as they are."""
        more = self.together or self.start or any(self.variants.values()) or self.training.get("adversarial")
        return not more


@dataclass(frozen=True)
class Job:
    """One training, for all seeds."""

    base: str
    condition: Condition
    tasks: tuple[str, ...]
    setup: Setup
    place: Path
    seeds: int

    @property
    def rows(self) -> int:
        """That are trained on."""
        return sum(len(part.divided[0]) for part in self.setup.parts)


@dataclass(frozen=True)
class StudyPlan:
    file: Path
    bases: tuple[str, ...]
    tasks: Mapping[str, TaskPlan]
    settings: Mapping[str, Setting]
    seeds: int = 1
    limit: int | None = None
    compare: tuple[Comparison, ...] = ()
    compare_tasks: tuple[TaskComparison, ...] = ()
    families: Families = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    draw_by_seed: bool = False
    base_accuracy: bool = False
    form: Mapping[str, str] = field(default_factory=dict)  # by task, "*": all
    method: Mapping[str, str] = field(default_factory=dict)  # the same

    @property
    def fractions(self) -> list[float]:
        """All that some setting is trained on, the largest first."""
        return sorted({f for setting in self.settings.values() for f in setting.fractions}, reverse=True)

    def jobs(self, out: Path, data_dir: str | None, device: str | None) -> Iterator[Job]:
        """Those that need a model of the study come after those that do not."""
        for setting in sorted(self.settings.values(), key=lambda s: depth(s, self.settings)):
            tasks = setting.tasks or tuple(self.tasks)
            for base in self.bases:
                for fraction in setting.fractions:
                    condition = Condition(setting.name, fraction)
                    for some in [tasks] if setting.together else [(task,) for task in tasks]:
                        place = self._place(out, base, condition, some, setting.together)
                        options = self._setup(out, base, condition, setting, some)
                        setup = Setup(**options, data_dir=data_dir, device=device)
                        yield Job(base, condition, some, setup, place, self.seeds_of(setting, some[0]))

    def seeds_of(self, setting: Setting, task: str) -> int:
        return setting.seeds.get(task, setting.seeds.get(ALL, self.seeds))

    def form_of(self, setting: Setting, task: str) -> str | None:
        """What a setting says goes before what a task says, and that before the study."""
        return _first(task, setting.form, {task: self.tasks[task].form or ""}, self.form)

    def method_of(self, setting: Setting, task: str) -> str | None:
        """By which a text-to-text model is evaluated; None is its own way."""
        return _first(task, setting.method, {task: self.tasks[task].method or ""}, self.method)

    def _form_of_start(self, out: Path, base: str, condition: Condition, setting: Setting) -> str | None:
        """The form in which the start of a setting is trained: it is not there yet."""
        if setting.start is None:
            return None
        name, _, task = setting.start.partition("/")
        other = self.settings[name]
        tasks = (task,) if task else other.tasks or tuple(self.tasks)
        options = self._setup(out, base, Condition(name, condition.fraction), other, tasks)
        try:
            forms = {Setup(**options).task_in_form(each)[1] for each in tasks}
        except ModelError:  # of a base that is not there: said when it is opened to be trained
            return None
        return forms.pop() if len(forms) == 1 else ""

    def size_of(self, base: str) -> str:
        """The name of its size; empty if the study names none: all its bases are then of one."""
        return self._known_as(base)[1]

    def family_of(self, base: str) -> str:
        return self._known_as(base)[0]

    def _known_as(self, base: str) -> tuple[str, str]:
        named = ((f, size) for f, sizes in self.families.items() for size, name in sizes.items() if name == base)
        return next(named, ("", ""))

    def _place(self, out: Path, base: str, condition: Condition, tasks: Sequence[str], together: bool) -> Path:
        place = out / "models" / folder_name(base) / f"{condition.fraction:g}" / condition.setting
        return place if together else place / folder_name(tasks[0])

    def _setup(
        self, out: Path, base: str, condition: Condition, setting: Setting, tasks: tuple[str, ...]
    ) -> dict[str, Any]:
        start = base
        if setting.start is not None:
            other, _, task = setting.start.partition("/")
            place = self._place(out, base, Condition(other, condition.fraction), (task,), not task)
            start = str(place / "seed{seed}")
        plans = {task_and_form(task)[0].name: self.tasks[task] for task in tasks}
        forms = {name: self.form_of(setting, p.name) for name, p in plans.items()}
        variants, attack = (
            {name: chosen for name, p in plans.items() if (chosen := by_task.get(p.name, by_task.get(ALL, ())))}
            for by_task in (setting.variants, setting.attack)
        )
        return {
            "tasks": tasks,
            "base": start,
            "multi_task": setting.multi_task,
            "pool": setting.pool,
            "form": {name: form for name, form in forms.items() if form},
            "start_form": self._form_of_start(out, base, condition, setting),
            "train_split": {name: p.train for name, p in plans.items()},
            "test_split": {name: p.test for name, p in plans.items() if p.test},
            "rows": {name: p.rows for name, p in plans.items() if p.rows},
            "fraction": condition.fraction,
            "variants": variants,
            "attack": attack,
            "draw_by_seed": self.draw_by_seed,
            **self.training,
            **setting.training,
            **self._victim(out, base, condition, setting, tasks),
        }

    def _victim(
        self, out: Path, base: str, condition: Condition, setting: Setting, tasks: tuple[str, ...]
    ) -> dict[str, str]:
        """The model of the victim's setting with the same base, fraction, task and seed."""
        other = self.settings.get(setting.victim or "")
        if other is None:
            return {}
        place = self._place(out, base, Condition(other.name, condition.fraction), tasks, other.together)
        return {"victim": str(place / "seed{seed}")}


def _first(task: str, *tables: Mapping[str, str]) -> str | None:
    """What the first of several tables says of a task, or of all."""
    said = (table.get(task) or table.get(ALL) for table in tables)
    return next((text for text in said if text), None)


def folder_name(text: str) -> str:
    """folder_name("package/gt_all") -> "package-gt_all"."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


# --- reading ------------------------------------------------------------------------------------------------


def read_plan(path: Path) -> StudyPlan:
    found = read_toml(path, "study", EXAMPLE)
    typed(StudyRecord, found, path, "docs/train.md describes each key" if len(found) > 2 else EXAMPLE)
    check = Checker(path)
    tasks = {name: _task(name, entry, check) for name, entry in found["tasks"].items()}
    check.training(found, "")
    fractions = _shares(found.get("fractions", [1.0]))
    settings = {name: _setting(name, entry, tasks, fractions, check) for name, entry in found["settings"].items()}
    bases = _bases(found["bases"], check)
    families = read_families(found.get("families", {}), bases, check)
    by_seed, paired = found.get("draw_by_seed", False), found.get("paired", False)
    fractions_of = {name: setting.fractions for name, setting in settings.items()}
    reader = SidesReader(check, bases, list(tasks), fractions_of, families, paired)
    compare, compare_tasks = reader.read(found.get("compare", []))
    if not by_seed and (paired or any(c.paired for c in compare)):
        hint = "add draw_by_seed = true, or leave paired out: Welch's test needs nothing in common"
        raise check.error("paired: all seeds have the same training rows, so a seed's two sides share none", hint)
    plan = StudyPlan(
        file=path,
        bases=bases,
        tasks=tasks,
        settings=settings,
        seeds=found.get("seeds", 1),
        limit=found.get("limit"),
        compare=compare,
        compare_tasks=compare_tasks,
        families=families,
        training={key: found[key] for key in TRAINING if key in found},
        draw_by_seed=by_seed,
        base_accuracy=_base_accuracy(found, tasks, check),
        form=_of_tasks(found, "form", tasks, "", check),
        method=_of_tasks(found, "method", tasks, "", check),
    )
    _check_starts(plan, check)
    check_settings_of_victims(plan, check)
    return plan


def _shares(found: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, found))


def _bases(found: Sequence[str], check: Checker) -> tuple[str, ...]:
    """Each has a folder of its own."""
    bases = tuple(found)
    folders = [folder_name(base) for base in bases]
    for base, folder in zip(bases, folders, strict=True):
        if folders.count(folder) > 1:
            raise check.error(f"bases: {base} is named twice", "name each base once; - and / count as the same")
    return bases


def _base_accuracy(found: Mapping[str, Any], tasks: Mapping[str, TaskPlan], check: Checker) -> bool:
    wanted: bool = found.get("base_accuracy", False)
    if wanted and not any(e.has_base for task in tasks.values() for e in task.evaluate):
        hint = 'evaluate a task on sets of becel, evaluate = ["becel/snli"], or leave base_accuracy out'
        raise check.error("base_accuracy: nothing in this study has a base split", hint)
    return wanted


def _task(name: str, entry: Mapping[str, Any], check: Checker) -> TaskPlan:
    where = f"tasks.{name}"
    task_and_form(name)  # says what is known
    for key in ("form", "method"):
        check.by_task(entry, key, f"{where}.")
    evaluate = [_evaluation(each, where, check) for each in entry.get("evaluate", [])]
    if len(set(evaluate)) < len(evaluate):
        raise check.error(f"{where}.evaluate: the same is named twice", "name each once")
    plain = {f.name: entry[f.name] for f in fields(TaskPlan) if f.name in entry and f.name != "evaluate"}
    return TaskPlan(name, **plain, evaluate=tuple(evaluate))


def _evaluation(entry: Any, where: str, check: Checker) -> Evaluation:
    if isinstance(entry, str):
        return Evaluation(suite=entry)
    if "suite" in entry:
        return _suite_evaluation(entry, f"{where}.evaluate", check)
    if not entry.get("split") or not entry.get("variants"):
        raise check.error(f"{where}.evaluate: needs split and variants", '{ split = "test", variants = ["swap"] }')
    return Evaluation(split=entry["split"], variants=tuple(entry["variants"]))


def _suite_evaluation(entry: Mapping[str, Any], where: str, check: Checker) -> Evaluation:
    """{ suite = "sensitivity/mnli", writer = "rules", k = 5, domain = "mnli=in,snli=out" }"""
    from unwaver.answers.domains import read_domains

    if strange := [key for key in ("split", "variants") if key in entry]:
        raise check.error(f"{where}: suite and {strange[0]} cannot be combined", "give one of the two")
    given: dict[str, Any] = {key: entry[key] for key in ("writer", "k") if key in entry}
    if "domain" in entry:
        try:
            read_domains(entry["domain"])
        except UsageError as e:
            raise check.error(f"{where}.domain: {e.message}", 'domain = "mnli=in,snli=out"') from None
        given["domain"] = entry["domain"]
    return Evaluation(suite=entry["suite"], options=tuple(given.items()))


def _setting(
    name: str,
    entry: Mapping[str, Any],
    tasks: Mapping[str, TaskPlan],
    fractions: tuple[float, ...],
    check: Checker,
) -> Setting:
    where = f"settings.{name}"
    if not re.fullmatch(r"[\w-]+", name):
        raise check.error(f"{where}: a setting is named by letters, digits, - and _")
    check.training(entry, f"{where}.")
    chosen = entry.get("tasks", [])
    variants, attack = (_by_task(entry, key, tasks, where, check) for key in ("variants", "attack"))
    for task in chosen:
        if task not in tasks:
            raise check.error(f"{where}: {task} is not a task of this study", near(task, tasks))
    return Setting(
        name,
        _shares(entry.get("fractions", fractions)),
        entry.get("multi_task", False),
        tuple(chosen),
        variants,
        entry.get("start"),
        {key: entry[key] for key in TRAINING if key in entry},
        _seeds_of_setting(where, entry, chosen or list(tasks), check),
        entry.get("pool", False),
        _of_tasks(entry, "form", tasks, f"{where}.", check),
        _of_tasks(entry, "method", tasks, f"{where}.", check),
        attack,
    )


def _of_tasks(
    entry: Mapping[str, Any], key: str, tasks: Mapping[str, TaskPlan], where: str, check: Checker
) -> dict[str, str]:
    """A text for all tasks, or one for each of some, which the study has."""
    found = check.by_task(entry, key, where)
    for task in set(found) - {ALL, *tasks}:
        raise check.error(f"{where}{key}: {task} is not a task of this study", near(task, tasks))
    return found


def _by_task(
    entry: Mapping[str, Any], key: str, tasks: Mapping[str, TaskPlan], where: str, check: Checker
) -> dict[str, tuple[str, ...]]:
    """A list for all tasks, or one for each of some."""
    found = entry.get(key, {})
    by_task = {ALL: found} if isinstance(found, list) else found
    for task in by_task:
        if task not in tasks and task != ALL:
            raise check.error(f"{where}: {task} is not a task of this study", near(task, tasks))
    return {task: tuple(names) for task, names in by_task.items()}


def _seeds_of_setting(
    where: str, entry: Mapping[str, Any], tasks: Sequence[str], check: Checker
) -> dict[str, int]:
    """A number, or one for each of some tasks; a model of several tasks has one number."""
    if "seeds" not in entry:
        return {}
    if not isinstance(entry["seeds"], dict):
        return {ALL: entry["seeds"]}
    if entry.get("multi_task") or entry.get("pool"):
        raise check.error(f"{where}.seeds: one model has all tasks", "write one number: seeds = 5")
    for task in entry["seeds"]:
        if task not in tasks:
            raise check.error(f"{where}.seeds: {task} is not a task of this setting", near(task, tasks))
    return dict(entry["seeds"])


def _check_starts(plan: StudyPlan, check: Checker) -> None:
    settings = plan.settings
    for setting in settings.values():
        if setting.start is None:
            continue
        where = f"settings.{setting.name}.start"
        other, _, task = str(setting.start).partition("/")
        if other not in settings or settings[other].start is not None:
            raise check.error(f"{where}: there is no setting {other}", near(other, settings))
        of_other = settings[other].tasks or tuple(plan.tasks)
        if settings[other].together != (not task) or (task and task not in of_other):
            hint = f'a multi-task or pooled setting by its name, any other as "{other}/TASK"'
            raise check.error(f"{where}: {setting.start} names no model", hint)
        if missing := set(setting.fractions) - set(settings[other].fractions):
            hint = f"give {setting.name} the fractions of {other}"
            raise check.error(f"{where}: {other} is not trained on the fraction {min(missing):g}", hint)
        most = max(plan.seeds_of(setting, name) for name in setting.tasks or plan.tasks)
        if (there := plan.seeds_of(settings[other], task)) < most:
            hint = f"give {setting.name} at most {there} seeds, or {setting.start} {most}"
            raise check.error(f"{where}: {setting.start} has {there} seeds, {setting.name} {most}", hint)
