"""The published prediction files of ParaNLU (Srikanth et al. 2024), plain or .gz.

    snli_human_MODEL.json     id -> original_prediction, original_confidence, gold_label, bucket_confidences
    snli_test_set_MODEL.json  the same model on the full test set: [{example_id, confidence, prediction, label}, …]

A problem is a group with its original and its paraphrases; items of the test set are rows with the role `test`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from unwaver.answers.given import complete
from unwaver.answers.schema import SCHEMA
from unwaver.errors import DataError
from unwaver.files import Where, read_json, read_text, shown, stem
from unwaver.logs import paranlu_tests
from unwaver.logs.common import head
from unwaver.logs.paranlu_checks import HINTS, Prediction, Problem, check_task, task_of
from unwaver.tasks import task_named
from unwaver.tasks.paranlu_names import TASKS
from unwaver.typed import typed


class TestSetOption(Protocol):
    @property
    def test(self) -> Any: ...


def looks_like(path: Path) -> bool:
    """By the first 64 KB. A test-set file is known too: `read` says where it belongs."""
    start = head(path).lstrip()
    if start.startswith("{"):
        return '"bucket_confidences"' in start
    return paranlu_tests.looks_like(path)


def read(path: Path, options: TestSetOption) -> pl.DataFrame:
    """The table of a prediction file; with `options.test` also the test set, and a weight for each problem."""
    problems = _problems(path)
    task = task_of(next(iter(problems)), path)
    rows = [row for id, entry in problems.items() for row in _rows(id, entry, task)]
    frame = pl.DataFrame(rows, schema={name: SCHEMA[name] for name in _COLUMNS}, strict=False)
    constant = {"suite": "paranlu", "task": task, "kind": "paraphrase", "expect": "bucket"}
    told = {**constant, "model": model_of_file(path), "method": "predictions"}
    frame = frame.with_columns(**{name: pl.lit(value) for name, value in told.items()})
    frame = complete(frame).select(list(SCHEMA))
    if not options.test:
        return frame
    from unwaver.logs.test_sets import with_test_sets

    return with_test_sets([frame], options.test, str(path))[0]


_COLUMNS = ("group", "item", "role", "label", "gold", "probs")


def model_of_file(path: Path) -> str:
    """snli_human_d-snli-roberta-large.json.gz -> "d-snli-roberta-large"."""
    return paranlu_tests.model_named_by(path) or stem(path)


def _rows(id: str, entry: Problem, task: str) -> Iterator[dict[str, Any]]:
    labels = task_named(TASKS[task]).labels
    shared = {"group": id, "gold": [labels[entry.gold_label]]}
    said = {"label": labels[entry.original_prediction], "probs": entry.original_confidence}
    yield {**shared, **said, "item": id, "role": "original"}
    for n, answer in enumerate(entry.bucket_confidences):
        said = {"label": labels[answer.prediction], "probs": answer.confidence}
        yield {**shared, **said, "item": _paraphrase_id(answer, f"{id}/{n}"), "role": "variant"}


def _paraphrase_id(answer: Prediction, default: str) -> str:
    example = answer.paraphrased_example
    return str(example.get("paraphrase_id", default)) if isinstance(example, dict) else default


# --- files, checked -----------------------------------------------------------------------------------------


def _problems(path: Path) -> dict[str, Problem]:
    found = read_json(path)
    if isinstance(found, list):
        raise DataError(
            "found a list, expected an object of problems by id",
            hint=f"this seems to be a test set: score the file of paraphrases, and give this one as --test {path}",
            file=path,
            line=1,
        )
    hint = HINTS[Problem]
    if not isinstance(found, dict) or not found:
        raise DataError(f"found {shown(found)}, expected problems by id", hint=hint, file=path, line=1)
    text, problems = read_text(path), {}
    for id, entry in found.items():
        where = Where(str(path), text.count("\n", 0, max(0, text.find(f'"{id}"'))) + 1)
        problems[id] = typed(Problem, entry, where, hint, id)
        check_task(id, next(iter(found)), where)
    return problems
