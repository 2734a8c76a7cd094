"""Fitting a user's group to the built-in task it names, or finding out that it does not fit."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from operator import is_not
from typing import NamedTuple

from unwaver.errors import UsageError, near
from unwaver.files import Where, shown
from unwaver.tasks import CALM, OPTIONS, Relation, Task, known
from unwaver.types import Group, Item, replace


def fitted(group: Group, where: Where, tasks: Mapping[str, Task] | None = None) -> Group:
    """The group with what its task knows filled in, or an error where it contradicts that task.

    `tasks` are those that are known; a judge is asked in a task of its own.
    """
    by_name = known() if tasks is None else tasks
    task = by_name.get(group.items[0].task)
    if task is not None:
        _check_relation(group, task, where)
    items = []
    for item in group.items:
        own = by_name.get(item.task) if item.role == "judge" else task
        items.append(item if own is None else _fitted_item(item, own, where))
    if any(map(is_not, items, group.items)):
        group = replace(group, items=tuple(items))
    if task is not None:
        _check_original_labels(group, task.relations.get(group.kind, Relation()), where)
    _check_judges(group, where)
    for item in group.items:
        if task is None and item.role != "judge":
            _check_plain_item(item, where)
        given = (*item.accepted, *item.rejected) if item.choices else ()
        if unknown := [label for label in given if label not in item.choices]:
            raise where.error(
                f'"accepted": found {shown(unknown[0])}, expected one of {", ".join(item.choices)}',
                near(unknown[0], item.choices),
            )
    _check_choices(group, where)
    return group


class Fitting:
    """`fitted` for very many groups. Those that are alike but for their texts are checked once."""

    MOST = 10_000  # forms that are remembered

    def __init__(self, tasks: Mapping[str, Task]):
        self._tasks = tasks
        self._known: dict[Hashable, tuple[bool, list[_Change | None] | None]] = {}

    def __call__(self, group: Group, where: Where) -> Group:
        form = (
            group.kind,
            *[(i.task, i.role, i.template, *i.fields, i.choices, i.accepted, i.rejected) for i in group.items],
        )
        known = self._known.get(form)
        if known is None or [i for i in group.items if i.messages]:
            return self._learn(form, group, where)
        plain, changes = known
        if plain and not all(any(map(str.strip, i.fields.values())) for i in group.items):
            return fitted(group, where, self._tasks)  # says what is wrong
        if changes is None:
            return group
        items = [change.made(item) if change else item for item, change in zip(group.items, changes, strict=True)]
        return replace(group, items=tuple(items))

    def _learn(self, form: Hashable, group: Group, where: Where) -> Group:
        made = fitted(group, where, self._tasks)
        if not any(item.role == "judge" or item.judge or item.messages for item in group.items):
            if len(self._known) == self.MOST:
                self._known.clear()
            changes = [_change(old, new) for old, new in zip(group.items, made.items, strict=True)]
            self._known[form] = group.items[0].task not in self._tasks, changes if any(changes) else None
        return made


class _Change(NamedTuple):
    """What fitting does to an item: names of its fields with those they had before (None: they are the same), and
    its choices."""

    names: list[tuple[str, str]] | None
    choices: tuple[str, ...]

    def made(self, item: Item) -> Item:
        if self.names is None:
            return replace(item, choices=self.choices)
        fields = {name: item.fields[before] for name, before in self.names}
        return replace(item, fields=fields, choices=self.choices)


def _change(old: Item, new: Item) -> _Change | None:
    if new is old:
        return None
    names = [(name, name if name in old.fields else "text") for name in new.fields]
    return _Change(None if new.fields is old.fields else names, new.choices)


def _check_judges(group: Group, where: Where) -> None:
    if not any(item.role == "judge" or item.judge for item in group.items):
        return
    variants = {item.id for item in group.items if item.role == "variant"}
    for item in group.items:
        if (item.role == "judge") != bool(item.judge):
            hint = 'write "role": "judge", "judge": "self" or a model, and "about": the id of a variant'
            raise where.error(f'"judge": found {shown(item.judge)} in an item of the role {item.role}', hint)
        if item.role == "judge" and item.about not in variants:
            hint = "known: " + ", ".join(sorted(variants)[:5])
            raise where.error(f'"about": found {shown(item.about)}, expected the id of a variant', hint)


def _check_relation(group: Group, task: Task, where: Where) -> None:
    try:
        task.check_relation(group.kind)
    except UsageError as error:
        raise where.error(error.message, error.hint) from None


def _check_original_labels(group: Group, relation: Relation, where: Where) -> None:
    for item in group.items:
        if item.role == "original" and relation.labels and not set(item.accepted) <= set(relation.labels):
            raise where.error(
                f"found {group.kind} of an original labelled {item.accepted[0]}; for {group.task} it holds only "
                f"where the label is {' or '.join(relation.labels)}",
                "leave the row out, or give it a kind of its own",
            )


def _fitted_item(item: Item, task: Task, where: Where) -> Item:
    fields = item.fields
    lettered = item.template in OPTIONS
    if item.messages:
        pass  # sent as they are, whatever the task's own form is
    elif not item.template or lettered:
        if len(task.fields) == 1 and list(fields) == ["text"]:
            fields = {task.fields[0]: fields["text"]}
        if fields.keys() != set(task.fields):
            raise where.error(
                f'"fields": found {", ".join(fields)}, expected those of {task.name}: {", ".join(task.fields)}',
                "give the task another name if it is not that task",
            )
        if tuple(fields) != task.fields:
            fields = {name: fields[name] for name in task.fields}
    else:
        _check_form(item, task, where)
    # the order of lettered options is the order of the choices
    reordered = lettered and sorted(item.choices) == sorted(task.labels)
    if not reordered and item.choices not in ((), task.labels):
        raise where.error(
            f'"choices": found {", ".join(item.choices)}, expected those of {task.name}: {", ".join(task.labels)}',
            'leave "choices" out, or give the task another name',
        )
    choices = item.choices or task.labels
    same = fields is item.fields and choices == item.choices
    return item if same else replace(item, fields=fields, choices=choices)


def _check_form(item: Item, task: Task, where: Where) -> None:
    try:
        task.form_of(item)
    except UsageError as error:
        message = f'"template": found {shown(item.template)}, expected a form of {task.name}: {error.message}'
        raise where.error(message, error.hint) from None


def _check_choices(group: Group, where: Where) -> None:
    for item in group.items:
        if len(set(item.choices)) < len(item.choices):
            raise where.error(f'"choices": found {", ".join(item.choices)}, expected each once', "leave one out")
        if bool(item.choices) != bool(group.items[0].choices):
            raise where.error(
                f'"choices": found {len(item.choices)} in one item and {len(group.items[0].choices)} in another',
                "give all items of a group their choices, or none",
            )


def _check_plain_item(item: Item, where: Where) -> None:
    if not any(text.strip() for text in item.fields.values()):
        raise where.error('"text": found nothing, expected a text', "fill it in or leave the group out")
    for name in item.fields:
        if not re.fullmatch(r"\w+", name):
            raise where.error(
                f'"fields": found the name {shown(name)}, expected letters, digits and _', "rename it"
            )
    laid_out = item.template == CALM and set(item.fields) == {"first", "second"}
    if item.template and item.template not in OPTIONS and not laid_out:
        raise where.error(
            f'"template": found {shown(item.template)}, but {item.task} is not a built-in task and has no forms',
            near(item.task, known()),
        )
