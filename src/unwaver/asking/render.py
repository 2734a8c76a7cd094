"""Items to requests: what a model is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.groups.many import few
from unwaver.models.parts import Parts
from unwaver.suites.select import Selection
from unwaver.tasks import Form, Task, is_open, known, open_task, segments_of
from unwaver.tasks.prompts import prompt_of
from unwaver.types import Group, Item, Model, Request

if TYPE_CHECKING:
    from unwaver.asking.solved import Solved


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
            hint = near(name, {item.task for group in few(selection.groups) for item in group.items})
            raise UsageError(f"[{name}] in the template is not a task", file=config.template, hint=hint)
        self._forms: dict[tuple[str, str], Form] = {}
        self._readers: dict[int, _Reader] = {}
        self._seen: tuple[Sequence[Group], dict[tuple[str, str], Item]] = (), {}  # groups, one item of each form

    def __call__(self, item: Item, model: Model) -> Request:
        if item.messages:
            from unwaver.asking.conversations import request

            return request(item, model, _words(item, self.form(item)))
        reader = self._readers.get(id(model)) or self._readers.setdefault(id(model), _reader(model))
        if reader.has_form or self._config.form:
            item = self.laid_out(item, model)
        form = self.form(item)
        writes = reader.prompt and is_open(item)
        return Request(
            task=item.task,
            segments=segments_of(item, form) if reader.segments else (),
            prompt=self.prompt(item, form) if reader.prompt else "",
            choices=() if writes else item.choices,
            words=() if writes else _words(item, form),
            item=item.id,  # part of the key only where a model reads it
            accepted=item.accepted if reader.accepted else (),
            template=_named(item.task, item.template, form.version),
            tools=item.tools,
            response_format=item.response_format,
        )

    def laid_out(self, item: Item, model: Model) -> Item:
        """The item in the form that the model reads: the one of --form, or the one it was trained in."""
        parts = Parts(model)
        asked = self._config.form if not item.judge else None  # --form is about the models under test
        name = asked or (parts.trained.form(item.task) if parts.trained else parts.form)
        if not name:
            return item
        from unwaver.models.trained import in_form

        return in_form(item, self._tasks(item.task), name)

    def shown(self, item: Item) -> dict[str, object]:
        """What a person or another tool needs to answer an item: the texts as models read them."""
        if item.messages:
            from unwaver.asking.conversations import shown

            return shown(item)
        form = self.form(item)
        return {"segments": segments_of(item, form), "prompt": self.prompt(item, form)}

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
        if not self._config.shots and not self._config.shots_from:
            return prompt_of(item, form)
        return self._solved.prompt(item, form)

    @cached_property
    def _solved(self) -> Solved:
        from unwaver.asking.solved import Solved

        return Solved(self._config, self._selection, self._tasks, self.form)

    def modified(self, group: Group) -> str:
        """The field that a variant of the group's original changes."""
        if group.items[0].messages:
            from unwaver.groups.conversations import changed_message, last_of_user

            messages = group.items[0].messages
            return changed_message(messages, self._config.message) or last_of_user(messages)
        return self._tasks(group.items[0].task).modified

    def seen(self, groups: Sequence[Group], model: Model) -> list[str]:
        """The ids of the groups with a text that the model was trained on."""
        trained = Parts(model).trained
        if trained is None:
            return []
        from unwaver.models.trained import seen_groups

        return seen_groups(groups, trained, self._tasks)

    def forms(self, groups: Sequence[Group], models: Sequence[Model] = ()) -> dict[tuple[str, str], Form]:
        """How items are laid out, by task and template; also as `models` read them."""
        if groups is not self._seen[0]:
            self._seen = groups, {(i.task, i.template): i for g in few(groups) for i in g.items}
        plain = self._seen[1].values()
        items = [*plain, *(self.laid_out(item, model) for model in models for item in plain)]
        return {(item.task, item.template): self.form(item) for item in items}

    def words(
        self, groups: Sequence[Group], models: Sequence[Model] = ()
    ) -> dict[tuple[str, str], tuple[str, ...]]:
        """What language models write for the labels, by task and template."""
        return {key: form.words for key, form in self.forms(groups, models).items()}


class _Reader(NamedTuple):
    """What a model reads, looked up once and not for each of a million items."""

    model: Model  # held: its id is not given again
    segments: bool
    prompt: bool
    accepted: bool
    has_form: bool


def _reader(model: Model) -> _Reader:
    reads, parts = model.reads, Parts(model)
    has_form = bool(parts.form or parts.trained)
    return _Reader(model, "segments" in reads, "prompt" in reads, "accepted" in reads, has_form)


@lru_cache(maxsize=1024)
def _named(task: str, template: str, version: str) -> str:
    return f"{task}{'.' if template else ''}{template}@{version}"


def _words(item: Item, form: Form) -> tuple[str, ...]:
    """The words of the form, or the labels themselves where an item brings choices of its own."""
    return _first_words(form.words) if len(form.words) == len(item.choices) else item.choices


@lru_cache(maxsize=1024)
def _first_words(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([word.split("|", 1)[0] for word in words])
