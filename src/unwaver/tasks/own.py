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
from typing import Any

from unwaver import registry
from unwaver.errors import DataError, near
from unwaver.files import read_toml
from unwaver.tasks import Task, built_in, known, parse_tasks

KEYS = (
    "like",
    "type",
    "fields",
    "modified",
    "labels",
    "words",
    "segments",
    "version",
    "prompt",
    "relations",
    "invalid",
    "forms",
)
_LISTS = ("fields", "labels", "words", "segments")
_TEXTS = ("like", "type", "modified", "prompt")
_TABLES = ("relations", "invalid", "forms")
_FORM_KEYS = ("prompt", "segments", "words", "version", "indicators")
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
    shape = _shape_problem(name, entry) or _form_problem(entry.get("forms", {}))
    return shape or (_likeness_problem(entry) if "like" in entry else _inner_problem(entry))


def _shape_problem(name: str, entry: Mapping[str, Any]) -> str | None:
    """A text, a list or a table where another is expected."""
    for key in _TEXTS:
        if key in entry and not isinstance(entry[key], str):
            return f"{key}: found {entry[key]!r}, expected a text"
    for key in _LISTS:
        value = entry.get(key, ["x"])
        empty = value == [] and key in ("labels", "words")  # free text
        if not isinstance(value, list) or not (value or empty) or not all(isinstance(v, str) and v for v in value):
            return f"{key}: found {value!r}, expected a list of texts"
    for key in _TABLES:
        if not isinstance(entry.get(key, {}), dict):
            return f"{key}: found {entry[key]!r}, expected a table: [{name}.{key}]"
    return None


def _likeness_problem(entry: Mapping[str, Any]) -> str | None:
    own = sorted(set(entry) - {"like", "forms"})
    return f"{own[0]}: a task that is like another takes all but forms from it" if own else None


def _form_problem(forms: Mapping[str, Any]) -> str | None:
    for form, entry in forms.items():
        needed = "segments" if form == "choice" else "prompt"  # choice: what a head scores, which no prompt says
        if not isinstance(entry, dict) or needed not in entry or not isinstance(entry.get("prompt", ""), str):
            return f"forms.{form}: found {entry!r}, expected a table with {needed}"
        if strange := sorted(set(entry) - set(_FORM_KEYS)):
            return f"forms.{form}: unknown key {strange[0]!r}; {near(strange[0], _FORM_KEYS)}"
        for key in ("segments", "words", "indicators"):
            value = entry.get(key, [])
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                return f"forms.{form}.{key}: found {value!r}, expected a list of texts"
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
    return _relation_problem(entry.get("relations", {}), labels) or _reason_problem(entry.get("invalid", {}))


def _relation_problem(relations: Mapping[str, Any], labels: Sequence[str]) -> str | None:
    for kind, relation in relations.items():
        given = relation if isinstance(relation, dict) else {"found": relation}
        if set(given) - {"labels", "to"}:
            return f"relations.{kind}: found {relation!r}, expected {{ labels = […], to = … }}"
        if not isinstance(given.get("labels", []), list):
            return f"relations.{kind}.labels: found {given['labels']!r}, expected a list of labels"
        for label in [*given.get("labels", ()), *([given["to"]] if "to" in given else [])]:
            if label not in labels:
                return f"relations.{kind}: found label {label!r}, expected one of {', '.join(labels)}"
    return None


def _reason_problem(invalid: Mapping[str, Any]) -> str | None:
    for kind, reason in invalid.items():
        if not isinstance(reason, str):
            return f"invalid.{kind}: found {reason!r}, expected the reason as a text"
    return None
