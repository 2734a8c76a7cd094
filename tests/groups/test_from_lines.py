"""The fast way and the slow way to read groups give the same group, or the same error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.files import Where, json_row, read_rows
from unwaver.groups import from_lines
from unwaver.groups.from_json import group_from_json
from unwaver.groups.from_lines import GroupLines, holds_groups, read_groups_file
from unwaver.types import Group

texts = st.sampled_from(["", "a", "Who?", "é", "\u2028", "x\ty", 'q"'])
odd = st.sampled_from([None, 0, 1, 1.5, True, [], {}, "a", ["a"], [1], -1, 2**70, float("inf")])
names = st.lists(texts, max_size=3)
message = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "user", "assistant", "developer", "tool"])},
    optional={"content": st.one_of(texts, odd, st.just("{answer of x}")), "name": texts, "tool_call_id": texts},
)
plain = st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": texts})
messages = st.one_of(st.lists(plain, max_size=3), st.lists(plain, max_size=3), st.lists(message, max_size=3))
ITEM = {
    "id": texts, "task": texts, "role": st.sampled_from(["original", "variant", "conclusion", "judge", "test"]),
    "fields": st.dictionaries(st.sampled_from(["text", "premise", ""]), texts, max_size=2), "text": texts,
    "choices": names, "accepted": names, "rejected": names, "template": texts, "judge": texts, "about": texts,
    "at_least": st.sampled_from([0, 0.5, 1, None]), "certified": st.sampled_from([True, False, None]),
    "certified_by": texts, "unknown": odd,
    "messages": messages, "tools": st.sampled_from([None, [], [{"type": "function"}]]),
    "response_format": st.sampled_from([None, {}, {"type": "json_object"}]),
}  # fmt: skip
GROUP = {
    "version": st.sampled_from([1, 1, 1, 2, "1"]), "id": texts, "suite": texts, "task": texts,
    "kind": st.sampled_from(["semantic", "negational", "surface_case", "mine", "fooling", "transitive"]),
    "expect": st.sampled_from(["same", "different", "implied", "bucket"]), "cluster": texts, "tag": texts,
    "keep": st.sampled_from([1, 2, None]), "epsilon": st.sampled_from([0, 0.25, None]), "units": names,
    "repeats": st.sampled_from([0, 2, None]), "task_hash": odd, "unknown": odd,
}  # fmt: skip


def mostly(shape: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Records with some of these keys, now and then with a value of another type."""
    right = st.fixed_dictionaries({}, optional=dict(shape))
    one = st.tuples(st.sampled_from(sorted(shape)), odd)
    return st.tuples(right, st.one_of(st.none(), st.none(), st.none(), one)).map(
        lambda drawn: drawn[0] if drawn[1] is None else {**drawn[0], drawn[1][0]: drawn[1][1]}
    )


items = st.lists(st.one_of(mostly(ITEM), mostly(ITEM), st.just({"text": "a"})), min_size=1, max_size=4)
records = st.tuples(mostly(GROUP), st.one_of(items, items, items, odd)).map(lambda d: {**d[0], "items": d[1]})


def slowly(line: str, where: Where) -> Group | str:
    try:
        return group_from_json(json_row(line.encode(), where).cells, where, suite="s", task="t")
    except DataError as e:
        return str(e)


def quickly(line: str, place: Path) -> Group | str:
    place.write_text(f"\n{line}\n", encoding="utf-8")
    try:
        ((group, where),) = GroupLines(place, suite="s", task="t")
    except DataError as e:
        return str(e)
    assert where == Where(str(place), 2)
    return group


@settings(max_examples=400, deadline=None)
@given(record=records, spaced=st.booleans())
def test_fast_and_slow_agree(tmp_path_factory: pytest.TempPathFactory, record: Any, spaced: bool) -> None:
    place = tmp_path_factory.getbasetemp() / "one.jsonl"
    line = json.dumps(record, ensure_ascii=spaced)
    assert quickly(line, place) == slowly(line, Where(str(place), 2))


@pytest.mark.parametrize(
    "line",
    [
        '{"items": [{"text": "a"}, {"text": "b"}], "items": [{"text": "c"}, {"text": "d"}]}',
        '{"items": [{"text": "a", "text": "b"}, {"text": "c"}]}',
        '{"items": [{"text": "\\ud83d"}, {"text": "c"}]}',
        '{"items": [{"text": "\\ud83d\\ude00"}, {"text": "c"}]}',
        '{"items": [{"text": "a"}, {"text": "b"}]',
        '{"items": [{"text": "a"}, {"text": "b"}]} and more',
        '{"items": [{"text": "a"}, {"text": "b"}], "epsilon": NaN}',
        '{"items": [{"text": "a"}, {"text": "b"}], "epsilon": 1e400}',
        "[1]",
        "nonsense",
        '{"items": ' + "[" * 5000,
        '{"version": 1.0, "items": [{"text": "a"}, {"text": "b"}]}',
    ],
)
def test_odd_lines(tmp_path: Path, line: str) -> None:
    place = tmp_path / "one.jsonl"
    assert quickly(line, place) == slowly(line, Where(str(place), 2))


def test_what_the_fast_way_reads_is_read_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_lines, "record_from_json", None)  # nobody needs it
    place = tmp_path / "groups.jsonl"
    record = {"id": "g", "task": "sst2", "items": [{"text": "a", "accepted": ["positive"]}, {"text": "b"}]}
    place.write_text("\ufeff" + json.dumps(record) + "\n\n  \n" + json.dumps({**record, "id": "h"}), "utf-8")
    lines = GroupLines(place)
    found = list(lines)
    assert [(group.id, where.line) for group, where in found] == [("g", 1), ("h", 4)]
    first, second = (group for group, _ in found)
    assert first.items[0].accepted is second.items[0].accepted, "one object for equal labels"
    assert lines.named == {"sst2": None}
    assert not lines.told


def test_a_run_whose_groups_share_an_id_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "groups.jsonl"
    group = {"id": "g", "items": [{"text": "a"}, {"text": "b"}]}
    place.write_text(f"{json.dumps(group)}\n{json.dumps(group)}\n")
    with pytest.raises(DataError, match='"id": found "g", which line 1 has too') as found:
        read_groups_file(place)
    assert found.value.line == 2


@pytest.mark.parametrize(
    ("data", "what", "line"),
    [
        (b'{"items": [{"text": "a"}, {"text": "b"}]}\n{"items": [{"text": "\xff"}]}', "not UTF-8: byte 0xff", 2),
        (b'{"items": [{"text": "a"}, {"text": "b"}]}\n\n{"items": "\0"}', "NUL character", 3),
        (b"\n \n", "the file is empty", None),
    ],
)
def test_damaged_files(tmp_path: Path, data: bytes, what: str, line: int | None) -> None:
    place = tmp_path / "groups.jsonl"
    place.write_bytes(data)
    with pytest.raises(DataError, match=what) as found:
        read_groups_file(place)
    assert found.value.line == line
    with pytest.raises(DataError, match=what):
        read_rows(place)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        holds_groups(tmp_path / "none.jsonl")


def test_a_file_of_groups_is_known_by_its_first_line_or_a_later_one(tmp_path: Path) -> None:
    place = tmp_path / "g.jsonl"
    place.write_text('{"items": []}\nnonsense')
    assert holds_groups(place), "the rest is read once, when it is needed"
    place.write_text('{"question": "a"}\n{"items": []}')
    assert holds_groups(place)
    place.write_text('{"question": "items"}\n')
    assert not holds_groups(place)
