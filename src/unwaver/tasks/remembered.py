"""A task of a user's own inside a file of groups, so that whoever runs the file asks with the same prompt.

    {"task": "tickets", "task_hash": "sha256:1f0a…", "task_definition": {"fields": […], "prompt": …}, "items": […]}

Every group of such a task has the hash, the first one the definition, with the keys of a task file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from unwaver.errors import DataError, UsageError
from unwaver.files import Row, shown
from unwaver.tasks import Form, Task, plain_task

HASH, DEFINITION = "task_hash", "task_definition"


def entry_of(task: Task) -> dict[str, Any]:
    """The task as an entry of a task file: entry_of(task)["prompt"] -> "\\n…"."""
    return {
        "type": task.type,
        "fields": list(task.fields),
        "modified": task.modified,
        "labels": list(task.labels),
        **_form(task.form),
        "forms": {
            name: {**_form(form), **({"indicators": list(form.indicators)} if form.indicators else {})}
            for name, form in task.forms.items()
        },
        "relations": {
            kind: {"labels": list(r.labels), **({} if r.to is None else {"to": r.to})}
            for kind, r in task.relations.items()
        },
        "invalid": dict(task.invalid),
    }


def _form(form: Form) -> dict[str, Any]:
    # a line break at the beginning is taken off when an entry is read
    said = {"prompt": f"\n{form.prompt}", "words": list(form.words), "version": form.version}
    return {**said, "segments": list(form.segments)}


def digest(task: Task) -> str:
    """A hash of everything that the task says."""
    said = json.dumps(entry_of(task), sort_keys=True, ensure_ascii=True)
    return f"sha256:{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def remembering(tasks: Mapping[str, Task]) -> Callable[[str], dict[str, Any]]:
    """A function from the task of each group, in order, to what its line says of it beside the name."""
    own = {name: task for name, task in tasks.items() if task != _plain(task)}
    hashes = {name: digest(task) for name, task in own.items()}
    told: set[str] = set()

    def remember(name: str) -> dict[str, Any]:
        if name not in own:
            return {}
        first = name not in told
        told.add(name)
        return {HASH: hashes[name], **({DEFINITION: entry_of(own[name])} if first else {})}

    return remember


def _plain(task: Task) -> Task:
    """What unwaver makes of fields and labels alone: that need not be remembered."""
    return replace(plain_task(task.name, task.fields, task.labels), modified=task.modified)


class Lines(Protocol):
    """Lines of groups: `told` say more about their task than its name; `named` are the tasks, None if one has
    none."""

    told: list[Row]
    named: dict[str | None, None]
    path: Path


def remembered(lines: Lines, chosen: Task | None, name: str | None) -> dict[str, Task]:
    """The tasks that lines of groups define, checked. `name` is that of --task, `chosen` the task if it is known:
    it has to be the one that the groups were made with."""
    found = {
        str(row.cells["task"]): _defined(row)
        for row in lines.told
        if DEFINITION in row.cells and "task" in row.cells
    }
    for row in lines.told:
        if HASH in row.cells:
            _check_hash(row, found, chosen)
    if name is not None and None not in lines.named and name not in lines.named:
        others = ", ".join(filter(None, lines.named))
        hint = "leave --task out: the file says what it is about; or build the groups again with this task"
        raise UsageError(
            f"--task is {name}, and these groups are of the task {others}", file=lines.path, hint=hint
        )
    return found


def _defined(row: Row) -> Task:
    from unwaver.tasks.own import read_entry

    name, entry = str(row.cells["task"]), row.cells[DEFINITION]
    try:
        return read_entry(name, entry)
    except DataError as e:
        raise row.where.error(f'"{DEFINITION}": {e.message}', "build the groups again") from e


def _check_hash(row: Row, found: Mapping[str, Task], chosen: Task | None) -> None:
    name, expected = row.cells.get("task"), row.cells[HASH]
    if not isinstance(expected, str) or not isinstance(name, str):
        raise row.where.error(f'"{HASH}": found {shown(expected)} without a task', f'leave "{HASH}" out')
    if chosen is not None and chosen.name == name and digest(chosen) != expected:
        hint = "leave --task out: the file has its own; or build the groups again with this task"
        raise UsageError(
            f"--task has another prompt, labels or relations than the task {name} of these groups",
            file=row.where.file,
            hint=hint,
        )
    if name in found and digest(found[name]) != expected:
        raise row.where.error(
            f'"{HASH}": it is not the hash of the definition of {name} in this file, which was edited',
            f'build the groups again, or leave "{HASH}" out of every line',
        )
    if name not in found and (chosen is None or chosen.name != name):
        raise row.where.error(
            f"the definition of the task {name} is missing: it was in the first line that unwaver build wrote",
            "give the task file: --task my.toml; or use the whole file",
        )
