"""Very many groups are packed, planned and asked in windows: nothing but the memory differs."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.asking import long_plan
from unwaver.asking.ask import make_plan
from unwaver.asking.long_plan import LongPlan
from unwaver.groups import many, packed
from unwaver.groups.clusters import with_clusters
from unwaver.groups.many import few, together
from unwaver.groups.packed import Packed
from unwaver.models.fake import open_model
from unwaver.types import Group, Item, Request

LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is very many: as few as a test can make."""
    monkeypatch.setattr(packed, "BLOCK", 4)
    monkeypatch.setattr(many, "KEPT", 8)
    monkeypatch.setattr(long_plan, "WINDOW", 5)


def written(path: Path, count: int, seed: int = 0) -> Path:
    """Groups of two kinds; every third original is shared, and some items are asked in several groups."""
    rng = random.Random(seed)
    with path.open("w") as file:
        for n in range(count):
            kind = "semantic" if n % 3 else "surface_case"
            premise = f"Premise {n if n % 4 else n // 8}."
            shared = {"id": "shared"} if n % 10 == 3 else {}
            original = {"premise": "All." if shared else premise, "hypothesis": "It is so."}
            variant = {"premise": premise, "hypothesis": f"So it is, {rng.randrange(5)}."}
            items = [{**shared, "fields": original, "accepted": [rng.choice(LABELS)]}, {"fields": variant}]
            file.write(json.dumps({"task": "snli", "kind": kind, "items": items}) + "\n")
    return path


def run(path: Path, out: Path, **options: Any) -> Any:
    return unwaver.run(str(path), model=options.pop("model", "fake/random"), out=str(out), **options)


def rows(place: Path, table: str) -> list[Any]:
    with sqlite3.connect(place / "answers.sqlite") as db:
        return db.execute(f"SELECT * FROM {table}").fetchall()


def same(one: Path, other: Path) -> None:
    assert (one / "groups.jsonl").read_bytes() == (other / "groups.jsonl").read_bytes()
    for table in ("answers", "asked", "failures"):
        assert rows(one, table) == rows(other, table)
    scores = [json.loads((place / "scores.json").read_text())["scores"] for place in (one, other)]
    assert scores[0] == scores[1]
    assert any(score["value"] is not None for score in scores[0])


@pytest.mark.parametrize("options", [{}, {"replicates": 3}, {"shots": 2}, {"model": "fake/keyword"}])
def test_the_same_answers_and_scores(tmp_path: Path, request: pytest.FixtureRequest, options: Any) -> None:
    path = written(tmp_path / "g.jsonl", 43)
    run(path, tmp_path / "one", **options)
    request.getfixturevalue("small")
    result = run(path, tmp_path / "other", **options)
    assert isinstance(result.groups, Packed)
    same(tmp_path / "one", tmp_path / "other")
    again = run(path, tmp_path / "other", **options)
    assert again.run["spent"]["calls"] == 0
    same(tmp_path / "one", tmp_path / "other")


def test_stopped_and_taken_up_again(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = written(tmp_path / "g.jsonl", 43)
    whole = run(path, tmp_path / "one")
    request.getfixturevalue("small")
    first = run(path, tmp_path / "other", max_calls=33)
    assert first.run["spent"] | {"calls": 33} == first.run["spent"]
    assert first.run["spent"]["stopped"] == "the limit of 33 calls is reached"
    rest = run(path, tmp_path / "other")
    assert rest.run["spent"]["calls"] == whole.run["spent"]["calls"] - 33
    same(tmp_path / "one", tmp_path / "other")


def test_failed_requests_are_asked_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = written(tmp_path / "g.jsonl", 43)
    one = run(path, tmp_path / "one", model="fake/random,fail=0.5")
    request.getfixturevalue("small")
    other = run(path, tmp_path / "other", model="fake/random,fail=0.5")
    assert other.run["spent"]["calls"] == one.run["spent"]["calls"]
    assert other.run["failures"] == one.run["failures"]
    same(tmp_path / "one", tmp_path / "other")


def test_two_runs_on_one_store(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = written(tmp_path / "g.jsonl", 43)
    whole = run(path, tmp_path / "one")
    request.getfixturevalue("small")
    store = str(tmp_path / "all.sqlite")
    first = run(path, tmp_path / "first", store=store, limit=11)
    second = run(path, tmp_path / "other", store=store)
    calls = [each.run["spent"]["calls"] for each in (first, second, whole)]
    assert calls[0] + calls[1] == calls[2]
    same(tmp_path / "one", tmp_path / "other")


def test_the_plan_in_windows_is_the_plan(tmp_path: Path, small: None) -> None:
    groups = together(iter(unwaver.run(str(written(tmp_path / "g.jsonl", 43)), model="fake/random",
                                       out=str(tmp_path / "r")).groups))  # fmt: skip
    model = open_model("fake/random")

    def render(item: Item, _: object) -> Request:
        return Request("t", tuple(item.fields.values()), "", item.choices, (), item.id)

    checked: list[Request] = []
    long = LongPlan(groups, model, render, 2, lambda _: True, lambda _, new: checked.extend(new))
    short = make_plan(list(groups), model, render, 2)
    assert dict(long.keys.items()) == dict(zip(long.keys, long.keys.values(), strict=True)) == short.keys
    assert len(long.keys) == len(short.keys)
    assert dict(long.requests.items()) == short.requests
    assert list(long.requests) == list(short.requests)
    assert len(long.requests) == len(short.requests) <= len(checked)
    place, key = list(short.keys.items())[-1]
    assert long.keys[place] == key
    assert long.requests[key] == short.requests[key]
    with pytest.raises(TypeError):
        long.requests["x"] = short.requests[key]
    with pytest.raises(TypeError):
        del long.keys[place]


texts = st.text(st.characters(codec="utf-8"), max_size=3)
items = st.builds(
    Item, texts, texts, st.sampled_from(["original", "variant"]), st.dictionaries(texts, texts, max_size=2),
    st.tuples(texts), st.tuples(texts), certified=st.sampled_from([None, True]), at_least=st.floats(0, 1),
)  # fmt: skip
groups = st.builds(
    Group, st.uuids().map(str), texts, texts, texts, st.sampled_from(["same", "implied"]),
    st.lists(items, min_size=1, max_size=3).map(tuple), keep=st.sampled_from([None, 1]), units=st.tuples(texts),
    epsilon=st.sampled_from([None, 0.25]),
)  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(st.lists(groups, max_size=20), st.integers(-25, 25), st.integers(-25, 25), st.sampled_from([1, 2, -1]))
def test_packed_groups_are_the_groups(made: list[Group], start: int, stop: int, step: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "BLOCK", 3)
        patch.setattr(many, "KEPT", 3)
        pile = together(iter(made))
        assert isinstance(pile, Packed) == (len(made) >= 3)
        assert list(pile) == made
        assert list(pile[start:stop:step]) == made[start:stop:step]
        assert [pile[n] for n in range(-len(made), len(made))] == [*made, *made]
        assert together(iter(pile)) == pile
        kinds = {packed.form(group) for group in made}
        assert {packed.form(group) for group in few(pile)} == kinds
        for keep in (False, True):
            assert list(with_clusters(pile, keep=keep)) == list(with_clusters(made, keep=keep))
