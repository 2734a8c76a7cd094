"""Tasks: short declarative entries (tasks.toml), and how an item becomes what a model reads."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from unwaver.errors import DataError, UsageError, near
from unwaver.types import Item


@dataclass(frozen=True)
class Form:
    """How the fields of an item are laid out: `segments` for classifiers, `prompt` for language models."""

    segments: tuple[str, ...]
    prompt: str
    words: tuple[str, ...]
    version: str = "1"
    indicators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    labels: tuple[str, ...] = ()  # labels an original may have; none = any
    to: str | None = None  # label of the variant, where the relation implies one


@dataclass(frozen=True)
class Task:
    name: str
    type: str
    fields: tuple[str, ...]
    modified: str
    labels: tuple[str, ...]
    form: Form
    forms: Mapping[str, Form] = field(default_factory=dict)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)

    def form_of(self, item: Item) -> Form:
        return self.form if not item.template else self.forms[item.template]

    def check_relation(self, kind: str) -> None:
        """Refuse a relation that does not hold for this task, with the reason."""
        if kind in self.invalid:
            raise UsageError(
                f"{kind} does not hold for {self.name}: {self.invalid[kind]}",
                hint=f"valid for {self.name}: {', '.join(self.relations) or 'any relation of your own'}",
            )


@cache
def built_in() -> Mapping[str, Task]:
    text = resources.files("unwaver").joinpath("tasks.toml").read_text(encoding="utf-8")
    return parse_tasks(tomllib.loads(text))


def task_named(name: str) -> Task:
    tasks = built_in()
    if name not in tasks:
        raise UsageError(f"unknown task {name}", hint=near(name, tasks))
    return tasks[name]


def plain_task(name: str, fields: Sequence[str], labels: Sequence[str]) -> Task:
    """The task of a user's own file that names no built-in one: the fields in order, the labels as words."""
    prompt = "\n".join("{" + f + "}" for f in fields)
    if labels:
        prompt += "\nAnswer with one of: " + ", ".join(labels) + ".\nAnswer:"
    form = Form(segments=tuple("{" + f + "}" for f in fields), prompt=prompt, words=tuple(labels))
    return Task(name, "own", tuple(fields), fields[-1], tuple(labels), form)


def parse_tasks(entries: Mapping[str, Any], file: str | Path | None = None) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for name, entry in entries.items():
        if "like" in entry:
            if entry["like"] not in tasks:
                raise DataError(
                    f"[{name}] is like an unknown task {entry['like']}",
                    hint=near(entry["like"], tasks),
                    file=file,
                )
            like = tasks[entry["like"]]
            forms = {n: _form(f, like.form) for n, f in entry.get("forms", {}).items()}
            tasks[name] = replace(like, name=name, forms={**like.forms, **forms})
        else:
            tasks[name] = _task(name, entry, file)
    return tasks


def _task(name: str, entry: Mapping[str, Any], file: str | Path | None) -> Task:
    missing = [k for k in ("fields", "labels", "prompt") if k not in entry]
    if missing:
        raise DataError(
            f"task [{name}] has no {', '.join(missing)}",
            file=file,
            hint="a task needs: fields, labels, prompt",
        )
    form = _form(entry, None)
    return Task(
        name=name,
        type=entry.get("type", "own"),
        fields=tuple(entry["fields"]),
        modified=entry.get("modified", entry["fields"][-1]),
        labels=tuple(entry["labels"]),
        form=form,
        forms={n: _form(f, form) for n, f in entry.get("forms", {}).items()},
        relations={
            k: Relation(tuple(r.get("labels", ())), r.get("to")) for k, r in entry.get("relations", {}).items()
        },
        invalid=dict(entry.get("invalid", {})),
    )


def _form(entry: Mapping[str, Any], base: Form | None) -> Form:
    if base is None:
        segments = entry.get("segments", ["{" + f + "}" for f in entry["fields"]])
        words, version = entry.get("words", entry["labels"]), "1"
    else:  # a second form: the texts arrive as `first` and `second`, rendered
        segments = entry.get("segments", ["{first}", "{second}"])
        words, version = entry.get("words", base.words), base.version
    return Form(
        segments=tuple(segments),
        prompt=entry["prompt"].removeprefix("\n"),
        words=tuple(words),
        version=str(entry.get("version", version)),
        indicators=tuple(entry.get("indicators", ())),
    )


_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: str, fields: Mapping[str, str]) -> str:
    """fill("{a} and {b}", {"a": "x", "b": "{a}"}) -> "x and {a}": values are never read as templates."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise UsageError(
                f"the template asks for {{{match[1]}}}, which the item does not have",
                hint="fields here: " + ", ".join(fields),
            )
        return fields[match[1]]

    return _FIELD.sub(value, template)


def read_templates(path: Path) -> dict[str, dict[str, Any]]:
    """Prompt templates that replace the built-in ones: a .toml with `prompt` and `words` for each task, or a
    plain text that is the prompt of every task ("*")."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        entries = tomllib.loads(text) if path.suffix == ".toml" else {"*": {"prompt": text.rstrip("\n")}}
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise DataError(f"the template cannot be read: {reason}", file=path, hint="check --template") from None
    except tomllib.TOMLDecodeError as e:
        line = re.search(r"at line (\d+)", str(e))
        hint = 'write [task] and below it prompt = "…"'
        raise DataError(f"no TOML: {e}", file=path, line=int(line[1]) if line else None, hint=hint) from None
    for name, entry in entries.items():
        if problem := _template_problem(entry):
            hint = f'write [{name}] and below it prompt = "…{{field}}…" and words = ["…", "…"]'
            raise DataError(f"[{name}]: {problem}", file=path, hint=hint)
    return entries


def _template_problem(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return f"found {entry!r}, expected prompt, words and version"
    if strange := sorted(set(entry) - {"prompt", "words", "version"}):
        return f"found {', '.join(strange)}, expected prompt, words and version"
    prompt, words = entry.get("prompt", "{"), entry.get("words", [])
    if not isinstance(prompt, str) or "{" not in prompt:
        return f"found prompt {prompt!r}, expected a text with a field of the item: {{text}}"
    if not isinstance(words, list) or not all(isinstance(w, str) and w.strip() for w in words):
        return f"found words {words!r}, expected a list of texts"
    return None


def with_template(form: Form, task: Task, templates: Mapping[str, Mapping[str, Any]]) -> Form:
    """The form with the prompt and words that a template of the user's gives for this task."""
    entry = templates.get(task.name) or templates.get("*")
    if not entry:
        return form
    words = tuple(entry.get("words", form.words))
    if len(words) != len(task.labels):
        raise UsageError(
            f"the template gives {len(words)} words for the {len(task.labels)} labels of {task.name}",
            hint="one word for each of: " + ", ".join(task.labels),
        )
    prompt = entry.get("prompt", form.prompt).removeprefix("\n")
    return replace(form, prompt=prompt, words=words, version=str(entry.get("version", "own")))


def segments_of(item: Item, form: Form) -> tuple[str, ...]:
    return tuple(fill(s, item.fields) for s in form.segments)


def prompt_of(item: Item, form: Form, shots: Sequence[tuple[Item, str]] = ()) -> str:
    """The prompt, after solved examples in the same form: `shots` are (item, label)."""
    solved = [f"{fill(form.prompt, s.fields)} {form.words[s.choices.index(label)]}\n\n" for s, label in shots]
    return "".join(solved) + fill(form.prompt, item.fields)
