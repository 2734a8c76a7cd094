"""A table in memory as a file, which is what suites are read from.

    as_file([{"question": "Is it late?", "paraphrase": "Has it got late?"}])
    -> ~/.cache/unwaver/tables/1f0a…/table.jsonl

The folder is named by what the table holds: the same table is the same run, and goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unwaver.errors import UsageError
from unwaver.suites.library import cache_folder

_HINT = "give a frame of Polars or pandas, an Arrow table, a Dataset (one split), or a list of rows as dicts"


def as_file(table: Any) -> Path:
    rows = rows_of(table)
    if not rows:
        raise UsageError("the table is empty", hint="it needs one row for each item or answer")
    text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    data = text.encode(errors="backslashreplace")
    path = cache_folder().parent / "tables" / hashlib.sha256(data).hexdigest()[:12] / "table.jsonl"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".table.{os.getpid()}")
        beside.write_bytes(data)
        beside.replace(path)
    return path


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of any table: as dicts, with null if a number is missing."""
    found = _listed(table)
    if odd := next((row for row in found if not isinstance(row, Mapping)), None):
        raise UsageError(f"found {odd!r:.40} in the table, expected rows as dicts", hint=_HINT)
    return [{str(name): _plain(value) for name, value in row.items()} for row in found]


def _listed(table: Any) -> list[Any]:
    if hasattr(table, "collect"):  # a lazy frame
        table = table.collect()
    for method in ("to_dicts", "to_pylist"):  # Polars, Arrow
        if hasattr(table, method):
            return list(getattr(table, method)())
    if hasattr(table, "column_names") and not isinstance(table, Mapping):  # a Dataset
        return list(table)
    if hasattr(table, "columns"):  # pandas
        return list(table.to_dict("records"))
    if isinstance(table, Mapping):
        return _columns(table)
    if isinstance(table, Iterable) and not isinstance(table, str | bytes):
        return list(table)
    raise UsageError(f"found {table!r:.40}, expected a name, a path or a table", hint=_HINT)


def _columns(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """{"a": [1, 2]} -> [{"a": 1}, {"a": 2}]"""
    lists = {str(name): list(column) for name, column in table.items() if isinstance(column, list | tuple)}
    if len(lists) < len(table) or len({len(column) for column in lists.values()}) > 1:
        raise UsageError("not a table: columns are lists of one length", hint=_HINT)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _plain(value: Any) -> Any:
    """As JSON can hold it: numpy's numbers and arrays as Python's, "not a number" as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and not math.isfinite(value) else value
