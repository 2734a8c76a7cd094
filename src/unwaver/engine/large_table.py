"""A large table in a .parquet file, scored from parts: `unwaver score TABLE.parquet`.

    scores_of(path)                 the scores that the whole table gives, in a fraction of the memory
    scores_of(path, streamed=True)  memory does not grow with the table (--stream)

Parts hold whole clusters. Where the rows of a cluster do not stand together, the table is first divided into files
in a temporary folder: by the order in which clusters appear, or with --stream by a hash of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from unwaver.answers.columns import Origin, parquet_schema, polars_reads
from unwaver.answers.given import complete
from unwaver.answers.schema import BLOCK, REQUIRED
from unwaver.console import Console, Progress
from unwaver.errors import DataError, UsageError
from unwaver.metrics.block import codes_of
from unwaver.metrics.in_parts import ROW, NotInParts, Read, check_columns, scores_in_parts
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


def scored_in_parts(
    paths: Sequence[Path],
    others: Mapping[str, Any],
    *,
    cut: CutMode | None = None,
    unreadable: Unreadable | None = None,
    seed: int = 0,
    stream: bool = False,
    console: Console | None = None,
) -> Result | None:
    """What `scored` gives if the answers are one large table, or `stream` asks for it; else None. `others` are all
    other options: with one of them, a table is read as a whole."""
    used = any(value not in (None, (), [], {}, False, "auto") for value in others.values())
    if len(paths) != 1 or paths[0].suffix != ".parquet" or used:
        if stream:
            hint = "unwaver score TABLE.parquet --stream; of other options only --unreadable and --cut"
            raise UsageError("--stream scores one .parquet table with the columns of unwaver", hint=hint)
        return None
    if stream and not paths[0].is_file():
        raise DataError("there is no such file", file=paths[0], hint="give a .parquet table")
    if not stream and not is_large(paths[0]):
        return None
    return scored(paths[0], cut=cut, unreadable=unreadable, seed=seed, streamed=stream, console=console)


def scored(
    path: Path,
    *,
    cut: CutMode | None = None,
    unreadable: Unreadable | None = None,
    seed: int = 0,
    streamed: bool = False,
    console: Console | None = None,
) -> Result | None:
    """The scores of a table, without its answers; None if it has to be read as a whole."""
    from unwaver.engine import folder

    try:
        gather = partial(scores_in_parts, unreadable=unreadable or "violate", seed=seed, streamed=streamed)
        scores = _scores(path, cut or "exclude", streamed, gather, console or Console())
    except NotInParts as e:
        if not streamed:
            return None
        hint = "leave --stream out"
        raise UsageError(f"--stream cannot score this table: it has {e}", file=path, hint=hint) from None
    kept = {"cut": cut} if cut == "keep" else {}
    how = {"streamed": True} if streamed else {}
    return Result(scores, {"versions": folder.versions(), **kept, **how})


Parts = Callable[[], Iterator[partial[pl.DataFrame]]]
Gather = Callable[[Callable[[], Iterator[Read]]], list[Score]]


def _scores(path: Path, cut: CutMode, streamed: bool, gather: Gather, console: Console) -> list[Score]:
    names = parquet_schema(path)
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        hint = f"it needs group, kind, role, label and gold; found: {', '.join(names)}"
        raise DataError(f"the table has no column {', '.join(missing)}", file=path, hint=hint)
    check_columns(names)
    by = "cluster" if "cluster" in names and _some_clusters(path) else "group"
    with ExitStack() as opened, console.track("rows", _height(path)) as progress:
        parts = _parts(path, opened, by, cut, streamed)
        return gather(lambda: _tracked(parts(), progress))


def _parts(path: Path, opened: ExitStack, by: str, cut: CutMode, streamed: bool) -> Parts:
    if _is_sorted(path, by):
        return lambda: _in_order(path, [by], cut)
    within = [by, *_block_columns(path)]
    if not streamed and _stand_together(path, within):
        return lambda: _in_order(path, within, cut)
    place = Path(opened.enter_context(TemporaryDirectory(prefix="unwaver-")))
    _divide(path, place, _by_hash(path, by) if streamed else _by_rank(path, within))
    return lambda: _divided(path, place, cut)


def _tracked(parts: Iterator[partial[pl.DataFrame]], progress: Progress) -> Iterator[Read]:
    for part in parts:
        yield part
        progress(part.args[0].height)


def _block_columns(path: Path) -> list[str]:
    """Columns that tell blocks apart: a cluster is one of its block."""
    names = parquet_schema(path)
    plain = [name for name in BLOCK if name in names and (names[name] == pl.String or names[name].is_integer())]
    empty = polars_reads(path, lambda: pl.scan_parquet(path).select(pl.col(plain).null_count()).collect())
    return [name for name in plain if not empty[name].item()]


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


def _in_order(path: Path, within: Sequence[str], cut: CutMode) -> Iterator[partial[pl.DataFrame]]:
    """Slices that end where a cluster ends."""
    rest: pl.DataFrame | None = None
    last = _height(path)
    for start, part in _slices(path):
        first, end = start, start + part.height
        if rest is not None:
            part, first = pl.concat([rest, part]), start - rest.height
        if end < last:
            whole = part.height - 1 - int(_starts(part, within).reverse().arg_max() or 0)
            rest, part = part.tail(part.height - whole), part.head(whole)
        if part.height:
            yield partial(_completed, part, cut, Origin(str(path), first=first))


def _starts(frame: pl.DataFrame, within: Sequence[str]) -> pl.Series:
    """Whether each row is the first of its cluster in a run of them; the first row is."""
    changed = [pl.col(name).ne_missing(pl.col(name).shift()) for name in within]
    return frame.select(pl.any_horizontal(pl.int_range(pl.len()) == 0, *changed)).to_series()


def _is_sorted(path: Path, by: str) -> bool:
    before: Any = None
    for _, part in _slices(path, by):
        column = part[by]
        if column.null_count() or not column.is_sorted() or (before is not None and column[0] < before):
            return False
        before = column[-1]
    return True


def _stand_together(path: Path, within: Sequence[str]) -> bool:
    """Whether the rows of each cluster stand together."""
    found: list[pl.Series] = []
    before: tuple[Any, ...] | None = None
    for _, part in _slices(path, *within):
        starts = part.filter(_starts(part, within))
        found.append((starts[1:] if starts.row(0) == before else starts).hash_rows())
        before = part.row(-1)
    keys = pl.concat(found)
    return keys.n_unique() == len(keys)


def _some_clusters(path: Path) -> bool:
    lacking = pl.scan_parquet(path).select(pl.col("cluster").null_count())
    empty = polars_reads(path, lambda: int(lacking.collect().item()))
    if 0 < empty < _height(path):
        raise NotInParts("groups without a cluster among others that have one")
    return empty == 0


Numbers = Callable[[int, pl.DataFrame], Any]  # of the row that a slice begins with, and the slice: a part a row


def _by_hash(path: Path, by: str) -> Numbers:
    """In memory that does not grow."""
    parts = -(-_height(path) // ROWS)
    return lambda _, rows: rows[by].hash(1) % parts


def _by_rank(path: Path, within: Sequence[str]) -> Numbers:
    """Clusters in the order in which they appear, as the scores of the whole table have them."""
    codes, count = codes_of(pl.concat([part.hash_rows() for _, part in _slices(path, *within)]))
    parts = -(-len(codes) // ROWS)
    numbers = (codes * parts // count).astype(np.uint32)
    return lambda start, rows: pl.Series(numbers[start : start + rows.height])


def _divide(path: Path, place: Path, numbers: Numbers) -> None:
    for start, rows in _slices(path):
        rows = rows.with_columns(pl.int_range(start, start + rows.height).alias(ROW))
        for number, part in rows.group_by(numbers(start, rows).alias("part"), maintain_order=True):
            folder = place / f"{number[0]:09}"
            try:
                folder.mkdir(exist_ok=True)
                part.write_ipc(folder / f"{start:012}.arrow", compression="lz4")
            except (OSError, pl.exceptions.PolarsError) as e:
                message = f"the table is to be divided into files, and one could not be written: {e}"
                hint = "point TMPDIR to a folder with room for the table, or sort the table by cluster"
                raise DataError(message, file=place, hint=hint) from None


def _divided(path: Path, place: Path, cut: CutMode) -> Iterator[partial[pl.DataFrame]]:
    for folder in sorted(place.iterdir()):
        rows = pl.concat([pl.read_ipc(file) for file in sorted(folder.iterdir())])
        yield partial(_completed, rows, cut, Origin(str(path), rows=rows[ROW]))
