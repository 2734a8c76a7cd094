"""A published list of test predictions of ParaNLU as rows: snli_test_set_MODEL.json, plain or .gz.

[{"example_id": "snli.test.0", "confidence": [0.99, 0.01], "prediction": 0, "label": 0}, …]
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from unwaver.answers.schema import SCHEMA
from unwaver.errors import DataError
from unwaver.files import Where, read_json, shown, stem
from unwaver.logs.common import head
from unwaver.logs.paranlu_checks import HINTS, Tested, check_task, task_of
from unwaver.tasks import task_named
from unwaver.tasks.paranlu_names import TASKS
from unwaver.typed import typed

NAMES = Tested.__struct_fields__
_NAMED = re.compile(rf"^(?:{'|'.join(TASKS)})_(?:human|automatic|test_set)_")


def looks_like(path: Path) -> bool:
    start = head(path).lstrip()
    return start.startswith("[") and all(f'"{name}"' in start for name in NAMES)


def model_named_by(path: Path) -> str | None:
    """snli_test_set_d-snli-roberta-large.json.gz -> "d-snli-roberta-large"; test.json -> None"""
    name = stem(path)
    return _NAMED.sub("", name) if _NAMED.match(name) else None


def read(path: Path) -> tuple[str, pl.DataFrame]:
    """The task of the ids ("snli"), and a row for each prediction."""
    found = read_json(path)
    if not isinstance(found, list) or not found:
        hint = f"the file of the same model's predictions on the full test set: each has {', '.join(NAMES)}"
        raise DataError(f"found {shown(found)}, expected a list of predictions", hint=hint, file=path, line=1)
    where = Where(str(path), 1)
    entries: list[Tested] = typed(list[Tested], found, where, HINTS[Tested])
    for entry in entries:
        check_task(str(entry.example_id), str(entries[0].example_id), where)
    task = task_of(str(entries[0].example_id), path)
    return task, _rows(entries, task_named(TASKS[task]).labels)


def _rows(entries: list[Tested], labels: tuple[str, ...]) -> pl.DataFrame:
    ids = [str(entry.example_id) for entry in entries]
    columns = {
        "group": ids,
        "item": ids,
        "label": [labels[entry.prediction] for entry in entries],
        "gold": [[labels[entry.label]] for entry in entries],
        "probs": [entry.confidence for entry in entries],
        "status": ["answered"] * len(ids),
        "replicate": [0] * len(ids),
    }
    return pl.DataFrame(columns, schema={name: SCHEMA[name] for name in columns})
