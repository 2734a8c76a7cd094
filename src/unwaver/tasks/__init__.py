"""Tasks: short declarative entries (built_in.toml), and how an item becomes what a model reads."""

from __future__ import annotations

import re
import string
import tomllib
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from unwaver import registry
from unwaver.errors import DataError, UsageError, near
from unwaver.types import Item, replace


@dataclass(frozen=True)
class Form:
    """How the fields of an item are laid out: `segments` for classifiers, `prompt` for language models."""

    segments: tuple[str, ...]
    prompt: str
    words: tuple[str, ...]  # of each label; "Rome|Roma" are two spellings, the first one is asked for
    version: str = "1"
    indicators: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)  # label -> the text after its mark in the list


OPEN = "open."  # forms whose names begin so: a language model writes the answer, and one of the choices is read
CALM = "calm"
T5, T5_CALM = "t5", "t5_calm"  # as T5 was trained: unwaver.tasks.t5
TARGET = "target-only"  # a partial input: only the text that variants change
# forms that list the labels as options, with the marks before them; the mark at place i stands for choices[i]
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "options": tuple(string.ascii_uppercase),
    "options_small": tuple(string.ascii_lowercase),
    "options_number": tuple(str(n) for n in range(1, 27)),
}


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
        return self.form_named(item.template)

    def form_named(self, name: str) -> Form:
        """The form of that name, written down or made of the task's own one ("")."""
        if not name:
            return self.form
        from unwaver.tasks import forms

        if name in OPTIONS:
            return forms.options_form(self, self.form, OPTIONS[name])
        if name in self.forms:
            return self.forms[name]
        if name == CALM:
            return forms.calm_form(self)
        if name == TARGET:
            return forms.target_form(self)
        if name in (T5, T5_CALM):
            return forms.form_for_t5(self, name)
        raise UsageError(
            f"{self.name} has no form {name}", hint=near(name, {CALM, TARGET, T5, *OPTIONS, *self.forms})
        )

    def check_relation(self, kind: str) -> None:
        """Refuse a relation that does not hold for this task, with the reason."""
        if kind in self.invalid:
            raise UsageError(
                f"{kind} does not hold for {self.name}: {self.invalid[kind]}",
                hint=f"valid for {self.name}: {', '.join(self.relations) or 'any relation of your own'}",
            )


BUILT_IN = Path(__file__).with_name("built_in.toml")


@cache
def built_in() -> Mapping[str, Task]:
    return parse_tasks(tomllib.loads(BUILT_IN.read_text(encoding="utf-8")))


Words = Mapping[tuple[str, str], Sequence[str]]  # what stands for the labels in a prompt, by task and template


def spoken(words: Words, form: str) -> Words:
    """The words as a model writes them that reads items in this form."""
    if form != T5:
        return words
    from unwaver.tasks.t5 import t5_words

    return t5_words(words)


def task_named(name: str) -> Task:
    """A built-in one; see unwaver.tasks.own for those of installed packages and files."""
    tasks = built_in()
    if name not in tasks:
        raise UsageError(f"unknown task {name}", hint=near(name, tasks))
    return tasks[name]


def known() -> Mapping[str, Task]:
    """Tasks that need no file: built in, or of installed packages. Of those, each is read when it is used."""
    return _Known()


class _Known(Mapping[str, Task]):
    def __getitem__(self, name: str) -> Task:
        if name in built_in():
            return built_in()[name]
        if name not in self:
            raise KeyError(name)
        from unwaver.tasks.own import installed

        return installed(name, registry.names("tasks")[name])

    def __contains__(self, name: object) -> bool:
        return name in built_in() or name in registry.names("tasks")

    def __iter__(self) -> Iterator[str]:
        return iter({**built_in(), **registry.names("tasks")})

    def __len__(self) -> int:
        return len(registry.names("tasks"))


def open_task(name: str) -> Task:
    """The task that is meant: "snli", "my.toml" with one task in it, or "my.toml:second"."""
    if name in known():
        return known()[name]
    file, _, wanted = name.partition(":") if ".toml:" in name else (name, "", "")
    if not file.endswith(".toml"):
        hint = f"{near(name, known())}; a task of your own is a file: my.toml"
        raise UsageError(f"unknown task {name!r}", hint=hint)
    from unwaver.tasks.own import read_tasks

    tasks = read_tasks(Path(file))
    if wanted and wanted not in tasks:
        raise DataError(f"there is no task [{wanted}]", file=file, hint=near(wanted, tasks))
    if not wanted and len(tasks) > 1:
        hint = f"say which: {file}:{next(iter(tasks))}"
        raise DataError(f"it has {len(tasks)} tasks: {', '.join(tasks)}", file=file, hint=hint)
    return tasks[wanted or next(iter(tasks))]


def plain_task(name: str, fields: Sequence[str], labels: Sequence[str]) -> Task:
    """The task of a user's own file that names no built-in one: the fields in order, the labels as words."""
    prompt = "\n".join("{" + f + "}" for f in fields)
    if labels:
        prompt += "\nAnswer with one of: " + ", ".join(labels) + ".\nAnswer:"
    form = Form(segments=tuple("{" + f + "}" for f in fields), prompt=prompt, words=tuple(labels))
    return Task(name, "own", tuple(fields), fields[-1], tuple(labels), form)


def parse_tasks(
    entries: Mapping[str, Any], file: str | Path | None = None, known: Mapping[str, Task] | None = None
) -> dict[str, Task]:
    """The tasks by name. One may be `like` another above it, or like one that is `known`."""
    tasks: dict[str, Task] = {}
    possible = ChainMap(tasks, {} if known is None else known)  # type: ignore[arg-type]
    for name, entry in entries.items():
        if "like" in entry:
            if entry["like"] not in possible:
                raise DataError(
                    f"[{name}] is like an unknown task {entry['like']}",
                    hint=near(entry["like"], possible),
                    file=file,
                )
            like = possible[entry["like"]]
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
        prompt=entry.get("prompt", base.prompt if base else "").removeprefix("\n"),
        words=tuple(words),
        version=str(entry.get("version", version)),
        indicators=tuple(entry.get("indicators", ())),
    )


# --- forms made of the task's own ---------------------------------------------------------------------------


FIELD = re.compile(r"\{(\w+)\}")


def is_open(item: Item) -> bool:
    """Whether a language model answers in its own words, although the answers are known."""
    return item.template.startswith(OPEN)


def segments_of(item: Item, form: Form) -> tuple[str, ...]:
    names, fields = _names_alone(form.segments), item.fields
    if names and fields.keys() >= set(names):
        return tuple([fields[name] for name in names])
    from unwaver.tasks.prompts import fill

    return tuple([fill(segment, fields) for segment in form.segments])


@lru_cache(maxsize=1024)
def _names_alone(segments: tuple[str, ...]) -> tuple[str, ...]:
    """("{premise}", "{hypothesis}") -> ("premise", "hypothesis"); () if there is more than names in braces."""
    found = [FIELD.fullmatch(segment) for segment in segments]
    return tuple([match[1] for match in found if match]) if all(found) else ()
