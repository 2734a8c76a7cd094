"""Macro-averaged F1 against a count by hand, over one part and over several."""

import random

import polars as pl
import pytest

import unwaver
from unwaver.answers.given import complete

LABELS = ("a", "b", "c")


def slow_f1(pairs):
    """(gold, answer), …; an answer may be None."""
    labels = {gold for gold, _ in pairs} | {said for _, said in pairs if said}
    each = []
    for label in labels:
        hits = sum(gold == said == label for gold, said in pairs)
        each.append(2 * hits / (sum(said == label for _, said in pairs) + sum(gold == label for gold, _ in pairs)))
    return sum(each) / len(each)


def table(pairs, kind="base_test"):
    rows = [
        {"group": f"{kind}/{n}", "kind": kind, "expect": "same", "role": "original", "label": said, "gold": gold}
        for n, (gold, said) in enumerate(pairs)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("label").cast(pl.String))
    return frame.with_columns(suite=pl.lit("becel"), task=pl.lit("snli"))


@pytest.mark.parametrize("seed", range(5))
def test_macro_f1(seed):
    rng = random.Random(seed)
    pairs = [(rng.choice(LABELS[: 2 + seed % 2]), rng.choice([*LABELS, None])) for _ in range(60)]
    found = unwaver.score(table(pairs)).find("macro_f1")
    assert found.value == pytest.approx(slow_f1(pairs))
    assert found.low < found.value < found.high
    assert (found.better, found.counted) == ("high", 60)


def test_parts_that_a_model_has_seen_count_too():
    pairs, seen = [("a", "a"), ("a", "b"), ("b", "b")], [("c", "a"), ("a", None)]
    own = table([("a", "a")], "semantic")
    variant = own.with_columns(role=pl.lit("variant"))
    frame = pl.concat([own, variant, table(pairs), table(seen, "base_test_seen")])
    found = unwaver.score(complete(frame)).find("tau")
    assert found.base_accuracy == pytest.approx(2 / 5)
    assert found.base_f1 == pytest.approx(slow_f1(pairs + seen))
