"""Files of conversations: rows with messages, system texts beside questions, and what variants change in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.config import Config
from unwaver.errors import DataError, UsageError
from unwaver.suites import built, own, questions
from unwaver.types import Group, Message
from unwaver.variants.source import group_of

CAPITAL = "What is the capital city of France?"
LONG = [
    {"role": "system", "content": "You answer in one word."},
    {"role": "user", "content": "Hello there, my friend."},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": CAPITAL},
]


def written(place: Path, *rows: dict[str, Any]) -> Path:
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


def groups_of(path: Path, *variants: str, **options: Any) -> list[Group]:
    suite = built.suite(path, task=None if options.get("labels") else "question", variants=variants, **options)
    return [group for task, kinds in suite.cases.items() for kind in kinds for group in suite.groups(task, kind)]


def texts(group: Group) -> list[list[str]]:
    return [[message.text for message in item.messages] for item in group.items]


def test_variants_change_the_last_message_of_the_user(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", {"messages": LONG, "answer": "Paris"})
    (group,) = groups_of(path, "surface_case")
    first, *others = texts(group)
    assert first == [message["content"] for message in LONG]
    assert [other[:3] for other in others] == [first[:3]] * len(others)
    assert {other[3] for other in others} >= {CAPITAL.lower(), CAPITAL.upper()}
    assert all(item.accepted == ("Paris",) for item in group.items)
    assert dict(group.items[1].fields) == dict(
        zip(("system", "user", "assistant", "user_2"), others[0], strict=True)
    )


@pytest.mark.parametrize(("message", "place"), [("system", 0), ("user", 1), ("assistant", 2), ("user_2", 3)])
def test_variants_change_the_message_that_is_named(tmp_path: Path, message: str, place: int) -> None:
    path = written(tmp_path / "c.jsonl", {"messages": LONG})
    (group,) = groups_of(path, "surface_case", message=message)
    first, *others = texts(group)
    assert others
    for other in others:
        assert [n for n in range(4) if first[n] != other[n]] == [place]


def test_a_message_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", {"messages": LONG}, {"messages": LONG[1:2]})
    with pytest.raises(DataError, match='no message "system"') as found:
        groups_of(path, "surface_case", message="system")
    assert (found.value.line, found.value.hint) == (2, "--message takes one of: user")


def test_rules_and_typing_errors(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", {"messages": LONG}, {"messages": LONG[3:]})
    for group in groups_of(path, "auto"):
        first, second = texts(group)
        assert first[:-1] == second[:-1]
        assert first[-1] != second[-1]
        assert group.repeats


def test_several_texts_of_one_row(tmp_path: Path) -> None:
    statement = [{"role": "system", "content": "Yes or no?"}, {"role": "user", "content": "Paris is in France."}]
    path = written(tmp_path / "c.jsonl", {"id": "a.b", "messages": statement, "answer": "yes"})
    for group in groups_of(path, "negate", labels=("yes", "no")):
        assert texts(group)[1][0] == "Yes or no?"
        assert "not" in texts(group)[1][1]
        assert group.items[1].accepted == ("no",)


def test_tools_stay_with_their_row(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look_up"}}]
    path = written(
        tmp_path / "c.jsonl", {"messages": LONG, "tools": tools, "response_format": {"type": "json_object"}}
    )
    (group,) = groups_of(path, "surface_case")
    assert {json.dumps(json.loads(item.tools)) for item in group.items} == {json.dumps(tools)}
    assert {item.response_format for item in group.items} == {'{"type":"json_object"}'}


def test_the_same_conversation_is_asked_once(tmp_path: Path) -> None:
    again = [{**LONG[0], "content": "You answer in two words."}, *LONG[1:]]
    path = written(tmp_path / "c.jsonl", {"messages": LONG}, {"messages": LONG}, {"messages": again})
    assert len(groups_of(path, "surface_case")) == 2, "only the system text of the third differs"


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"messages": []}, "expected a list of 1 or more"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, '"image_url"'),
        ({"messages": [{"role": "user", "content": "{answer of x}"}]}, "a row is asked alone"),
        ({"messages": LONG, "system": "Be kind."}, "beside the messages"),
        ({"messages": LONG[1:2], "system": 7}, "expected text"),
    ],
)
def test_what_is_wrong_with_a_row(tmp_path: Path, row: dict[str, Any], what: str) -> None:
    path = written(tmp_path / "c.jsonl", {"messages": LONG}, row)
    with pytest.raises(DataError, match=what) as found:
        groups_of(path, "surface_case")
    assert found.value.line == 2
    assert found.value.hint


def test_variants_that_conversations_cannot_have(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", {"id": "a", "messages": LONG}, {"id": "b", "messages": LONG[3:]})
    with pytest.raises(UsageError, match="options of a conversation"):
        groups_of(path, "options", labels=("yes", "no"))
    source = questions.read_questions(path).source
    with pytest.raises(UsageError, match="additive cannot be made of conversations"):
        group_of(source, "additive", "a+b", [({"question": "x"}, ())] * 3)


# --- a system column --------------------------------------------------------------------------------------------


def test_a_system_column_beside_questions(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"id,system,question,answer\na,Be brief.,{CAPITAL},Paris\nb,,Who wrote the play Hamlet?,\n")
    first, second = groups_of(path, "surface_typo")
    assert first.items[0].messages == (Message("system", "Be brief."), Message("user", CAPITAL))
    assert first.items[1].messages[0] == Message("system", "Be brief.")
    assert [m.role for m in second.items[0].messages] == ["user"]
    (other,) = groups_of(tmp_path / "q.csv", "surface_case", columns={"system": "answer"})[:1]
    assert other.items[0].messages[0].text == "Paris", "another column can be named"


def test_a_system_column_beside_pairs(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "system,question,paraphrase,label\nBe brief.,Is it late?,Has it got late?,yes\n,Late?,Is it?,no\n"
    )
    suite = own.suite(path)
    first, second = suite.groups("own", "semantic")
    assert [item.messages for item in first.items] == [
        (Message("system", "Be brief."), Message("user", text)) for text in ("Is it late?", "Has it got late?")
    ]
    assert [len(item.messages) for item in second.items] == [1, 1]


def test_a_system_column_and_a_task_with_a_prompt(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("system,sentence,paraphrase,label\nBe brief.,A fine film.,A good film.,positive\n")
    with pytest.raises(DataError, match="sst2 has a prompt of its own"):
        own.suite(path, task="sst2")


def test_groups_of_a_known_task_may_be_conversations(tmp_path: Path) -> None:
    items = [
        {"messages": [{"role": "user", "content": text}], "accepted": ["positive"]} for text in ("Fine.", "Good.")
    ]
    suite = own.suite(written(tmp_path / "g.jsonl", {"task": "sst2", "items": items}))
    (group,) = suite.groups("sst2", "semantic")
    assert group.items[0].choices == ("negative", "positive")


# --- a system text from a file ----------------------------------------------------------------------------------


def test_a_system_file(tmp_path: Path) -> None:
    place = tmp_path / "prompt.txt"
    place.write_text("\ufeffBe brief.\nBe kind.\n", encoding="utf-8")
    config = Config(("sample",), ("fake/random",), system_file=str(place))
    assert (config.system, config.system_file) == ("Be brief.\nBe kind.", None)
    plain = Config(("sample",), ("fake/random",), system="Be brief.\nBe kind.")
    assert config.id == plain.id, "what counts is the text"


@pytest.mark.parametrize(
    ("data", "what"), [(None, "No such file"), (b"\xff", "not UTF-8"), (b" \n", "the system message is empty")]
)
def test_a_system_file_that_cannot_be_read(tmp_path: Path, data: bytes | None, what: str) -> None:
    place = tmp_path / "prompt.txt"
    if data is not None:
        place.write_bytes(data)
    with pytest.raises(DataError, match=what) as found:
        Config(("sample",), ("fake/random",), system_file=str(place))
    assert found.value.hint


def test_a_file_where_a_text_is_wanted() -> None:
    with pytest.raises(UsageError, match="looks like a file") as found:
        Config(("sample",), ("fake/random",), system="@prompt.txt")
    assert "--system-file prompt.txt" in str(found.value.hint)
    with pytest.raises(UsageError, match="looks like a file"):
        unwaver.run("sample", "openai/m,system=@prompt.txt,base_url=http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="cannot be combined"):
        Config(("sample",), ("fake/random",), system="x", system_file="y")
