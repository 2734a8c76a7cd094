"""What a server does not take is learned from its refusals, once each, and kept in the answer store."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server

import unwaver
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine.runs import go
from unwaver.errors import ModelError
from unwaver.models import openai
from unwaver.models.complaints import Complaint, complaints, room
from unwaver.models.complaints import refused as refused_parameter
from unwaver.models.dialect import SWITCHES, Dialect
from unwaver.models.openai_replies import Fault
from unwaver.models.thinking import with_budget
from unwaver.types import Answer, Request

Body = dict[str, Any]
REQUESTS = [Request("t", (), f"Is it {n}?", ("yes", "no"), ("Yes", "No")) for n in range(6)]


def refused(message: str, param: str | None = None) -> Raw:
    """As the public API says it."""
    return Raw(400, {"error": {"message": message, "type": "invalid_request_error", "param": param}})


def strict(*names: str, forms: int = 0) -> Callable[[int, Body, object], Raw | None]:
    """A server that refuses these parameters, one at a time, in one of the forms that services have."""

    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        if "system" in names and body.get("messages", [{}])[0].get("role") == "system":
            return refused("Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                           "messages[0].role")  # fmt: skip
        for name in names:
            if name in body:
                return (
                    refused(f"Unsupported parameter: '{name}' is not supported with this model.", name),
                    refused(f"{name} is not supported by this model"),
                    Raw(
                        422,
                        {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs"}]},
                    ),
                    Raw(400, {"object": "error", "message": f"Unknown parameter: '{name}'.", "param": None}),
                    Raw(400, f"litellm.UnsupportedParamsError: no support for parameters: ['{name}']".encode()),
                )[forms]
        return None

    return script


def asked(server: Server, **options: Any) -> tuple[list[Answer], openai.OpenAIModel]:
    model = openai.open_model("m", base_url=server.url, backoff=0.01, **options)
    try:
        got = dict(found for batch in model.answer(REQUESTS) for found in batch)
    finally:
        model.close()
    return [got[n] for n in range(len(REQUESTS))], model


@pytest.mark.parametrize("forms", range(5))
@pytest.mark.parametrize(
    ("names", "options"),
    [
        (("max_tokens",), {}),
        (("temperature",), {}),
        (("max_tokens", "temperature"), {}),
        (("top_p",), {"top_p": 0.5, "temperature": 0.7}),
        (("seed",), {"seed": 3, "temperature": 0.7}),
        (("stop",), {"stop": ";"}),
        (("system",), {"system": "Be brief."}),
        (
            ("max_tokens", "temperature", "top_p", "seed", "stop", "system"),
            {"top_p": 0.5, "seed": 3, "temperature": 0.7, "stop": ";", "system": "Be brief."},
        ),
    ],
)
def test_a_refused_parameter_is_left_out(names: tuple[str, ...], options: Body, forms: int) -> None:
    with Server(lambda _: "Yes; or not", script=strict(*names, forms=forms)) as server:
        given, model = asked(server, **options)
    assert [a.error for a in given] == [None] * 6
    assert model.dialect.switches == set(names)
    assert len(server.bodies) == 6 + len(names), "each is tried once"
    last = server.bodies[-1]
    assert not set(names) & last.keys()
    if "max_tokens" in names:
        assert last["max_completion_tokens"] == 2048
    if "stop" in names:
        assert {a.text for a in given} == {"Yes"}, "cut here, as the server does not"
    if "system" in names:
        assert [m["role"] for m in last["messages"]] == ["user"]
        assert re.fullmatch(r"Be brief\.\n\nIs it \d\?", last["messages"][0]["content"])


@pytest.mark.parametrize(
    "message",
    [
        "the context is too long: 5000 tokens",
        "unknown field response_format",
        "the server will stop, unknown error",
        "messages must not be empty",
    ],
)
def test_any_other_refusal_stays_what_it_is(message: str) -> None:
    with Server(script=lambda *_: refused(message)) as server, pytest.raises(ModelError, match=message):
        asked(server, stop=";")
    assert len(server.bodies) == 2, "the two that go alone"


@pytest.mark.parametrize(
    "quotes",
    [
        lambda asked: f"Invalid prompt: '{asked}' is not supported by this model",
        lambda asked: f"unexpected text {asked[2:-3]}… must be shorter",
        lambda asked: f"The prompt {asked} is not allowed",
    ],
)
@pytest.mark.parametrize("asked_for", ["What is the temperature in Paris?", "Does a system prompt stop it? True."])
def test_words_of_the_question_are_no_parameters(asked_for: str, quotes: Callable[[str], str]) -> None:
    def script(_number: int, body: Body, _headers: object) -> Raw:
        return refused(quotes(body["messages"][-1]["content"]))

    with Server(script=script) as server:
        model = openai.open_model("m", base_url=server.url, system="S", stop=";", seed=1, temperature=0.5)
        with pytest.raises(ModelError):
            list(model.answer([Request("t", (), asked_for, (), ())] * 3))
        model.close()
    assert len(server.bodies) == 2, "the two that go alone"
    assert not model.dialect.switches


def test_a_parameter_that_was_not_sent() -> None:
    unknown = refused("Unknown parameter: 'top_p'.", "top_p")
    with Server(script=lambda *_: unknown) as server, pytest.raises(ModelError, match="top_p"):
        asked(server)
    assert len(server.bodies) == 2


def test_several_parameters_refused_at_once() -> None:
    """As FastAPI does it; the body comes back in each entry."""

    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        found = [name for name in ("temperature", "top_p", "seed", "stop") if name in body]
        entries = [{"type": "extra_forbidden", "loc": ["body", n], "msg": "Extra inputs are not permitted",
                    "input": body} for n in found]  # fmt: skip
        if body["messages"][0]["role"] == "system":
            entries.append(
                {"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}
            )
        return Raw(422, {"detail": entries}) if entries else None

    with Server(script=script) as server:
        given, model = asked(server, top_p=0.5, seed=3, temperature=0.7, stop=";", system="S")
    assert [a.error for a in given] == [None] * 6
    assert model.dialect.switches == {"temperature", "top_p", "seed", "stop", "system"}


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "Invalid request", "param": "temperature"}},
        [{"error": {"code": 400, "message": "temperature is not supported", "status": "INVALID_ARGUMENT"}}],
        {"error": "temperature is not supported for this model"},
        {"detail": "Unsupported parameter(s): temperature"},
        {"message": "Unsupported parameter: 'temperature'", "type": "BadRequestError", "code": 400},
        {"errors": [{"message": "is not allowed", "path": ["temperature"]}]},
        {"error": {"message": "Provider returned error", "metadata": {"raw": "'temperature' is not supported"}}},
        {"error": {"message": '"temperature" is not supported', "param": None}},
    ],
)
def test_places_of_a_complaint(said: object) -> None:
    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        return Raw(400, said) if "temperature" in body else None

    with Server(script=script) as server:
        given, model = asked(server)
    assert [a.error for a in given] == [None] * 6
    assert model.dialect.switches == {"temperature"}
    assert len(server.bodies) == 7


def test_many_at_once_learn_one_switch(tmp_path: Path) -> None:
    """A server that begins to refuse while requests are in flight: one switch, said once."""

    def script(number: int, body: Body, _headers: object) -> Raw | None:
        return refused("Unsupported value", "temperature") if number >= 9 and "temperature" in body else None

    with Server(script=script, slow=0.01) as server:
        said: list[str] = []
        run(server, tmp_path / "r", said)
    assert len(said) == 1
    assert said[0].startswith(f"{server.url} does not take temperature for m: ")


def test_a_value_that_somebody_chose_is_not_dropped() -> None:
    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        return refused("temperature must be between 0 and 2", "temperature") if body["temperature"] > 2 else None

    with Server(script=script) as server, pytest.raises(ModelError, match="between 0 and 2"):
        asked(server, temperature=5.0)


def test_a_server_that_complains_whatever_is_sent() -> None:
    complains = refused("'temperature' is not supported", "temperature")
    with Server(script=lambda *_: complains) as server, pytest.raises(ModelError, match="temperature"):
        asked(server)
    assert len(server.bodies) == 3, "the switch is tried once"


def test_room_for_fewer_tokens() -> None:
    """The limit is ours: a server with a small context gets a smaller one; a limit of the user's stays."""

    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        said = "This model's maximum context length is 2048 tokens. However, you requested 2065 tokens (17 in the messages, 2048 in the completion)."  # fmt: skip
        return refused(said) if body["max_tokens"] > 1024 else None

    with Server(script=script) as server:
        given, model = asked(server)
        assert {a.text for a in given} == {"Yes"}
        assert {body["max_tokens"] for body in server.bodies} == {2048, 2031, 507}
        assert model.dialect.switches == {"room"}, "said once"
        server.bodies.clear()
        with pytest.raises(ModelError, match="maximum context") as stopped:
            asked(server, max_tokens=1500)
    assert len(server.bodies) == 2, "the two that go alone"
    assert "--model-arg max_tokens=375" in str(stopped.value.hint)


@pytest.mark.parametrize(
    ("message", "param", "tokens"),
    [
        ("max_tokens is too large: 2048. This model supports at most 1024 completion tokens.", "max_tokens", 1024),
        ("max_tokens: 2048 > 1024, which is the maximum allowed number of output tokens for c-3-x", "", 1024),
        ("Input should be less than or equal to 1000", "max_tokens", 1000),
        ("max_tokens: maximum is 1024", "", 1024),
        ("`max_tokens` must be less than or equal to `1024`, the maximum value for `max_tokens`", "", 1024),
        ("`inputs` tokens + `max_new_tokens` must be <= 2049. Given: 17 `inputs` tokens and 2048 `max_new_tokens`",
         "", 2032),
        ("'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum context length is 2,048 "
         "tokens and your request has 13 input tokens (2048 > 2048 - 13).", "", 2035),
        ("the model does not support more than 1024 output tokens", "", 1024),
        ("max_tokens is too high", "", 512),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens", None),
        ("the prompt is too long: 9000 tokens", "", None),
    ],
)  # fmt: skip
def test_how_many_tokens_a_server_has_room_for(message: str, param: str, tokens: int | None) -> None:
    found = room([Complaint(param, message)], {"messages": [], "max_tokens": 2048})
    assert found == (None if tokens is None else ("max_tokens", tokens))


@pytest.mark.parametrize(
    ("message", "switch"),
    [
        ("`temperature` and `top_p` cannot both be specified for this model.", "top_p"),
        ("System role not supported", "system"),
        ("Only user and assistant roles are supported!", "system"),
        ("Conversation roles must alternate user/assistant/user/assistant/...", "system"),
        ("Developer instruction is not enabled for models/gemma-3", "system"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("Unrecognized request argument supplied: stop", "stop"),
        ("property 'seed' is unsupported", "seed"),
        ("max_tokens is too large: 2048. This model supports at most 1024 completion tokens", ""),
        ("'max_tokens' or 'max_completion_tokens' is too large: 2048", ""),
        ("top_p must be less than 1", ""),
    ],
)
def test_words_of_services(message: str, switch: str) -> None:
    body = {
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
        "temperature": 0.7, "top_p": 1.5, "seed": 1, "stop": ["x"], "max_tokens": 2048,
    }  # fmt: skip
    said = complaints(json.dumps({"error": {"message": message}}).encode())
    assert refused_parameter(said, body, SWITCHES) == switch


def test_what_did_not_help_is_not_learned() -> None:
    dialect = Dialect("http://a", "m")
    said = json.dumps({"error": {"message": "no temperature", "param": "temperature"}}).encode()

    def post(body: Body) -> str:
        if "temperature" in body:
            raise Fault("no temperature", said=said)
        raise Fault("too long", said=b'{"error": {"message": "the prompt is too long"}}')

    with pytest.raises(Fault, match="too long"):
        dialect.put({"temperature": 0}, post)
    assert not dialect.switches


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("https://openrouter.ai/api/v1", "reasoning"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "extra_body"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "enable_thinking"),
        ("http://localhost:8000/v1", "thinking"),
    ],
)
def test_a_budget_of_thoughts_in_the_form_of_the_service(address: str, field: str) -> None:
    sent = with_budget({"max_tokens": 100, "thinking_budget": 500}, address)
    assert sent["max_tokens"] == 600
    assert field in sent
    assert with_budget({"max_tokens": 100}, address) == {"max_tokens": 100}


def test_options_of_thinking() -> None:
    with Server() as server:
        asked(server, reasoning_effort="low")
        asked(server, thinking_budget=500)
    assert (server.bodies[0]["reasoning_effort"], server.bodies[0]["max_tokens"]) == ("low", 2048 + 4096)
    assert server.bodies[-1]["max_tokens"] == 2548
    assert server.bodies[-1]["thinking"] == {"type": "enabled", "budget_tokens": 500}


def test_a_writer_that_thinks_has_room_for_its_thoughts() -> None:
    """The limit of a request is that of the answer."""
    request = Request("t", (), "Write.", (), (), limit=1000)
    with Server() as server:
        for options in ({}, {"reasoning_effort": "low"}, {"thinking_budget": 500}):
            model = openai.open_model("m", base_url=server.url, **options)
            list(model.answer([request]))
            model.close()
    assert [body["max_tokens"] for body in server.bodies] == [1000, 1000 + 4096, 1500]


def test_a_server_that_scores_in_no_way_writes() -> None:
    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        return refused("only chat completions", "prompt") if "prompt" in body else None

    with Server(script=script) as server:
        given, model = asked(server, method="logprob")
    assert [a.text for a in given] == ["Yes"] * 6
    assert model.dialect.switches == {"echo", "logprobs"}


def test_no_log_probabilities() -> None:
    def script(_number: int, body: Body, _headers: object) -> Raw | None:
        return refused("'logprobs' is not supported", "logprobs") if "logprobs" in body else None

    with Server(script=script) as server:
        given, model = asked(server, method="logprob")
    assert [a.text for a in given] == ["Yes"] * 6
    assert model.decoding == "answered by generate"
    assert sum("logprobs" in body for body in server.bodies) == 2, "once as completions, once as a chat"


# --- a whole run


def run(server: Server, place: Path, said: list[str] | None = None, **options: Any) -> unwaver.Result:
    args = {"base_url": server.url, "backoff": "0.01"}
    config = Config(("sample/snli/semantic",), ("openai/m",), args, out=str(place), **{"limit": 10, **options})
    return go(config, Console(say=(said if said is not None else []).append)).result


def keys(place: Path) -> list[tuple[str, ...]]:
    import sqlite3

    return sqlite3.connect(place / "answers.sqlite").execute("SELECT key FROM answers ORDER BY key").fetchall()


def test_a_run_learns_once_and_goes_on_with_the_same_keys(tmp_path: Path) -> None:
    with Server() as plain:
        run(plain, tmp_path / "plain")
    with Server(
        script=strict("max_tokens", "temperature"), port=int(plain.url.split(":")[2].split("/")[0])
    ) as server:
        said: list[str] = []
        run(server, tmp_path / "r", said, max_calls=7)
        assert [line.split(" for ")[0] for line in said] == [
            f"{server.url} does not take max_tokens", f"{server.url} does not take temperature",
        ]  # fmt: skip
        assert len(server.bodies) == 7 + 2
        said.clear()
        result = run(server, tmp_path / "r", said)
        assert said == []
        assert len(server.bodies) == 20 + 2, "nothing is tried again"
    assert keys(tmp_path / "r") == keys(tmp_path / "plain"), "what was asked for decides"
    assert {s.method for s in result.scores} == {"generate, sample temperature of the server"}
    assert "the service takes no temperature: answers are sampled" in str(result)
    assert result.run["services"][0]["not_taken"] == ["max_tokens", "temperature"]
    again = unwaver.score(str(tmp_path / "r"))
    assert "answers are sampled" in str(again)


def test_a_shared_store_tells_the_next_run(tmp_path: Path) -> None:
    store = str(tmp_path / "all.sqlite")
    with Server(script=strict("temperature")) as server:
        run(server, tmp_path / "a", store=store, limit=5)
        sent = len(server.bodies)
        result = run(server, tmp_path / "b", store=store)
        assert len(server.bodies) == sent + 10
        assert "answers are sampled" in str(result)
        own = run(server, tmp_path / "b")  # the folder knows it, too
        assert len(server.bodies) == sent + 10
        assert "answers are sampled" in str(own)


def test_a_model_that_changes_is_told(tmp_path: Path) -> None:
    def script(number: int, _body: Body, _headers: object) -> Raw:
        choice = {"message": {"content": "True"}, "finish_reason": "stop"}
        name = "m-2024-05" if number < 15 else "m-2024-08"
        usage = {"prompt_tokens": 9, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4},
                 "completion_tokens_details": {"reasoning_tokens": 6}}  # fmt: skip
        return Raw(200, {"choices": [choice], "model": name, "system_fingerprint": "fp_1", "usage": usage})

    with Server(script=script) as server:
        result = run(server, tmp_path / "r")
    [service] = json.loads((tmp_path / "r" / "run.json").read_text())["services"]
    assert service["served"] == {"m-2024-05": 15, "m-2024-08": 5}
    assert service["fingerprints"] == {"fp_1": 20}
    assert (service["cached_tokens"], service["reasoning_tokens"]) == (80, 120)
    said = " ".join(str(result).split())
    assert (
        "the model behind the service changed during the run: m-2024-05 (15 answers), m-2024-08 (5 answers)"
        in said
    )
    assert "fingerprint behind" not in said
