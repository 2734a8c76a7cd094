"""Tasks that are not built in: in a TOML file with the keys of built_in.toml, or of an installed package. Each is
named where a built-in task would be.

The entry point of a package (group `unwaver.tasks`) leads to the path of such a file, to a mapping of its form
({"mood": {"fields": …}}), or to a function without arguments that gives one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from unwaver import registry
from unwaver.errors import DataError, near
from unwaver.files import read_toml, shown
from unwaver.tasks import Task, built_in, known, parse_tasks
from unwaver.typed import Filled, wrong_with

Names = Annotated[list[Filled], msgspec.Meta(min_length=1)]


class _Relation(msgspec.Struct, forbid_unknown_fields=True):
    labels: list[str] = []
    to: str | None = None


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    prompt: str | None = None
    segments: list[str] = []
    words: list[str] = []
    version: str | int = 1
    indicators: list[str] = []


class _Entry(msgspec.Struct):
    """A task as a file says it; labels and words may be empty: free text."""

    like: str | None = None
    type: str = ""
    fields: Names = msgspec.field(default_factory=lambda: ["x"])
    modified: str = ""
    labels: list[Filled] = []
    words: list[Filled] = []
    segments: Names = msgspec.field(default_factory=lambda: ["x"])
    version: str | int = 1
    prompt: str = ""
    relations: dict[str, _Relation] = {}
    invalid: dict[str, str] = {}
    forms: dict[str, _Form] = {}


KEYS = _Entry.__struct_fields__
_EXAMPLE = 'write [name], and below it fields = ["text"], labels = ["no", "yes"], prompt = "…{text}…"'


@cache
def installed(name: str, place: str) -> Task:
    """The task of an installed package; what is wrong with it names the package's entry point."""
    del place  # another entry point is another task
    found = registry.find("tasks", name)
    if callable(found):
        found = registry.call("tasks", name, str | Path | Mapping)
    if not isinstance(found, str | Path | Mapping):
        raise registry.broken("tasks", name, f"gave {found!r:.60}, expected the path of a TOML file or a mapping")
    try:
        tasks = _checked(_as_toml(found), None) if isinstance(found, Mapping) else read_tasks(Path(found))
    except DataError as e:
        raise registry.broken("tasks", name, f"cannot be read: {e.summary}") from e
    if name not in tasks:
        raise registry.broken("tasks", name, f"has no table [{name}]: found {', '.join(tasks) or 'none'}")
    return tasks[name]


def _as_toml(value: Any) -> Any:
    """As a TOML file would give it: tuples are lists, every mapping is a dict."""
    if isinstance(value, Mapping):
        return {name: _as_toml(part) for name, part in value.items()}
    return [_as_toml(part) for part in value] if isinstance(value, list | tuple) else value


def read_tasks(path: Path) -> Mapping[str, Task]:
    """Every task of a file, checked."""
    return _checked(read_toml(path, "file", _EXAMPLE), path)


def read_entry(name: str, entry: Any) -> Task:
    """One task, from an entry that is not in a file of its own."""
    return _checked({name: entry}, None)[name]


def _checked(entries: Mapping[str, Any], path: Path | None) -> Mapping[str, Task]:
    if not entries:
        raise DataError("the file holds no task", file=path, hint=_EXAMPLE)
    for name, entry in entries.items():
        if problem := _problem(name, entry):
            raise DataError(f"[{name}]: {problem}", file=path, hint=_EXAMPLE)
    # "like" may name a task whose entry is not in this file
    return parse_tasks(entries, path, known=known())


def _problem(name: str, entry: Any) -> str | None:
    """What is wrong with an entry; None if nothing is."""
    if not isinstance(entry, dict):
        return f"found {entry!r}, expected the keys of a task"
    if name in built_in():
        return "this is the name of a built-in task, choose another"
    if strange := sorted(set(entry) - set(KEYS)):
        return f"unknown key {strange[0]!r}; {near(strange[0], KEYS)}"
    if wrong := wrong_with(_Entry, entry):
        return f"{wrong.at}: found {shown(wrong.found)}, expected {wrong.expected}"
    forms = _form_problem(entry.get("forms", {}))
    return forms or (_likeness_problem(entry) if "like" in entry else _inner_problem(entry))


def _likeness_problem(entry: Mapping[str, Any]) -> str | None:
    own = sorted(set(entry) - {"like", "forms"})
    return f"{own[0]}: a task that is like another takes all but forms from it" if own else None


def _form_problem(forms: Mapping[str, Any]) -> str | None:
    for form, entry in forms.items():
        needed = "segments" if form == "choice" else "prompt"  # choice: what a head scores, which no prompt says
        if needed not in entry:
            return f"forms.{form}: found {shown(entry)}, expected a table with {needed}"
    return None


def _inner_problem(entry: Mapping[str, Any]) -> str | None:
    """Keys that do not fit one another."""
    if missing := [key for key in ("fields", "labels", "prompt") if key not in entry]:
        return f"it has no {', '.join(missing)}"
    fields, labels = entry["fields"], entry["labels"]
    if len(set(labels)) < len(labels) or len(labels) == 1:
        return f"labels: found {labels!r}, expected two or more different ones, or none for free text"
    if bad := [f for f in fields if not re.fullmatch(r"\w+", f)]:
        return f"fields: found {bad[0]!r}, expected letters, digits and _"
    if entry.get("modified", fields[-1]) not in fields:
        return f"modified: found {entry['modified']!r}, expected one of {', '.join(fields)}"
    if len(entry.get("words", labels)) != len(labels):
        return f"words: found {len(entry['words'])}, expected one for each of the {len(labels)} labels"
    asked = re.findall(r"\{(\w+)\}", entry["prompt"] + " ".join(entry.get("segments", ())))
    if unknown := [name for name in asked if name not in fields]:
        return f"prompt or segments: found {{{unknown[0]}}}, expected one of {', '.join(fields)}"
    return _relation_problem(entry.get("relations", {}), labels)


def _relation_problem(relations: Mapping[str, Any], labels: Sequence[str]) -> str | None:
    for kind, relation in relations.items():
        for label in [*relation.get("labels", ()), *([relation["to"]] if "to" in relation else [])]:
            if label not in labels:
                return f"relations.{kind}: found label {label!r}, expected one of {', '.join(labels)}"
    return None
