"""What cannot be told from logs, for whoever reads the scores."""

from __future__ import annotations

import polars as pl

from unwaver.logs.common import BUCKET
from unwaver.state import NO_ANSWER


def notes_on(frame: pl.DataFrame) -> dict[str, list[str]]:
    """What cannot be told from these logs, by suite/task/kind."""
    blocks = (
        frame.filter(~pl.col("status").is_in(list(NO_ANSWER)))
        .group_by("suite", "task", "kind", maintain_order=True)
        .agg(
            alone=pl.struct(BUCKET).hash().n_unique() == pl.len(),
            known=(pl.col("right").is_not_null() | pl.col("gold").is_not_null()).any(),
            answered=pl.col("label").is_not_null().any(),
            empty=(pl.col("status") == "unreadable").all(),
        )
    )
    notes = {}
    for suite, task, kind, alone, known, answered, empty in blocks.rows():
        unanswered = [] if answered else [_EMPTY if empty else _NO_ANSWERS]
        said = [*[_ALONE] * alone, *[_NO_GOLD] * (not known), *unanswered]
        if said:
            notes[f"{suite}/{task}/{kind}"] = said
    return notes


_ALONE = (
    "every bucket has one answer, so consistency cannot be measured; say which questions belong together: "
    "--bucket, --bucket-regex or --bucket-file"
)
_NO_GOLD = "right answers are not known: no P_C and no accuracy, only the agreement of answers"
_NO_ANSWERS = "the log holds no answers, only whether they are right: no Cons_lex and no tau"
_EMPTY = "every answer in the log is empty: it is unreadable, and agrees with no other"
