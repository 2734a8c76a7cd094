"""Groups: clusters and JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.files import Where
from unwaver.groups import expect_of, group_to_json
from unwaver.groups.clusters import with_clusters
from unwaver.groups.from_json import group_from_json
from unwaver.types import Group, Item

HERE = Where("mine.jsonl", 3)
TEXT = st.text(max_size=8)
LABELS = st.lists(TEXT, max_size=3).map(tuple)
FIELDS = st.dictionaries(TEXT, TEXT, min_size=1, max_size=3)


@st.composite
def any_group(draw):
    task = draw(TEXT)
    items = tuple(
        Item(draw(TEXT), task, role, draw(FIELDS), draw(LABELS), draw(LABELS), draw(LABELS), draw(TEXT))
        for role in draw(st.lists(st.sampled_from(["original", "variant", "conclusion"]), min_size=2, max_size=4))
    )
    expect = draw(st.sampled_from(["same", "different", "implied", "bucket"]))
    return Group(draw(TEXT), draw(TEXT), task, draw(TEXT), expect, items, draw(TEXT), draw(TEXT))


@given(any_group())
def test_json_and_back(group):
    assert group_from_json(json.loads(json.dumps(group_to_json(group))), HERE) == group


def test_little_is_enough():
    group = group_from_json({"items": [{"text": "a", "segments": ["x"]}, {"text": "b"}]}, HERE)
    assert (group.id, group.kind, group.expect) == ("own/own/semantic/3", "semantic", "same")
    assert [(i.id, i.role, i.fields) for i in group.items] == [
        ("own/own/semantic/3/0", "original", {"text": "a"}),
        ("own/own/semantic/3/1", "variant", {"text": "b"}),
    ]


@pytest.mark.parametrize(
    ("kind", "roles"),
    [
        ("additive", ["original", "original", "conclusion"]),
        ("signal", ["original", "variant", "variant"]),
        ("bucket", ["variant", "variant", "variant"]),
    ],
)
def test_roles_follow_from_the_kind(kind, roles):
    group = group_from_json({"kind": kind, "items": [{"text": t} for t in "abc"]}, HERE)
    assert [i.role for i in group.items] == roles


def test_what_kinds_expect():
    known = {
        "semantic_negated": "same",
        "surface_case": "same",
        "negational": "different",
        "transitive_new": "implied",
    }
    assert {kind: expect_of(kind) for kind in known} == known
    assert expect_of("mine") is None


PAIR = [{"text": "a"}, {"text": "b"}]
BAD = {
    "no items": ({"id": "x"}, 'found {"id": "x"}, expected an object with "items"', '"items": [{"text"'),
    "one item": ({"items": [{"text": "a"}]}, '"items": found a list of 1, expected one of two', "variant"),
    "item no object": ({"items": ["a", "b"]}, '"items.0": found "a", expected an object', '{"text": "the'),
    "no text": ({"items": [{"id": "a"}, {}]}, '"items.0.fields": found null, expected texts by name', '"text"'),
    "field no text": ({"items": [{"fields": {"a": 1}}, {}]}, '"items.0.fields.a": found 1, expected a text', '"text"'),
    "unknown kind": ({"kind": "semantik", "items": PAIR}, 'kind "semantik" is not known, so "expect" is needed', "semantic"),
    "unknown expect": ({"expect": "equal", "items": PAIR}, '"expect": found "equal", expected one of bucket', "known"),
    "unknown role": ({"items": [{"text": "a", "role": "orignal"}, {}]}, '"items.0.role": found "orignal"', "did you mean original?"),
    "labels no list": ({"items": [{"text": "a", "accepted": "yes"}, {}]}, '"items.0.accepted": found "yes", expected a list', '["…"]'),
    "a label no text": ({"items": [{"text": "a", "choices": [1]}, {}]}, '"items.0.choices.0": found 1, expected a text', '["…"]'),
    "no format": ({"items": [{"text": "a", "response_format": {}}, {}]}, 'found {}, expected an object with "type"', "json_object"),
    "no tools": ({"items": [{"text": "a", "tools": [1]}, {}]}, '"tools.0": found 1, expected an object', '"function"'),
    "keeps none": ({"keep": 0, "items": PAIR}, '"keep": found 0, expected a whole number of 1 or more', "leave it out"),
    "id no text": ({"id": 7, "items": PAIR}, '"id": found 7, expected a text', '"id": "…"'),
    "version": ({"version": 2, "items": PAIR}, '"version": found 2, expected 1', "update unwaver"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_groups(case):
    record, message, hint = BAD[case]
    with pytest.raises(DataError) as raised:
        group_from_json(record, HERE)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.file, raised.value.line) == ("mine.jsonl", 3)


def group(name: str, *originals: str) -> Group:
    items = tuple(Item(f"{name}/{o}", "t", "original", {"text": o}) for o in originals)
    return Group(name, "s", "t", "k", "same", (*items, Item(f"{name}/v", "t", "variant", {"text": "v"})))


def test_groups_that_share_an_original_are_one_cluster_and_variants_do_not_count():
    groups = [group("1", "a"), group("2", "x"), group("3", "b"), group("4", "a", "b"), group("5", "x")]
    assert [g.cluster for g in with_clusters(groups)] == ["1", "2", "1", "1", "2"]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=2), max_size=8))
def test_clusters_are_the_connected_components(originals):
    clusters = [g.cluster for g in with_clusters(group(str(n), *names) for n, names in enumerate(originals))]
    sets = [set(names) for names in originals]
    for _ in sets:  # grow each set by those it meets until nothing changes
        sets = [set().union(*(other for other in sets if other & mine)) for mine in sets]
    assert all((clusters[i] == clusters[j]) == (sets[i] == sets[j]) for i in range(len(sets)) for j in range(i))
