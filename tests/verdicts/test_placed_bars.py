"""Bars of files and lists, and which of them holds where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unwaver.bars import Bar, parse_bar
from unwaver.errors import DataError, UsageError
from unwaver.verdicts.placed_bars import PlacedBar, bars_for, bars_from, read_bars


def at(where: str, text: str) -> PlacedBar:
    return PlacedBar(parse_bar(text), where)


def test_bars_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bars.toml"
    path.write_text(
        'alpha = 0.1\n["*"]\nmax = {tau = 0.1}\nmax_drop = 0.02\n["becel/snli"]\nmin = {accuracy = 0.8}\n'
    )
    assert read_bars(path) == (
        [at("*", "tau<=0.1"), at("*", "drop(*)<=0.02"), at("becel/snli", "accuracy>=0.8")],
        0.1,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max = {tau = 0.1", "no TOML"),
        ("tau = 0.1", '"tau": found 0.1, expected a table'),
        ('["*"]\nmaks = {tau = 0.1}', 'expected a table without "maks"'),
        ('["*"]\nmax = 0.1', 'max": found 0.1, expected a table'),
        ('["*"]\nmax = {tau = "low"}', "is not a number"),
        ('["*"]\nmax = {"tau<" = 0.1}', "cannot be the name of a metric"),
        ('["*"]\nmax = {"" = 0.1}', "names no metric"),
        ('["*"]\nmin = {accuracy = true}', "found true, expected a number or a text"),
        ('["a/b/c/d"]\nmax = {tau = 0.1}', "more than suite/task/kind"),
        ("", "no bars"),
        ('bars = ["tau=0.1"]', "bars: 'tau=0.1' is not a valid bar: use tau<=0.10"),
        ('["becel"]\nbars = ["tau<=low"]', "'low' is not a number"),
        ("bars = [0.1]", '"bars.0": found 0.1, expected a text'),
        ('bars = "tau<=0.1"', "expected a list of texts"),
        ('["*"]\nbars = {tau = 0.1}', "expected a list of texts"),
        ("bars = []", "no bars"),
        ("alpha = true", '"alpha": found true'),
        ('["*"]\nmax_drop = [1]', "expected a number, a text or a table"),
        ('["*"]\nbar = ["tau<=0.1"]', 'expected a table without "bar"'),
    ],
)
def test_bad_files_are_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bars.toml"
    path.write_text(text)
    with pytest.raises((DataError, UsageError), match=message) as raised:
        read_bars(path)
    assert raised.value.hint


def test_a_file_may_list_bars_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "bars.toml"
    path.write_text(
        'bars = ["tau<=0.10", "drop(tau) <= 2 %"]\n["becel/snli"]\nbars = ["P_C>=0.85"]\nmax = {tau = 0.3}\n'
        '["bars/own"]\nbars = ["tau<=0.4"]\n'
    )
    found, alpha = read_bars(path)
    assert (found, alpha) == (
        [
            at("*", "tau<=0.10"),
            at("*", "drop(tau)<=0.02"),
            at("becel/snli", "P_C>=0.85"),
            at("becel/snli", "tau<=0.3"),
            at("bars/own", "tau<=0.4"),
        ],
        None,
    )


def test_a_suite_may_be_called_bars(tmp_path: Path) -> None:
    path = tmp_path / "bars.toml"
    path.write_text('[bars]\nbars = ["tau<=0.4"]\n')
    assert read_bars(path)[0] == [at("bars", "tau<=0.4")]


def test_bars_of_python(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text('alpha = 0.1\nbars = ["tau<=0.2"]\n')
    bar = Bar("tau", "<=", 0.1)
    for given in ("tau<=0.1", bar, PlacedBar(bar), ["tau<=0.1"], (bar,), [PlacedBar(bar)]):
        assert bars_from(given) == ([PlacedBar(bar)], None)
    assert bars_from([path, bar]) == ([at("*", "tau<=0.2"), PlacedBar(bar)], 0.1)
    assert bars_from(str(path)) == bars_from(path) == ([at("*", "tau<=0.2")], 0.1)
    assert bars_from(()) == ([], None)


@pytest.mark.parametrize("given", [None, 0.1, {"tau": 0.1}, ["tau"], [0.1], "tau=0.1", ["bars.toml"], b"tau<=0.1"])
def test_what_python_gives_wrong_is_bad_usage(given: Any) -> None:
    with pytest.raises(UsageError) as raised:
        bars_from(given)
    assert "tau<=0.10" in str(raised.value.hint)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DataError, match="no such file"):
        bars_from("gone.toml")


def test_the_closest_bar_holds() -> None:
    everywhere, suite, task = at("*", "tau<=0.1"), at("s", "tau<=0.2"), at("s/t", "tau<=0.3")
    other, drop = at("*", "tau>=0.1"), at("*", "drop(tau)<=0.1")
    case = ("s", "t", "semantic")
    assert bars_for(case, [task, suite, everywhere, other, drop]) == [task, other, drop]
    assert bars_for(case, [everywhere, suite]) == [suite]
    assert bars_for(("x", "t", "semantic"), [everywhere, suite, task]) == [everywhere]
    later = at("*", "tau<=0.5")
    assert bars_for(case, [everywhere, later]) == [later]
