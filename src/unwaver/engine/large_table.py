"""A large table in a .parquet file, scored from parts: `unwaver score TABLE.parquet`.

    scores_of(path)                 the scores that the whole table gives, in a fraction of the memory
    scores_of(path, streamed=True)  memory does not grow with the table (--stream)

Parts hold whole clusters. With --stream, a table that is not sorted by cluster is first parted by a hash of the
clusters, in a temporary folder; without it, such a table is read as a whole unless the rows of each cluster stand
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from unwaver.answers.columns import NOWHERE, Origin, parquet_schema, polars_reads
from unwaver.answers.given import complete
from unwaver.answers.schema import REQUIRED
from unwaver.errors import DataError, UsageError
from unwaver.metrics.in_parts import NotInParts, Read, check_columns, scores_in_parts
from unwaver.metrics.score import Unreadable
from unwaver.result import Result
from unwaver.state import CutMode
from unwaver.types import Score

ROWS = 1 << 20  # of a part
LARGE = 1 << 19  # rows; a smaller table is read as a whole


def is_large(path: Path) -> bool:
    """Whether a table is a large one with the columns that unwaver needs."""
    if path.suffix != ".parquet" or not path.is_file():
        return False
    return set(REQUIRED) <= set(parquet_schema(path)) and _height(path) >= LARGE


def scored(
    path: Path,
    *,
    cut: CutMode | None = None,
    unreadable: Unreadable | None = None,
    seed: int = 0,
    streamed: bool = False,
) -> Result | None:
    """The scores of a table, without its answers; None if it has to be read as a whole."""
    from unwaver.engine import folder

    try:
        scores = _scores(path, cut or "exclude", unreadable or "violate", seed, streamed)
    except NotInParts as e:
        if not streamed:
            return None
        hint = "leave --stream out"
        raise UsageError(f"--stream cannot score this table: it has {e}", file=path, hint=hint) from None
    kept = {"cut": cut} if cut == "keep" else {}
    how = {"streamed": True} if streamed else {}
    return Result(scores, {"versions": folder.versions(), **kept, **how})


def _scores(path: Path, cut: CutMode, unreadable: Unreadable, seed: int, streamed: bool) -> list[Score]:
    names = parquet_schema(path)
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        hint = f"it needs group, kind, role, label and gold; found: {', '.join(names)}"
        raise DataError(f"the table has no column {', '.join(missing)}", file=path, hint=hint)
    check_columns(names)
    has_clusters = "cluster" in names and _some_clusters(path)
    by = "cluster" if has_clusters else "group"
    gather = partial(scores_in_parts, unreadable=unreadable, seed=seed, streamed=streamed)
    with ExitStack() as opened:
        if not _is_sorted(path, by):
            if not streamed:
                _check_together(path, by)
            else:
                place = Path(opened.enter_context(TemporaryDirectory(prefix="unwaver-")))
                _part_by_hash(path, by, place)
                return gather(lambda: _parted(place, cut))
        return gather(lambda: _in_order(path, by, cut))


# --- parts ------------------------------------------------------------------------------------------------------


def _height(path: Path) -> int:
    return int(polars_reads(path, lambda: pl.scan_parquet(path).select(pl.len()).collect().item()))


def _slices(path: Path, *columns: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """The table in slices, each with the number of its first row."""
    scan = pl.scan_parquet(path)
    if columns:
        scan = scan.select(columns)
    for start in range(0, _height(path), ROWS):
        yield start, polars_reads(path, lambda start=start: scan.slice(start, ROWS).collect())  # type: ignore[misc]


def _completed(frame: pl.DataFrame, cut: CutMode, origin: Origin) -> pl.DataFrame:
    made = complete(frame, cut, origin)
    if (made["status"] == "failed").any():
        raise NotInParts("failed calls")
    return made


def _in_order(path: Path, by: str, cut: CutMode) -> Iterator[Read]:
    """Slices that end where a group or a cluster ends."""
    rest: pl.DataFrame | None = None
    last = _height(path)
    for start, part in _slices(path):
        first, end = start, start + part.height
        if rest is not None:
            part, first = pl.concat([rest, part]), start - rest.height
        if end < last:
            runs = part[by].rle_id()
            left = int((runs == runs[-1]).sum())
            rest, part = part.tail(left), part.head(part.height - left)
        if part.height:
            yield partial(_completed, part, cut, Origin(str(path), first=first))


def _is_sorted(path: Path, by: str) -> bool:
    before: Any = None
    for _, part in _slices(path, by):
        column = part[by]
        if column.null_count() or not column.is_sorted() or (before is not None and column[0] < before):
            return False
        before = column[-1]
    return True


def _check_together(path: Path, by: str) -> None:
    """The rows of a cluster must stand together."""
    column = polars_reads(path, lambda: pl.scan_parquet(path).select(by).collect()[by])
    if int(column.rle_id()[-1]) + 1 != column.n_unique():
        raise NotInParts("clusters whose rows do not stand together")


def _some_clusters(path: Path) -> bool:
    lacking = pl.scan_parquet(path).select(pl.col("cluster").null_count())
    empty = polars_reads(path, lambda: int(lacking.collect().item()))
    if 0 < empty < _height(path):
        raise NotInParts("groups without a cluster among others that have one")
    return empty == 0


def _part_by_hash(path: Path, by: str, place: Path) -> None:
    count = -(-_height(path) // ROWS)
    for start, part in _slices(path):
        numbers = part[by].hash(1) % count
        for number, rows in part.group_by(numbers.alias("part"), maintain_order=True):
            folder = place / str(number[0])
            folder.mkdir(exist_ok=True)
            rows.write_ipc(folder / f"{start:012}.arrow", compression="lz4")


def _parted(place: Path, cut: CutMode) -> Iterator[Read]:
    for folder in sorted(place.iterdir()):
        files = sorted(folder.iterdir())
        yield partial(_completed, pl.concat([pl.read_ipc(file) for file in files]), cut, NOWHERE)
