"""Prompt templates of a user's own, in place of a task's own form."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from unwaver.errors import DataError, UsageError
from unwaver.files import shown
from unwaver.tasks import Form, Task
from unwaver.tasks.forms import options_form
from unwaver.typed import typed


class Template(msgspec.Struct, forbid_unknown_fields=True):
    prompt: str = ""
    words: list[Annotated[str, msgspec.Meta(pattern=r"\S")]] = []
    version: str | int | float = ""


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
        hint = f'write [{name}] and below it prompt = "…{{field}}…" and words = ["…", "…"]'
        typed(Template, entry, path, hint, name)
        if "{" not in entry.get("prompt", "{"):
            what = f"found {shown(entry['prompt'])}, expected a text with a field of the item: {{text}}"
            raise DataError(f'"{name}.prompt": {what}', file=path, hint=hint)
    return entries


def with_template(form: Form, task: Task, templates: Mapping[str, Mapping[str, Any]]) -> Form:
    """The form with the prompt and words that a template of the user's gives for this task."""
    entry = templates.get(task.name) or templates.get("*")
    if not entry:
        return form
    if form.options:  # the marks stay: the words of the template are the text after them
        return options_form(task, with_template(task.form, task, templates), form.words)
    words = tuple(entry.get("words", form.words))
    if len(words) != len(task.labels):
        raise UsageError(
            f"the template gives {len(words)} words for the {len(task.labels)} labels of {task.name}",
            hint="one word for each of: " + ", ".join(task.labels),
        )
    prompt = entry.get("prompt", form.prompt).removeprefix("\n")
    return replace(form, prompt=prompt, words=words, version=str(entry.get("version", "own")))
