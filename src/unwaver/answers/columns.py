"""Columns from elsewhere as the columns of a table: one type each, or an error with the row and what was found.

texts(Series("label", [2.0, None]))   -> ["2", None]      dates, decimals, categories and UTF-8 bytes are texts too
wholes(Series("replicate", ["0", 1])) -> [0, 1]           −1, 0.5 and "x" are errors
truths(Series("truncated", ["False", "1"])) -> [False, True]
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from unwaver.errors import DataError
from unwaver.files import shown

Read = TypeVar("Read")
TRUTHS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
MOST_WHOLE = 2**63 - 1


@dataclass(frozen=True)
class Origin:
    """Where the rows of a table are from, for messages: `lines` are those of a text file, one a row."""

    file: str | None = None
    lines: Sequence[int] | None = None
    first: int = 0  # the row of the file that the first row is
    rows: Any = None  # those of the file, where they do not follow one another

    def error(self, message: str, hint: str, row: int | None = None) -> DataError:
        if row is None:
            return DataError(message, hint=hint, file=self.file)
        if self.lines is not None:
            return DataError(message, hint=hint, file=self.file, line=self.lines[row])
        number = self.first + row if self.rows is None else self.rows[row]
        return DataError(f"row {number}: {message}", hint=hint, file=self.file)


NOWHERE = Origin()


# --- columns ------------------------------------------------------------------------------------------------


def _refused(column: pl.Series, fine: pl.Series, expected: str, hint: str, origin: Origin) -> DataError:
    """The error about the first value that is not fine."""
    row = int((~fine.fill_null(True)).arg_max() or 0)
    return origin.error(
        f'column "{column.name}": found {shown(_plain(column[row]))}, expected {expected}', hint, row
    )


def texts(column: pl.Series, origin: Origin = NOWHERE) -> pl.Series:
    """As text; NaN is not a value, and 2.0 (what pandas makes of 2 beside a missing value or 2.5) is "2"."""
    dtype = column.dtype
    if dtype == pl.String:
        return column
    if dtype.is_float():
        column = column.fill_nan(None)
        whole = (column == column.round()) & (column.abs() < MOST_WHOLE)
        number = pl.when(whole).then(column.cast(pl.Int64, strict=False).cast(pl.String))
        return pl.select(number.otherwise(column.cast(pl.String))).to_series().alias(column.name)
    if dtype.is_nested() or dtype in (pl.Duration, pl.Object):
        hint = "give the column as text"
        raise origin.error(f'column "{column.name}": found values of type {_named(dtype)}, expected text', hint)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:  # bytes that are not text
        fine = pl.Series([v is None or _is_text(v) for v in column.to_list()])
        raise _refused(column, fine, "text", "give the column as text", origin) from None


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, bytes) and bool(value.decode() is not None)
    except UnicodeDecodeError:
        return False


def _named(dtype: Any) -> str:
    """List(Int64) -> list, Struct({…}) -> struct."""
    return str(dtype).partition("(")[0].lower()


def numbers(
    column: pl.Series,
    origin: Origin = NOWHERE,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    expected: str = "a number",
) -> pl.Series:
    """As Float64, finite and within limits; NaN is not a value."""
    made = _cast(column, pl.Float64, origin, expected).fill_nan(None)
    fine = made.is_finite() & (made >= least) & (made <= most)
    return _all_fine(column, made, fine, expected, origin)


def wholes(column: pl.Series, origin: Origin = NOWHERE, *, least: int = 0) -> pl.Series:
    """As Int64 of `least` or more; 1.0 and "1" are 1."""
    expected = f"a whole number of {least} or more"
    if column.dtype.is_integer():
        made = column.cast(pl.Int64, strict=False)
    else:
        number = _cast(column, pl.Float64, origin, expected)
        made = pl.select(pl.when(number == number.round()).then(number)).to_series().cast(pl.Int64, strict=False)
        if column.dtype == pl.String:  # exact where a float is not
            made = column.str.strip_chars().cast(pl.Int64, strict=False).fill_null(made)
    return _all_fine(column, made, made >= least, expected, origin)


def truths(column: pl.Series, origin: Origin = NOWHERE) -> pl.Series:
    """As Boolean: true, false, 1, 0 and these as text in any case."""
    if column.dtype == pl.Boolean:
        return column
    if column.null_count() == len(column):
        return column.cast(pl.Boolean)
    known = texts(column, origin).str.strip_chars().str.to_lowercase()
    made = known.replace_strict(TRUTHS, default=None, return_dtype=pl.Boolean)
    return _all_fine(column, made, made.is_not_null() | (known == ""), "1 or 0, true or false", origin)


def lists_of_numbers(column: pl.Series, origin: Origin = NOWHERE) -> pl.Series:
    """As lists of numbers; an empty list is not a value."""
    expected = "a list of numbers: [0.9, 0.1]"
    if column.null_count() == len(column):
        return pl.repeat(None, len(column), dtype=pl.List(pl.Float64), eager=True).alias(column.name)
    column = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    inner = getattr(column.dtype, "inner", None)
    if not isinstance(column.dtype, pl.List) or not (inner.is_numeric() or inner == pl.Null):  # type: ignore[union-attr]
        raise origin.error(
            f'column "{column.name}": found values of type {_named(column.dtype)}, expected {expected}',
            "correct it",
        )
    made = column.cast(pl.List(pl.Float64))
    fine = made.list.eval(pl.element().is_not_null() & pl.element().is_finite()).list.all()
    if not fine.fill_null(True).all():
        raise _refused(column, fine, expected, "correct it", origin)
    return _without_empty(made).alias(column.name)


def label_sets(column: pl.Series, origin: Origin = NOWHERE) -> pl.Series:
    """One label or a list of labels; an empty list is not a value."""
    dtype = column.dtype
    if isinstance(dtype, pl.Array):
        column = column.arr.to_list()
    elif not isinstance(dtype, pl.List):
        return texts(column, origin)
    if column.dtype != pl.List(pl.String):
        if column.dtype.inner.is_nested():  # type: ignore[attr-defined]
            row = int(column.is_not_null().arg_max() or 0)
            message = f'column "{column.name}": found {shown(_plain(column[row]))}, expected labels'
            raise origin.error(message, 'write one label, or a list of those that are right: ["a", "b"]', row)
        flat = iter(texts(column.drop_nulls().list.drop_nulls().explode(empty_as_null=False), origin).to_list())
        counts = column.list.drop_nulls().list.len().to_list()
        labels = [None if n is None else [next(flat) for _ in range(n)] for n in counts]
        column = pl.Series(column.name, labels, dtype=pl.List(pl.String))
    has_nulls = column.drop_nulls().explode(empty_as_null=False).null_count() > 0
    return _without_empty(column.list.drop_nulls() if has_nulls else column)


def _without_empty(column: pl.Series) -> pl.Series:
    """Lists; an empty one is not a value."""
    filled = column.list.len() > 0
    if filled.all():  # most columns have none, and a choice of lists is slow
        return column
    return pl.select(pl.when(filled).then(column)).to_series().alias(column.name)


def _plain(value: Any) -> Any:
    return value.to_list() if isinstance(value, pl.Series) else value


def _cast(column: pl.Series, dtype: Any, origin: Origin, expected: str) -> pl.Series:
    given = column.dtype
    if given == pl.Boolean or given.is_nested() or given.is_temporal() or given in (pl.Object, pl.Binary):
        if column.null_count() < len(column):
            message = f'column "{column.name}": found values of type {_named(given)}, expected {expected}'
            raise origin.error(message, "correct it")
        return pl.repeat(None, len(column), dtype=dtype, eager=True).alias(column.name)
    if given in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = pl.select(pl.when(column != "").then(column)).to_series()
    return column.cast(dtype, strict=False)


def _all_fine(column: pl.Series, made: pl.Series, fine: pl.Series, expected: str, origin: Origin) -> pl.Series:
    """`made` if it is fine wherever the column has a value."""
    nothing = column.is_null()
    if column.dtype.is_float():
        nothing = nothing | column.is_nan()
    elif column.dtype == pl.String:
        nothing = nothing | (column.str.strip_chars() == "")
    fine = nothing | (made.is_not_null() & fine.fill_null(False))
    if not fine.all():
        raise _refused(column, fine, expected, "correct it, or leave it empty", origin)
    return made.alias(column.name)


# --- parquet ------------------------------------------------------------------------------------------------


def read_parquet(
    path: Path, chosen: Callable[[Mapping[str, Any]], Sequence[pl.Expr]] | None = None
) -> pl.DataFrame:
    """The table in a file, or the expressions that are `chosen` for its schema."""
    if chosen is None:
        return polars_reads(path, lambda: pl.read_parquet(path))
    wanted = list(chosen(parquet_schema(path)))
    return polars_reads(path, lambda: pl.scan_parquet(path).select(wanted).collect())


def parquet_schema(path: Path) -> Mapping[str, Any]:
    return polars_reads(path, lambda: pl.read_parquet_schema(path))


def polars_reads(path: Path, read: Callable[[], Read]) -> Read:
    """Polars meets some damage with a panic, which is no Exception and is printed by Rust itself."""
    try:
        with _without_panics():
            return read()
    except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as e:
        first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0]
        hint = "write the file again: it may be cut or damaged"
        raise DataError(f"not a parquet table: {first_line}", file=path, hint=hint) from None


@contextmanager
def _without_panics() -> Iterator[None]:
    """What libraries print on the error channel is kept back, and dropped if they panic."""
    try:
        channel = os.dup(2)
    except OSError:  # closed
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        said = True
        try:
            yield
        except pl.exceptions.PanicException:
            said = False
            raise
        finally:
            os.dup2(channel, 2)
            os.close(channel)
            held.seek(0)
            if said and (text := held.read()):
                os.write(2, text)


# --- rows of JSON -------------------------------------------------------------------------------------------


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as columns. A column with values of several kinds becomes text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame([_series(str(name), [row.get(name) for row in rows]) for name in names])


def _series(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and kinds != {int}:
        values, kinds = [_as_float(v) for v in values], {float}
    elif kinds == {list}:
        values, kinds = _lists(values)
    elif kinds - {str} and (len(kinds) > 1 or not kinds <= {bool, int}):
        values, kinds = [as_text(v) for v in values], {str}
    if kinds == {int} and any(v is not None and not -MOST_WHOLE <= v <= MOST_WHOLE for v in values):
        values = [None if v is None else str(v) for v in values]
    return pl.Series(name, values, dtype=None if kinds else pl.Null)


def _lists(values: list[Any]) -> tuple[list[Any], set[type]]:
    """Lists of numbers, lists of texts, or their JSON."""
    inner = {type(v) for given in values if given is not None for v in given if v is not None}
    if not inner or inner <= {str}:
        return [None if v is None else pl.Series(v, dtype=pl.String) for v in values], {list}
    if inner <= {int, float}:
        made = [None if v is None else [_as_float(x) for x in v] for v in values]
        return [None if v is None else pl.Series(v, dtype=pl.Float64) for v in made], {list}
    return [_as_json(v) for v in values], {str}


def _as_float(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # thousands of digits
        return math.inf if value > 0 else -math.inf


def _as_json(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def as_text(value: Any) -> str | None:
    """One value as `texts` reads it: 2.0 -> "2", NaN -> None, True -> "true"."""
    return texts(pl.Series([value]))[0] if isinstance(value, float) else _as_json(value)
