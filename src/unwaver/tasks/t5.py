"""The form in which T5 was trained: "rte sentence1: … sentence2: …", answered by the name of a label.

plain items      t5        rte sentence1: It rains. sentence2: It is wet.
CALM's layout    t5_calm   rte [sentence1] It rains. [sentence2] It is wet.   only the indicators change
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from unwaver.tasks import CALM, T5, T5_CALM, Form, Task, Words
from unwaver.tasks.calm_layout import COLON, FARTHEST, SIGNS
from unwaver.types import Group, Item, replace

FAMILY = {"t5", "mt5", "umt5", "longt5", "switch_transformers"}  # values of model_type in a config.json
_NAMES = {"": T5, CALM: T5_CALM}  # template of an item -> its form for T5


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("t5.toml").read_text(encoding="utf-8"))


def is_ours(task: str) -> bool:
    """Whether T5 never saw the task in training, so that its form is made up here: rte -> False, snli -> True."""
    return bool(_table().get(task, {"ours": True}).get("ours"))


def ours_note(groups: Iterable[Group]) -> list[str]:
    """A note on the tasks that T5 was never trained on, if there are some."""
    found = sorted({item.task for group in groups for item in group.items if item.choices and is_ours(item.task)})
    return [f"T5 was not trained on {', '.join(found)}: the form is made up in its style"] if found else []


def _fields(task: Task) -> Mapping[str, str]:
    """Each field with the name that T5 knows it by, in T5's order."""
    own = {name: name.lower() for name in task.fields}
    found: Mapping[str, str] = _table().get(task.name, {}).get("fields", own)
    return found if set(found) == set(own) else own


def t5_form(task: Task) -> Form:
    """rte -> "rte sentence1: {sentence1} sentence2: {sentence2}", with the labels as words."""
    texts = [f"{name}: {{{field}}}" for field, name in _fields(task).items()]
    return _made(task, " ".join([_prefix(task), *texts]), tuple("{" + field + "}" for field in task.fields))


def t5_calm_form(task: Task) -> Form:
    """rte -> "rte {first} {second}": the texts come with their indicators."""
    return _made(task, f"{_prefix(task)} {{first}} {{second}}", ("{first}", "{second}"))


def _made(task: Task, prompt: str, segments: tuple[str, ...]) -> Form:
    words = tuple(_table().get(task.name, {}).get("words", task.labels))
    return replace(task.form, prompt=prompt, segments=segments, words=words, version="1", options={})


def _prefix(task: Task) -> str:
    return str(_table().get(task.name, {}).get("prefix", task.name.lower()))


def in_t5_form(item: Item, task: Task) -> Item:
    """The item as T5 reads it. A list of options has a form of its own and stays."""
    if item.template not in _NAMES or not item.choices:
        return item
    if not item.template:
        return replace(item, template=T5)
    fields = _fields(task)
    names = dict(zip(task.form_named(CALM).indicators, (fields[f] for f in task.fields), strict=True))
    texts = [_renamed(text, names) for text in item.fields.values()]
    if list(fields) != list(task.fields):  # T5's own order: "mnli hypothesis: … premise: …"
        texts.reverse()
    return replace(item, fields=dict(zip(("first", "second"), texts, strict=True)), template=T5_CALM)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """ "[Sentence1] It rains." -> "[sentence1] It rains." """
    for indicator, name in names.items():
        for sign in (COLON, *SIGNS):
            if text.startswith(marked := sign.replace("X", indicator) + " "):
                return sign.replace("X", name) + " " + text.removeprefix(marked)
    return _renamed_first(text, names)


def _renamed_first(text: str, names: Mapping[str, str]) -> str:
    """With a sign of the user's: "| Sentence1 | It rains." -> "| sentence1 | It rains." """
    places = {text.find(indicator): indicator for indicator in names}
    first = min((place for place in places if 0 <= place <= FARTHEST), default=None)
    if first is None:
        return text
    return text[:first] + names[places[first]] + text[first + len(places[first]) :]


def plain_template(template: str) -> str:
    """The template that an item had before: t5 -> "", t5_calm -> "calm"; others stay."""
    return next((plain for plain, name in _NAMES.items() if name == template), template)


def t5_words(words: Words) -> Words:
    """`words` by (task, template) as T5 writes them, found under its own templates."""
    return {(task, name): words.get((task, _NAMES.get(name, name)), said) for (task, name), said in words.items()}
