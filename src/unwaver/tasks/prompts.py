"""Texts from templates: what a language model reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from unwaver.errors import UsageError
from unwaver.tasks import FIELD, Form
from unwaver.types import Item


def fill(template: str, fields: Mapping[str, str]) -> str:
    """fill("{a} and {b}", {"a": "x", "b": "{a}"}) -> "x and {a}": values are never read as templates."""

    parts = _parts(template)
    try:
        return "".join([fields[part] if is_name else part for part, is_name in parts])
    except KeyError as missing:
        raise UsageError(
            f"the template asks for {{{missing.args[0]}}}, which the item does not have",
            hint="fields here: " + ", ".join(fields),
        ) from None


@lru_cache(maxsize=1024)
def _parts(template: str) -> tuple[tuple[str, bool], ...]:
    """_parts("{a} and") -> (("a", True), (" and", False)): texts, and names of fields."""
    found = ((part, bool(n % 2)) for n, part in enumerate(FIELD.split(template)))
    return tuple((part, is_name) for part, is_name in found if part)


def prompt_of(item: Item, form: Form, shots: Sequence[tuple[Item, str]] = ()) -> str:
    """The prompt, after solved examples in the same form: `shots` are (item, label), or (item, answer) in free
    text."""
    solved = [f"{_question(s, form)} {_said(s, label, form)}\n\n" for s, label in shots]
    return "".join(solved) + _question(item, form)


def _said(item: Item, label: str, form: Form) -> str:
    return form.words[item.choices.index(label)].split("|", 1)[0] if item.choices else label


def _question(item: Item, form: Form) -> str:
    if not form.options:
        return fill(form.prompt, item.fields)
    listed = [f"{mark}. {form.options[c]}" for mark, c in zip(form.words, item.choices, strict=True)]
    return fill(form.prompt, {**item.fields, "option_list": "\n".join(listed)})
