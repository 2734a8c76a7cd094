"""Conversations as models get them: services, chat templates, functions of Python, and models of one text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from server import Raw, Server

from unwaver.errors import ModelError
from unwaver.groups.conversations import compact, plain_text, without_system
from unwaver.models import openai, python
from unwaver.models.functions import takes_one
from unwaver.types import Answer, Message, Request

SYSTEM, USER = Message("system", "Be brief."), Message("user", "Is it late?")
SAID, AGAIN = Message("assistant", "Yes."), Message("user", "Are you sure?")
LONG = (SYSTEM, USER, SAID, AGAIN)
IN_JSON = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it late?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "Are you sure?"},
]


def asks(*messages: Message, **more: Any) -> Request:
    return Request("own", (), plain_text(messages), (), (), "i", messages=messages, **more)


@pytest.fixture
def opened() -> Iterator[Any]:
    models: list[Any] = []

    def open_one(name: str, **options: Any) -> Any:
        models.append(openai.open_model(name, **options))
        return models[-1]

    yield open_one
    for model in models:
        model.close()


def answers(model: Any, *requests: Request) -> list[Answer]:
    got = dict(pair for batch in model.answer(list(requests)) for pair in batch)
    return [got[n] for n in range(len(requests))]


# --- services ---------------------------------------------------------------------------------------------------


def test_a_service_gets_the_messages(opened: Any) -> None:
    with Server() as server:
        model = opened("m", base_url=server.url)
        answers(model, asks(*LONG))
        assert server.bodies[-1]["messages"] == IN_JSON


def test_the_system_message_of_an_item_comes_before_the_option(opened: Any) -> None:
    with Server() as server:
        model = opened("m", base_url=server.url, system="Be kind.")
        answers(model, asks(*LONG), asks(USER))
        sent = sorted((body["messages"] for body in server.bodies), key=len)
    assert sent == [[{"role": "system", "content": "Be kind."}, IN_JSON[1]], IN_JSON]


def test_calls_and_their_results(opened: Any) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]
    asked = asks(USER, Message("assistant", "", compact(calls)), Message("tool", "23:00", "", "c1"))
    with Server() as server:
        model = opened("m", base_url=server.url)
        most, _ = model.most_tokens(asked)
        answers(model, asked)
        sent = server.bodies[-1]["messages"]
    assert sent[1:] == [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "23:00", "tool_call_id": "c1"},
    ]
    assert most > len(plain_text(asked.messages))


def test_a_server_without_a_system_role(opened: Any) -> None:
    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw | None:
        if any(message["role"] == "system" for message in body["messages"]):
            return Raw(400, {"error": {"message": "System role not supported"}})
        return None

    with Server(script=script) as server:
        model = opened("m", base_url=server.url)
        (answer,) = answers(model, asks(*LONG))
        assert answer.error is None
        assert server.bodies[-1]["messages"] == [
            {"role": "user", "content": "Be brief.\n\nIs it late?"},
            *IN_JSON[2:],
        ]
        answers(model, asks(USER, SAID, SYSTEM, AGAIN))
        assert len(server.bodies) == 3, "what it does not take is not tried again"
        assert server.bodies[-1]["messages"][-1]["content"] == "Be brief.\n\nAre you sure?"


def test_where_a_system_text_goes() -> None:
    a, b, said = ({"role": "user", "content": text} for text in "abc")
    said["role"], system = "assistant", {"role": "system", "content": "S"}
    joined = {"role": "user", "content": "S\n\na"}
    assert without_system([system, a, said, b]) == [joined, said, b]
    assert without_system([a, said, system]) == [{"role": "user", "content": "a\n\nS"}, said]
    assert without_system([system, system, a])[0]["content"] == "S\n\nS\n\na"
    assert without_system([system]) == [{"role": "user", "content": "S"}]
    assert system == {"role": "system", "content": "S"}


# --- chat templates ---------------------------------------------------------------------------------------------

PLAIN = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[me]\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + PLAIN
)
ALTERNATE = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% endfor %}" + PLAIN
)


def rendered(folder: Path, template: str | None, request: Request, **options: Any) -> str:
    from unwaver.models.hf_causal import causal_lm

    place = tiny.saved(folder / str(abs(hash(template))), chat=template)
    return causal_lm(place, name="t", identity="i", device="cpu", **options).tokens.render(request)


@pytest.mark.slow
def test_chat_templates(tmp_path: Path) -> None:
    script = "<s>[system]Be brief.\n[user]Is it late?\n[assistant]Yes.\n[user]Are you sure?\n[me]\n"
    assert rendered(tmp_path, PLAIN, asks(*LONG)) == script
    assert rendered(tmp_path, PLAIN, asks(*LONG), system="Be kind.") == script
    assert rendered(tmp_path, PLAIN, asks(USER), system="Be kind.").startswith("<s>[system]Be kind.\n[user]Is")
    assert rendered(tmp_path, PLAIN, asks(*LONG), chat=False) == plain_text(LONG)
    assert rendered(tmp_path, None, asks(USER), system="Be kind.") == "Be kind.\n\nIs it late?"
    assert rendered(tmp_path, None, asks(SYSTEM, USER), system="Be kind.") == "Be brief.\n\nIs it late?"
    joined = "<s>[user]Be brief.\n\nIs it late?\n[assistant]Yes.\n[user]Are you sure?\n[me]\n"
    assert rendered(tmp_path, NO_SYSTEM, asks(*LONG)) == joined
    assert rendered(tmp_path, ALTERNATE, asks(*LONG)) == joined
    with pytest.raises(ModelError, match=r"does not take the messages user, user: .*must alternate") as found:
        rendered(tmp_path, ALTERNATE, asks(USER, AGAIN))
    assert "take turns" in str(found.value.hint)


@pytest.mark.slow
def test_calls_in_chat_templates(tmp_path: Path) -> None:
    chat = "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments.at }}{% endfor %}{% endfor %}"
    calls = [{"id": "c", "type": "function", "function": {"name": "clock", "arguments": '{"at": "home"}'}}]
    asked = asks(USER, Message("assistant", "", compact(calls)), Message("tool", "23:00", "", "c"))
    assert rendered(tmp_path, chat, asked) == "home"
    tools = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
    offered = compact([{"type": "function", "function": {"name": "clock", "parameters": {}}}])
    assert rendered(tmp_path, tools, asks(USER, tools=offered)) == "clock"


# --- functions --------------------------------------------------------------------------------------------------


def test_functions_of_one_conversation() -> None:
    def answer(messages: list[dict[str, str]]) -> str:
        return " / ".join(f"{m['role']}: {m['content']}" for m in messages)

    def of_prompt(prompt: str) -> str:
        return prompt

    assert takes_one(answer)
    assert takes_one(lambda messages: "x")
    model = python.PythonModel("f", answer, "i", per_item=True)
    first, second = answers(model, asks(USER, SAID, AGAIN), Request("own", (), "Late?", (), ()))
    assert first.text == "user: Is it late? / assistant: Yes. / user: Are you sure?"
    assert second.text == "user: Late?"
    (told,) = answers(python.PythonModel("f", of_prompt, "i", per_item=True), asks(*LONG))
    assert told.text == plain_text(LONG)


def test_functions_of_many_requests() -> None:
    def answer(requests: list[dict[str, Any]]) -> list[str]:
        return [str(request["messages"] == IN_JSON) + str("tools" in request) for request in requests]

    assert takes_one(answer) is False
    model = python.PythonModel("f", answer, "i")
    assert [a.text for a in answers(model, asks(*LONG), asks(*LONG, tools="[]"))] == ["TrueFalse", "TrueTrue"]


def test_an_async_function_of_one_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chatty.py").write_text("async def answer(messages):\n    return messages[-1]['content']\n")
    monkeypatch.chdir(tmp_path)
    model = python.open_model("chatty:answer")
    assert [a.text for a in answers(model, asks(*LONG), asks(USER))] == ["Are you sure?", "Is it late?"]
    del sys.modules["chatty"]
