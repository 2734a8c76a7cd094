"""Adversarial augmentation: items whose label stays while single words of them are substituted."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.tasks import Task
from unwaver.types import Item


def substituted(items: Sequence[Item], task: Task, way: str, **options: object) -> list[Item]:
    raise NotImplementedError
