"""The published prediction files of ParaNLU (Srikanth et al. 2024), plain or .gz.

    snli_human_MODEL.json     id -> original_prediction, original_confidence, gold_label, bucket_confidences
    snli_test_set_MODEL.json  the same model on the full test set: [{example_id, confidence, prediction, label}, …]

A problem is a group with its original and its paraphrases; items of the test set are rows with the role `test`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from unwaver.answers.given import complete
from unwaver.answers.schema import SCHEMA
from unwaver.errors import DataError
from unwaver.files import Where, read_json, read_text, shown, stem
from unwaver.logs.common import head
from unwaver.stats.weights import published_weights
from unwaver.tasks import task_named

# the first part of an example's id -> the built-in task
TASKS = {"anli": "anli", "snli": "delta-snli", "atomic": "delta-atomic", "social": "delta-social"}
_BUCKET = ("original_prediction", "original_confidence", "gold_label", "bucket_confidences")
_TEST = ("example_id", "confidence", "prediction", "label")


class TestSetOption(Protocol):
    @property
    def test(self) -> Path | str | None: ...


def looks_like(path: Path) -> bool:
    """By the first 64 KB. A test-set file is known too: `read` says where it belongs."""
    start = head(path).lstrip()
    if start.startswith("{"):
        return '"bucket_confidences"' in start
    return start.startswith("[") and all(f'"{name}"' in start for name in _TEST)


def read(path: Path, options: TestSetOption) -> pl.DataFrame:
    """The table of a prediction file; with `options.test` also the test set, and a weight for each problem."""
    problems = _problems(path)
    task = _task(next(iter(problems)), path)
    rows = [row for n, (id, entry) in enumerate(problems.items()) for row in _rows(id, entry, n, task)]
    if options.test is not None:
        tests = list(_test_rows(Path(options.test), task))
        weights = published_weights(
            np.array([p["original_confidence"][p["gold_label"]] for p in problems.values()]),
            np.array([confidence for _, confidence in tests]),
        )
        for row in rows:
            row["weight"] = weights[row.pop("_problem")]
        rows += [row for row, _ in tests]
    frame = pl.DataFrame(rows, schema={name: SCHEMA[name] for name in _COLUMNS}, strict=False)
    constant = {"suite": "paranlu", "task": task, "kind": "paraphrase", "expect": "bucket"}
    told = {**constant, "model": model_of_file(path), "method": "predictions"}
    frame = frame.with_columns(**{name: pl.lit(value) for name, value in told.items()})
    return complete(frame).select(list(SCHEMA))


_COLUMNS = ("group", "item", "role", "label", "gold", "probs", "weight")


def model_of_file(path: Path) -> str:
    """snli_human_d-snli-roberta-large.json.gz -> "d-snli-roberta-large"."""
    return re.sub(rf"^(?:{'|'.join(TASKS)})_(?:human|automatic|test_set)_", "", stem(path))


def _rows(id: str, entry: Mapping[str, Any], problem: int, task: str) -> Iterator[dict[str, Any]]:
    labels = task_named(TASKS[task]).labels
    shared = {"group": id, "gold": [labels[entry["gold_label"]]], "_problem": problem}
    said = {"label": labels[entry["original_prediction"]], "probs": entry["original_confidence"]}
    yield {**shared, **said, "item": id, "role": "original"}
    for n, answer in enumerate(entry["bucket_confidences"]):
        said = {"label": labels[answer["prediction"]], "probs": answer["confidence"]}
        yield {**shared, **said, "item": _paraphrase_id(answer, f"{id}/{n}"), "role": "variant"}


def _paraphrase_id(answer: Mapping[str, Any], default: str) -> str:
    example = answer.get("paraphrased_example")
    return str(example.get("paraphrase_id", default)) if isinstance(example, dict) else default


def _test_rows(path: Path, task: str) -> Iterator[tuple[dict[str, Any], float]]:
    """Each row of the test set with the confidence in its gold label."""
    labels = task_named(TASKS[task]).labels
    for entry in _tests(path, task):
        row = {
            "group": entry["example_id"],
            "item": entry["example_id"],
            "role": "test",
            "label": labels[entry["prediction"]],
            "gold": [labels[entry["label"]]],
            "probs": entry["confidence"],
        }
        yield row, entry["confidence"][entry["label"]]


# --- files, checked -----------------------------------------------------------------------------------------


def _problems(path: Path) -> dict[str, dict[str, Any]]:
    found = read_json(path)
    if isinstance(found, list):
        raise DataError(
            "found a list, expected an object of problems by id",
            hint=f"this seems to be a test set: score the file of paraphrases, and give this one as --test {path}",
            file=path,
            line=1,
        )
    if not isinstance(found, dict) or not found:
        raise DataError(f"found {shown(found)}, expected problems by id", hint=_hint(_BUCKET), file=path, line=1)
    text = read_text(path)
    for id, entry in found.items():
        where = Where(str(path), text.count("\n", 0, max(0, text.find(f'"{id}"'))) + 1)
        _check_names(entry, _BUCKET, id, where)
        _check_prediction(entry["original_prediction"], entry["original_confidence"], f"{id}, original", where)
        _check_class(entry["gold_label"], f"{id}, gold_label", where)
        answers = entry["bucket_confidences"]
        if not isinstance(answers, list):
            raise where.error(f"{id}: found bucket_confidences {shown(answers)}, expected a list", _hint(_BUCKET))
        for n, answer in enumerate(answers):
            name = f"{id}, paraphrase {n}"
            _check_names(answer, ("prediction", "confidence"), name, where)
            _check_prediction(answer["prediction"], answer["confidence"], name, where)
        _check_task(id, next(iter(found)), where)
    return found


def _tests(path: Path, task: str) -> list[dict[str, Any]]:
    found = read_json(path)
    if not isinstance(found, list) or not found:
        hint = "the file of the same model's predictions on the full test set: " + _hint(_TEST)
        raise DataError(f"found {shown(found)}, expected a list of predictions", hint=hint, file=path, line=1)
    where = Where(str(path), 1)
    for n, entry in enumerate(found):
        _check_names(entry, _TEST, f"entry {n}", where)
        _check_prediction(entry["prediction"], entry["confidence"], f"entry {n}", where)
        _check_class(entry["label"], f"entry {n}, label", where)
        _check_task(str(entry["example_id"]), f"{task}.", where)
    return found


def _task(id: str, path: Path) -> str:
    task = id.partition(".")[0]
    if task not in TASKS:
        hint = "ids begin with " + ", ".join(f"{name}." for name in TASKS)
        raise DataError(f"found a problem {shown(id)}, expected one of ParaNLU", hint=hint, file=path, line=1)
    return task


def _check_task(id: str, first: str, where: Where) -> None:
    if id.partition(".")[0] != first.partition(".")[0]:
        expected = first.partition(".")[0]
        raise where.error(f"found {shown(id)} among problems of {expected}", "give files of one task")


def _check_names(entry: object, names: Sequence[str], what: str, where: Where) -> None:
    if not isinstance(entry, dict):
        raise where.error(f"{what}: found {shown(entry)}, expected an object", _hint(names))
    missing = [name for name in names if name not in entry]
    if missing:
        raise where.error(f'{what}: there is no "{missing[0]}"; found: {", ".join(entry)}', _hint(names))


def _check_prediction(prediction: object, confidence: object, what: str, where: Where) -> None:
    _check_class(prediction, f"{what}, prediction", where)
    numbers = isinstance(confidence, list) and all(isinstance(c, int | float) for c in confidence)
    if not numbers or len(confidence) != 2 or not all(-1e-6 <= c <= 1 + 1e-6 for c in confidence):  # type: ignore
        raise where.error(
            f"{what}: found confidence {shown(confidence)}, expected two probabilities", "such as [0.3, 0.7]"
        )


def _check_class(value: object, what: str, where: Where) -> None:
    if isinstance(value, bool) or value not in (0, 1):
        raise where.error(f"{what}: found {shown(value)}, expected 0 or 1", "the number of a class")


def _hint(names: Sequence[str]) -> str:
    return "each has " + ", ".join(names)
