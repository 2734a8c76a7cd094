"""Tables in the columnar formats: .parquet, and .arrow, .feather or .ipc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unwaver.errors import DataError

COLUMNAR = (".parquet", ".arrow", ".feather", ".ipc")


def read_columnar(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Each row with its number, from 1."""
    import polars as pl

    try:
        read = pl.read_parquet if path.suffix == ".parquet" else _read_ipc
        return list(enumerate(read(path).to_dicts(), 1))
    except FileNotFoundError:
        raise DataError("there is no such file", hint="check the path", file=path) from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as e:
        first = str(e).split("\n", 1)[0]
        hint = "write it again, or check that the file extension matches the format"
        raise DataError(f"cannot be read as {path.suffix[1:]}: {first}", hint=hint, file=path) from None


def _read_ipc(path: Path) -> Any:
    import polars as pl

    try:
        return pl.read_ipc(path)
    except pl.exceptions.PolarsError:  # Datasets writes a stream, not a file
        return pl.read_ipc_stream(path)
