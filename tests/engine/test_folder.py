"""groups.jsonl is written as json.dumps would write it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from unwaver.engine.folder import groups_text
from unwaver.groups import group_to_json
from unwaver.types import Group, Item

texts = st.text(st.characters(exclude_categories=())) | st.sampled_from(['"', "\\", "\u2028", "\x7f", "\ud800"])
items = st.builds(
    Item,
    id=texts,
    task=st.just("t"),
    role=st.sampled_from(["original", "variant"]),
    fields=st.dictionaries(texts, texts, max_size=2),
    choices=st.lists(texts, max_size=2).map(tuple),
    certified=st.none() | st.booleans(),
)


@given(st.lists(items, max_size=3), texts, st.none() | st.integers(1, 9))
def test_lines(found: list[Item], id: str, keep: int | None) -> None:
    group = Group(id, "s", "t", "semantic", "same", tuple(found), keep=keep)
    assert groups_text([group]) == json.dumps(group_to_json(group), ensure_ascii=False) + "\n"


@given(st.floats(0, 1))
def test_shares_are_read_again_as_they_were(share: float) -> None:
    group = Group("g", "s", "t", "semantic", "same", (), epsilon=share)
    assert json.loads(groups_text([group]))["epsilon"] == share
