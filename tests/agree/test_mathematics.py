"""`math` and `numeric` on pairs of answers whose equality is known: neither ever says "same" where it is not."""

from __future__ import annotations

import pytest
from math_pairs import pairs

from unwaver.agree import Agreement, Pair, mathematics
from unwaver.agree.comparison import parse_agreement
from unwaver.agree.mathematics import math
from unwaver.agree.numeric import numeric
from unwaver.errors import UsageError
from unwaver.text.amounts import amount_of
from unwaver.text.expressions import expression_of

PAIRS = pairs()


def told(agreement: Agreement, *asked: tuple[str, str]) -> list[float | None]:
    assert agreement.compare is not None
    return agreement.compare([Pair("", a, b) for a, b in asked])


def test_the_pairs_are_many_and_of_both_sorts() -> None:
    assert len(PAIRS) >= 500
    assert len(set(PAIRS)) > 0.9 * len(PAIRS)
    assert 0.4 < sum(same for *_, same in PAIRS) / len(PAIRS) < 0.6


@pytest.mark.parametrize(
    ("make", "least"),
    [pytest.param(numeric, 0.65, id="numeric"), pytest.param(math, 0.95, id="math", marks=pytest.mark.slow)],
)
def test_same_is_never_said_where_it_is_not(make: object, least: float) -> None:
    if make is math:
        pytest.importorskip("math_verify")
    found = told(make(), *((a, b) for a, b, _ in PAIRS))  # type: ignore[operator]
    turned = told(make(), *((b, a) for a, b, _ in PAIRS[::7]))  # type: ignore[operator]
    assert found[::7] == turned
    wrong = [pair for pair, value in zip(PAIRS, found, strict=True) if value == 1.0 and not pair[2]]
    denied = [pair for pair, value in zip(PAIRS, found, strict=True) if value == 0.0 and pair[2]]
    assert wrong == []
    assert denied == [], "what is the same is found or left open"
    equal = [value == 1.0 for pair, value in zip(PAIRS, found, strict=True) if pair[2]]
    assert sum(equal) / len(equal) >= least


def test_nothing_is_said_of_what_cannot_be_read() -> None:
    unread = [(r"\sqrt{2}", "2"), ("1 or 2", "2"), ("at least 5", "5"), ("2x", "2"), ("", "5"), ("5 km", "5")]
    assert told(numeric(), *unread) == [None] * len(unread)
    assert told(numeric(), (r"\sqrt{2}", r"\sqrt{2}"), ("1/2", "1/2")) == [None, 1.0]


def test_a_tolerance_is_a_number_or_a_share() -> None:
    close = [("10.00", "10.05"), ("10", "11"), ("0.10", "0.14")]
    assert told(parse_agreement("numeric,tolerance=0.05"), *close) == [1.0, 0.0, 1.0]
    assert told(parse_agreement("numeric,tolerance=10%"), *close) == [1.0, 1.0, 0.0]
    with pytest.raises(UsageError, match="expected a number of at least 0"):
        parse_agreement("numeric,tolerance=much")


def test_a_pair_that_takes_too_long_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("math_verify")
    asked = (r"(x+y+z)^{999}", r"(x+y-z)^{999}")
    monkeypatch.setattr(mathematics, "START", 0.0)
    assert told(math(), asked, ("1/2", "0.5")) == [None, 1.0]
    monkeypatch.undo()
    assert told(math(), ("x+1", "1+x")) == [1.0], "the next one gets a new process"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        r"\input{/etc/passwd}",
        "9" * 5000,
        "9^{9^{9}}",
        "99999!",
        "x^{99999}",
        "(" * 5000,
        "no way",
        "1010_2",
        r"\frac{1}{2}" * 100,
    ],
)
def test_a_parser_never_gets_these(text: str) -> None:
    assert expression_of(text) is None
    assert amount_of(text) is None


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Exception, match="math-verify is not installed"):
        told(math(), ("x+1", "1+x"))
