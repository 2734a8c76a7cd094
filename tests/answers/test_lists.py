"""Columns of lists are what Polars would make of them, list by list."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.answers.table import lists

numbers = st.floats(allow_nan=False)


@given(st.lists(st.one_of(st.none(), st.lists(numbers, min_size=1, max_size=4))))
def test_lists_of_numbers(values: list[list[float] | None]) -> None:
    expected = pl.Series(values, dtype=pl.List(pl.Float64))
    assert lists(values, pl.List(pl.Float64)).equals(expected, check_dtypes=True)


@given(st.lists(st.one_of(st.none(), st.lists(st.text(max_size=2), max_size=3).map(tuple))))
def test_lists_of_texts(values: list[tuple[str, ...] | None]) -> None:
    expected = pl.Series([None if v is None else list(v) for v in values], dtype=pl.List(pl.String))
    assert lists(values, pl.List(pl.String)).equals(expected, check_dtypes=True)


@pytest.mark.parametrize("dtype", [pl.List(pl.Float64), pl.List(pl.String)])
def test_no_lists(dtype: Any) -> None:
    assert lists([], dtype).dtype == dtype
    assert lists([None, None], dtype).to_list() == [None, None]
