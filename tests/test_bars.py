"""Bars: one grammar. What is written, what is printed, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import unwaver
from unwaver.bars import Bar, parse_bar, short_bar, until_bar
from unwaver.errors import UsageError

NAMES = st.from_regex(r"[^\W\d][\w@.+-]*", fullmatch=True).filter(lambda name: name != "drop")
VALUES = st.floats(allow_nan=False, allow_infinity=False)
BARS = st.builds(Bar, NAMES | st.just("*"), st.sampled_from(["<=", ">="]), VALUES) | st.builds(
    Bar, NAMES | st.just("*"), st.just("<="), VALUES, st.just(True)
)


def made(make: Callable[..., Bar], *args: Any) -> Bar | None:
    """The bar; None where a short error with a hint refuses it. Any other exception is a bug."""
    error = None
    try:
        return make(*args)
    except UsageError as e:
        error = e
    assert error.hint
    assert len(error.message) < 400
    return None


@pytest.mark.parametrize(
    ("text", "bar", "shown"),
    [
        ("tau<=0.10", Bar("tau", "<=", 0.1), "tau <= 0.1"),
        (" tau ≤ 10 % ", Bar("tau", "<=", 0.1), "tau <= 0.1"),
        ("tau<0.1", Bar("tau", "<=", 0.1), "tau <= 0.1"),
        ("tau<=1e-2", Bar("tau", "<=", 0.01), "tau <= 0.01"),
        ("my-metric<=0.1", Bar("my-metric", "<=", 0.1), "my-metric <= 0.1"),
        ("C_S@0.9 >= .8", Bar("C_S@0.9", ">=", 0.8), "C_S@0.9 >= 0.8"),
        ("P_C>0.85", Bar("P_C", ">=", 0.85), "P_C >= 0.85"),
        ("P_C ≥ 85%", Bar("P_C", ">=", 0.85), "P_C >= 0.85"),
        ("drop(tau)<=0.02", Bar("tau", "<=", 0.02, drop=True), "drop(tau) <= 0.02"),
        ("drop ( tau ) < 2 %", Bar("tau", "<=", 0.02, drop=True), "drop(tau) <= 0.02"),
        ("drop(*)<=0.02", Bar("*", "<=", 0.02, drop=True), "drop <= 0.02"),
        ("drop<=0.02", Bar("*", "<=", 0.02, drop=True), "drop <= 0.02"),
        ("drop(tau)<=-0.01", Bar("tau", "<=", -0.01, drop=True), "drop(tau) <= -0.01"),
        ("*<=0.10", Bar("*", "<=", 0.1), "* <= 0.1"),
        ("clusters<=3", Bar("clusters", "<=", 3), "clusters <= 3"),
        ("tau<=7.3 %", Bar("tau", "<=", 0.073), "tau <= 0.073"),
        ("tau<=-0", Bar("tau", "<=", 0), "tau <= 0"),
    ],
)
def test_the_grammar(text: str, bar: Bar, shown: str) -> None:
    assert parse_bar(text) == bar
    assert str(bar) == shown


@given(BARS)
def test_every_bar_reads_back_as_itself(bar: Bar) -> None:
    assert parse_bar(str(bar)) == bar
    assert parse_bar(str(bar).replace(" ", "")) == bar
    assert parse_bar(bar) is bar


@given(st.text() | st.text("tauPC_drop()*<>=≤≥!~:%0.19e+- \n", max_size=20))
@example("1" * 5000)
@example("tau<=1e" + "9" * 5000)
@example("tau<=" + "9" * 400)
@example("tau<=0.1" + " " * 100_000 + "x")
@example(" " * 100_000)
@example("<" * 100_000)
@example("drop" + "(" * 10_000)
@example("a" * 5000 + "=0.1")
@example("\ud800<=0.1")
def test_anything_else_is_bad_usage(text: str) -> None:
    for read in (
        parse_bar,
        until_bar,
        *(lambda t, way=way: short_bar(t, way) for way in ("max", "min", "max_drop")),
    ):
        bar = made(read, text)
        assert bar is None or parse_bar(str(bar)) == bar


@given(st.none() | st.integers() | st.binary() | st.lists(st.text()) | st.floats())
def test_what_is_not_a_text_is_bad_usage(value: Any) -> None:
    with pytest.raises(UsageError, match="is not a valid bar"):
        parse_bar(value)


@given(
    st.text() | st.integers() | st.none(),
    st.text() | st.none() | st.sampled_from(["<=", ">="]),
    st.floats() | st.integers() | st.text() | st.none() | st.booleans(),
    st.booleans(),
)
def test_no_bar_is_made_that_cannot_be_written(metric: Any, sign: Any, value: Any, drop: bool) -> None:
    bar = made(Bar, metric, sign, value, drop)
    assert bar is None or parse_bar(str(bar)) == bar


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tau=0.1", "--bar 'tau=0.1' is not a valid bar: use tau<=0.10 or tau>=0.10"),
        ("P_C = 85 %", "use P_C<=0.85 or P_C>=0.85"),
        ("tau=0.125", "use tau<=0.125 or tau>=0.125"),
        ("tau", "use tau<=0.10 or tau>=0.10"),
        ("tau=much", "use tau<=0.10 or tau>=0.10"),
        ("tau=<0.1", "=< is not a comparison; use tau<=0.10 or tau>=0.10"),
        ("tau==0.1", "== is not a comparison; use"),
        ("tau!=0.1", "!= is not a comparison; use"),
        ("drop(tau)=0.05", "use drop(tau)<=0.05"),
        ("drop(tau)", "use drop(tau)<=0.02"),
        ("drop", "use drop<=0.02"),
        ("drop(tau)>=0.02", "a drop has an upper limit only: use drop(tau)<=0.02"),
        ("drop tau <= 0.02", "use drop(tau)<=0.02"),
        ("drop()<=0.02", "it names no metric"),
        ("drop(drop)<=0.02", "'drop' cannot be the name of a metric"),
        ("drop(drop(tau))<=0.02", "cannot be the name of a metric"),
        ("0.02", "it compares nothing"),
        ("", "it compares nothing"),
        ("<=0.1", "it names no metric"),
        ("0.1>=tau", "'0.1' cannot be the name of a metric"),
        ("0<=tau<=0.1", "more than one comparison"),
        ("tau<=", "'' is not a number"),
        ("tau<=low", "'low' is not a number"),
        ("tau<=nan", "'nan' is not a number"),
        ("tau<=0.1.2", "'0.1.2' is not a number"),
        ("tau<=10%%", "'10%%' is not a number"),
        ("tau<=0.1, P_C>=0.8", "more than one comparison; write each bar on its own"),
    ],
)
def test_a_wrong_bar_is_explained(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        parse_bar(text)
    assert "--bar 'tau<=0.10'" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("tau=0.1", "--until 'tau=0.1' is not a valid bar: use tau<=0.10 or tau>=0.10", "--until 'tau<=0.10'"),
        ("drop(tau)<=0.1", "a drop needs a baseline", "--bar 'drop(tau)<=0.02'"),
        ("drop<=0.1", "a drop needs a baseline", "--bar 'drop<=0.02'"),
        ("*<=0.1", "name one metric", "--until 'tau<=0.10'"),
        ("tau<=10", "10 is not between 0 and 1; a bar is a fraction", "--until 'tau<=0.10'"),
        ("tau<=-0.1", "-0.1 is not between 0 and 1", "--until 'tau<=0.10'"),
    ],
)
def test_a_run_cannot_stop_at_every_bar(text: str, message: str, hint: str) -> None:
    for refuse in (until_bar, lambda t: unwaver.Config(("sample",), ("fake/random",), until=t)):
        with pytest.raises(UsageError, match=re.escape(message)) as raised:
            refuse(text)
        assert hint in str(raised.value.hint)


def test_a_run_may_stop_at_a_bar_from_python() -> None:
    config = unwaver.Config(("sample",), ("fake/random",), until=Bar("tau", "<=", 0.1))  # type: ignore[arg-type]
    assert config.until == "tau <= 0.1"


# --- short forms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "way", "metric", "value"),
    [
        ("tau<=0.5", "max", "tau", 0.5),
        ("tau<0.5", "max", "tau", 0.5),
        (" tau ≤ 10 % ", "max", "tau", 0.1),
        ("tau = 10%", "max", "tau", 0.1),
        ("C_S@0.9>=.8", "min", "C_S@0.9", 0.8),
        ("P_C > 0.9", "min", "P_C", 0.9),
        ("P_C=1e-1", "min", "P_C", 0.1),
        ("tau<=0.02", "max_drop", "tau", 0.02),
        ("2 %", "max_drop", "*", 0.02),
        ("-0.02", "max_drop", "*", -0.02),
        ("*=0.02", "max_drop", "*", 0.02),
        ("* <= 0.1", "max", "*", 0.1),
        ("my-metric=7.3 %", "max", "my-metric", 0.073),
    ],
)
def test_bars_may_be_comparisons(text: str, way: Any, metric: str, value: float) -> None:
    bar = short_bar(text, way)
    assert (bar.metric, bar.value, bar.drop) == (metric, value, way == "max_drop")
    assert bar.at_most is (way != "min")
    assert parse_bar(str(bar)) == bar


@pytest.mark.parametrize(
    ("text", "way", "message"),
    [
        ("tau>=0.5", "max", ">= contradicts --max"),
        ("tau>0.5", "max", "> contradicts --max"),
        ("P_C<=0.9", "min", "<= contradicts --min"),
        ("tau>=0.5", "max_drop", "contradicts --max-drop"),
        ("tau=<0.5", "max", "=< is not a comparison"),
        ("tau==0.5", "max", "== is not a comparison"),
        ("tau!=0.5", "max", "!= is not a comparison"),
        ("tau:0.5", "max", ": is not a comparison"),
        ("<=0.5", "max", "names no metric"),
        ("=0.5", "max_drop", "names no metric"),
        ("tau, accuracy=0.5", "max", "cannot be the name of a metric"),
        ("tau<0.1<0.5", "max", "cannot be the name of a metric"),
        ("tau=0.1=0.5", "max", "cannot be the name of a metric"),
        ("0.5=tau", "max", "cannot be the name of a metric"),
        ("tau 0.5", "max", "expected METRIC=NUMBER"),
        ("0.5", "min", "expected METRIC=NUMBER"),
        ("", "max", "expected METRIC=NUMBER"),
        ("tau<=", "max", "'' is not a number"),
        ("tau<=0.5%%", "max", "is not a number"),
        ("tau<=inf", "max", "is not a number"),
        ("much", "max_drop", "is not a number"),
        ("drop(tau)<=0.02", "max", "cannot be the name of a metric"),
        ("drop(tau)<=0.02", "max_drop", "cannot be the name of a metric"),
        ("drop=0.02", "max_drop", "cannot be the name of a metric"),
        ("tau<=1_0", "max", "is not a number"),
    ],
)
def test_what_is_no_bar_is_bad_usage(text: str, way: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        short_bar(text, way)
    assert raised.value.hint
