from __future__ import annotations

import pytest

from unwaver.asking.failures import Failed, as_records, from_records, grouped, in_short, in_words, reason_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("h answered 400: 5,012 tokens are too many", "h answered 400: 4,977 tokens are too many"),
        ("h answered 500: request req_8f3ab2c9d1 failed", "h answered 500: request req_77ab01d2ee failed"),
        ("h answered 429: try again in 1.25s (tried 7 times)", "h answered 429: try again in 20s (tried 3 times)"),
        ("a 9f1b2c3d-0000-4abc-8def-0123456789ab", "a 11111111-2222-4abc-8def-0123456789ff"),
    ],
)
def test_reasons_that_are_alike(one, other):
    assert reason_of(one) == reason_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("h answered 400: no", "h answered 500: no"),
        ("http://a:8001/v1 answered 400: no", "http://a:8002/v1 answered 400: no"),
        ("h answered HTML (status 200, text/html): x", "h answered HTML (status 201, text/html): x"),
        ("too long", "no content"),
    ],
)
def test_reasons_that_are_not(one, other):
    assert reason_of(one) != reason_of(other)


def test_reasons_in_words():
    calls = [
        *(Failed("model", "small", f"i{n}", f"h answered 400: {n} tokens") for n in range(9)),
        Failed("model", "small", "x", "no answer within 60 s"),
        Failed("agreement", "judge", "pair:1", "h answered 500: down"),
        *(Failed("model", "small", "x", f"reason {letter}") for letter in "abcd"),
    ]
    reasons = grouped(calls)
    assert [r.calls for r in reasons] == [9, 1, 1, 1, 1, 1, 1]
    assert from_records(as_records(reasons)) == reasons
    assert in_words(reasons) == [
        "small: 9 calls failed: h answered 400: 0 tokens",
        "small: 1 call failed: no answer within 60 s",
        "small: 1 call failed: reason a",
        "small: 3 calls failed for 3 other reasons",
        "judge (agreement): 1 call failed: h answered 500: down",
    ]
    assert in_short(reasons) == "15 calls failed: h answered 400: 0 tokens (9 of them)"
    assert in_short(reasons[1:2]) == "1 call failed: no answer within 60 s"
    assert in_short([]) == ""


@pytest.mark.parametrize("odd", [None, 3, {}, [None], [{}], [{"role": "model"}], ["x"]])
def test_records_by_hand(odd):
    assert from_records(odd) == []
