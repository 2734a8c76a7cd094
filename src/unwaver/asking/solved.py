"""Solved examples before a question: the same for all questions of one task and form."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from unwaver.config import Config
from unwaver.suites.select import Selection
from unwaver.suites.shots import shots
from unwaver.tasks import T5, T5_CALM, Form, Task
from unwaver.tasks.prompts import prompt_of
from unwaver.types import Item


class Solved:
    """Prompts with `--shots` examples of the same suite, or with those of `--shots-from`."""

    def __init__(
        self,
        config: Config,
        selection: Selection,
        tasks: Callable[[str], Task],
        form: Callable[[Item], Form],
    ):
        self._config, self._selection, self._tasks, self._form = config, selection, tasks, form
        self._shots: dict[tuple[str, str], list[tuple[Item, str]]] = {}

    def prompt(self, item: Item, form: Form) -> str:
        if self._config.shots_from:
            return str(self._pooled.prompt(item, form))
        key = (item.task, item.template)
        if key not in self._shots:
            self._shots[key] = self._of(*key)
        return prompt_of(item, form, self._shots[key])

    def _of(self, task: str, template: str) -> list[tuple[Item, str]]:
        count, seed = self._config.shots, self._config.seed
        if template not in (T5, T5_CALM):
            return shots(count, self._selection, task, template, seed)
        from unwaver.tasks.t5 import in_t5_form, plain_template

        plain = shots(count, self._selection, task, plain_template(template), seed)
        return [(in_t5_form(item, self._tasks(task)), label) for item, label in plain]

    @cached_property
    def _pooled(self) -> Any:
        from unwaver.suites.pooled_shots import Pooled

        return Pooled(self._config, self._selection, self._form)
