"""Tables of answers that others made: a file, a frame of Polars or pandas, columns or rows.

Only the columns group, kind, role, label and gold are needed; `complete` adds the rest and checks every value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl

from unwaver.answers.columns import (
    NOWHERE,
    Origin,
    as_text,
    frame_of,
    label_sets,
    lists_of_numbers,
    numbers,
    read_parquet,
    texts,
    truths,
    wholes,
)
from unwaver.answers.schema import BLOCK, OPTIONAL, REQUIRED, ROLES, SCHEMA
from unwaver.answers.weights import weighted
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, Where, read_rows, shown
from unwaver.groups import KINDS, expect_of
from unwaver.state import NO_ANSWER, STATUSES, CutMode
from unwaver.types import Expect

_KNOWN_VALUES: Mapping[str, Sequence[str]] = {"role": ROLES, "status": STATUSES, "expect": get_args(Expect)}


def read_table(path: Path) -> pl.DataFrame:
    """The table in a .parquet, .csv, .tsv, .jsonl or .json file, complete (with what was cut); an empty cell is no
    value."""
    if path.suffix == ".parquet":
        return complete(read_parquet(path), cut=None, origin=Origin(str(path)))
    rows = read_rows(path, required=REQUIRED)
    return complete(_cells(rows), cut=None, origin=Origin(str(path), [row.where.line for row in rows]))


def read_cells(path: Path, required: Sequence[str]) -> pl.DataFrame:
    """The columns of a file as they are, with lists where lists are meant."""
    if path.suffix != ".parquet":
        return _cells(read_rows(path, required=required))
    frame = read_parquet(path)
    missing = [name for name in required if name not in frame.columns]
    if missing:
        hint = f"found: {', '.join(frame.columns)}"
        raise DataError(f"the table has no column {', '.join(missing)}", file=path, hint=hint)
    return frame


def _cells(rows: Sequence[Row]) -> pl.DataFrame:
    cells = [{name: _cell(name, value, row.where) for name, value in row.cells.items()} for row in rows]
    if any(isinstance(row.get("gold"), list) for row in cells):
        for row in cells:
            gold = row.get("gold")
            row["gold"] = gold if gold is None or isinstance(gold, list) else [as_text(gold)]
    return frame_of(cells)


def _cell(name: str, value: Any, where: Where) -> Any:
    """A value of the column `name`: a list where one is meant, None if it is empty, else as it is."""
    if value is None or value == "":
        return None
    if name in ("probs", "gold") and isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if name == "gold" and isinstance(value, list) and not _is_nested(value):
        return [as_text(v) for v in value if v is not None]
    expected = _expected_cell(name, value)
    if expected is None:
        return value
    raise where.error(f'column "{name}": found {shown(value)}, expected {expected}', "correct it")


def _is_nested(value: Any) -> bool:
    inner = value if isinstance(value, list) else ()
    return isinstance(value, dict) or any(isinstance(v, dict | list) for v in inner)


def _expected_cell(name: str, value: Any) -> str | None:
    """What the column expects, where this value is not it."""
    if name == "probs" and not isinstance(value, list):
        return "a list of numbers: [0.9, 0.1]"
    if name == "gold" and _is_nested(value):
        return 'a label, or a list of labels: ["a", "b"]'
    if name in _SCALAR and isinstance(value, dict | list):
        return "text or a number"
    return None


def complete(table: Any, cut: CutMode | None = "exclude", origin: Origin = NOWHERE) -> pl.DataFrame:
    """A table from elsewhere with every column of SCHEMA: a frame of Polars or pandas, or columns, or rows.

    `gold` may be one label or a list of accepted ones; numbers serve as labels. A missing label is
    unreadable unless a `status` column says otherwise. Where that says that there is no answer, a label counts
    for nothing; `cut`: "keep" takes answers that were cut as they are, None leaves that to who comes next.
    Every column gets its type; a value that cannot have it is an error with its row.
    """
    frame = _frame(table)
    missing = [c for c in REQUIRED if c not in frame.columns]
    if missing:
        raise origin.error(
            f"the table has no column {', '.join(missing)}",
            f"it needs group, kind, role, label and gold; found: {', '.join(frame.columns)}",
        )
    if not frame.height:
        raise origin.error("the table is empty", "it needs one row for each answer")
    has_clusters = "cluster" in frame.columns and frame["cluster"].null_count() < frame.height
    frame = frame.drop(_foreign(frame)) if _foreign(frame) else frame
    given = frame.columns
    frame = frame.with_columns(
        *(_typed(frame[n], origin) for n in given if n in _TYPES),
        *(pl.lit(_DEFAULTS.get(n), dtype=dtype).alias(n) for n, dtype in SCHEMA.items() if n not in given),
    )
    for name in ("group", "kind", "role"):
        _check_filled(frame[name], origin)
    frame = frame.with_columns(
        *(pl.col(n).fill_null(pl.lit(_DEFAULTS[n])) for n in given if n in _DEFAULTS),
        cluster=_clusters(frame),
        status=_statuses(frame),
        replicate=_replicates(frame["replicate"], origin),
        expect=_expected(frame, origin),
    )
    for name, known in _KNOWN_VALUES.items():
        if name in given:
            _check_known(frame[name], known, origin)
    return weighted(_without_answer(frame if has_clusters else _with_units(frame), cut))


def _foreign(frame: pl.DataFrame) -> list[str]:
    """Columns whose names mean another thing here."""
    made = [n for n in frame.columns if n.startswith(_MADE) and not _is_made(n, frame.schema[n])]
    return [*made, *({"units"} & set(frame.columns))]


def _statuses(frame: pl.DataFrame) -> pl.Expr:
    """What each row says, or else whether it has a label."""
    if frame["label"].null_count() == 0 == frame.height - frame["status"].null_count():
        return pl.lit("answered")
    unreadable = pl.when(pl.col("label").is_null()).then(pl.lit("unreadable")).otherwise(pl.lit("answered"))
    return pl.coalesce(pl.col("status"), unreadable)


def _without_answer(frame: pl.DataFrame, cut: CutMode | None) -> pl.DataFrame:
    """Rows without an answer have no label and are neither right nor wrong."""
    if cut not in ("exclude", "keep", None):
        raise UsageError(f"cut={cut!r}", hint="known: exclude, keep")
    status = pl.col("status")
    if cut == "keep":
        nothing = pl.col("label").is_null() & pl.col("right").is_null()
        kept = pl.when(nothing).then(pl.lit("unreadable")).otherwise(pl.lit("cut_read"))
        frame = frame.with_columns(status=pl.when(status == "cut").then(kept).otherwise(status))
    lacking = sorted(NO_ANSWER - ({"cut"} if cut is None else set()))
    if not frame["status"].is_in(lacking).any():
        return frame
    is_answer = ~status.is_in(lacking)
    return frame.with_columns(
        pl.when(is_answer).then(pl.col(name)).alias(name) for name in ("label", "right", "probs")
    )


_DEFAULTS: Mapping[str, Any] = {
    "suite": "own",
    "task": "own",
    "model": "table",
    "method": "table",
    "truncated": False,
    "item": "",
}
_TYPES: Mapping[str, Callable[[pl.Series, Origin], pl.Series]] = {
    **dict.fromkeys(
        ("suite", "task", "kind", "expect", "model", "method", "item", "role", "label", "status"), texts
    ),
    **dict.fromkeys(("text", "right_by", "said"), texts),
    **dict.fromkeys(("truncated", "sequential", "self_certified"), truths),
    "gold": label_sets,
    "right": lambda column, origin: truths(column, origin).cast(pl.Float64),
    "probs": lists_of_numbers,
    "weight": partial(numbers, least=0, expected="a number of 0 or more"),
    "epsilon": partial(numbers, least=0, most=1, expected="a share from 0 to 1"),
    "embedding_distance": numbers,
    "replicate": wholes,
    "keep": partial(wholes, least=1),
    # numbers stay numbers: a group is called what it is called elsewhere
    **dict.fromkeys(("group", "cluster"), lambda c, origin: c if c.dtype.is_integer() else texts(c, origin)),
}
_SCALAR = {*SCHEMA, *OPTIONAL} - {"gold", "probs"}
_MADE = ("agree_", "right_")  # what agreements and scorers add to a table of unwaver's own


def _is_made(name: str, dtype: Any) -> bool:
    if name.startswith("agree_"):
        return bool(dtype == pl.List(pl.Float64))
    return name in OPTIONAL or bool(dtype == pl.Float64)


def _typed(column: pl.Series, origin: Origin) -> pl.Series:
    return _TYPES[column.name](column, origin).alias(column.name)


def _check_filled(column: pl.Series, origin: Origin) -> None:
    empty = column.is_null()
    if column.dtype == pl.String:
        empty = empty | (column == "")
    if empty.any():
        message = f'column "{column.name}": found nothing, expected a value'
        raise origin.error(message, "fill the cell or drop the row", int(empty.arg_max() or 0))


def _check_known(column: pl.Series, known: Sequence[str], origin: Origin) -> None:
    strange = ~column.is_in(list(known))
    if strange.any():
        row = int(strange.arg_max() or 0)
        message = f'column "{column.name}": found {shown(column[row])}, expected {", ".join(known)}'
        raise origin.error(message, near(str(column[row]), known), row)


def _clusters(frame: pl.DataFrame) -> pl.Series:
    """A group without a cluster stands alone."""
    group, cluster = frame["group"], frame["cluster"]
    if cluster.null_count() == len(cluster):
        return group
    if cluster.null_count():
        group, cluster = group.cast(pl.String), cluster.cast(pl.String)
    return pl.select(pl.coalesce(cluster, group)).to_series()


def _replicates(column: pl.Series, origin: Origin) -> pl.Series:
    if 0 < column.null_count() < len(column):
        message = 'column "replicate": found nothing, expected a whole number of 0 or more'
        raise origin.error(message, "number the repeats of a wording 0, 1 …", int(column.is_null().arg_max() or 0))
    return column.fill_null(0)


def _expected(frame: pl.DataFrame, origin: Origin) -> pl.Series:
    """What each row says, or else its kind."""
    kinds = {k: expect_of(str(k)) for k in frame["kind"].unique().to_list()}
    usual = frame["kind"].replace_strict(kinds, return_dtype=pl.String)
    expect = pl.select(pl.coalesce(frame["expect"], usual)).to_series()
    if expect.null_count():
        row = int(expect.is_null().arg_max() or 0)
        kind = str(frame["kind"][row])
        message = f'kind "{kind}" is not known, so a column "expect" is needed: {", ".join(get_args(Expect))}'
        raise origin.error(message, near(kind, KINDS), row if "expect" in frame.columns and origin.lines else None)
    return expect


def _with_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Where groups have several originals and name no cluster, what is independent are these items."""
    block = [*BLOCK, "group"]
    of_several = (pl.col("expect") == "implied") & (pl.col("role") == "original") & (pl.col("item") != "")
    originals = frame.filter(of_several)
    found = originals.group_by(block).agg(units=pl.col("item").unique(maintain_order=True))
    if not (found["units"].list.len() > 1).any():
        return frame
    return frame.join(found, on=block, how="left", maintain_order="left")


def _frame(table: Any) -> pl.DataFrame:
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, Mapping) or (isinstance(table, Iterable) and not hasattr(table, "columns")):
        try:
            rows = table if isinstance(table, Mapping) else list(table)
            return pl.DataFrame(rows, infer_schema_length=None)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as e:
            first_line = str(e).split("\n", 1)[0]
            hint = "give each column values of one type, and all columns the same length"
            raise DataError(f"not a table: {first_line}", hint=hint) from None
    if hasattr(table, "columns"):  # pandas, without its PyArrow
        return pl.DataFrame({str(c): table[c].to_list() for c in table.columns}, strict=False)
    raise DataError(f"a {type(table).__name__} is not a table", hint="give a Polars or pandas frame, or rows")
