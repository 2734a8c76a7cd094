"""The columns of the table of answers, with their types."""

from __future__ import annotations

from typing import Any

import polars as pl

SCHEMA: dict[str, Any] = {
    "suite": pl.String,
    "task": pl.String,
    "kind": pl.String,
    "expect": pl.String,  # same, different, implied, bucket
    "model": pl.String,
    "method": pl.String,
    "group": pl.String,
    "cluster": pl.String,
    "item": pl.String,
    "role": pl.String,  # original, variant, conclusion; test: of the full test set, in no group
    "replicate": pl.Int64,
    "label": pl.String,  # null: unreadable, or there is no answer; status says which
    "gold": pl.List(pl.String),  # the accepted labels; null: not known
    "right": pl.Float64,  # 1 or 0 where others have judged the answer: wins over gold; null: gold decides
    "probs": pl.List(pl.Float64),
    "status": pl.String,  # one of unwaver.state.STATUSES
    "truncated": pl.Boolean,
    "weight": pl.Float64,  # of the group, where groups were not drawn evenly; null: none
}
# only where a group needs them
OPTIONAL: dict[str, Any] = {
    "keep": pl.Int64,  # how many certified variants count
    "epsilon": pl.Float64,  # an upper limit of the share of wrong variants
    "domain": pl.String,  # in, out: whether the set is in the domain that the model was trained on
    "text": pl.String,  # what differs between original and variants
    "context": pl.String,  # on originals: what is the same in original and variants
    "embedding_distance": pl.Float64,  # of a variant to its original
    "sequential": pl.Boolean,  # true: how many groups were asked follows from what was answered
    "right_by": pl.String,  # how free text was judged: rouge1, contains
    "self_certified": pl.Boolean,  # true: variants count because the model that wrote them says so
    "failed_calls": pl.Int64,  # answers of the group that were left out because their call failed
    "said": pl.String,  # the text of an unreadable answer
    "format": pl.Float64,  # 1: the answer keeps the format asked for; 0: it does not; -1: text, tools are offered
    "theta": pl.List(pl.Float64),  # of C_S@θ, where others are asked for than the usual ones
    "units": pl.List(pl.String),  # the original items of the group, where several groups share them
}
REQUIRED = ("group", "kind", "role", "label")
ROLES = ("original", "variant", "conclusion", "test")
BLOCK = ("suite", "task", "kind", "model", "method")
