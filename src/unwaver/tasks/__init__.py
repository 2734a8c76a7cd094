"""Tasks: short declarative entries (built_in.toml), and how an item becomes what a model reads."""

from __future__ import annotations

import re
import string
import tomllib
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
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
    options: Mapping[str, str] = field(default_factory=dict)  # label -> what stands after its mark in the list


CALM = "calm"
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
        if name in OPTIONS:
            return options_form(self, self.form, OPTIONS[name])
        if name in self.forms:
            return self.forms[name]
        if name == CALM:
            return _calm_form(self)
        if name == TARGET:
            return _target_form(self)
        raise UsageError(f"{self.name} has no form {name}", hint=near(name, {CALM, TARGET, *OPTIONS, *self.forms}))

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


def task_named(name: str) -> Task:
    """A built-in one; see unwaver.tasks.own for those of installed packages and files."""
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
        prompt=entry["prompt"].removeprefix("\n"),
        words=tuple(words),
        version=str(entry.get("version", version)),
        indicators=tuple(entry.get("indicators", ())),
    )


# --- forms made of the task's own ---------------------------------------------------------------------------


def options_form(task: Task, base: Form, marks: Sequence[str]) -> Form:
    """The form with a list of options after the question, in the order of the item's choices:

    A. True
    B. Neither
    C. False
    Answer with the letter of the right option.
    """
    if not 2 <= len(task.labels) <= len(marks):
        raise UsageError(
            f"options need 2 to {len(marks)} labels, {task.name} has {len(task.labels)}",
            hint="give all items of the task the same labels",
        )
    mark = "number" if marks[0] == "1" else "letter"
    written = task.forms.get("options") if base is task.form else None
    prompt = written.prompt.replace("{mark}", mark) if written else _with_options(base.prompt, mark)
    shown = dict(zip(task.labels, base.words, strict=True))
    return replace(base, prompt=prompt, words=tuple(marks[: len(task.labels)]), options=shown)


def _with_options(prompt: str, mark: str) -> str:
    """The last line stays the last, if it is one like "Answer:"; a line "Answer with Yes or No" goes."""
    lines = prompt.split("\n")
    cue = lines.pop() if re.fullmatch(r"[^{}]*[:\uff1a]\s*", lines[-1]) else "Answer:"
    kept = [line for line in lines if not line.startswith("Answer with ")]
    return "\n".join([*kept, "{option_list}", f"Answer with the {mark} of the right option.", cue])


def _calm_form(task: Task) -> Form:
    """CALM's format for a task of two fields that has none written down: their names are the indicators."""
    lines = task.form.prompt.split("\n")
    texts = [line for line in lines if _FIELD.search(line)]
    if len(task.fields) != 2 or not all(line.endswith("}") for line in texts):
        raise UsageError(
            f"{task.name} has no form calm, and none can be made of its prompt",
            hint=f"write [{task.name}.forms.calm] with two indicators and a prompt with {{first}} and {{second}}",
        )
    return replace(
        task.form,
        segments=("{first}", "{second}"),
        prompt="\n".join(["{first} {second}", *(line for line in lines if line not in texts)]),
        indicators=tuple(name.replace("_", " ").capitalize() for name in task.fields),
    )


def _target_form(task: Task) -> Form:
    """Only the segment with the text that variants change, and the lines of the prompt that need no more:

    snli -> ("{hypothesis}",), anli -> ("{hyp1} {hyp2}",)
    """
    segments = tuple(s for s in task.form.segments if task.modified in _FIELD.findall(s))
    known = {name for segment in segments for name in _FIELD.findall(segment)}
    lines = [line for line in task.form.prompt.split("\n") if set(_FIELD.findall(line)) <= known]
    return replace(task.form, segments=segments, prompt="\n".join(lines))


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
    if form.options:  # the marks stay: the words of the template are what stands after them
        return options_form(task, with_template(task.form, task, templates), form.words)
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
    """The prompt, after solved examples in the same form: `shots` are (item, label), or (item, answer) in free
    text."""
    solved = [f"{_question(s, form)} {_said(s, label, form)}\n\n" for s, label in shots]
    return "".join(solved) + _question(item, form)


def _said(item: Item, label: str, form: Form) -> str:
    return form.words[item.choices.index(label)] if item.choices else label


def _question(item: Item, form: Form) -> str:
    if not form.options:
        return fill(form.prompt, item.fields)
    listed = [f"{mark}. {form.options[c]}" for mark, c in zip(form.words, item.choices, strict=True)]
    return fill(form.prompt, {**item.fields, "option_list": "\n".join(listed)})
