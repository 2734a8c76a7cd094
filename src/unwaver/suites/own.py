"""A user's own file: groups.jsonl, or a table with a column for the original and columns for its variants.

    question,paraphrase,label                    {"items": [{"text": "Is it late?", "accepted": ["yes"]},
    Is it late?,Has it got late?,yes                        {"text": "Has it got late?"}]}

Two columns are enough. What cannot be told without gold labels is said in the notes.
"""

from __future__ import annotations

import difflib
import re
from array import array
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from unwaver.console import silent
from unwaver.files import Where, stem
from unwaver.groups.clusters import with_clusters
from unwaver.groups.from_lines import GroupLines, Ids, holds_groups
from unwaver.groups.many import few, together
from unwaver.groups.packed import Pile
from unwaver.suites import check_case
from unwaver.suites.fit import Fitting
from unwaver.suites.own_table import MOST_LABELS, Options, seen_rows, table_groups
from unwaver.tables import read_table
from unwaver.tasks import OPTIONS, Task, known, open_task, plain_task
from unwaver.tasks.remembered import remembered
from unwaver.types import Group, Item, Suite

if TYPE_CHECKING:
    from unwaver.suites.own_limited import First, Seen

Placed = tuple[Group, Where]
Tasks = Mapping[str, Task]
NEAR = 0.7  # how much a name is like that of a built-in task before it may be a slip
_FILE = re.compile(r"/|\.(ya?ml|json|txt|tml)$")  # of a task, which is not one of ours


def suite(
    path: Path,
    *,
    task: str | None = None,
    kind: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    labels: Sequence[str] | None = None,
    quoting: bool = True,
    first_groups: int | None = None,
    say: Callable[[str], None] = silent,
) -> Suite:
    """`task` and `kind` are for rows that name none. `columns` says which column is the original, variant, gold,
    variant_gold, kind, task, id, choices or tag, where the names do not tell: {"original": "q", "variant": "q2"}.
    `labels` are the answers to choose from. With `first_groups`, only as many groups of each task and kind are
    built."""
    tasks, named = _known_tasks(task)
    found: _Found | None = None
    if holds_groups(path):
        lines = partial(GroupLines, path, suite=stem(path), task=named or "own", kind=kind or "semantic")
        chosen = tasks.get(named) if named else None
        if first_groups is not None:
            found = _first_lines(lines(), tasks, chosen, named, first_groups)
        found = found or _all_lines(lines(), tasks, chosen, named)
    else:
        rows = read_table(path, quoting=quoting, say=say)
        options = Options(stem(path), named, kind, columns or {}, tuple(labels or ()), tasks)
        if first_groups is not None and (seen := seen_rows(rows, options)) is not None:
            found = _first(seen, _Found(tasks), first_groups)
        found = found or _all(table_groups(rows, options), _Found(tasks), path)
    cases = found.by_case()
    name = found.suites.pop() if len(found.suites) == 1 else stem(path)
    for made in set(found.tasks) - set(tasks):
        _tell_near_miss(made, say)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case(name, kinds, task, kind)
        return iter(cases[task, kind])

    def examples(task: str) -> Iterator[Item]:
        if first_groups is not None:  # those of the whole file
            whole = suite(path, task=given, kind=kind, columns=columns, labels=labels, quoting=quoting)
            return whole.examples(task)
        originals = (i for g in found.groups for i in g.items if i.task == task and i.role == "original")
        return (item for item in originals if item.choices and item.accepted)

    def notes(task: str, kind: str) -> list[str]:
        check_case(name, kinds, task, kind)
        return _notes(cases[task, kind])

    given = task
    kinds = {t: tuple(k for u, k in cases if u == t) for t, _ in cases}
    return Suite(name, kinds, groups, examples, notes, found.tasks)


def _all_lines(lines: GroupLines, tasks: Tasks, chosen: Task | None, name: str | None) -> _Found:
    numbers = array("Q")
    read = together(_numbered(lines, numbers))
    if own := remembered(lines, chosen, name):
        tasks = ChainMap(own, tasks)  # type: ignore[arg-type]
    fit, file = Fitting(tasks), str(lines.path)
    places = (Where(file, number) for number in numbers)
    placed = ((fit(group, where), where) for group, where in zip(read, places, strict=True))
    return _all(placed, _Found(tasks), lines.path)


def _all(placed: Iterable[Placed], found: _Found, path: Path) -> _Found:
    for group, where in placed:
        found.add(group, where)
    found.ids.check(found.groups, path)
    return found


def _first_lines(
    lines: GroupLines, tasks: Tasks, chosen: Task | None, name: str | None, limit: int
) -> _Found | None:
    """None where ids are not unique: to read the whole file says which."""
    from unwaver.suites.own_limited import Glance, first_of_each

    glance = Glance(lines)
    cases = first_of_each(glance, limit)
    if not glance.is_whole:
        return None
    if own := remembered(lines, chosen, name):
        tasks = ChainMap(own, tasks)  # type: ignore[arg-type]
    found = _Found(tasks)
    for item, where in glance.forms.values():
        if item.task not in tasks:
            found.see_task(item, where)
    found.take(cases, Fitting(tasks))
    found.suites |= glance.suites
    return found


def _first(seen: Iterable[Seen], found: _Found, limit: int) -> _Found:
    from unwaver.suites.own_limited import first_of_each

    found.take(first_of_each(seen, limit), lambda group, _: group)
    return found


def _numbered(lines: GroupLines, numbers: array[int]) -> Iterator[Group]:
    """The groups; `numbers` gets the lines they are from."""
    for group, where in lines:
        numbers.append(where.line)
        yield group


def _known_tasks(task: str | None) -> tuple[Mapping[str, Task], str | None]:
    """The tasks that are known, with the one in a file of the user's (--task my.toml), and its name."""
    if task is None or ".toml" not in task:
        if task and task not in known() and (Path(task).is_file() or _FILE.search(task)):
            open_task(task)  # says what a task of one's own is
        return known(), task
    chosen = open_task(task)
    return ChainMap({chosen.name: chosen}, known()), chosen.name  # type: ignore[arg-type]


def _tell_near_miss(name: str, say: Callable[[str], None]) -> None:
    """A name that nobody has defined is a task of the user's own; one much like a built-in task may be a slip."""
    if meant := difflib.get_close_matches(name.lower(), list(known()), n=1, cutoff=NEAR):
        say(
            f"{name} is not a built-in task: unwaver asks the texts as they are, without a prompt of its own. "
            f"Did you mean {meant[0]}?"
        )


class _Found:
    """The groups of a file, in its order and by task and kind; what stands in several is found at the end."""

    def __init__(self, known_tasks: Mapping[str, Task]):
        self.suites: set[str] = set()
        self.tasks = {name: known_tasks[name] for name in known_tasks if name not in known()}  # not built in
        self._known = known_tasks
        self._all = Pile()
        self.ids = Ids()
        self._case = array("Q")
        self._cases: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], Sequence[Group]] = {}

    def add(self, group: Group, where: Where) -> None:
        self.suites.add(group.suite)
        self.ids.note(group, where)
        for item in group.items:
            if item.task not in self._known:
                self.see_task(item, where)
        self._case.append(self._cases.setdefault((group.task, group.kind), len(self._cases)))
        self._all.add(group)

    @cached_property
    def groups(self) -> Sequence[Group]:
        return self._all.all()

    def take(self, cases: Mapping[tuple[str, str], First], fit: Callable[[Group, Where], Group]) -> None:
        """Add the first groups of each case, and leave the others out."""
        for case, first in cases.items():
            made = [fit(seen.make(), seen.where) for seen in first.chosen]
            for group, seen in zip(made, first.chosen, strict=True):
                self.add(group, seen.where)
                first.joined.name(group)
            self._first[case] = first.joined.placed(made)

    def by_case(self) -> dict[tuple[str, str], Sequence[Group]]:
        """The groups of each task and kind, with their clusters."""
        return self._first or {case: with_clusters(groups, keep=True) for case, groups in self._parted().items()}

    def _parted(self) -> dict[tuple[str, str], Sequence[Group]]:
        if len(self._cases) == 1:
            return dict.fromkeys(self._cases, self.groups)
        piles = [Pile() for _ in self._cases]
        for group, case in zip(self.groups, self._case, strict=True):
            piles[case].add(group)
        return {case: piles[number].all() for case, number in self._cases.items()}

    def see_task(self, item: Item, where: Where) -> None:
        """Where the choices differ between items, the task has no labels."""
        tasks, fields = self.tasks, ("user",) if item.messages else tuple(item.fields)
        if item.task not in tasks:
            tasks[item.task] = plain_task(item.task, fields, item.choices)
        seen = tasks[item.task]
        if set(fields) != set(seen.fields) and not item.messages:
            raise where.error(
                f'"fields": found {", ".join(fields)}, but {item.task} has {", ".join(seen.fields)} above',
                'use the same fields throughout, or give these groups another "task"',
            )
        lettered = item.template in OPTIONS and sorted(item.choices) == sorted(seen.labels)
        if item.choices != seen.labels and seen.labels and not lettered:
            tasks[item.task] = plain_task(item.task, seen.fields, ())


def _notes(groups: Sequence[Group]) -> list[str]:
    notes = []
    without = sum(not all(i.accepted for i in g.items if i.role == "original") for g in groups)
    if 0 < without < len(groups):  # the remarks of a result say what no gold at all means
        lost = "accuracy and tau_conditioned"
        if groups[0].expect == "implied":
            lost = f"tau, {lost}"
        have, them = ("has", "it") if without == 1 else ("have", "them")
        notes.append(
            f"{without:,} of {len(groups):,} groups {have} no gold label for the original: {lost} leave {them} out"
        )
    if not all(item.choices for group in few(groups) for item in group.items):
        notes.append(
            "no labels to choose from, so answers are free text; to choose from labels, add --label for each "
            f"or a gold column with 2 to {MOST_LABELS} of them"
        )
    return notes
