"""Frames that Python gets: Polars, with a way to pandas that needs nothing but pandas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import polars as pl

from unwaver.errors import UsageError


class Frame(pl.DataFrame):
    """A Polars frame. Polars itself needs pyarrow for `to_pandas`, which unwaver does not bring."""

    def to_pandas(self, *args: Any, **options: Any) -> Any:
        try:
            import pandas
        except ImportError:
            hint = "pip install pandas; or use the frame as it is: Polars"
            raise UsageError("pandas is not installed", hint=hint) from None
        try:
            return super().to_pandas(*args, **options)
        except ModuleNotFoundError:  # pyarrow
            return pandas.DataFrame(self.to_dict(as_series=False), columns=self.columns)


def frame_of(rows: Iterable[Any], kind: type, first: Iterable[str] = ()) -> Frame:
    """Dataclass objects of one kind as rows, each column with the type that the field is declared with. Columns
    named `first` come before the others."""
    types = {column.name: _dtype(str(column.type)) for column in fields(kind)}
    columns = {name: types[name] for name in dict.fromkeys([*first, *types])}
    data = [[_plain(getattr(row, name)) for name in columns] for row in rows]
    return Frame(pl.DataFrame(data, schema=columns, orient="row"))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _dtype(declared: str) -> Any:
    """ "float | None" -> Float64, "tuple[str, ...]" -> List(String)."""
    if declared.startswith("tuple["):
        return pl.List(_dtype(declared.removeprefix("tuple[")))
    return {"float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}.get(re.split(r"\W", declared)[0], pl.String)
