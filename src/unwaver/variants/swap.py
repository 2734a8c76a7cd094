"""Symmetry: the two texts of an item change places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unwaver.errors import UsageError
from unwaver.tasks import Task
from unwaver.text.refused import Refused
from unwaver.types import Group, Item
from unwaver.variants.source import Build, Source, group_of, label_refused

KIND = "symmetric"


def swapped(fields: Mapping[str, str]) -> dict[str, str]:
    """The last two fields swapped: {"word": "w", "sentence1": "a", "sentence2": "b"} -> w, b, a."""
    a, b = list(fields)[-2:]
    return {**fields, a: fields[b], b: fields[a]}


def swap() -> Build:
    """Kind `symmetric`: each item beside itself with the last two texts swapped, where its label allows it."""

    def build(source: Source) -> Iterator[Group | Refused]:
        _check(source.task)
        for item in source.items:
            if reason := _refused(source, item):
                yield Refused(reason, item.id)
            else:
                texts = [(item.fields, item.accepted), (swapped(item.fields), item.accepted)]
                yield group_of(source, KIND, item.id, texts)

    return build


def _check(task: Task) -> None:
    task.check_relation(KIND)
    if len(task.fields) < 2:
        raise UsageError(
            f"{KIND} does not hold for {task.name}: an item is one text, there is nothing to swap",
            hint="take a task of two texts",
        )
    # of two alternatives the answer is their place, of a question and a text each has a part of its own
    if KIND not in task.relations and task.type not in ("similarity", "own"):
        raise UsageError(
            f"{KIND} is not known to hold for {task.name}, of type {task.type}",
            hint=f"if it does, say so in a task of your own: [{task.name}.relations] {KIND} = {{}}",
        )


def _refused(source: Source, item: Item) -> str | None:
    relation = source.task.relations.get(KIND)
    if relation is not None and relation.labels and not item.accepted:
        return f"no gold label, and {KIND} holds only where it is {' or '.join(relation.labels)}"
    return label_refused(source.task, KIND, item)
