"""Conversations: from OpenAI's format and back, as fields, as plain text, with answers in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.files import Where
from unwaver.groups import conversations, group_to_json
from unwaver.groups.conversations import compact, conversation
from unwaver.groups.from_json import group_from_json
from unwaver.types import Group, Item, Message

HERE = Where("mine.jsonl", 3)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12).filter(lambda t: "{answer of" not in t)
CALLS = st.lists(st.fixed_dictionaries({"id": TEXT, "type": st.just("function")}), min_size=1, max_size=2)
MESSAGE = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXT),
    st.builds(Message, st.just("assistant"), TEXT, CALLS.map(compact)),
    st.builds(Message, st.just("tool"), TEXT, st.just(""), TEXT.filter(bool)),
)
MESSAGES = st.lists(MESSAGE, max_size=4).map(lambda found: (*found, Message("user", "Well?")))
TOOLS = st.sampled_from(["", compact([{"type": "function", "function": {"name": "é"}}])])
FORMAT = st.sampled_from(["", compact({"type": "json_object"})])
SAME = ["same", "different", "implied", "bucket"]


@st.composite
def any_item(draw: st.DrawFn, id: str, role: Any) -> Item:
    if draw(st.booleans()):
        return Item(id, "t", role, {"text": draw(TEXT)}, tools=draw(TOOLS), response_format=draw(FORMAT))
    more = {"tools": draw(TOOLS), "response_format": draw(FORMAT), "template": draw(TEXT)}
    return conversation(id, "t", role, draw(MESSAGES), accepted=draw(st.lists(TEXT, max_size=2)), **more)


@given(st.tuples(any_item("a", "original"), any_item("b", "variant"), any_item("c", "variant")))
def test_messages_survive_json(items: tuple[Item, ...]) -> None:
    group = Group("g", "s", "t", "semantic", "same", items)
    written = json.loads(json.dumps(group_to_json(group)))
    assert group_from_json(written, HERE) == group
    assert json.dumps(group_to_json(group_from_json(written, HERE))) == json.dumps(written), (
        "keys keep their order"
    )


def test_a_plain_item_is_written_as_before() -> None:
    item = Item("a", "t", "original", {"text": "x"})
    (written, _) = group_to_json(Group("g", "s", "t", "semantic", "same", (item, item)))["items"]
    assert list(written) == ["id", "role", "fields", "choices", "accepted", "rejected", "template"]


def parsed(*messages: object) -> tuple[Message, ...]:
    return conversations.messages_from_json(list(messages), HERE)


USER = {"role": "user", "content": "Is it late?"}


def test_openai_form() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    found = parsed(
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Is it"}, {"type": "text", "text": "late?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "23:00", "tool_call_id": "c1"},
    )
    assert found == (
        Message("system", "Be brief."),
        Message("user", "Is it\nlate?"),
        Message("assistant", "", compact([call])),
        Message("tool", "23:00", "", "c1"),
    )
    assert list(conversations.fields_of(found)) == ["system", "user", "assistant", "tool"]
    assert conversations.fields_of(found)["assistant"] == compact([call])


@pytest.mark.parametrize(
    ("messages", "what", "hint"),
    [
        ([], r"found \[\], expected a list of 1 or more", '"role": "user"'),
        ("hello", 'found "hello", expected a list', '"role": "user"'),
        (["hello"], r'"items.0.messages.0": found "hello", expected an object', '"content"'),
        ([{"role": "usr", "content": "a"}], 'found "usr", expected one of assistant', "did you mean user"),
        ([{"role": "user", "content": 7}], "found 7, expected a text or a list", '"content"'),
        ([{"role": "user"}], "found null, expected a text", '"content"'),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], '"image_url"', "texts only"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], '"input_audio"', "texts only"),
        ([{"role": "user", "content": "a", "name": "Bo"}], 'expected an object without "name"', "remove it"),
        ([{"role": "system", "content": "a"}], "none of them is by the user", "add"),
        ([USER, {"role": "assistant", "content": "Yes."}], "the last one is by the assistant", "accepted"),
        ([USER, {"role": "tool", "content": "a"}], "tool_call_id", "each message of a tool"),
        ([{**USER, "tool_call_id": "a"}], "tool_call_id", "in no other"),
        ([{**USER, "tool_calls": []}], "tool_calls", "only a message of the assistant"),
    ],
)
def test_what_is_wrong_with_messages(messages: Any, what: str, hint: str) -> None:
    with pytest.raises(DataError, match=what) as found:
        group_from_json({"items": [{"messages": messages}, {"messages": [USER]}]}, HERE)
    assert (found.value.line, hint in (found.value.hint or "")) == (3, True), found.value.hint


def test_messages_or_fields() -> None:
    with pytest.raises(DataError, match="and also"):
        group_from_json({"items": [{"messages": [USER], "text": "a"}, {"text": "b"}]}, HERE)


def test_plain_text() -> None:
    system, user, said = Message("system", "Be brief."), Message("user", "Late?"), Message("assistant", "Yes.")
    assert conversations.plain_text([user]) == "Late?"
    assert conversations.plain_text([system, user]) == "Be brief.\n\nLate?"
    script = "System: Be brief.\n\nUser: Late?\n\nAssistant: Yes.\n\nUser: Late?"
    assert conversations.plain_text([system, user, said, user]) == script + "\n\nAssistant:"
    assert conversations.question_of(conversation("a", "t", "original", [system, user, said, user])) == script


def test_names_and_changed_texts() -> None:
    item = conversation(
        "a", "t", "original", [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    )
    assert dict(item.fields) == {"user": "a", "assistant": "b", "user_2": "c"}
    assert conversations.last_of_user(item.messages) == "user_2"
    changed = conversations.with_fields(item, {**item.fields, "user_2": "d"})
    assert [m.text for m in changed.messages] == ["a", "b", "d"]
    assert changed.fields == {"user": "a", "assistant": "b", "user_2": "d"}


def test_a_changed_text_keeps_the_calls() -> None:
    calls = compact([{"id": "c"}])
    spoken = [Message("user", "a"), Message("assistant", "b", calls), Message("tool", "c", "", "c")]
    item = conversation("a", "t", "original", spoken)
    changed = conversations.with_fields(item, {**item.fields, "user": "A"})
    assert changed.messages == (Message("user", "A"), *spoken[1:])


# --- answers in messages ----------------------------------------------------------------------------------------


def asked_again(text: str = "{answer of q1}", id: str = "q1") -> dict[str, Any]:
    again = [USER, {"role": "assistant", "content": text}, {"role": "user", "content": "Are you sure?"}]
    return {"kind": "doubt", "expect": "same", "items": [{"id": id, "messages": [USER]}, {"messages": again}]}


def test_awaited_answers() -> None:
    group = group_from_json(asked_again(), HERE)
    assert [conversations.awaited(item) for item in group.items] == [[], ["q1"]]
    sent = conversations.filled(group.items[1].messages, {"q1": "{answer of q1} {x}"})
    assert [m.text for m in sent] == ["Is it late?", "{answer of q1} {x}", "Are you sure?"]


def test_awaited_answers_stand_before() -> None:
    with pytest.raises(DataError, match="answer of q2") as found:
        group_from_json(asked_again("{answer of q2}"), HERE)
    assert "q1" in str(found.value.hint)
    backwards = asked_again()
    backwards["items"].reverse()
    with pytest.raises(DataError, match="no item with this id before"):
        group_from_json(backwards, HERE)


def test_other_braces_are_text() -> None:
    group = group_from_json(asked_again("{answer} {user} {answer of\nq1} {{x}}"), HERE)
    assert conversations.awaited(group.items[1]) == []
