"""The lock is read as it was written; one that was cut or edited is told by its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.project.lock import Entry, by_case, hash_of, read_lock, write_lock
from unwaver.types import Group, Item

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.none() | st.floats(0, 1) | st.lists(st.floats(0, 1), min_size=1, max_size=3)
entries = st.builds(
    Entry,
    *[texts] * 7,
    value=values,
    broken=st.none() | st.floats(0, 1),
    answers=texts,
    values=st.dictionaries(texts, values, max_size=2),
    texts=st.dictionaries(texts, texts, max_size=2),
)


@given(st.lists(entries, max_size=4))
def test_read_as_written(tmp_path_factory: pytest.TempPathFactory, found: list[Entry]) -> None:
    path = tmp_path_factory.mktemp("lock") / "unwaver.lock.jsonl"
    write_lock(path, found)
    header, again = read_lock(path)
    assert header["version"] == 1
    assert again == found
    assert sum(len(of) for of in by_case(again).values()) <= len(found)


def test_no_lock(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "none.jsonl") == ({}, [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("{", "JSON"),
        ('{"version": 7}\n', "version 7 of the lock"),
        ('{"version": 1}\n{"source": "a"}\n', "expected"),
        ('{"version": 1}\n{"source": 3}\n', "expected"),
    ],
)
def test_a_lock_that_was_cut_or_edited(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "unwaver.lock.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=told) as caught:
        read_lock(path)
    assert "unwaver.lock.jsonl" in str(caught.value)


def test_fields_of_a_later_version_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "unwaver.lock.jsonl"
    write_lock(path, [Entry("s", "m", "t", "k", "g", "h", "tau", 0.0, 0.0, "a")])
    path.write_text(path.read_text().replace('"answers"', '"later": 3, "answers"'))
    assert read_lock(path)[1][0].group == "g"


def test_the_hash_is_of_what_is_asked() -> None:
    def group(text: str, id: str = "g", cluster: str = "") -> Group:
        items = (Item("o", "t", "original", {"q": "a?"}), Item("v", "t", "variant", {"q": text}))
        return Group(id, "s", "t", "semantic", "same", items, cluster=cluster)

    assert hash_of(group("b?")) == hash_of(group("b?", "h", "c"))
    assert hash_of(group("b?")) != hash_of(group("c?"))
