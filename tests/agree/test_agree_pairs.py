from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.agree import Agreement, Pair
from unwaver.agree.numeric import numeric
from unwaver.agree.pairs import distinct, spread, swap_agreement, to_compare
from unwaver.text.normalise import is_blank

TEXTS = st.lists(
    st.sampled_from(["", " ", "\n", "x", "X", "y", "z z", "שלום", "\x00", "\u200b ", "\x00a"]) | st.none(),
    max_size=9,
)


def agreement(symmetric: bool, *, same: float = 1.0, both: bool = False) -> Agreement:
    return Agreement("own", symmetric, "high", same, 0.5, combine=min if both else None)


def worth(pair: Pair, symmetric: bool) -> float:
    """Some number that tells the pair from others, and its direction where it counts."""
    a, b = sorted(pair[1:]) if symmetric else pair[1:]
    return len(a) / 100 + sum(map(ord, b)) / 10**6


@given(TEXTS, st.booleans())
def test_each_pair_of_distinct_texts_is_compared_once(texts: list[str | None], symmetric: bool) -> None:
    answers = distinct(texts)
    pairs = to_compare("q", answers, symmetric)
    d = len({t for t in texts if t and not is_blank(t)})
    assert len(pairs) == len(set(pairs)) == (d * (d - 1) // 2 if symmetric else d * (d - 1))
    assert len(pairs) <= len(texts) * max(len(texts) - 1, 0)
    assert all(p.question == "q" and p.a != p.b and p.a.strip() and p.b.strip() for p in pairs)
    assert len({frozenset(p[1:]) for p in pairs}) == d * (d - 1) // 2
    assert answers.empty == sum(not t or is_blank(t) for t in texts)


@given(TEXTS, st.booleans(), st.sampled_from([0.0, 1.0]))
def test_all_ordered_pairs_get_their_value(texts: list[str | None], symmetric: bool, same: float) -> None:
    answers = distinct(texts)
    values = [worth(pair, symmetric) for pair in to_compare("q", answers, symmetric)]
    table = spread(answers, values, agreement(symmetric, same=same))
    assert table.shape == (len(texts), len(texts))
    for (i, a), (j, b) in product(enumerate(texts), repeat=2):
        if i == j or not a or not b or is_blank(a) or is_blank(b):
            assert np.isnan(table[i, j])
        else:
            assert table[i, j] == (same if a == b else worth(Pair("q", a, b), symmetric))


def test_identical_texts_are_compared_where_nothing_can_be_told_of_some() -> None:
    """Two texts without a number agree in none: only what has one is worth 1."""
    answers = distinct(["no way", "no way", "7", "7", "seven"])
    pairs = to_compare("q", answers, symmetric=True, identical=True)
    assert len(pairs) == 3 + 3
    assert numeric().compare is not None
    table = spread(answers, numeric().compare(pairs), numeric())
    assert np.isnan(table[0, 1])
    assert np.isnan(table[0, 2])
    assert (table[2, 3], table[2, 4]) == (1.0, 1.0)


def test_what_is_blank() -> None:
    assert all(map(is_blank, ("", " ", "\n", "\x00", "\u200b", "\ufeff \u200e")))
    assert not any(map(is_blank, ("a", "\x00a", ".", "שלום", "👍")))


def test_spread_shows_repeats_and_empty_answers() -> None:
    answers = distinct(["x", "y", "x", ""])
    assert (answers.texts, answers.place.tolist(), answers.empty) == (("x", "y"), [0, 1, 0, -1], 1)
    assert to_compare("q", answers, symmetric=False) == [Pair("q", "x", "y"), Pair("q", "y", "x")]
    table = spread(answers, [0.2, 0.6], agreement(False))
    n = np.nan
    np.testing.assert_equal(table, [[n, 0.2, 1, n], [0.6, n, 0.6, n], [1, 0.2, n, n], [n, n, n, n]])


def test_both_directions_made_one() -> None:
    answers = distinct(["x", "y", "z"])
    table = spread(answers, [1.0, 0.0, 1.0, 1.0, None, 1.0], agreement(False, both=True))
    n = np.nan
    np.testing.assert_equal(table, [[n, 0, 1], [0, n, n], [1, n, n]])


def test_a_value_that_cannot_be_told_is_no_zero() -> None:
    table = spread(distinct(["x", "y"]), [None], agreement(True))
    assert np.isnan(table).all()


def test_wrong_number_of_values() -> None:
    with pytest.raises(ValueError):
        spread(distinct(["x", "y"]), [0.5, 0.5], agreement(True))


def test_the_judge_under_a_swap() -> None:
    assert swap_agreement([0.9, 0.8, 0.7, 0.2]) == 0.5
    assert swap_agreement([0.9, None, 0.7, 0.6]) == 1.0
    assert swap_agreement([None, 0.2]) is None
    assert swap_agreement([]) is None
