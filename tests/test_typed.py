"""Values of others as types: a wrong one is named with its place, what was found and what was expected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.files import Where
from unwaver.typed import AboveZero, Count, Filled, Share, fits, is_number, is_whole, typed, wrong_with


class Part(msgspec.Struct, forbid_unknown_fields=True):
    name: Filled
    sizes: dict[str, Count] = {}


class Whole(msgspec.Struct):
    parts: Annotated[list[Part], msgspec.Meta(min_length=1)]
    kind: Literal["a", "b"] = "a"
    share: Share | None = None
    texts: list[str] | str = ""
    number: AboveZero = 1
    more: Part | None = None
    numbers: list[float] = []
    truth: bool = False
    by_name: dict[str, str] = {}


@dataclass(frozen=True)
class Old:
    names: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)


PART = {"name": "x"}


@pytest.mark.parametrize(
    ("value", "at", "found", "expected"),
    [
        ([], "", [], "an object"),
        ({}, "", {}, 'an object with "parts"'),
        ({"parts": []}, "parts", [], "a list of 1 or more"),
        ({"parts": [PART, {"name": ""}]}, "parts.1.name", "", "a text that is not empty"),
        ({"parts": [PART, 3]}, "parts.1", 3, "an object"),
        ({"parts": [{"name": "x", "sizes": {"a b": 1, "c": -1}}]}, "parts.0.sizes.c", -1, "a whole number of 0 or more"),
        ({"parts": [{"name": "x", "nam": 1}]}, "parts.0", {"name": "x", "nam": 1}, 'an object without "nam"'),
        ({"parts": [PART], "kind": "c"}, "kind", "c", "a or b"),
        ({"parts": [PART], "share": 1.5}, "share", 1.5, "a number from 0 to 1"),
        ({"parts": [PART], "share": True}, "share", True, "a number from 0 to 1"),
        ({"parts": [PART], "texts": ["a", 3]}, "texts.1", 3, "a text"),
        ({"parts": [PART], "texts": 3}, "texts", 3, "a list of texts or a text"),
        ({"parts": [PART], "number": 0}, "number", 0, "a whole number of 1 or more"),
        ({"parts": [PART], "number": 1.0}, "number", 1.0, "a whole number of 1 or more"),
        ({"parts": [PART], "more": {"name": None}}, "more.name", None, "a text that is not empty"),
        ({"parts": [PART], "numbers": [1, "2"]}, "numbers.1", "2", "a number"),
        ({"parts": [PART], "numbers": [1, math.inf]}, "numbers.1", math.inf, "numbers that are finite"),
        ({"parts": [PART], "number": 10**400}, "number", 10**400, "numbers that are finite"),
        ({"parts": [PART], "truth": 1}, "truth", 1, "true or false"),
        ({"parts": [PART], "by_name": []}, "by_name", [], "texts by name"),
        ({"parts": [{"name": "\ud800"}]}, "parts.0.name", "\ud800", "a text"),
    ],
)  # fmt: skip
def test_where_and_what(value: Any, at: str, found: Any, expected: str) -> None:
    wrong = wrong_with(Whole, value)
    assert wrong is not None
    assert (wrong.at, wrong.found, wrong.expected) == (at, found, expected)


def test_a_strange_key_is_told_with_what_was_probably_meant() -> None:
    with pytest.raises(DataError, match="an object without") as error:
        typed(Whole, {"parts": [{**PART, "nam": "y"}]}, Path("f"), "another hint")
    assert "did you mean name?" in str(error.value.hint)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"gt": 0, "le": 1}, "a number above 0 and at most 1"),
        ({"gt": 0, "lt": 1}, "a number above 0 and below 1"),
        ({"ge": 0, "le": 1}, "a number from 0 to 1"),
        ({"gt": 0}, "a number above 0"),
    ],
)
def test_limits_in_words(limits: dict[str, float], expected: str) -> None:
    wrong = wrong_with(Annotated[float, msgspec.Meta(**limits)], -1)  # type: ignore[arg-type]
    assert wrong is not None
    assert wrong.expected == expected


def test_what_fits() -> None:
    made = typed(Whole, {"parts": [PART], "share": 1, "later": {}}, Path("f"), "hint")
    assert made == Whole([Part("x")], share=1.0)
    assert typed(Old, {"names": ["a"], "texts": {"b": "c"}}, "f", "hint") == Old(("a",), {"b": "c"})
    assert typed(list[str], ["caf\udce9"], "f", "hint", halves=True) == ["caf\udce9"]


@pytest.mark.parametrize("value", [{"parts": [PART], "\ud800": 1}, {"parts": [PART], "kind": "\udfffx"}])
def test_half_characters_where_no_name_of_a_file_is(value: Any) -> None:
    with pytest.raises(DataError, match="expected a text"):
        typed(Whole, value, "f", "hint", halves=True)


def test_the_error_names_file_line_place_and_what_to_do() -> None:
    with pytest.raises(DataError) as caught:
        typed(Old, {"names": "a"}, Where("my.jsonl", 7), "write a list", "tasks.snli")
    assert str(caught.value) == (
        'my.jsonl:7: "tasks.snli.names": found "a", expected a list of texts\nhint: write a list'
    )
    with pytest.raises(DataError, match=r'x\.json: "a b": found 3'):
        typed(dict[str, str], {"a\nb": 3}, Path("x.json"), "correct it")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["\ud800", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*Whole.__struct_fields__, "name", "sizes", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(anything)
def test_any_value_is_read_or_told(value: Any) -> None:
    if wrong_with(Whole, value) is None:
        assert fits(Whole, msgspec.to_builtins(typed(Whole, value, "f", "hint")))
        return
    with pytest.raises(DataError, match="expected"):
        typed(Whole, value, "f", "hint")


def test_numbers() -> None:
    assert not is_number(10**400)
    assert not is_number(math.nan)
    assert not is_whole(True)
    assert is_whole(2**62)
