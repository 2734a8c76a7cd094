"""Scores of parts of the buckets: by any column of a table, or by whether a model that reads only a part of the
input gets the original right (then the original may be solved by an artifact of how it was written)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from unwaver.answers.columns import texts
from unwaver.answers.schema import SCHEMA
from unwaver.answers.weights import weighted
from unwaver.errors import DataError, UsageError, near
from unwaver.metrics.block import block_of
from unwaver.metrics.score import score_frame
from unwaver.types import Score

LIKELY, UNLIKELY = "likely", "unlikely"


def by_column(frame: pl.DataFrame, column: str) -> dict[str, str]:
    """The value that each group has in a column: {"a": "easy", "b": "hard"}."""
    if column not in frame.columns:
        raise UsageError(f"the table has no column {column!r}", hint=near(column, frame.columns))
    rows = frame.filter(pl.col("role") != "test")
    value = rows[column]
    if isinstance(value.dtype, pl.List):
        try:
            value = value.cast(pl.List(pl.String)).list.join(" or ")
        except pl.exceptions.PolarsError:  # bytes that are not text, or lists of lists
            hint = "give the column as text"
            raise DataError(f'column "{column}": found lists of other things than texts', hint=hint) from None
    values = pl.DataFrame({"group": rows["group"], "value": texts(value)}).drop_nulls().unique(maintain_order=True)
    if values["group"].n_unique() < values.height:
        group = values.filter(pl.col("group").is_duplicated())["group"][0]
        raise DataError(
            f"column {column!r} has several values in group {group}, expected one for each group",
            hint="split by something that holds for all wordings of a problem",
        )
    return dict(zip(values["group"].to_list(), values["value"].to_list(), strict=True))


def by_partial_input(partial: pl.DataFrame) -> dict[str, str]:
    """ "likely" where the partial-input model answers the original right, so that an artifact is likely there."""
    block = block_of(partial)
    right = block.per_group(block.right, ~block.target)
    names = partial.filter(pl.col("role") != "test")["group"].unique(maintain_order=True).to_list()
    parts = {n: LIKELY if r == 1 else UNLIKELY for n, r in zip(names, right, strict=True) if r in (0.0, 1.0)}
    if not parts:
        raise DataError(
            "the partial-input model has no answer to an original whose right answer is known",
            hint="give a table with originals and gold",
        )
    return parts


def split_scores(
    frame: pl.DataFrame, parts: Mapping[str, str], *, seed: int = 0, recounted: bool = False
) -> dict[str, list[Score]]:
    """The scores of each part, parts in order of appearance.

    Corrected values keep the weights of the whole, so that the parts, weighted by their mass, average to the value
    of the whole. Of these only the renormalised ones are given: on a part the published ones mean nothing.
    `recounted` counts the bins again in each part, as Table 7 of ParaNLU does; then a part is made to look like
    the whole test set.
    """
    tests = frame.filter(pl.col("role") == "test")
    rows = frame.filter(pl.col("role") != "test")
    groups = rows["group"].unique(maintain_order=True).to_list()
    unknown = [g for g in groups if g not in parts]
    if len(unknown) == len(groups):
        raise DataError(
            f"none of the {len(groups)} groups is in a part; the first is {groups[0]!r}",
            hint="both tables must use the same group ids",
        )
    found = {}
    for part in dict.fromkeys(parts.values()):
        chosen = rows.filter(pl.col("group").is_in([g for g in groups if parts.get(g) == part]))
        if chosen.height:
            chosen = chosen.select(list(SCHEMA))
            scores = score_frame(_recounted(chosen, tests) if recounted else chosen, seed=seed)
            found[part] = [s for s in scores if recounted or not _is_mass(s.metric)]
    return found


def _recounted(rows: pl.DataFrame, tests: pl.DataFrame) -> pl.DataFrame:
    """The rows of a part with weights of their own, from the whole test set."""
    anew = rows.with_columns(weight=pl.lit(None, dtype=pl.Float64))
    both = weighted(pl.concat([anew, tests.select(list(SCHEMA))], how="vertical_relaxed"))
    return both.filter(pl.col("role") != "test")


def _is_mass(metric: str) -> bool:
    return metric.endswith("_published") or metric == "weight_mass"
