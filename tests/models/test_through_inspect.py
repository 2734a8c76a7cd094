"""Models of other providers through Inspect: its mock, and its OpenAI-compatible provider on the loopback."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

from unwaver.asking.ask import key_maker
from unwaver.errors import ModelError, UsageError
from unwaver.models import through_inspect
from unwaver.types import Answer, Message, Request

# importing Inspect takes seconds: not while tests are collected
MISSING = [name for name in ("inspect_ai", "openai") if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} not installed: pip install 'unwaver[inspect]'"),
]

KEY = "sk-inspect-0123456789abcdef"
ASK = Request("t", (), "Is it?\nAnswer:", ("true", "false"), ("Yes", "No"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., through_inspect.InspectModel]]:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    models = []

    def open_one(server: Server, **options: Any) -> through_inspect.InspectModel:
        settings = {"base_url": server.url, "backoff": 0.01, **options}
        models.append(through_inspect.open_model("openai-api/local/m", **settings))
        return models[-1]

    yield open_one
    for model in models:
        model.close()


def answers(model: through_inspect.InspectModel, requests: list[Request]) -> list[Answer]:
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[n] for n in range(len(requests))]


def reply(**message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Yes", **message}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m-1",
        "choices": [choice],
        "usage": usage,
    }


def scripted(script: Callable[[int, dict[str, Any]], Raw]) -> Server:
    return Server(script=lambda number, body, _: script(number, body))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mock counts tokens with a vocabulary that it would download."""
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", lambda text: len(text.split()))


@pytest.mark.usefixtures("counted")
def test_the_mock_answers_from_the_command_line(call: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,paraphrase\nWhat is it?,Say what it is.\n")
    command = ["run", "q.csv", "--model", "inspect/mockllm/model", "--out", "r", "--json"]
    code, out, err = call(*command)
    assert code == 0, err
    (tau,) = (s for s in json.loads(out)["scores"] if s["metric"] == "tau")
    assert (tau["counted"], tau["value"]) == (1, 0.0)
    call(*command)
    assert json.loads((tmp_path / "r" / "run.json").read_text())["spent"]["calls"] == 0, "nothing is asked twice"


def test_requests_and_replies(opened: Any) -> None:
    def slowly(*_: object) -> Raw:
        time.sleep(0.02)
        return Raw(200, reply())

    with scripted(slowly) as server:
        model = opened(server, system="Be short.", max_tokens=50, concurrency=4)
        given = answers(model, [ASK] * 12)
        assert [a.text for a in given] == ["Yes"] * 12, given[0].error
        assert {(a.usage, a.finish) for a in given} == {((9, 2), "stop")}
        assert given[0].beside is not None
        assert given[0].beside.served == "m-1"
    body = server.bodies[0]
    assert [(m["role"], m["content"]) for m in body["messages"]] == [("system", "Be short."), ("user", ASK.prompt)]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 50, 0)
    assert len(server.bodies) == 12
    assert server.most_working > 1


def test_conversations_and_tools(opened: Any) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"day": 1}'}}]
    turns = (
        Message("system", "S."),
        Message("user", "Look."),
        Message("assistant", "", tool_calls=json.dumps(calls)),
        Message("tool", "rain", call="c1"),
    )
    schema = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
    tools = [{"type": "function", "function": {"name": "look", "description": "d", "parameters": schema}}]
    request = Request("t", (), "", (), (), messages=turns, tools=json.dumps(tools))
    with scripted(lambda *_: Raw(200, reply(content=None, tool_calls=calls))) as server:
        (answer,) = answers(opened(server), [request])
    roles = [m["role"] for m in server.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert server.bodies[0]["messages"][3]["tool_call_id"] == "c1"
    assert server.bodies[0]["tools"][0]["function"]["name"] == "look"
    assert answer.beside is not None
    (made,) = json.loads(answer.beside.tool_calls)
    assert (made["function"]["name"], json.loads(made["function"]["arguments"])) == ("look", {"day": 1})


def test_cut_and_refused_answers_and_thoughts(opened: Any) -> None:
    def script(number: int, body: dict[str, Any]) -> Raw:
        said = reply(reasoning_content="Hm.")
        said["choices"][0]["finish_reason"] = ["length", "content_filter"][number]
        return Raw(200, said)

    with scripted(script) as server:
        cut, refused = answers(opened(server, concurrency=1), [ASK] * 2)
    assert (cut.finish, refused.finish) == ("length", "content_filter")
    assert cut.beside is not None
    assert cut.beside.reasoning == "Hm."


def test_probabilities_of_the_first_token(opened: Any) -> None:
    def script(_number: int, body: dict[str, Any]) -> Raw:
        said = reply()
        top = [
            {"token": t, "logprob": math.log(p), "bytes": None}
            for t, p in {"Yes": 0.5, " yes": 0.1, "No": 0.3}.items()
        ]
        said["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        return Raw(200, said)

    with scripted(script) as server:
        model = opened(server, method="logprob")
        (answer,) = answers(model, [ASK])
        assert model.decoding == "first token"
    assert [math.exp(x) for x in answer.logprobs] == pytest.approx([0.6, 0.3])
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 20)


def test_a_provider_without_probabilities_writes(opened: Any) -> None:
    with scripted(lambda *_: Raw(200, reply())) as server:
        model = opened(server, method="logprob")
        assert [a.text for a in answers(model, [ASK] * 3)] == ["Yes"] * 3
        assert model.dialect.switches == {"logprobs"}
    assert len(server.bodies) == 1 + 3


def test_what_may_pass_is_tried_again_by_our_rules(opened: Any) -> None:
    def script(number: int, _body: dict[str, Any]) -> Raw:
        return Raw(500, {"error": {"message": "busy"}}) if number % 2 == 0 else Raw(200, reply())

    with scripted(script) as server:
        given = answers(opened(server, concurrency=1), [ASK] * 3)
    assert [a.text for a in given] == ["Yes"] * 3
    with scripted(lambda *_: Raw(500, {"error": {"message": "busy"}})) as server:
        (failed,) = answers(opened(server, retries=2), [ASK])
    assert failed.error is not None
    assert "busy" in failed.error
    assert len(server.bodies) == 3


def test_a_wrong_key_ends_the_run_at_the_first_request_and_is_not_shown(opened: Any) -> None:
    said = Raw(401, {"error": {"message": f"wrong key {KEY}"}})
    with scripted(lambda *_: said) as server, pytest.raises(ModelError) as stopped:
        answers(opened(server), [ASK] * 5)
    assert KEY not in str(stopped.value)
    assert len(server.bodies) == 1


def test_names_and_options_that_cannot_be(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no provider"):
        through_inspect.open_model("claude")
    with pytest.raises(ModelError, match="cannot open"):
        through_inspect.open_model("nosuchprovider/m")
    with pytest.raises(UsageError, match="cannot hold a key"):
        through_inspect.open_model("mockllm/model", args='{"api_key": "x"}')
    monkeypatch.delenv("LOCAL_API_KEY")
    with pytest.raises(ModelError, match="LOCAL_API_KEY"):
        through_inspect.open_model("openai-api/local/m", base_url="http://127.0.0.1:9/v1")


def test_keys_of_answers_hold_what_decides_them() -> None:
    models = [
        through_inspect.open_model("mockllm/model", **options)
        for options in ({}, {"concurrency": 1, "retries": 0}, {"temperature": 0.5}, {"max_tokens": 9})
    ]
    keys = [key_maker(model)(ASK) for model in models]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_cost_cap_needs_prices(call: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,paraphrase\nWhat is it?,Say what it is.\n")
    models = [
        "--model",
        "inspect/mockllm/model",
        "--model",
        "openai/m,base_url=http://127.0.0.1:9/v1,price_in=1,price_out=1",
    ]
    code, _, err = call("run", "q.csv", *models, "--out", "r", "--max-cost", "1")
    assert code == 2
    assert "mockllm/model" in err


def test_a_batch_is_refused(call: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,paraphrase\nWhat is it?,Say what it is.\n")
    code, _, err = call("run", "q.csv", "--model", "inspect/mockllm/model", "--out", "r", "--batch-out", "b.jsonl")
    assert code == 2
    assert "cannot be put into a batch" in err
