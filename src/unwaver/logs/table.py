"""Plain tables: .csv, .tsv, .jsonl, .json (plain or .gz) and .parquet, one row an answer.

A table with the columns group, kind, role and label is taken as it is. Any other is a log whose columns are
named by --bucket, --variant, --answer, --gold and --replicate, or have these names:

    bucket  variant  answer  gold  replicate    and, where they are there, id  right  task  model  role  status
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.answers.columns import Origin, label_sets, parquet_schema, read_parquet, texts
from unwaver.answers.given import read_table
from unwaver.answers.schema import REQUIRED
from unwaver.errors import DataError, near
from unwaver.files import EXTENSIONS, Row, extension, read_rows, shown, stem
from unwaver.logs.common import LogOptions, as_table, bucket_names, field_text, head, lookup

NAME = "table"
# what a column is called where no option says otherwise
PROMPT = ("prompt", "question", "input", "text")
_CALLED = {
    "id": ("id",),
    "bucket": ("bucket",),
    "variant": ("variant",),
    "prompt": PROMPT,
    "answer": ("answer", "label"),
    "gold": ("gold",),
    "replicate": ("replicate",),
    "right": ("right", "correct"),
    "task": ("task",),
    "model": ("model",),
    "role": ("role",),
    "status": ("status",),
}
_RIGHT = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0}


def looks_like(path: Path) -> bool:
    return path.is_file() and (extension(path) in EXTENSIONS or path.suffix == ".parquet")


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    names = _column_names(path)
    if not options.names_columns and ("bucket" not in names or set(REQUIRED) <= set(names)):
        frame = read_table(path)
        return _with_prompt(frame) if options.texts else frame
    if path.suffix == ".parquet":
        frame = _parquet(path, options)
    else:
        frame = _rows(path, options)
    return _as_log(frame, path, options)


def _with_prompt(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of groups with what was asked, where a column has it."""
    found = next((n for n in PROMPT if n in frame.columns and frame.schema[n] == pl.String), None)
    named = pl.lit(None, pl.String) if found is None else pl.col(found)
    return frame.with_columns(named.alias("prompt"))


def _column_names(path: Path) -> list[str]:
    """Of a file in order; [] where they cannot be told, and reading it will say why."""
    if path.suffix == ".parquet":
        return list(parquet_schema(path))
    start = head(path)
    try:
        if extension(path) in (".csv", ".tsv"):
            cells = csv.reader(start.splitlines()[:1], delimiter="\t" if extension(path) == ".tsv" else ",")
            return [name.strip() for name in next(cells, [])]
        record, _ = json.JSONDecoder().raw_decode(start, start.index("{"))
        return list(record)
    except (ValueError, csv.Error, RecursionError):
        return []


# --- columns ------------------------------------------------------------------------------------------------


def _named(options: LogOptions) -> dict[str, str]:
    """The columns that options name."""
    given = {
        "bucket": options.bucket,
        "variant": options.variant,
        "answer": options.answer,
        "gold": options.gold,
        "replicate": options.replicate,
        "right": options.metric_key,
    }
    return {role: name for role, name in given.items() if name is not None}


def _chosen(names: Sequence[str], options: LogOptions, path: Path) -> dict[str, str]:
    """Which column (or dotted path) is which."""
    named = _named(options)
    taken = set(named.values())
    usual = {
        role: next((n for n in called if n in names and n not in taken), None)
        for role, called in _CALLED.items()
        if role != "prompt" or options.texts
    }
    chosen = {**{role: name for role, name in usual.items() if name is not None}, **named}
    if "answer" not in chosen and "right" not in chosen:
        raise DataError(
            "no column for the answer; found: " + ", ".join(f'"{n}"' for n in names),
            file=path,
            line=1,
            hint="say which it is: --answer NAME, or --metric-key NAME for one of right and wrong",
        )
    by_id = options.bucket is None and (options.bucket_regex is not None or options.bucket_file is not None)
    if by_id and "id" not in chosen:
        raise DataError(
            'no column "id" to find the bucket by', file=path, line=1, hint="name the column: --bucket NAME"
        )
    return chosen


def _parquet(path: Path, options: LogOptions) -> pl.DataFrame:
    """Only the columns that are needed are read."""

    def chosen(schema: Mapping[str, Any]) -> list[pl.Expr]:
        roles = _chosen(list(schema), options, path)
        return [_column(name, schema, path).alias(role) for role, name in roles.items()]

    frame = read_parquet(path, chosen).with_row_index("line")
    return frame.with_columns(pl.col("line").cast(pl.Int64) + 1)


def _column(name: str, schema: Mapping[str, Any], path: Path) -> pl.Expr:
    """doc.id is the field id of the column doc, where there is no column of that name."""
    if name in schema:
        return pl.col(name)
    first, *fields = name.split(".")
    dtype, column = schema.get(first), pl.col(first)
    for field in fields:
        known = [f.name for f in dtype.fields] if isinstance(dtype, pl.Struct) else []
        if field not in known:
            dtype = None
            break
        dtype = next(f.dtype for f in dtype.fields if f.name == field)  # type: ignore[union-attr]
        column = column.struct.field(field)
    if dtype is None:
        found = ", ".join(f'"{n}"' for n in schema)
        raise DataError(f'no column "{name}"; found: {found}', file=path, line=1, hint=near(name, schema))
    return column


def _rows(path: Path, options: LogOptions) -> pl.DataFrame:
    rows = read_rows(path)
    chosen = _chosen(list(rows[0].cells), options, path)
    columns: dict[str, list[Any]] = {
        role: [_text(role, lookup(row.cells, name, row.where), row) for row in rows]
        for role, name in chosen.items()
    }
    schema = {role: pl.List(pl.String) if role == "gold" else pl.String for role in columns}
    lines = pl.Series("line", [row.where.line for row in rows], dtype=pl.Int64)
    return pl.DataFrame(columns, schema=schema).with_columns(lines)


def _text(role: str, value: Any, row: Row) -> Any:
    if role == "gold":
        texts = [field_text(v) for v in (value if isinstance(value, list) else [value])]
        return [t for t in texts if t is not None] or None
    if isinstance(value, dict | list) and role not in ("answer", "variant", "prompt"):
        raise row.where.error(f"{role}: found {shown(value)}, expected text or a number", "name a field below it")
    return field_text(value)


# --- the log ------------------------------------------------------------------------------------------------


def _as_log(frame: pl.DataFrame, path: Path, options: LogOptions) -> pl.DataFrame:
    if frame.is_empty():
        raise DataError("the table has no rows", file=path, line=1, hint="it needs one row for each answer")
    frame = frame.with_columns(_texts(frame, path))
    frame = frame.with_columns(group=_bucket(frame, path, options), right=_right(frame, path, options))
    has_answers = "answer" in frame.columns
    frame = frame.rename({"answer": "label"}) if has_answers else frame.with_columns(label=pl.lit(None, pl.String))
    unreadable = pl.col("label").is_null() & has_answers
    status = pl.when(unreadable).then(pl.lit("unreadable")).otherwise(pl.lit("answered"))
    defaults = {
        "task": pl.lit(stem(path)),
        "model": pl.lit("table"),
        "role": pl.lit("variant"),
        "gold": pl.lit(None, pl.List(pl.String)),
        "replicate": pl.lit(None, pl.String),
        "status": status,
        "truncated": pl.lit(False),
    }
    known = frame.columns
    frame = frame.with_columns(**{n: e for n, e in defaults.items() if n not in known})
    empty = [n for n in ("task", "model", "role", "status") if n in known]
    frame = frame.with_columns(pl.coalesce(pl.col(n), defaults[n]).alias(n) for n in empty)
    if "variant" in frame.columns:
        frame = frame.rename({"variant": "item"})
    else:  # each row of a bucket is a wording, the nth of one replicate that of another
        told = frame["replicate"].null_count() < frame.height
        beside = ["task", "model", "group", *["replicate"] * told]
        frame = frame.with_columns(item=pl.int_range(pl.len()).over(beside).cast(pl.String))
    extra = [n for n in ("id", "bucket", "line") if n in frame.columns]
    return as_table(frame.drop(extra), NAME, options)


def _texts(frame: pl.DataFrame, path: Path) -> list[pl.Series]:
    """Every column but line and right as text, gold as labels; an empty answer is none."""
    origin = Origin(str(path), frame["line"].to_list())
    made = []
    for name, dtype in frame.schema.items():
        if name in ("line", "right"):
            continue
        if name == "gold":
            column = label_sets(frame[name], origin)
        elif dtype.is_nested() and name in ("answer", "variant", "prompt"):
            column = pl.Series(name, [field_text(_plain(v)) for v in frame[name].to_list()], dtype=pl.String)
        else:
            column = texts(frame[name], origin)
        if name in ("answer", "gold") and column.dtype == pl.String:
            column = column.str.strip_chars()
            column = pl.select(pl.when(column != "").then(column)).to_series()
        made.append(column.alias(name))
    return made


def _plain(value: Any) -> Any:
    return value.to_list() if isinstance(value, pl.Series) else value


def _bucket(frame: pl.DataFrame, path: Path, options: LogOptions) -> pl.Series:
    by = "bucket" if "bucket" in frame.columns and (options.bucket or not options.has_buckets) else "id"
    if by not in frame.columns or (by == "id" and not options.has_buckets):
        return frame["line"].cast(pl.String)  # nothing says what belongs together
    ids = frame[by]
    if ids.null_count():
        line = int(frame["line"].filter(ids.is_null())[0])
        raise DataError(
            f"the column for the bucket: found nothing in row {line}, expected a value",
            file=path,
            line=line,
            hint="fill the cell or drop the row",
        )
    if options.bucket_regex is None and options.bucket_file is None:
        return ids
    return bucket_names(ids, frame["line"], path, options)


def _right(frame: pl.DataFrame, path: Path, options: LogOptions) -> pl.Series:
    """1 or 0; partial credit is not right, and said."""
    if "right" not in frame.columns:
        return pl.Series(None, dtype=pl.Float64).extend_constant(None, frame.height)
    column = frame["right"]
    if column.dtype == pl.String:
        said = column.drop_nulls().str.to_lowercase().unique()
        strange = [v for v in said.to_list() if v not in _RIGHT and _number(v) is None]
        if strange:
            line = int(frame["line"].filter(column.str.to_lowercase() == strange[0])[0])
            raise DataError(
                f"right: found {shown(strange[0])}, expected 1 or 0, true or false",
                file=path,
                line=line,
                hint="leave it empty where it is not known",
            )
        values = {v: _RIGHT.get(v, _number(v)) for v in said.to_list()}
        column = column.str.to_lowercase().replace_strict(values, return_dtype=pl.Float64)
    elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DataError(
            f"right: found a column of {column.dtype}, expected numbers", file=path, line=1, hint="1 or 0"
        )
    column = column.cast(pl.Float64).fill_nan(None)
    if partial := int(((column > 0) & (column < 1)).sum()):
        options.say(f"{partial:,} answers have partial credit: counted as wrong")
    return (column >= 1).cast(pl.Float64)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
