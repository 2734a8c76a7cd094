"""Tree edit distance: the textbook case, a second way on small trees, and the cut."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.analysis.trees import Tree, cut, edit_distance, parse, syntactic_distance
from unwaver.errors import DataError


def test_zhang_and_shasha_figure_4() -> None:
    one, other = parse("(f (d (a) (c (b))) (e))"), parse("(f (c (d (a) (b))) (e))")
    assert edit_distance(one, other) == 2


@cache
def forest_distance(one: tuple[Tree, ...], other: tuple[Tree, ...]) -> int:
    """The definition: the last root of either side is deleted, inserted, or matched with the other."""
    if not one or not other:
        return sum(t.size for t in one + other)
    a, b = one[-1], other[-1]
    return min(
        forest_distance(one[:-1] + a.children, other) + 1,
        forest_distance(one, other[:-1] + b.children) + 1,
        forest_distance(one[:-1], other[:-1]) + forest_distance(a.children, b.children) + (a.label != b.label),
    )


trees = st.recursive(
    st.sampled_from("ab").map(Tree),
    lambda inner: st.builds(lambda n, c: Tree(n, tuple(c)), st.sampled_from("ab"), st.lists(inner, max_size=3)),
    max_leaves=5,
)


@given(trees, trees)
@settings(max_examples=80, deadline=None)
def test_against_the_definition(one: Tree, other: Tree) -> None:
    assert edit_distance(one, other) == forest_distance((one,), (other,))


def test_words_and_the_node_around_a_sentence_are_dropped() -> None:
    tree = parse("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ runs))))")
    assert (tree.label, tree.size) == ("S", 6)
    assert parse("( (S (NN x)))") == parse("(S (NN y))")
    assert parse("(TOP (S (NN x)) (S (NN y)))").size == 5


def test_cut_at_level_3() -> None:
    deep = "(S (VP (NP (PP (IN in) (NP (NN town))))))"
    assert cut(parse(deep), 3).size == 4
    assert syntactic_distance(deep, "(S (VP (NP (PP (XX y)))))") == 0.0
    assert syntactic_distance("(S (NP (NN x)) (VP (V y)))", "(S (VP (V y)))") == 2 / 8


@pytest.mark.parametrize("text", ["", "(S", "(S))", "dogs run", "(S (NN a)) (S (NN b))"])
def test_what_is_no_tree(text: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(text)
    assert caught.value.hint
