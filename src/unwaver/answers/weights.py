"""Weights of buckets from the same model's answers on the full test set: rows with the role `test`.

    role      probs         gold              bin of the right answer's probability
    original  [0.2, 0.8]    strengthener  ->  8
    test      [0.15, 0.85]  strengthener  ->  8

`stats.weights` has the rule: the share of the test set in a bin, divided by the number of buckets in it. A table
that says its weights keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from unwaver.answers.schema import BLOCK
from unwaver.groups import SEEN_SUFFIX
from unwaver.stats import Floats
from unwaver.stats.weights import published_weights
from unwaver.tasks import known
from unwaver.tasks.paranlu_names import TASKS
from unwaver.types import Item

TEST = "test"
_ROW, _CONFIDENCE = "_row", "_confidence"


def has_test(frame: pl.DataFrame) -> bool:
    return bool((frame["role"] == TEST).any())


def weighted(frame: pl.DataFrame, confidence: Sequence[float | None] | None = None) -> pl.DataFrame:
    """The table with a weight for each bucket of the blocks that have test rows; other blocks as they are.

    `confidence` is the probability of the right answer in each row. Without it, it comes from `probs`, whose order
    is that of the task's labels or follows from the rows themselves.
    """
    if not has_test(frame):
        return frame
    told = pl.Series(_CONFIDENCE, confidence, dtype=pl.Float64) if confidence is not None else None
    rows = frame.with_columns(*([told] if told is not None else [])).with_row_index(_ROW)
    # groups that the model was trained on have a kind of their own, but were drawn with the others
    drawn = rows.with_columns(_kind=pl.col("kind").str.strip_suffix(SEEN_SUFFIX))
    parts = drawn.partition_by([n if n != "kind" else "_kind" for n in BLOCK], maintain_order=True)
    done = pl.concat([_of_block(part) for part in parts], how="diagonal").sort(_ROW)
    return done.select(frame.columns)


def weighted_by_items(table: pl.DataFrame, items: Sequence[Item]) -> pl.DataFrame:
    """The same for a table with one row for each of these items, whose choices are the order of `probs`."""
    rows = zip(items, table["probs"].to_list(), strict=True)
    return weighted(table, [right_probability(probs, item.choices, item.accepted) for item, probs in rows])


def _of_block(rows: pl.DataFrame) -> pl.DataFrame:
    is_test = rows["role"] == TEST
    if not is_test.any() or is_test.all() or rows["weight"].null_count() < rows.height:
        return rows
    if _CONFIDENCE not in rows.columns:
        rows = rows.with_columns(pl.Series(_CONFIDENCE, right_probabilities(rows), dtype=pl.Float64))
    of_test = rows.filter(is_test)[_CONFIDENCE].drop_nulls()
    originals = rows.filter((pl.col("role") == "original") & pl.col(_CONFIDENCE).is_not_null())
    buckets = originals.group_by("group", maintain_order=True).agg(pl.col(_CONFIDENCE).mean())
    if not len(of_test) or not buckets.height:
        return rows
    weights = published_weights(_unit(buckets[_CONFIDENCE]), _unit(of_test))
    found = buckets.select("group", pl.Series("_weight", weights))
    joined = rows.join(found, on="group", how="left", maintain_order="left")
    weight = pl.when(pl.col("role") != TEST).then(pl.col("_weight"))
    return joined.with_columns(weight.alias("weight")).drop("_weight")


def _unit(column: pl.Series) -> Floats:
    """Between 0 and 1: rounding may exceed it by little."""
    return np.asarray(np.clip(column.to_numpy().astype(np.float64), 0.0, 1.0))


def right_probabilities(rows: pl.DataFrame) -> list[float | None]:
    """The probability of the right answer in each row of a block; of several accepted labels, their sum."""
    order = label_order(rows)
    if order is None:
        return [None] * rows.height
    gold = rows["gold"].to_list()
    return [right_probability(probs, order, g) for probs, g in zip(rows["probs"].to_list(), gold, strict=True)]


def right_probability(
    probs: Sequence[float] | None, order: Sequence[str], gold: str | Sequence[str] | None
) -> float | None:
    """right_probability([0.2, 0.8], ["no", "yes"], ["yes"]) -> 0.8; None if it is not known"""
    if probs is None or not gold or len(probs) != len(order):
        return None
    accepted = {gold} if isinstance(gold, str) else set(gold)
    chosen = [p for p, name in zip(probs, order, strict=True) if name in accepted]
    return sum(chosen) if chosen and None not in chosen else None


def label_order(rows: pl.DataFrame) -> list[str] | None:
    """Which label each place of `probs` stands for: as the built-in task says, or as the answers show."""
    probs = rows["probs"].drop_nulls()
    if not len(probs) or probs.list.len().n_unique() != 1:
        return None
    width = int(probs.list.len()[0])
    gold = rows["gold"]
    names = gold.explode() if isinstance(gold.dtype, pl.List) else gold
    labels = {str(name) for name in [*rows["label"].drop_nulls().to_list(), *names.drop_nulls().to_list()]}
    suite, name = str(rows["suite"][0]), str(rows["task"][0])
    task = known().get(TASKS.get(name, name) if suite == "paranlu" else name)
    if task is not None and len(task.labels) == width and labels <= set(task.labels):
        return list(task.labels)
    return _shown_by_answers(rows, width, labels)


def _shown_by_answers(rows: pl.DataFrame, width: int, labels: set[str]) -> list[str] | None:
    """The label that is given most often where a place has the greatest probability."""
    given = rows.filter(pl.col("probs").is_not_null() & pl.col("label").is_not_null())
    counts = given.group_by(pl.col("probs").list.arg_max().alias("place"), "label").len()
    most = counts.sort("len", "label", descending=[True, False]).unique("place", keep="first", maintain_order=True)
    found: dict[int, str] = dict(zip(most["place"].to_list(), most["label"].to_list(), strict=True))
    free, unused = set(range(width)) - set(found), labels - set(found.values())
    if len(free) == len(unused) == 1:
        found[free.pop()] = unused.pop()
    if set(found) != set(range(width)) or len(set(found.values())) < width:
        return None
    return [found[place] for place in range(width)]
