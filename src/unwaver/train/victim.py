"""The model that an attack is directed at: how likely it finds the right label, and which one it gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unwaver.errors import ModelError, UsageError
from unwaver.models.hf import open_model
from unwaver.models.trained import PLAIN, Trained, in_form, read_trained
from unwaver.tasks import Task
from unwaver.train.base import base_identity, open_base
from unwaver.train.own_bases import identity_of, open_trained
from unwaver.train.rows import diverged, training_request
from unwaver.types import Item, Model

_HINT = (
    "give a classifier of this task: unwaver train {0} --base … --out models/victim, "
    "then --victim models/victim/seed0"
)


class Judged(NamedTuple):
    """What the victim says of an item: probability of the right label, and the label it gives."""

    right: float
    label: str


def check_victim(name: str, task: Task) -> None:
    """Is there a model, and does it know the task?"""
    known = _known(name)
    if known is not None and task.name not in known.tasks:
        told = f"the victim {name} was trained on {', '.join(known.tasks)}, not on {task.name}"
        raise UsageError(told, hint=_HINT.format(task.name))
    _open(name, None)


def victim_identity(name: str) -> str:
    folder = _folder(name)
    return identity_of(folder) if folder.is_dir() else base_identity(name)


def _folder(name: str) -> Path:
    return Path(name.removeprefix("hf/").removeprefix("bow/")).expanduser()


def _known(name: str) -> Trained | None:
    return read_trained(_folder(name)) if _folder(name).is_dir() else None


def _open(name: str, device: str | None) -> Model:
    folder = _folder(name)
    return open_trained(folder, device) if folder.is_dir() else open_model(open_base(name)[0], device=device)


class Victim:
    def __init__(self, name: str, task: Task, device: str | None):
        known = _known(name)
        self._name, self._task = name, task
        self._form = known.form(task.name) if known is not None else PLAIN
        self._model = _open(name, device)

    def judged(self, items: Sequence[Item]) -> list[Judged]:
        """Right: the first label that is accepted."""
        if not items:
            return []
        laid_out = [in_form(item, self._task, self._form) for item in items]
        found = [Judged(0.0, "")] * len(items)
        for batch in self._model.answer([training_request(item, self._task) for item in laid_out]):
            for n, answer in batch:
                found[n] = self._read(laid_out[n], answer.logprobs)
        return found

    def _read(self, item: Item, logprobs: Sequence[float]) -> Judged:
        if not logprobs:
            told = f"the victim {self._name} writes its answers and gives no probabilities of labels"
            raise ModelError(told, hint=_HINT.format(self._task.name))
        logs = np.asarray(logprobs, dtype=np.float64)
        if np.isnan(logs).any():
            raise diverged()
        shares = np.exp(logs - logs.max())
        place = item.choices.index(item.accepted[0])
        return Judged(float(shares[place] / shares.sum()), item.choices[int(logs.argmax())])
