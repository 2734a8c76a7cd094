"""The plan of a study, from a TOML file: bases × tasks × seeds × fractions × settings, and their evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from unwaver.checked import is_number
from unwaver.errors import DataError, near
from unwaver.files import read_toml
from unwaver.models.trained import check_form
from unwaver.train.adversarial import WAYS
from unwaver.train.recipes import NAMES as RECIPES
from unwaver.train.setup import ALL, Setup, task_and_form

_EXAMPLE = 'write bases = ["PATH"], a table [tasks.mrpc] and a table [settings.single]; docs/train.md shows one'
# of a setting, handed to the training as they are
TRAINING = (
    "recipe", "lr", "batch", "epochs", "length", "patience", "share", "consistency", "writer", "antonyms", "lang",
    "adversarial", "samples", "bar", "encoder", "masked_lm", "test_rows",
)  # fmt: skip
_WHOLE = ("batch", "epochs", "length", "patience", "samples", "test_rows")
_NUMBERS = ("lr", "share", "consistency", "bar")
_TOP = ("bases", "seeds", "fractions", "limit", "compare", "tasks", "settings", "test_rows", *TRAINING[:6])
_OF_TASK = ("train", "test", "rows", "form", "evaluate")
_OF_SETTING = ("multi_task", "tasks", "fractions", "variants", "start", *TRAINING)
_OF_EVALUATION = ("split", "variants")


@dataclass(frozen=True)
class Evaluation:
    """A suite by name, or variants made of a split of the task: swapped test rows."""

    suite: str = ""
    split: str = ""
    variants: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskPlan:
    name: str
    train: str = "train"
    test: str | None = None
    rows: int | None = None
    form: str | None = None
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


@dataclass(frozen=True)
class Condition:
    """What models are compared by: a setting at a fraction of the data."""

    setting: str
    fraction: float


@dataclass(frozen=True)
class Job:
    """One training, for all seeds."""

    base: str
    condition: Condition
    tasks: tuple[str, ...]
    setup: Setup
    place: Path

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
    compare: tuple[tuple[Condition, Condition], ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fractions(self) -> list[float]:
        """All that some setting is trained on, the largest first."""
        return sorted({f for setting in self.settings.values() for f in setting.fractions}, reverse=True)

    def jobs(self, out: Path, data_dir: str | None, device: str | None) -> Iterator[Job]:
        """Those that start from a model of the study come after all others."""
        for setting in sorted(self.settings.values(), key=lambda s: s.start is not None):
            tasks = setting.tasks or tuple(self.tasks)
            for base in self.bases:
                for fraction in setting.fractions:
                    condition = Condition(setting.name, fraction)
                    for some in [tasks] if setting.multi_task else [(task,) for task in tasks]:
                        place = self._place(out, base, condition, some, setting.multi_task)
                        options = self._setup(out, base, condition, setting, some)
                        setup = Setup(**options, data_dir=data_dir, device=device)
                        yield Job(base, condition, some, setup, place)

    def _place(self, out: Path, base: str, condition: Condition, tasks: Sequence[str], multi_task: bool) -> Path:
        place = out / "models" / folder_name(base) / f"{condition.fraction:g}" / condition.setting
        return place if multi_task else place / folder_name(tasks[0])

    def _setup(
        self, out: Path, base: str, condition: Condition, setting: Setting, tasks: tuple[str, ...]
    ) -> dict[str, Any]:
        start = base
        if setting.start is not None:
            other, _, task = setting.start.partition("/")
            place = self._place(out, base, Condition(other, condition.fraction), (task,), not task)
            start = str(place / "seed{seed}")
        plans = {task_and_form(task)[0].name: self.tasks[task] for task in tasks}
        variants = {name: setting.variants.get(p.name, setting.variants.get(ALL, ())) for name, p in plans.items()}
        return {
            "tasks": tasks,
            "base": start,
            "multi_task": setting.multi_task,
            "form": {name: p.form for name, p in plans.items() if p.form},
            "train_split": {name: p.train for name, p in plans.items()},
            "test_split": {name: p.test for name, p in plans.items() if p.test},
            "rows": {name: p.rows for name, p in plans.items() if p.rows},
            "fraction": condition.fraction,
            "variants": {name: chosen for name, chosen in variants.items() if chosen},
            **self.training,
            **setting.training,
        }


def folder_name(text: str) -> str:
    """folder_name("package/gt_all") -> "package-gt_all"."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


# --- reading ------------------------------------------------------------------------------------------------


def read_plan(path: Path) -> StudyPlan:
    found = read_toml(path, "study", _EXAMPLE)
    check = _Checker(path)
    check.keys(found, _TOP, "the study")
    for key in ("bases", "tasks", "settings"):
        if not found.get(key):
            raise DataError(f"it has no {key}", file=path, hint=_EXAMPLE)
    tasks = {
        name: _task(name, check.table(entry, f"tasks.{name}"), check)
        for name, entry in check.table(found["tasks"], "tasks").items()
    }
    check.training(found, "")
    check.above_zero(found, ("limit",), "")
    fractions = check.fractions(found.get("fractions", [1.0]), "fractions")
    settings = {
        name: _setting(name, check.table(entry, f"settings.{name}"), tasks, fractions, check)
        for name, entry in check.table(found["settings"], "settings").items()
    }
    _check_starts(settings, tasks, check)
    seeds = check.typed(found.get("seeds", 1), int, "seeds")
    if seeds < 1:
        raise check.error(f"seeds is at least 1, found {seeds}")
    return StudyPlan(
        file=path,
        bases=tuple(check.texts(found["bases"], "bases")),
        tasks=tasks,
        settings=settings,
        seeds=seeds,
        limit=found.get("limit"),
        compare=_comparisons(found.get("compare", []), settings, check),
        training={key: found[key] for key in TRAINING if key in found},
    )


@dataclass(frozen=True)
class _Checker:
    file: Path

    def error(self, message: str, hint: str = _EXAMPLE) -> DataError:
        return DataError(message, file=self.file, hint=hint)

    def keys(self, entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        if strange := sorted(set(entry) - set(known)):
            raise self.error(f"{where}: unknown key {strange[0]!r}", near(strange[0], known))

    def table(self, value: Any, where: str) -> dict[str, Any]:
        return dict(self.typed(value, dict, where))

    def typed(self, value: Any, kind: type, where: str) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise self.error(f"{where}: found {value!r}, expected {_KINDS[kind]}")
        return value

    def texts(self, value: Any, where: str) -> list[str]:
        found = self.typed(value, list, where)
        if not all(isinstance(v, str) and v for v in found):
            raise self.error(f"{where}: found {value!r}, expected a list of texts")
        return list(found)

    def above_zero(self, entry: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
        for key in keys:
            if key in entry and (type(entry[key]) is not int or entry[key] < 1):
                raise self.error(f"{where}{key}: found {entry[key]!r}, expected a whole number, 1 or more")

    def training(self, entry: Mapping[str, Any], where: str) -> None:
        """What is handed to the training: numbers are numbers, and names are known."""
        self.above_zero(entry, _WHOLE, where)
        for key in TRAINING:
            value = entry.get(key)
            if value is None or key in _WHOLE:
                continue
            if key in _NUMBERS and not is_number(value):
                raise self.error(f"{where}{key}: found {value!r}, expected a number")
            if key not in _NUMBERS:
                self.typed(value, str, f"{where}{key}")
        for key, known in (("recipe", RECIPES), ("adversarial", WAYS)):
            if key in entry and entry[key] not in known:
                raise self.error(f"{where}{key}: found {entry[key]!r}", near(entry[key], known))

    def fractions(self, value: Any, where: str) -> tuple[float, ...]:
        found = self.typed(value, list, where)
        if not found or not all(type(f) in (int, float) and 0 < f <= 1 for f in found):
            raise self.error(f"{where}: found {value!r}, expected numbers above 0, at most 1", "[0.25, 1.0]")
        return tuple(float(f) for f in found)


_KINDS = {dict: "a table", list: "a list", int: "a whole number", str: "a text", bool: "true or false"}


def _task(name: str, entry: Mapping[str, Any], check: _Checker) -> TaskPlan:
    where = f"tasks.{name}"
    check.keys(entry, _OF_TASK, where)
    task_and_form(name)  # says what is known
    for key in ("train", "test", "form"):
        check.typed(entry.get(key, ""), str, f"{where}.{key}")
    check.above_zero(entry, ("rows",), f"{where}.")
    if entry.get("form"):
        check_form(entry["form"])
    evaluate = [_evaluation(e, where, check) for e in check.typed(entry.get("evaluate", []), list, where)]
    if len(set(evaluate)) < len(evaluate):
        raise check.error(f"{where}.evaluate: the same is named twice", "name each once")
    plain = {f.name: entry[f.name] for f in fields(TaskPlan) if f.name in entry and f.name != "evaluate"}
    return TaskPlan(name, **plain, evaluate=tuple(evaluate))


def _evaluation(entry: Any, where: str, check: _Checker) -> Evaluation:
    if isinstance(entry, str):
        return Evaluation(suite=entry)
    check.keys(check.table(entry, f"{where}.evaluate"), _OF_EVALUATION, f"{where}.evaluate")
    if not isinstance(entry.get("split"), str) or not entry["split"] or not entry.get("variants"):
        raise check.error(f"{where}.evaluate: needs split and variants", '{ split = "test", variants = ["swap"] }')
    return Evaluation(split=entry["split"], variants=tuple(check.texts(entry["variants"], f"{where}.evaluate")))


def _setting(
    name: str,
    entry: Mapping[str, Any],
    tasks: Mapping[str, TaskPlan],
    fractions: tuple[float, ...],
    check: _Checker,
) -> Setting:
    where = f"settings.{name}"
    if not re.fullmatch(r"[\w-]+", name):
        raise check.error(f"{where}: a setting is named by letters, digits, - and _")
    check.keys(entry, _OF_SETTING, where)
    check.training(entry, f"{where}.")
    check.typed(entry.get("start", ""), str, f"{where}.start")
    chosen = check.texts(entry.get("tasks", []), f"{where}.tasks")
    variants = entry.get("variants", {})
    by_task = {ALL: variants} if isinstance(variants, list) else check.table(variants, f"{where}.variants")
    for task in [*chosen, *(set(by_task) - {ALL})]:
        if task not in tasks:
            raise check.error(f"{where}: {task} is no task of this study", near(task, tasks))
    return Setting(
        name,
        check.fractions(entry.get("fractions", list(fractions)), f"{where}.fractions"),
        check.typed(entry.get("multi_task", False), bool, f"{where}.multi_task"),
        tuple(chosen),
        {task: tuple(check.texts(names, f"{where}.variants")) for task, names in by_task.items()},
        entry.get("start"),
        {key: entry[key] for key in TRAINING if key in entry},
    )


def _check_starts(settings: Mapping[str, Setting], tasks: Mapping[str, TaskPlan], check: _Checker) -> None:
    for setting in settings.values():
        if setting.start is None:
            continue
        other, _, task = str(setting.start).partition("/")
        if other not in settings or settings[other].start is not None:
            raise check.error(f"settings.{setting.name}.start: there is no setting {other}", near(other, settings))
        if settings[other].multi_task != (not task) or (task and task not in (settings[other].tasks or tasks)):
            hint = f'a multi-task setting by its name, any other as "{other}/TASK"'
            raise check.error(f"settings.{setting.name}.start: {setting.start} names no model", hint)
        if missing := set(setting.fractions) - set(settings[other].fractions):
            hint = f"give {setting.name} the fractions of {other}"
            raise check.error(f"settings.{setting.name}.start: {other} is not trained on {min(missing):g}", hint)


def _comparisons(
    found: Any, settings: Mapping[str, Setting], check: _Checker
) -> tuple[tuple[Condition, Condition], ...]:
    def condition(text: Any) -> Condition:
        name, _, fraction = str(text).partition("@")
        if name not in settings:
            raise check.error(f"compare: there is no setting {name}", near(name, settings))
        try:
            share = float(fraction) if fraction else max(settings[name].fractions)
        except ValueError:
            share = -1.0
        if share not in settings[name].fractions:
            raise check.error(f"compare: {text} is at no fraction of this setting", 'write "single@0.25"')
        return Condition(name, share)

    made = []
    for pair in check.typed(found, list, "compare"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise check.error(f"compare: found {pair!r}, expected two settings", '[["single", "multi"]]')
        made.append((condition(pair[0]), condition(pair[1])))
    return tuple(made)
