"""What `unwaver train` leaves in a model folder beside the weights, and how it counts when the model is asked.

    unwaver.json    the tasks with their labels and the form they were trained in, the recipe, the scores
    seen.npz        a fingerprint of every text it was trained on or chosen by

A group with such a text is scored apart: its kind ends in _seen and its scores have the flag seen_in_training.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from unwaver.errors import DataError, ModelError, UsageError, near
from unwaver.files import read_json
from unwaver.models.arrays import WHOLE, read_arrays
from unwaver.tasks import CALM, T5, TARGET, Task
from unwaver.tasks.calm_layout import calm_fields
from unwaver.tasks.choice import CHOICE, in_choice_form
from unwaver.typed import typed
from unwaver.types import Group, Item, replace

ABOUT, SEEN, HEADS = "unwaver.json", "seen.npz", "heads.safetensors"
VERSION = 1
PLAIN = "plain"
FORMS = (PLAIN, CALM, TARGET, T5)  # that can be asked for; CHOICE comes with the head
_AGAIN = "train it again, or copy the whole folder again"

Fingerprints = NDArray[np.uint64]


class _Task(msgspec.Struct):
    labels: Annotated[list[str], msgspec.Meta(min_length=1)]
    form: Literal["plain", "calm", "target-only", "t5", "choice"]


class _About(msgspec.Struct):
    version: int
    tasks: Annotated[dict[str, _Task], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, eq=False)
class Trained:
    """`tasks` has the labels and the form of each; `heads` says that each has a head of its own."""

    tasks: Mapping[str, Mapping[str, Any]]
    heads: bool = False
    seen: Fingerprints = field(default_factory=lambda: np.empty(0, np.uint64))

    @property
    def chooses(self) -> bool:
        """Whether it scores alternatives, one by one, instead of labels."""
        return any(entry["form"] == CHOICE for entry in self.tasks.values())

    def form(self, task: str) -> str:
        """The form the model reads a task in; a model of one task reads every task as it learnt that one."""
        if task in self.tasks:
            return str(self.tasks[task]["form"])
        forms = {str(entry["form"]) for entry in self.tasks.values()}
        return forms.pop() if len(forms) == 1 else PLAIN


def read_trained(folder: Path) -> Trained | None:
    """What is known of a model folder; None of one that was made elsewhere."""
    path = folder / ABOUT
    if not path.is_file():
        return None
    try:
        about = read_json(path)
        if isinstance(about, dict) and about.get("version", VERSION) != VERSION:
            raise ModelError(f"version {about['version']}, this unwaver reads {VERSION}", file=path, hint=_AGAIN)
        typed(_About, about, path, _AGAIN)
        seen = read_arrays(folder / SEEN, {"seen": (1, WHOLE)}, _AGAIN)["seen"]
    except DataError as e:
        raise ModelError(f"not what unwaver train wrote: {e.message}", file=e.file, hint=_AGAIN) from None
    return Trained(about["tasks"], bool(about.get("heads")), np.sort(seen.astype(np.uint64)))


def what_is_learnt(path: Path) -> bytes:
    """That part of an unwaver.json that answers depend on; all of it where it is broken."""
    text = path.read_bytes()
    try:
        about = json.loads(text)
        return json.dumps([about["tasks"], about.get("heads")], sort_keys=True).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text


# --- forms --------------------------------------------------------------------------------------------------


def check_form(name: str) -> str:
    if name not in FORMS:
        raise UsageError(f"unknown form {name!r}", hint=near(name, FORMS))
    return name


def in_form(item: Item, task: Task, form: str) -> Item:
    """The item as a model of this form reads it. What a suite has laid out already stays: CALM's signs."""
    if form == PLAIN or item.template == form:
        return item
    if form == T5:
        from unwaver.tasks.t5 import in_t5_form

        return in_t5_form(item, task)
    if form == CHOICE:
        return in_choice_form(item, task)
    if form == TARGET:
        if item.template:
            hint = "ask it about suites whose items are plain: becel, paranlu"
            raise UsageError(f"a target-only model cannot read the form {item.template}", hint=hint)
        return replace(item, template=TARGET)
    if item.template:
        return item
    first, second = task.form_named(CALM).indicators
    a, b = (item.fields[name] for name in task.fields)
    return replace(item, fields=calm_fields(first, a, second, b), template=CALM)


# --- what was trained on ------------------------------------------------------------------------------------


def fingerprint(item: Item, task: Task) -> int:
    """A number for the words of an item, whatever their case, their signs and the form they stand in."""
    texts = list(item.fields.values())
    if item.template == CALM:
        texts = [text.removeprefix(f"{name}: ") for name, text in zip(_indicators(task), texts, strict=True)]
    words = " ".join(word for text in texts for word in re.findall(r"\w+", text.casefold()))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "little")


def _indicators(task: Task) -> tuple[str, ...]:
    return task.form_named(CALM).indicators


def fingerprints(items: Iterable[Item], tasks: Mapping[str, Task]) -> Fingerprints:
    return np.unique(np.fromiter((fingerprint(i, tasks[i.task]) for i in items), dtype=np.uint64))


def unseen(items: Sequence[Item], trained: Trained, task: Task) -> list[Item]:
    """Those that the model was not trained on."""
    known = set(trained.seen.tolist())
    return [item for item in items if fingerprint(item, task) not in known]


def seen_groups(groups: Sequence[Group], trained: Trained, tasks: Any) -> list[str]:
    """The ids of the groups with an item that the model was trained on; `tasks` finds a task by its name."""
    if not len(trained.seen):
        return []
    known = set(trained.seen.tolist())
    return [
        group.id
        for group in groups
        if any(i.role not in ("judge", "test") and fingerprint(i, tasks(i.task)) in known for i in group.items)
    ]
