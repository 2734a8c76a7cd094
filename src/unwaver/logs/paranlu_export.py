"""A run of `paranlu` as prediction files in the published form, which `score` and others read.

TASK_human_MODEL.json     (TASK_automatic_MODEL.json) problems with the answers to their paraphrases
TASK_test_set_MODEL.json  the test set, where it was asked: run … --corrected
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from unwaver.answers.weights import TEST
from unwaver.errors import UsageError
from unwaver.tasks import task_named
from unwaver.tasks.paranlu_names import TASKS


def prediction_files(frame: pl.DataFrame) -> dict[str, str]:
    """File names and their contents: {"snli_human_bow.json": '{"snli.train.1": …}', …}"""
    rows = frame.filter(pl.col("suite") == "paranlu")
    if rows.is_empty():
        raise UsageError("--predictions is for answers of the suite paranlu", hint="unwaver run paranlu/snli …")
    _check(rows)
    files: dict[str, str] = {}
    for part in rows.partition_by(["task", "model", "method", "kind"], maintain_order=True):
        for name, content in _files(part):
            if name in files:
                hint = "score one model and one way of asking at a time"
                raise UsageError(f"--predictions: two models would be written to {name}", hint=hint)
            files[name] = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    return files


def _check(rows: pl.DataFrame) -> None:
    """The published form has a class and two probabilities for every answer."""
    if rows["replicate"].max() != 0:
        hint = "the published form has one answer for each item: run with --replicates 1"
        raise UsageError("--predictions: this run has replicates", hint=hint)
    lacking = rows.filter(pl.col("label").is_null() | pl.col("probs").is_null() | pl.col("gold").is_null())
    if lacking.height:
        hint = "run a model that gives probabilities, such as a classifier or --method logprob"
        raise UsageError(
            f"--predictions: {lacking.height:,} answers have no label or no probabilities, such as that to "
            f"{lacking['item'][0]}",
            hint=hint,
        )


def _files(rows: pl.DataFrame) -> Iterator[tuple[str, Any]]:
    task = str(rows["task"][0])
    model = re.sub(r"[^\w.-]+", "-", str(rows["model"][0]))
    source = "automatic" if rows["item"].str.contains("/automatic/", literal=True).any() else "human"
    buckets = rows.filter(pl.col("role") != TEST)
    problems = {str(part["group"][0]): part for part in buckets.partition_by("group", maintain_order=True)}
    yield f"{task}_{source}_{model}.json", {_id(g, task): _problem(part, task) for g, part in problems.items()}
    tests = rows.filter(pl.col("role") == TEST)
    if tests.height:
        yield f"{task}_test_set_{model}.json", [_test(row, task) for row in tests.iter_rows(named=True)]


def _problem(rows: pl.DataFrame, task: str) -> dict[str, Any]:
    answers = list(rows.iter_rows(named=True))
    original = next((row for row in answers if row["role"] == "original"), answers[0])
    return {
        "original_prediction": _class(original["label"], task),
        "original_confidence": original["probs"],
        "gold_label": _class(original["gold"][0], task),
        "bucket_confidences": [
            {
                "prediction": _class(row["label"], task),
                "confidence": row["probs"],
                "paraphrased_example": {"paraphrase_id": row["item"]},
            }
            for row in answers
            if row["role"] != "original"
        ],
    }


def _test(row: dict[str, Any], task: str) -> dict[str, Any]:
    return {
        "example_id": f"{task}.test.{row['item'].rpartition('/')[2].rpartition('.')[2]}",
        "confidence": row["probs"],
        "prediction": _class(row["label"], task),
        "label": _class(row["gold"][0], task),
    }


def _class(label: str, task: str) -> int:
    return task_named(TASKS[task]).labels.index(label)


def _id(group: str, task: str) -> str:
    """ "paranlu/snli/paraphrase/snli.train.60271" -> "snli.train.60271" """
    name = group.rpartition("/")[2]
    return name if name.startswith(f"{task}.") else f"{task}.{name}"
