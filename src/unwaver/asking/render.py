"""Items to requests: what a model is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.models.parts import Parts
from unwaver.suites.select import Selection
from unwaver.suites.shots import shots
from unwaver.tasks import Form, Task, known, open_task, prompt_of, segments_of
from unwaver.types import Group, Item, Model, Request


class Renderer:
    """Items to requests: the task's form or the user's template, after the same solved examples for all."""

    def __init__(self, selection: Selection, config: Config):
        self._selection, self._config = selection, config
        own = {name: task for suite in selection.suites for name, task in suite.tasks.items()}
        self.own_tasks = own  # those that are not built in
        self._tasks: Callable[[str], Task] = lambda name: own[name] if name in own else open_task(name)
        self._templates: dict[str, dict[str, Any]] = {}
        if config.template:
            from unwaver.tasks.templates import read_templates

            self._templates = read_templates(Path(config.template))
        for name in self._templates.keys() - {"*", *own, *known()}:
            hint = near(name, {item.task for group in selection.groups for item in group.items})
            raise UsageError(f"[{name}] in the template is no task", file=config.template, hint=hint)
        self._forms: dict[tuple[str, str], Form] = {}
        self._shots: dict[tuple[str, str], list[tuple[Item, str]]] = {}

    def __call__(self, item: Item, model: Model) -> Request:
        trained = Parts(model).trained
        if trained is not None:
            from unwaver.models.trained import in_form

            item = in_form(item, self._tasks(item.task), trained.form(item.task))
        form = self.form(item)
        reads = model.reads
        return Request(
            task=item.task,
            segments=segments_of(item, form) if "segments" in reads else (),
            prompt=self.prompt(item, form) if "prompt" in reads else "",
            choices=item.choices,
            words=_words(item, form),
            item=item.id,  # part of the key only where a model reads it
            template=f"{item.task}{'.' if item.template else ''}{item.template}@{form.version}",
        )

    def shown(self, item: Item) -> dict[str, object]:
        """What a person or another tool needs to answer an item: the texts as models read them."""
        form = self.form(item)
        return {"segments": segments_of(item, form), "prompt": prompt_of(item, form)}

    def form(self, item: Item) -> Form:
        key = (item.task, item.template)
        if key not in self._forms:
            task = self._tasks(item.task)
            self._forms[key] = task.form_of(item)
            if self._templates:
                from unwaver.tasks.templates import with_template

                self._forms[key] = with_template(self._forms[key], task, self._templates)
        return self._forms[key]

    def prompt(self, item: Item, form: Form) -> str:
        key = (item.task, item.template)
        if key not in self._shots:
            self._shots[key] = shots(self._config.shots, self._selection, *key, self._config.seed)
        return prompt_of(item, form, self._shots[key])

    def modified(self, group: Group) -> str:
        """The field that a variant of the group's original changes."""
        return self._tasks(group.items[0].task).modified

    def seen(self, groups: Sequence[Group], model: Model) -> list[str]:
        """The ids of the groups with a text that the model was trained on."""
        trained = Parts(model).trained
        if trained is None:
            return []
        from unwaver.models.trained import seen_groups

        return seen_groups(groups, trained, self._tasks)

    def forms(self, groups: Sequence[Group]) -> dict[tuple[str, str], Form]:
        """How items are laid out, by task and template."""
        items = {(i.task, i.template): i for g in groups for i in g.items}
        return {key: self.form(item) for key, item in items.items()}

    def words(self, groups: Sequence[Group]) -> dict[tuple[str, str], tuple[str, ...]]:
        """What a language model writes for the labels, by task and template."""
        return {key: form.words for key, form in self.forms(groups).items()}


def _words(item: Item, form: Form) -> tuple[str, ...]:
    """The words of the form, or the labels themselves where an item brings choices of its own."""
    return form.words if len(form.words) == len(item.choices) else item.choices
