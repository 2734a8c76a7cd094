"""Prediction files of ParaNLU as types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unwaver.errors import DataError
from unwaver.files import Where, shown
from unwaver.tasks.paranlu_names import TASKS

Class = Literal[0, 1]
# published ones are rounded
Probability = Annotated[float, msgspec.Meta(ge=-1e-6, le=1 + 1e-6)]
Confidence = Annotated[list[Probability], msgspec.Meta(min_length=2, max_length=2)]


class Prediction(msgspec.Struct):
    prediction: Class
    confidence: Confidence
    paraphrased_example: Any = None


class Problem(msgspec.Struct):
    original_prediction: Class
    original_confidence: Confidence
    gold_label: Class
    bucket_confidences: list[Prediction]


class Tested(msgspec.Struct):
    example_id: str | int
    confidence: Confidence
    prediction: Class
    label: Class


HINTS = {kind: f"each has {', '.join(kind.__struct_fields__)}" for kind in (Problem, Tested)}


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
