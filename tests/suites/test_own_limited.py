"""--limit builds the first groups of each task and kind, as a run of the whole file would have them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.groups.from_lines import GroupLines
from unwaver.suites import built, own
from unwaver.suites.select import Selection, select
from unwaver.types import Group, replace

texts = st.sampled_from(["a", "b", "c", "d", "Is it late?"])


def items(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Texts by these names; without names, conversations."""
    texts_of = st.fixed_dictionaries(dict.fromkeys(names, texts))
    either = st.fixed_dictionaries({"fields": texts_of})
    if not names:
        return texts.map(lambda text: {"messages": [{"role": "user", "content": text}]})
    return st.one_of(either, texts.map(lambda text: {"text": text})) if names == ["text"] else either


def groups_of(task: str) -> st.SearchStrategy[dict[str, Any]]:
    names = {"snli": ["premise", "hypothesis"], "chat": []}.get(task, ["text"])
    implied = st.just({"kind": "mine", "expect": "implied"})
    kinds = st.one_of(
        st.sampled_from(
            [{"kind": "semantic"}, {"kind": "surface_case"}, {"kind": "negational", "expect": "same"}]
        ),
        implied,
    )
    own_cluster = st.one_of(st.just({}), st.just({}), st.just({"cluster": "mine"}))
    choices = st.sampled_from([[], ["yes", "no"], ["no", "yes"], ["yes", "no", "maybe"]])
    choosing = choices.map(lambda found: {"choices": found} if task in ("mine", "chat") else {})
    shaped = st.tuples(kinds, own_cluster, st.lists(items(names), min_size=2, max_size=3), choosing)
    return shaped.map(lambda d: {"task": task, **d[0], **d[1], "items": [{**item, **d[3]} for item in d[2]]})


files = st.lists(st.one_of(map(groups_of, ("snli", "mine", "sst2", "chat"))), min_size=1, max_size=12)


def first_of(groups: Any, limit: int) -> list[Group]:
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for group in groups:
        seen[group.task, group.kind] += 1
        if seen[group.task, group.kind] <= limit:
            found.append(group)
    return found


def chosen(path: Path, limit: int | None, **options: Any) -> Selection:
    return select([str(path)], options, limit=limit)


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@settings(max_examples=300, deadline=None)
@given(records=files, limit=st.integers(1, 4))
def test_lines(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], limit: int) -> None:
    path = written(tmp_path_factory.getbasetemp() / "mine.jsonl", records)
    whole, some = chosen(path, None), chosen(path, limit)
    assert list(some.groups) == first_of(whole.groups, limit)
    (all_of, first) = (each.suites[0] for each in (whole, some))
    assert (first.name, first.cases, first.tasks) == (all_of.name, all_of.cases, all_of.tasks)
    for task in all_of.cases:
        assert list(first.examples(task)) == list(all_of.examples(task))


def test_a_chain_through_the_rest_of_the_file_joins_the_first_groups(tmp_path: Path) -> None:
    def group(*originals: str) -> dict[str, Any]:
        items = [*({"role": "original", "text": text} for text in originals), {"role": "variant", "text": "v"}]
        return {"items": items}

    path = written(tmp_path / "mine.jsonl", [group("a"), group("b"), group("c"), group("a", "b")])
    first, second = chosen(path, 2).groups
    assert (first.cluster, second.cluster) == (first.id, first.id)
    assert (first.units, second.units) == ((first.items[0].id,), (second.items[0].id,))


@pytest.mark.parametrize("count", [1, 6])
def test_no_more_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    built_of: list[int] = []
    make = GroupLines.made
    monkeypatch.setattr(
        GroupLines,
        "made",
        lambda *given: built_of.append(given[-1].line) or make(*given),  # type: ignore[func-returns-value]
    )
    records = [{"items": [{"text": f"a {n}"}, {"text": f"b {n}"}]} for n in range(50)]
    path = written(tmp_path / "mine.jsonl", records)
    assert len(chosen(path, count).groups) == count
    assert built_of == list(range(1, count + 1))


def test_a_wrong_type_and_an_id_twice_are_errors_anywhere(tmp_path: Path) -> None:
    fine = {"items": [{"text": "a"}, {"text": "b"}]}
    path = written(tmp_path / "mine.jsonl", [fine, fine, {"items": [{"text": 5}, {"text": "b"}]}])
    with pytest.raises(DataError, match="found 5, expected a text") as error:
        chosen(path, 1)
    assert error.value.line == 3
    written(path, [{**fine, "id": "x"}, fine, {**fine, "id": "x"}])
    with pytest.raises(DataError, match="which line 1 has too"):
        chosen(path, 1)


rows = st.lists(
    st.fixed_dictionaries(
        {"question": texts, "paraphrase": texts, "kind": st.sampled_from(["semantic", "surface_case"])},
        optional={"gold": st.sampled_from(["yes", "no", ""]), "id": st.sampled_from("123")},
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=200, deadline=None)
@given(
    rows=rows, limit=st.integers(1, 4), more=st.sampled_from([{}, {"system": "Be brief."}, {"choices": "yes|no"}])
)
def test_tables(tmp_path_factory: pytest.TempPathFactory, rows: Any, limit: int, more: dict[str, str]) -> None:
    path = tmp_path_factory.getbasetemp() / "mine.csv"
    with path.open("w", newline="") as file:
        names = ("id", "question", "paraphrase", "kind", "gold", *more)
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows({**row, **more} for row in rows)
    whole, some = chosen(path, None), chosen(path, limit)
    assert list(some.groups) == first_of(whole.groups, limit)
    assert (some.suites[0].cases, some.suites[0].tasks) == (whole.suites[0].cases, whole.suites[0].tasks)


def test_rows_beyond_the_limit_are_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("question,paraphrase\n" + "".join(f"a {n},b {n}\n" for n in range(40)))
    monkeypatch.setattr(own, "table_groups", None)
    assert len(chosen(path, 6).groups) == 6


@pytest.mark.parametrize("variants", [("surface_case",), ("surface_case", "surface_space"), ("auto",)])
def test_variants(tmp_path: Path, variants: tuple[str, ...]) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("question\n" + "".join(f"Is number {n % 30} late, and why?\n" for n in range(40)))
    options = {"variants": variants, "task": "question"}
    whole, some = chosen(path, None, **options), chosen(path, 6, **options)
    assert list(some.groups) == first_of(whole.groups, 6)


def test_one_builder_stops_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    make = built.builder

    def counted(name: str, options: Any) -> Any:
        build = make(name, options)

        def each(source: Any) -> Any:
            for number, found in enumerate(build(source)):
                asked.append(number)
                yield found

        return each

    monkeypatch.setattr(built, "builder", counted)
    path = tmp_path / "mine.csv"
    path.write_text("question\n" + "".join(f"Is number {n} late?\n" for n in range(40)))
    assert len(chosen(path, 6, variants=("surface_case",), task="question").groups) == 6
    assert len(asked) == 6
    asked.clear()
    assert len(chosen(path, 6, variants=("auto",), task="question").groups) == 12
    assert len(asked) == 12


def test_builders_of_one_kind_name_their_groups_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second builder's "7" is "7.2" if the first has made a "7" too, be it beyond the limit."""
    make = built.builder

    def of_one_kind(name: str, options: Any) -> Any:
        build = make("surface_case", options)

        def each(source: Any) -> Any:
            items = source.items if name == "surface_case" else source.items[20:]
            return build(replace(source, items=items))

        return each

    monkeypatch.setattr(built, "builder", of_one_kind)
    path = tmp_path / "mine.csv"
    path.write_text("question\n" + "".join(f"Is number {n} late?\n" for n in range(40)))
    options = {"variants": ("surface_case", "surface_space"), "task": "question"}
    whole, some = chosen(path, None, **options), chosen(path, 6, **options)
    assert list(some.groups) == first_of(whole.groups, 6)
    assert any(group.id.endswith(".2") for group in some.groups)
