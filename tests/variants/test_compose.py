from random import Random

from hypothesis import given
from hypothesis import strategies as st

from unwaver.tasks.calm_layout import SIGNS, calm_fields
from unwaver.variants.compose import all_pairs, disjoint_pairs, joined, length_limit
from unwaver.variants.swap import swapped


def test_the_ten_signs():
    rendered = [calm_fields("Premise", "a b", "Hypothesis", "c", sign) for sign in SIGNS]
    assert [r["first"] for r in rendered] == [
        "[Premise] a b", "{Premise} a b", "(Premise) a b", "<Premise> a b", "Premise; a b",
        "Premise# a b", "Premise! a b", "Premise@ a b", "Premise~ a b", "Premise- a b",
    ]  # fmt: skip
    assert rendered[1]["second"] == "{Hypothesis} c"


def test_reverse_keeps_each_indicator():
    assert calm_fields("Sentence1", "a", "Sentence2", "b") == {"first": "Sentence1: a", "second": "Sentence2: b"}
    reverse = calm_fields("Sentence1", "a", "Sentence2", "b", reverse=True)
    assert reverse == {"first": "Sentence2: b", "second": "Sentence1: a"}


def test_swap_leaves_the_word():
    item = {"word": "w", "sentence1": "a", "sentence2": "b"}
    assert swapped(item) == {"word": "w", "sentence1": "b", "sentence2": "a"}
    assert swapped(swapped(item)) == item


def test_join_and_limit():
    assert joined("a film . ", "a joy . ") == "a film . a joy ."
    assert length_limit(["a", "a b", "a b c", "a b c d"]) == 3.25
    assert length_limit(["a b"]) == 2


LABELLED = st.lists(st.tuples(st.sampled_from("pn"), st.integers(1, 6)), max_size=8)


def _most(rows, pairs):
    """The greatest number of disjoint pairs, by trying everything."""
    best = 0
    for n, (i, j) in enumerate(pairs):
        best = max(best, 1 + _most(rows, [p for p in pairs[n + 1 :] if not {i, j} & set(p)]))
    return best


@given(LABELLED, st.integers(0, 10), st.integers(0, 3))
def test_disjoint_pairs_are_as_many_as_can_be(rows, limit, seed):
    labels, lengths = [label for label, _ in rows], [length for _, length in rows]
    pairs = disjoint_pairs(labels, lengths, limit, Random(seed))
    every, count = all_pairs(labels, lengths, limit, Random(seed), cap=1000)
    assert count == len(every)
    assert set(pairs) <= set(every)
    assert len({row for pair in pairs for row in pair}) == 2 * len(pairs)
    assert len(pairs) == _most(rows, every)
    assert pairs == disjoint_pairs(labels, lengths, limit, Random(seed))


def test_a_cap_draws_under_the_seed():
    labels, lengths = ["p"] * 20, [1] * 20
    drawn, count = all_pairs(labels, lengths, 2, Random(1), cap=10)
    assert (len(drawn), count) == (10, 190)
    assert drawn == all_pairs(labels, lengths, 2, Random(1), cap=10)[0]
    assert drawn != all_pairs(labels, lengths, 2, Random(2), cap=10)[0]
