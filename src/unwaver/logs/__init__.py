"""Logs of other tools as tables: no model is asked.

    read_logs([Path("samples_gsm8k_2026.jsonl")], LogOptions(bucket="doc.problem")) -> (table, notes)

A format is a module with `read(path, options)`, which gives a table, and `looks_like(path)`, which tells a file
of its own by its name or its first bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from unwaver import registry
from unwaver.errors import DataError, UsageError, near
from unwaver.logs.common import LogOptions, settle
from unwaver.logs.foreign import refuse_foreign
from unwaver.logs.notes import notes_on

__all__ = ["LogOptions", "format_of", "is_log_folder", "options_from", "read_logs"]

_EXPECTED = (
    "expected a run folder, samples_*.jsonl of lm-eval, a .eval or .json log of Inspect, JSON of promptfoo, a run "
    "folder of HELM, predictions of ParaNLU or BECEL, or a table"
)


def options_from(given: dict[str, Any]) -> LogOptions:
    known = [name for name in LogOptions.__dataclass_fields__ if name not in ("say", "named")]
    for name in given:
        if name not in known:
            raise UsageError(f"score has no option {name!r}", hint=near(name, known))
    return LogOptions(**given)


def read_logs(paths: Sequence[Path], options: LogOptions) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """The table of these logs, all of one format, and what a reader of the scores must know."""
    formats = {path: format_of(path) if options.format == "auto" else options.format for path in paths}
    first = formats[paths[0]]
    for path, name in formats.items():
        if name != first:
            raise DataError(
                f"this file has the format {name}, but {paths[0]} has the format {first}",
                hint="score logs of one tool at a time",
                file=path,
                line=None if path.is_dir() else 1,
            )
    said: list[str] = []
    options = replace(options, say=said.append, test=())
    files = list(dict.fromkeys(paths))
    frames = [
        registry.call("logs", first, pl.DataFrame, path, options.about(path, len(files) > 1 and path.is_file()))
        for path in files
    ]
    frame = pl.concat(_alike(frames), how="diagonal_relaxed")
    if frame["kind"].null_count() == 0:  # a table of groups
        return frame, {first: list(dict.fromkeys(said))} if said else {}
    frame = settle(frame)
    notes = notes_on(frame)
    return frame, notes | ({first: list(dict.fromkeys(said))} if said else {})


def _alike(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Frames that can stand one below the other: gold one label or a list, replicates numbers or names."""
    if len({(f.schema["gold"], f.schema["replicate"]) for f in frames}) == 1:
        return list(frames)
    gold = pl.when(pl.col("gold").is_not_null()).then(pl.concat_list("gold").cast(pl.List(pl.String)))
    return [f.with_columns(gold.alias("gold"), pl.col("replicate").cast(pl.String)) for f in frames]


def is_log_folder(path: Path) -> bool:
    try:
        return bool(format_of(path))
    except DataError:
        return False


def format_of(path: Path) -> str:
    """The name of the format that knows this file or folder."""
    refuse_foreign(path)
    for name in registry.names("logs"):
        looks_like = registry.beside("logs", name, "looks_like")
        if looks_like is not None and registry.guarded("logs", name, looks_like, object)(path):
            return name
    line = None if path.is_dir() else 1
    hint = f"say which it is: --format {', '.join(registry.names('logs'))}"
    raise DataError(f"cannot tell what log this is: {_EXPECTED}", file=path, line=line, hint=hint)
