"""Settings of a study whose adversarial samples are to fool models of another setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from unwaver.errors import near
from unwaver.study.checker import Checker
from unwaver.train.attack import RECIPES

if TYPE_CHECKING:
    from unwaver.study.plan import Setting, StudyPlan


def depth(setting: Setting, settings: Mapping[str, Setting]) -> int:
    """How many models of the study must be there before: 0 of a plain one, 1 of one that starts from it."""
    needed = [str(setting.start).partition("/")[0]] if setting.start else []
    needed += [setting.victim] if setting.victim else []
    return max((1 + depth(settings[name], settings) for name in needed if name in settings), default=0)


def check_settings_of_victims(plan: StudyPlan, check: Checker) -> None:
    for setting in plan.settings.values():
        if setting.training.get("adversarial") in RECIPES:
            _check(setting, plan, check)


def _check(setting: Setting, plan: StudyPlan, check: Checker) -> None:
    where = f"settings.{setting.name}.victim"
    if setting.victim is None:
        hint = 'name the setting whose models are attacked: victim = "single"'
        raise check.error(f"{where} is missing: {setting.training['adversarial']} attacks a model", hint)
    other = plan.settings.get(setting.victim)
    if other is None:
        if "/" not in setting.victim:
            hint = f"{near(setting.victim, plan.settings)}; a model is named by its path"
            raise check.error(f"{where}: there is no setting {setting.victim}", hint)
        return
    if other.training.get("adversarial") or other.start:
        hint = "name a setting that trains from the base, without adversarial samples"
        raise check.error(f"{where}: {other.name} cannot be a victim", hint)
    _check_covered(setting, other, plan, check, where)


def _check_covered(setting: Setting, other: Setting, plan: StudyPlan, check: Checker, where: str) -> None:
    """The victim has a model for each task, fraction and seed."""
    tasks = setting.tasks or tuple(plan.tasks)
    if setting.together and not other.together:
        hint = "name a setting that has one model for all tasks, or attack one task at a time"
        raise check.error(f"{where}: {other.name} has a model for each task, {setting.name} one for all", hint)
    if missing := [task for task in tasks if task not in (other.tasks or tuple(plan.tasks))]:
        raise check.error(f"{where}: {other.name} is not trained on {missing[0]}", f"add it to {other.name}")
    if lacking := set(setting.fractions) - set(other.fractions):
        hint = f"give {setting.name} the fractions of {other.name}"
        raise check.error(f"{where}: {other.name} is not trained on the fraction {min(lacking):g}", hint)
    for task in tasks:
        seeds, there = plan.seeds_of(setting, task), plan.seeds_of(other, task)
        if there < seeds:
            hint = f"give {setting.name} at most {there} seeds"
            raise check.error(f"{where}: {other.name} has {there} seeds of {task}, {setting.name} {seeds}", hint)
