"""What metrics read from a block."""

from __future__ import annotations

import polars as pl
import pytest

from unwaver.answers.given import complete
from unwaver.metrics.block import block_of


@pytest.mark.parametrize("named", [True, False])
def test_a_wording_that_is_asked_again_is_one_wording(named: bool) -> None:
    """Group a: two paraphrases, three replicates each; group b: one paraphrase, asked twice."""
    rows = [("a", "a0", "original", 0)]
    rows += [("a", item, "variant", n) for n in range(3) for item in ("a1", "a2")]
    rows += [("b", "b1", "variant", n) for n in range(2)]
    frame = pl.DataFrame(rows, schema=["group", "item", "role", "replicate"], orient="row")
    frame = frame.with_columns(kind=pl.lit("bucket"), label=pl.lit("x"))
    block = block_of(complete(frame if named else frame.drop("item")))
    assert block.wordings(block.target).tolist() == [2, 1]
    assert block.wordings(block.target & (block.group == 1)).tolist() == [0, 1]
    assert block.wordings(~block.target).tolist() == [1, 0]
