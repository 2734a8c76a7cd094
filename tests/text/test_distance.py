"""Distances of paraphrases: by hand, against a slow second way, and against Table 6 of the paper."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.analysis.paraphrases import distances, read_annotations
from unwaver.errors import DataError
from unwaver.suites import paranlu
from unwaver.text.distance import cosine_similarity, jaccard_distance, lexical_distance, word_distance, words
from unwaver.types import Group, Item

TABLE_6 = {"anli": 35.3, "snli": 34.4, "atomic": 36.9, "social": 40.0}


@pytest.mark.parametrize("task", TABLE_6)
def test_table_6(data: Path, task: str) -> None:
    (found,) = distances(list(paranlu.suite(data).groups(task, "paraphrase")))
    assert 100 * found.lexical == pytest.approx(TABLE_6[task], abs=0.1)
    assert found.syntactic is None
    assert found.similarity is None


def test_by_hand() -> None:
    assert word_distance("runs", "ran") == 3 / 7
    assert lexical_distance("A dog runs.", "a dog ran") == pytest.approx(2 * 3 / 7 / 6)
    assert lexical_distance("dog a", "a dog") == 0.0  # bags have no order
    assert lexical_distance("a b c", "a") == 0.5  # two words of four are left over
    assert lexical_distance("", "") == 0.0
    assert lexical_distance("a", "!") == 1.0
    assert jaccard_distance("A dog runs.", "a dog ran") == 0.5
    assert jaccard_distance("", "") == 0.0
    assert cosine_similarity([1, 0], [1, 1]) == pytest.approx(2**-0.5)
    assert words("I can't, cannot: it’s") == ["i", "cant", "can", "not", "it", "’", "s"]


def common(a: str, b: str) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in itertools.product(range(len(a)), range(len(b))):
        table[i + 1][j + 1] = table[i][j] + 1 if a[i] == b[j] else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.text("abc", min_size=1, max_size=9), st.text("abcd", min_size=1, max_size=9))
def test_word_distance_is_insertions_and_deletions(a: str, b: str) -> None:
    assert word_distance(a, b) == (len(a) + len(b) - 2 * common(a, b)) / (len(a) + len(b))


short_texts = st.lists(st.text("abc", min_size=1, max_size=3), max_size=4).map(" ".join)


@given(short_texts, short_texts)
@settings(max_examples=60, deadline=None)
def test_words_are_matched_as_well_as_can_be(one: str, other: str) -> None:
    a, b = sorted((one.split(), other.split()), key=len)
    best = min(sum(map(word_distance, a, chosen)) for chosen in itertools.permutations(b, len(a)))
    expected = (2 * best + len(b) - len(a)) / (len(a) + len(b)) if b else 0.0
    assert lexical_distance(one, other) == pytest.approx(expected)
    assert lexical_distance(one, other) == pytest.approx(lexical_distance(other, one))
    assert 0 <= lexical_distance(one, other) <= 1


def group() -> Group:
    items = [
        Item("g/0", "own", "original", {"context": "c", "one": "a dog", "two": "b"}),
        Item("g/1", "own", "variant", {"context": "c", "one": "a cat", "two": "b"}),
        Item("g/2", "own", "variant", {"context": "c", "one": "a dog", "two": "d"}),
    ]
    return Group("g", "own", "own", "bucket", "bucket", tuple(items))


def test_only_changed_fields_count() -> None:
    (found,) = distances([group()])
    assert found.paraphrases == 2
    assert found.lexical == pytest.approx((lexical_distance("a dog", "a cat") / 2 + 1 / 2) / 2)


def test_trees_and_vectors_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    rows = [
        {"id": f"g/{n}", "field": field, "tree": tree, "vector": vector}
        for n, tree, vector in ((0, "(S (NN a))", [1, 0]), (1, "(S (NN a) (VB b))", [0, 1]))
        for field in ("one", "two")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    (found,) = distances([group()], read_annotations(path))
    assert (found.syntactic, found.similarity) == (1 / 5, 0.0)  # of the one paraphrase that has them
    path.write_text('{"id": "g/0"}\n{"id": "g/1", "tree": "(S (NN a)"}')
    with pytest.raises(DataError, match="never closed") as caught:
        read_annotations(path)
    assert caught.value.line == 2
