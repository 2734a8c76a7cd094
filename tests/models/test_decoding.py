"""Decodings by name, stop strings, and what a decoding is called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.catalog import DECODINGS
from unwaver.errors import UsageError
from unwaver.models.decoding import before_stop, decoding, described, stop_strings


def test_the_names() -> None:
    assert decoding("greedy") == {"temperature": 0}
    assert decoding("nucleus") == {"top_p": 0.9, "temperature": 0.7}
    assert decoding("sample") == {"temperature": 1}
    assert decoding("beam") == {"num_beams": 4}


def test_other_numbers() -> None:
    assert decoding("nucleus:top_p=0.95,temperature=0.8") == {"top_p": 0.95, "temperature": 0.8}
    assert decoding("nucleus: top_p = 0.95") == {"top_p": 0.95, "temperature": 0.7}
    assert decoding("beam:num_beams=2") == {"num_beams": 2}
    assert decoding("greedy:no_repeat_ngram=2,max_tokens=40") == {
        "temperature": 0,
        "no_repeat_ngram": 2,
        "max_tokens": 40,
    }
    assert decoding("nucleus:top_p=0.5", {"top_p": "0.8"}) == {"top_p": 0.8, "temperature": 0.7}
    assert type(decoding("beam:num_beams=2")["num_beams"]) is int


def test_the_defaults_stay_what_they_are() -> None:
    decoding("nucleus")["top_p"] = 0.1
    assert decoding("nucleus")["top_p"] == 0.9


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("nucleas", "unknown decoding 'nucleas'", "did you mean nucleus?"),
        ("", "unknown decoding ''", "known: beam, greedy, nucleus, sample"),
        ("nucleus:topp=0.9", "decoding nucleus has no option 'topp'", "did you mean top_p"),
        ("greedy:temperature=0.5", "decoding greedy has no option 'temperature'", None),
        ("beam:temperature=1", "decoding beam has no option 'temperature'", None),
        ("sample:temperature=0", "temperature=0, expected a number above 0", None),
        ("sample:temperature=inf", "temperature=inf, expected a number above 0", None),
        ("nucleus:top_p=1.5", "top_p=1.5, expected a number above 0, at most 1", None),
        ("nucleus:top_p=much", "top_p=much, expected a number", None),
        ("beam:num_beams=1", "num_beams=1, expected a whole number above 1", None),
        ("beam:num_beams=2.5", "num_beams=2.5, expected a whole number", None),
        ("nucleus:top_p", "'top_p' is not of the form option=value", "nucleus:top_p=0.9,temperature=0.7"),
        ("nucleus:top_p=1,top_p=1", "'top_p=1' is given twice", None),
        ("greedy:,", "'' is not of the form option=value", "greedy:no_repeat_ngram=2"),
    ],
)
def test_what_is_wrong(name: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as e:
        decoding(name)
    assert message in str(e.value)
    assert hint is None or hint in (e.value.hint or "")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": 0.0}, ""),
        ({"temperature": 0.0, "top_p": 0.9}, ""),
        ({"temperature": 0.7, "top_p": 0.9, "seed": 1}, "nucleus top_p 0.9 temperature 0.7"),
        ({"temperature": 1.0, "top_p": 1.0}, "sample temperature 1"),
        ({"temperature": 0, "num_beams": 4}, "beam num_beams 4"),
        ({"temperature": 0, "no_repeat_ngram": 2}, "greedy no_repeat_ngram 2"),
        ({"temperature": None, "top_p": None}, "sample temperature of the server"),
    ],
)
def test_what_it_is_called(settings: dict[str, Any], said: str) -> None:
    assert described(settings) == said


@given(st.sampled_from(sorted(DECODINGS)))
def test_each_is_called_by_its_name(name: str) -> None:
    said = described({"temperature": 0, **decoding(name)})
    assert said.split(" ")[0] == ("" if name == "greedy" else name)


def test_stop_strings() -> None:
    assert stop_strings(None) == ()
    assert stop_strings("Q:") == ("Q:",)
    assert stop_strings(r"\n|Q:") == stop_strings("\n|Q:") == stop_strings(["Q:", "\n", "Q:"]) == ("\n", "Q:")
    assert stop_strings(["a|b", r"\n"]) == (r"\n", "a|b")
    for empty in ("", "|", "a|", [], [""]):
        with pytest.raises(UsageError, match="is empty"):
            stop_strings(empty)


@given(st.text("ab\n"), st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=3))
def test_what_stands_before_the_first_stop_string(text: str, stops: list[str]) -> None:
    before = before_stop(text, stops)
    places = [n for n in range(len(text)) for s in stops if text.startswith(s, n)]
    assert before == (text[: min(places)] if places else None)
