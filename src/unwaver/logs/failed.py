"""Failed calls in logs: the answer is left out, and its bucket stays if two wordings are left.

unwaver cannot repeat the calls of another tool. A group that lost an answer so is *partial*: it is scored, but
the result is not complete, and no gate passes. With `strict` the whole group is left out instead.
"""

from __future__ import annotations

import polars as pl

from unwaver.logs.common import BUCKET
from unwaver.state import NO_ANSWER

_GROUP = ("suite", "task", "kind", *BUCKET)
LEAST = 2  # wordings


def without_failed(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The table without variants whose call failed, if enough others are left, and a line about them ("": none).
    The column `failed_calls` has the number of answers that a group has lost."""
    rows = frame.with_row_index("row")
    wording = pl.when(pl.col("item") == "").then(None).otherwise(pl.col("item"))
    wording = pl.coalesce(wording, pl.col("row").cast(pl.String))
    answered = ~pl.col("status").is_in(list(NO_ANSWER))
    failed = (pl.col("status") == "failed") & (pl.col("role") == "variant") & (pl.col("expect") != "implied")
    left = pl.when(answered).then(wording).drop_nulls().n_unique().over(_GROUP)
    rows = rows.with_columns(_lost=(failed & (left >= LEAST)).fill_null(False)).drop("row")
    lost = int(rows["_lost"].sum())
    if not lost:
        return frame, ""
    dropped = pl.col("_lost").sum().over(_GROUP).cast(pl.Int64)
    rows = rows.with_columns(failed_calls=dropped).filter(~pl.col("_lost")).drop("_lost")
    groups = rows.filter(pl.col("failed_calls") > 0).select(pl.struct(_GROUP).n_unique()).item()
    calls, kept = ("1 failed call is", "it") if lost == 1 else (f"{lost:,} failed calls are", "them")
    several = "group is" if groups == 1 else "groups are"
    return rows, f"{calls} left out; {groups:,} {several} scored without {kept}. --strict leaves out whole groups"
