"""Solved examples in a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random

from unwaver.errors import UsageError
from unwaver.suites.select import Selection
from unwaver.tasks import OPTIONS
from unwaver.types import Item, replace


def shots(count: int, selection: Selection, task: str, template: str, seed: int) -> list[tuple[Item, str]]:
    """The same solved examples for all items of a task: labels in turn, never an item under test."""
    if count == 0:
        return []
    groups = [group for group in selection.groups if any(item.task == task for item in group.items)]
    tested = {question_of(item) for group in groups for item in group.items}
    cases = {(group.suite, group.task) for group in groups}  # paranlu/snli asks items of the task delta-snli
    free = [
        replace(item, template=template)
        for suite in selection.suites
        for case in suite.cases
        if case == task or (suite.name, case) in cases
        for item in suite.examples(case)
        if item.task == task and (item.template == template or (template in OPTIONS and not item.template))
        if (len(item.accepted) == 1 or not item.choices) and question_of(item) not in tested
    ]
    chosen = list(islice(in_turn(free, seed), count))
    if len(chosen) < count:
        raise UsageError(
            f"--shots {count}: only {len(chosen)} solved examples of {task} are not under test",
            hint="take fewer, test fewer groups (--limit), or add a train file to the data folder",
        )
    return [(item, item.accepted[0]) for item in chosen]


def in_turn(items: Iterable[Item], seed: int) -> Iterator[Item]:
    by_label: dict[str, list[Item]] = {}
    for item in items:
        by_label.setdefault(item.accepted[0], []).append(item)
    for same in by_label.values():
        Random(seed).shuffle(same)
    queues = [by_label[label] for label in sorted(by_label)]
    for turn in range(max(map(len, queues), default=0)):
        yield from (queue[turn] for queue in queues if turn < len(queue))


def question_of(item: Item) -> tuple[str, ...]:
    """Words alone: published sets repeat their base rows with another case, spacing or question mark."""
    return tuple(" ".join(re.findall(r"\w+", text.casefold())) for text in item.fields.values())
