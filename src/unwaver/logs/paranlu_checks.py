"""What a value in a prediction file of ParaNLU must be, with the place of one that is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unwaver.errors import DataError
from unwaver.files import Where, shown
from unwaver.tasks.paranlu_names import TASKS


def task_of(id: str, path: Path) -> str:
    """ "snli.train.60271" -> "snli" """
    task = id.partition(".")[0]
    if task not in TASKS:
        hint = "ids begin with " + ", ".join(f"{name}." for name in TASKS)
        raise DataError(f"found a problem {shown(id)}, expected one of ParaNLU", hint=hint, file=path, line=1)
    return task


def check_task(id: str, first: str, where: Where) -> None:
    if id.partition(".")[0] != first.partition(".")[0]:
        expected = first.partition(".")[0]
        raise where.error(f"found {shown(id)} among problems of {expected}", "give files of one task")


def check_names(entry: object, names: Sequence[str], what: str, where: Where) -> None:
    if not isinstance(entry, dict):
        raise where.error(f"{what}: found {shown(entry)}, expected an object", hint_of(names))
    missing = [name for name in names if name not in entry]
    if missing:
        raise where.error(f'{what}: there is no "{missing[0]}"; found: {", ".join(entry)}', hint_of(names))


def check_prediction(prediction: object, confidence: object, what: str, where: Where) -> None:
    check_class(prediction, f"{what}, prediction", where)
    numbers = isinstance(confidence, list) and all(isinstance(c, int | float) for c in confidence)
    if not numbers or len(confidence) != 2 or not all(-1e-6 <= c <= 1 + 1e-6 for c in confidence):  # type: ignore
        raise where.error(
            f"{what}: found confidence {shown(confidence)}, expected two probabilities", "such as [0.3, 0.7]"
        )


def check_class(value: object, what: str, where: Where) -> None:
    if isinstance(value, bool) or value not in (0, 1):
        raise where.error(f"{what}: found {shown(value)}, expected 0 or 1", "the number of a class")


def hint_of(names: Sequence[str]) -> str:
    return "each has " + ", ".join(names)
