from __future__ import annotations

import inspect
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import pytest

from unwaver.asking.ask import key_maker
from unwaver.bound import bind
from unwaver.errors import ModelError, UsageError
from unwaver.models import openai
from unwaver.models.openai import PROBES
from unwaver.models.openai_replies import LEAST, retry_after
from unwaver.models.openai_server import GIVE_UP
from unwaver.types import Model, Request

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import FAULTS, Raw, Server, word_logprob
from waiting import FOR_EVER, ends

LABELS = ("entailment", "not_entailment")
WORDS = ("Yes", "No")
KEY = "sk-secret-7f3a9c1e5b"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def opened():
    """open_model with small waits; closed after the test."""
    models = []

    def open_model(server, name="m", **options):
        url = server if isinstance(server, str) else server.url
        models.append(openai.open_model(name, base_url=url, **{"backoff": 0.01, "timeout": 5.0, **options}))
        return models[-1]

    yield open_model
    for model in models:
        model.close()


def requests(n, words=WORDS):
    return [Request("rte", (f"{i}",), f"Question {i}?", LABELS, words, f"id{i}") for i in range(n)]


def answers(model, asked):
    got = [pair for batch in model.answer(asked) for pair in batch]
    assert sorted(i for i, _ in got) == list(range(len(asked)))  # each once, none lost
    return [a for _, a in sorted(got, key=lambda pair: pair[0])]


def echo(prompt):
    return f"re: {prompt}"


# --- what is sent and what comes back


def test_a_chat_completion(opened):
    with Server(echo) as server:
        model = opened(server, "some/model", system="Be brief.", temperature=0.7, seed=5)
        assert isinstance(model, Model)
        [answer] = answers(model, [Request("rte", (), "Is it?", LABELS, WORDS, "id", replicate=2)])
    assert (answer.text, answer.usage, answer.finish, answer.error) == ("re: Is it?", (2, 1), "stop", None)
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies == [
        {
            "model": "some/model",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it?"}],
            "temperature": 0.7,
            "max_tokens": 2048,
            "seed": 7,
        }
    ]


def test_what_identifies_a_model(opened, monkeypatch):
    model = opened("http://localhost:1/v1/", "m", top_p=0.9)
    assert model.name == "m"
    assert model.identity == "openai:http://localhost:1/v1 m"
    assert model.settings == {
        "method": "generate", "system": None, "temperature": 0.0, "top_p": 0.9, "max_tokens": 2048, "seed": None,
    }  # fmt: skip
    assert (model.reads, model.deterministic) == (("prompt", "words"), False)
    assert not opened("http://localhost:1/v1", temperature=1.0).deterministic
    assert opened("http://localhost:1/v1", method="logprob", temperature=1.0).settings == {
        "method": "logprob",
        "system": None,
    }
    assert opened("http://localhost:1/v1/chat/completions").identity == "openai:http://localhost:1/v1 m"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:2/v1")
    other = openai.open_model("m")
    other.close()
    assert other.identity == "openai:http://localhost:2/v1 m"


def test_a_seed_counts_only_where_something_is_drawn(opened):
    assert opened("http://localhost:1/v1", seed=3).settings["seed"] is None
    assert opened("http://localhost:1/v1", seed=3, temperature=0.5).settings["seed"] == 3


@pytest.mark.parametrize("stops", [True, False])
def test_a_text_ends_before_a_stop_string_whether_the_server_knows_it_or_not(opened, stops):
    with Server(lambda prompt: "Yes.\nQ: and now?\nEND", stops=stops) as server:
        model = opened(server, stop=r"END|\n")
        [answer] = answers(model, requests(1))
        [other] = answers(opened(server), requests(1))
    assert (answer.text, answer.finish) == ("Yes.", "stop")
    assert other.text == "Yes.\nQ: and now?\nEND"
    assert server.bodies[0]["stop"] == ["\n", "END"]
    assert "stop" not in server.bodies[1]


def test_the_settings_are_what_they_were_without_stop_strings(opened):
    plain = opened("http://localhost:1/v1")
    assert plain.settings == {
        "method": "generate", "system": None, "temperature": 0.0, "top_p": 1.0, "max_tokens": 2048, "seed": None,
    }  # fmt: skip
    assert opened("http://localhost:1/v1", stop="a").settings == {**plain.settings, "stop": ["a"]}
    assert "stop" not in opened("http://localhost:1/v1", stop="a", method="logprob").settings
    with pytest.raises(UsageError, match="is empty"):
        opened("http://localhost:1/v1", stop="a|")


def test_how_it_decodes(opened):
    assert opened("http://localhost:1/v1").decoding == ""
    assert opened("http://localhost:1/v1", method="logprob", temperature=1.0).decoding == ""
    nucleus = opened("http://localhost:1/v1", temperature=0.7, top_p=0.9)
    assert (nucleus.method, nucleus.decoding) == ("generate", "nucleus top_p 0.9 temperature 0.7")


def test_options_as_a_command_line_gives_them():
    given = {"base_url": "http://h/v1", "method": "logprob", "timeout": "2", "retries": "1", "top_p": "0.5"}
    bound = bind(openai.open_model, {**given, "extra": '{"top_k": 1}'}, "openai/m")
    model = openai.open_model("m", **bound)
    model.close()
    assert model.settings == {"method": "logprob", "system": None, "top_k": 1}


def test_extra_fields_and_settings_left_to_the_server(opened):
    with Server() as server:
        model = opened(server, max_tokens=None, temperature=None, extra='{"max_completion_tokens": 99}')
        answers(model, requests(1))
    assert {k: v for k, v in server.bodies[0].items() if k not in ("messages", "model")} == {
        "max_completion_tokens": 99
    }
    assert model.settings["max_completion_tokens"] == 99
    assert not model.deterministic


def test_the_order_of_groups_is_kept_and_the_limit_holds(opened):
    asked = requests(40)
    random.Random(0).shuffle(asked)
    with Server() as server:
        answers(opened(server, concurrency=1), asked)
        prompts = [b["messages"][0]["content"] for b in server.bodies]
        assert prompts == [r.prompt for r in asked]
        assert server.most_working == 1
    with Server(slow=0.02) as server:
        answers(opened(server, concurrency=4), asked)
        assert server.most_working == 4


def test_replies_are_handed_over_one_by_one_as_they_arrive(opened):
    with Server(slow=0.05) as server:
        stream = opened(server, concurrency=2).answer(requests(50))
        assert len(next(stream)) == 1
        next(stream)
        assert len(server.bodies) <= 8  # a bounded number under way
        stream.close()


def test_no_requests_no_calls(opened):
    with Server() as server:
        assert answers(opened(server), []) == []
    assert server.bodies == []


# --- faults


@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_is_answered_though_a_fifth_of_the_calls_fail(opened, seed):
    asked = requests(300)
    with Server(echo, faults=0.2, seed=seed) as server:
        given = answers(opened(server, timeout=3.0, retries=8), asked)
    assert [a.error for a in given] == [None] * 300
    assert [a.text for a in given] == [echo(r.prompt) for r in asked]
    assert set(server.failed) == set(FAULTS)
    # nothing that was answered was asked again
    assert server.answered == Counter(r.prompt for r in asked)
    assert len(server.bodies) == 300 + sum(server.failed.values())


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_is_survived_and_told_when_it_stays(opened, kind):
    with Server(script=lambda number, *_: None if number == 0 else kind) as server:
        given = answers(
            opened(server, timeout=0.5 if kind == "hang" else 60.0, retries=1, concurrency=2), requests(2)
        )
    assert (given[0].error, given[1].text) == (None, None)
    assert {
        "429": "answered 429: too many requests (tried 2 times)",
        "500": "answered 500: out of memory (tried 2 times)",
        "hang": "no answer within 0.5 s (tried 2 times)",
        "html": "answered HTML (status 200, text/html): <!doctype html>",
        "cut": "answered broken JSON (status 200, application/json)",
        "drop": "the connection broke: 487 bytes of the answer are missing",
        "empty": "without choices (tried 2 times)",
        "null": "without content (tried 2 times)",
    }[kind] in given[1].error
    assert len(server.bodies) == 3


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_server_that_never_recovers(opened, concurrency):
    asked = requests(400)
    with Server(echo, dies_after=100) as server:
        given = answers(opened(server, retries=2, concurrency=concurrency), asked)
    assert sum(a.error is None for a in given) == 100
    assert all("answered 500: out of memory" in a.error for a in given if a.error)
    assert any(a.error.startswith(f"given up after {GIVE_UP} failures in a row") for a in given if a.error)
    assert len(server.bodies) <= 100 + 3 * (GIVE_UP + concurrency)


def test_a_server_that_goes_away(opened):
    with Server(echo, slow=0.005) as server:
        model = opened(server, retries=2)
        given, closed = [], False
        for batch in model.answer(requests(300)):
            given += batch
            if len(given) >= 50 and not closed:  # a batch may hold several replies
                server.close()
                closed = True
    assert sorted(i for i, _ in given) == list(range(300))
    failed = [a.error for _, a in given if a.error]
    assert 200 < len(failed) <= 250
    assert all(server.url in e or "connection" in e for e in failed)
    # nor are the next waves asked
    assert all("given up" in a.error for a in answers(model, requests(20)))


def test_the_default_time_is_enough_for_the_default_answer_of_a_slow_server(opened):
    """One that is given up too early goes on computing answers that nobody waits for, and falls behind for good."""
    tokens_per_second = 5
    with Server() as server:
        with closing(openai.open_model("m", base_url=server.url)) as model:
            answers(model, requests(1))
        seconds = inspect.signature(openai.open_model).parameters["timeout"].default
        assert seconds * tokens_per_second >= server.bodies[0]["max_tokens"]


def test_requests_the_server_refuses_do_not_stop_the_others(opened):
    def refuse_long(number, body, headers):
        return Raw(400, {"error": {"message": "too long"}}) if "long" in body["messages"][0]["content"] else None

    asked = [*requests(5), *(Request("rte", (), f"long {i}", LABELS, WORDS) for i in range(30)), *requests(5)]
    with Server(script=refuse_long) as server:
        given = answers(opened(server), asked)
        assert [a.error is None for a in given] == [True] * 5 + [False] * 30 + [True] * 5
        assert given[10].error == f"{server.url} answered 400: too long"
    assert len(server.bodies) == 40  # asked once each


@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize(
    ("status", "tries"), [(400, 1), (422, 1), (413, 1), (429, 3), (500, 3), (503, 3), (529, 3)]
)
def test_a_server_that_refuses_from_the_start_ends_the_run_with_its_words(opened, count, status, tries):
    raw = Raw(status, {"error": {"message": "unsupported parameter"}})
    with Server(script=lambda *_: raw) as server:
        error = error_of(opened(server, retries=2), requests(count))
    again = f" (tried {tries} times)" if tries > 1 else ""
    assert error.summary == f"{server.url} answered {status}: unsupported parameter{again}"
    assert len(server.bodies) == tries * min(count, PROBES)
    if status in (400, 422):
        assert "temperature=none" in error.hint
    if status >= 500:
        assert "check its log" in error.hint


def test_why_a_run_ends_at_the_first_contact_is_handed_over_first(opened):
    with Server(script=lambda *_: Raw(400, {"error": "no"})) as server:
        stream = opened(server).answer(requests(9))
        assert [next(stream)[0][1].error for _ in range(PROBES)] == [f"{server.url} answered 400: no"] * PROBES
        with pytest.raises(ModelError):
            next(stream)


def test_a_server_that_has_answered_before_may_refuse_what_is_left(opened):
    with Server(script=lambda *_: Raw(400, {"error": {"message": "too long"}})) as server:
        model = opened(server)
        model.answered_before(True)
        given = answers(model, requests(3))
        assert [a.error for a in given] == [f"{server.url} answered 400: too long"] * 3
    with Server(script=lambda *_: Raw(401, {"error": "no"})) as server:
        model = opened(server)
        model.answered_before(True)
        assert "answered 401" in str(error_of(model))


# --- waiting


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("86400", 60),
        ("-3", 0),
        ("soon", None),
        ("nan", None),
        ("inf", 60),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_values(header, seconds):
    assert retry_after(header, 0.0) == seconds


def test_retry_after_dates():
    now = 1_800_000_000.5
    assert 8 <= retry_after(formatdate(now + 10, usegmt=True), now) <= 10
    assert retry_after(formatdate(now - 99, usegmt=True), now) == 0
    assert retry_after("Fri, 99 Foo 2020 00:00:00 GMT", now) is None


def test_retry_after_is_honoured_and_backoff_grows(opened):
    waits = []
    kinds = iter([None, "429", "429", "500", "500", "500", None])
    with Server(script=lambda *_: next(kinds), retry_after="7") as server:
        answers(opened(server, backoff=1.0, wait=waits.append, concurrency=1), requests(2))
    assert all(7 <= w <= 8 for w in waits[:2])
    assert all(0 <= w <= longest for w, longest in zip(waits[2:], [4, 8, 16], strict=True))


def test_jitter_leaves_the_global_generator_alone(opened):
    random.seed(1)
    state = random.getstate()
    with Server(faults=0.5, kinds=["500"], seed=3) as server:
        answers(opened(server, retries=20), requests(20))
    assert random.getstate() == state


# --- first contact


def error_of(model, asked=None):
    with pytest.raises(ModelError) as e:
        answers(model, asked or requests(50))
    return e.value


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        (
            Raw(401, {"error": {"message": "bad key"}}),
            "answered 401: bad key",
            "environment variable OPENAI_API_KEY",
        ),
        (Raw(403, {"error": "no"}), "answered 403: no", "environment variable OPENAI_API_KEY"),
        (Raw(404, {"error": {"message": "no model m"}}), "answered 404: no model m", "know the model m?"),
        (Raw(404, {"detail": "Not Found"}), "answered 404: Not Found", "base_url usually ends in /v1"),
        (Raw(404, b"<html>nginx", {"Content-Type": "text/html"}), "answered 404: <html>nginx", "ends in /v1"),
        (Raw(308, b"", {"Location": "https://x"}), "answered 308", "redirects are not followed"),
        (Raw(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "answered 429: pay", "no credit"),
    ],
)
def test_what_cannot_pass_is_told_at_once(opened, raw, message, hint):
    with Server(script=lambda *_: raw) as server:
        error = error_of(opened(server))
    assert error.summary == f"{server.url} {message}"
    assert hint in error.hint
    assert len(server.bodies) == 1


def test_a_missing_key_is_asked_for(opened, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with Server(script=lambda n, b, headers: Raw(401) if "Authorization" not in headers else None) as server:
        assert error_of(opened(server)).hint == "put a key into the environment variable OPENAI_API_KEY"
        assert error_of(opened(server, key_env="MY_KEY")).hint.endswith("MY_KEY")
        monkeypatch.setenv("MY_KEY", "  a-key-of-mine\n")
        assert answers(opened(server, key_env="MY_KEY"), requests(1))[0].text == "Yes"


def test_html_from_the_start(opened):
    with Server(script=lambda *_: "html") as server:
        error = error_of(opened(server, retries=1))
    assert "answered HTML (status 200, text/html): <!doctype html>" in str(error)
    assert error.hint == "base_url usually ends in /v1"


def test_no_server_there(opened):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    waits: list[float] = []
    error = error_of(opened(url, backoff=0.5, wait=waits.append))
    assert len(waits) == 2
    assert sum(waits) < 3
    assert str(error).startswith(f"{url} cannot be reached:")
    assert "(tried 3 times)" in str(error)
    assert error.hint == f"is the server running? base_url is {url}"


def test_a_first_request_that_fails_alone_does_not_stop_the_rest(opened):
    with Server(script=lambda n, body, h: "500" if "Question 0?" in str(body) else None) as server:
        given = answers(opened(server, retries=1), requests(20))
    assert [a.error is None for a in given] == [False] + [True] * 19


def test_a_server_with_a_bad_start_is_no_wrong_address(opened):
    kinds = iter(["500", "500", "html", "html", "html"])
    with Server(script=lambda *_: next(kinds, None)) as server:
        given = answers(opened(server, retries=6), requests(3))
        assert [a.text for a in given] == ["Yes"] * 3
    kinds = iter(["500", "html", None])
    with Server(script=lambda *_: next(kinds, None)) as server:
        given = answers(opened(server, retries=1), requests(3))
    assert [a.error is None for a in given] == [False, True, True]


def test_a_key_that_is_revoked_on_the_way(opened):
    with Server(script=lambda n, *_: Raw(401, {"error": "revoked"}) if n >= 20 else None) as server:
        given = answers(opened(server), requests(200))
    assert sum(a.error is None for a in given) == 20
    # each of the eight answers that were on their way may come late and begin the count of failures anew
    assert len(server.bodies) <= 20 + 9 * GIVE_UP


# --- bad options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "localhost:8000/v1"}, "base_url is not an address"),
        ({"base_url": "http://"}, "base_url is not an address"),
        ({"base_url": "http://host:99999/v1"}, "base_url is not an address"),
        ({"base_url": "http://[::1/v1"}, "base_url is not an address"),
        ({"base_url": "http://exa mple/v1"}, "base_url is not an address"),
        ({"base_url": f"http://host/v1?api_key={KEY}"}, "base_url has a part after"),
        ({"key_env": KEY}, "key_env is not the name"),
        ({"method": "guess"}, "unknown method guess"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"extra": "{"}, "extra is not a JSON object"),
        ({"extra": "[1]"}, "extra is not a JSON object"),
        ({"extra": {"stream": True}}, "extra cannot hold stream"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(UsageError, match=message) as e:
        openai.open_model("m", **options)
    assert KEY not in str(e.value.as_dict())


def test_a_client_needs_nothing_but_python(opened):
    code = """
import sys
sys.modules["httpx"] = sys.modules["certifi"] = None
from unwaver.models import openai
openai.open_model("m", base_url="http://localhost:1/v1").close()
openai.open_model("m").close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the key


def all_text_of(error):
    return "".join(traceback.format_exception(error)) + str(error.as_dict()) + repr(error)


def test_the_key_is_sent_and_shown_nowhere(opened, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    sent = []

    def tell_tale(number, body, headers):
        sent.append(headers["Authorization"])
        echoed = f"{'x' * 190} {headers['Authorization']} {headers['Authorization']}"
        statuses = {0: None, 1: Raw(400, {"error": {"message": echoed}}), 2: Raw(200, b"<p>" + echoed.encode())}
        return statuses.get(number, Raw(500, echoed.encode()))

    with Server(script=tell_tale) as server:
        model = opened(server, retries=1, concurrency=1)
        given = answers(model, requests(30))
    with Server(script=lambda n, b, headers: Raw(401, headers["Authorization"].encode())) as server:
        error = error_of(opened(server))
    assert set(sent) == {f"Bearer {KEY}"}
    assert "Bearer [key]" in str(error)
    out, err = capfd.readouterr()
    shown = [
        repr(given),
        all_text_of(error),
        repr(model),
        str(model.settings),
        model.identity,
        caplog.text,
        out,
        err,
    ]
    for text in shown:
        assert KEY not in text
        assert KEY[:12] not in text  # nor its beginning


@pytest.mark.parametrize("bad", ["sk-secret\n7f3a9c1e5b", "sk-secret-7f3a\x009c1e5b", "sk-sécret-7f3a9c1e5b"])
def test_a_key_that_fits_no_header(monkeypatch, bad):
    # The environment itself takes no NUL: such a key can only come from a stand-in.
    monkeypatch.setattr(os, "environ", {**os.environ, "OPENAI_API_KEY": bad})
    with pytest.raises(ModelError, match="the key in OPENAI_API_KEY has characters that no key has") as e:
        openai.open_model("m")
    assert "cret" not in str(e.value.as_dict()) + repr(e.value)


@pytest.mark.parametrize(
    "given", ["me:pass-word-of-mine@", "pass-word-of-mine@", "me:pass%2Dword-of-mine@", ":x@"]
)
def test_a_password_in_an_address_is_refused_and_not_shown(monkeypatch, given):
    address = f"http://{given}localhost:1/v1"
    with pytest.raises(UsageError, match="base_url holds a user name or password") as e:
        openai.open_model("m", base_url=address)
    assert "OPENAI_API_KEY" in e.value.hint
    assert "word-of-mine" not in all_text_of(e.value)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(UsageError, match="base_url holds a user name or password"):
        openai.open_model("m")


def test_a_key_may_bring_its_scheme(opened, monkeypatch):
    seen = []

    def look(_number, _body, headers):
        seen.append(headers["Authorization"])

    with Server(script=look) as server:
        for key in ("Basic bWU6cGFzc3dvcmQ=", "Bearer abcdefgh-1234", "abcdefgh-1234"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            answers(opened(server), requests(1))
    assert seen == ["Basic bWU6cGFzc3dvcmQ=", "Bearer abcdefgh-1234", "Bearer abcdefgh-1234"]


# --- replies that cannot be trusted


def choice(content, **more):
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop", **more}]}


@pytest.mark.parametrize(
    ("reply", "text", "usage"),
    [
        (choice(""), "", None),
        (choice(7), "7", None),
        (choice([{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}, {"type": "image"}]), "Yes", None),
        (choice("\x00\x1b[31m\ud800 \u202e"), "\x00\x1b[31m\ud800 \u202e", None),
        (choice(None, finish_reason="length"), "", None),
        ({"choices": [{"message": {"content": None, "refusal": "I will not"}}]}, "I will not", None),
        ({**choice("Yes"), "usage": {"prompt_tokens": "12", "completion_tokens": None}}, "Yes", (12, 0)),
        ({**choice("Yes"), "usage": {"prompt_tokens": "many"}}, "Yes", None),
        ({**choice("Yes"), "usage": {"prompt_tokens": -1}}, "Yes", None),
        ({**choice("Yes"), "usage": [1]}, "Yes", None),
        ({**choice("Yes", finish_reason=3), "error": None}, "Yes", None),
    ],
)
def test_odd_replies_that_hold_an_answer(opened, reply, text, usage):
    with Server(script=lambda *_: Raw(200, reply)) as server:
        [answer] = answers(opened(server), requests(1))
    assert (answer.text, answer.usage, answer.error) == (text, usage, None)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"7", b"\xff\xfe", b"[" * 200_000, b'{"choices": {}}', b'{"choices": [null]}',
        b'{"choices": [{"message": "Yes"}]}', b'{"choices": [{"message": {"content": {"a": 1}}}]}',
        b'{"choices": [{"message": {"content": []}}]}', b'{"error": {"message": "overloaded \\u001b[31m"}}',
        b"x" * 11_000_000,
    ],
)  # fmt: skip
def test_odd_replies_that_hold_none(opened, body):
    with Server(script=lambda *_: Raw(200, body)) as server:
        [answer] = answers(opened(server, retries=1), requests(1))
    assert answer.text is None
    assert answer.error.isprintable()
    assert len(answer.error) < 400
    assert len(server.bodies) == 2


def test_a_reply_that_drips_for_ever_ends(opened):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        import threading

        def drip():
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(100):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        [answer] = answers(opened(url, timeout=0.3, retries=0), requests(1))
        thread.join()
    assert answer.error == "the answer did not end in time"


# --- stopping


def test_closing_the_stream_stops_quickly_though_the_server_hangs(opened):
    with Server(script=lambda n, *_: "hang" if n > 10 else None, hang=2 * FOR_EVER) as server:
        stream = opened(server, timeout=2 * FOR_EVER).answer(requests(100))
        came = 0
        while came < 8:
            came += len(next(stream))
        ends(stream.close, "closing waits for a server that hangs")
        time.sleep(0.3)
        assert len(server.bodies) <= 20


def test_ctrl_c_ends_the_program_though_the_server_hangs(tmp_path):
    code = """
from unwaver.models import openai
from unwaver.types import Request
import sys
model = openai.open_model("m", base_url=sys.argv[1], timeout=3600.0)
try:
    for batch in model.answer([Request("t", (), str(i), (), ()) for i in range(50)]):
        print("one", flush=True)
except KeyboardInterrupt:
    model.close()
    sys.exit(130)
"""
    with Server(script=lambda n, *_: "hang" if n > 4 else None, hang=2 * FOR_EVER) as server:
        run = subprocess.Popen(
            [sys.executable, "-c", code, server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert run.stdout.readline() == "one\n"
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=FOR_EVER)
    assert (run.returncode, err) == (130, "")


def test_a_bug_in_a_thread_is_not_swallowed(opened, monkeypatch):
    with Server() as server:
        model = opened(server)
        answers(model, requests(1))
        monkeypatch.setattr(model, "_generate", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            answers(model, requests(5))


# --- log-probabilities


def test_log_probabilities_of_the_choices(opened):
    with Server() as server:
        model = opened(server, method="logprob")
        given = answers(model, requests(20, words=("Yes", "Not at all")))
    wanted = word_logprob(" Yes"), word_logprob(" Not") + word_logprob(" at") + word_logprob(" all")
    for answer in given:
        assert answer.logprobs == pytest.approx(wanted)
        assert (answer.text, answer.tokens, answer.usage) == (None, (1, 3), (8, 2))
    assert server.bodies[0] == {
        "model": "m", "prompt": "Question 0? Yes", "echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 0,
    }  # fmt: skip
    assert set(server.answered.values()) == {1}


def test_log_probabilities_with_a_system_prompt_and_a_prompt_that_ends_in_a_space(opened):
    with Server() as server:
        answers(opened(server, method="logprob", system="S."), [Request("t", (), "Say:\n", LABELS, ())])
    assert server.bodies[0]["prompt"] == "S.\n\nSay:\nentailment"


def test_log_probabilities_survive_faults(opened):
    with Server(faults=0.2, seed=5) as server:
        given = answers(opened(server, method="logprob", timeout=3.0, retries=8), requests(50))
    assert len({a.logprobs for a in given}) == 1
    assert set(server.answered.values()) == {1}


def test_a_server_that_will_not_generate_nothing(opened):
    def refuse(number, body, headers):
        return None if body["max_tokens"] else Raw(422, {"error": {"message": "max_tokens must be positive"}})

    with Server(script=refuse) as server:
        given = answers(opened(server, method="logprob"), requests(10))
    assert {a.logprobs for a in given} == {(word_logprob(" Yes"), word_logprob(" No"))}
    assert len(server.bodies) == 21  # refused once, then known


@pytest.mark.parametrize(
    "raw",
    [
        Raw(200, {"choices": [{"text": "x", "logprobs": None}]}),
        Raw(200, {"choices": [{"text": "x", "logprobs": {"content": []}}]}),
        Raw(200, {"choices": [{"text": "x", "logprobs": {"token_logprobs": [None, -1.0], "tokens": ["a", "b"]}}]}),
        Raw(400, {"error": {"message": "echo with logprobs is no longer allowed"}}),
    ],
)
def test_a_server_without_log_probabilities(opened, raw):
    with Server(script=lambda *_: raw) as server:
        assert error_of(opened(server, method="logprob")).hint == "use method=generate"


def logprob_reply(tokens, offsets, values):
    return Raw(
        200, {"choices": [{"logprobs": {"tokens": tokens, "text_offset": offsets, "token_logprobs": values}}]}
    )


@pytest.mark.parametrize(
    ("tokens", "offsets", "values", "wanted"),
    [
        (["Is", " it", "?", " Yes"], [0, 2, 5, 6], [None, -1, -2, -3], (-3.0, 1)),
        (["<s>", "Is", " it?", " Yes"], [0, 3, 5, 9], [None, -1, -2, -3], (-3.0, 1)),  # the start token counts
        (["<s>", "Is", " it?", " Yes"], [0, 0, 2, 6], [None, -1, -2, -3], (-3.0, 1)),  # it does not
        (["Is", " it", "? Ye", "s"], [0, 2, 5, 9], [None, -1, -2, -4], (-6.0, 2)),  # across the border
        (["Is it?", "", "", " Yes"], [0, 6, 6, 6], [None, -1, -2, -4], (-7.0, 3)),  # bytes of one character
        (["Is it?", " Yes"], [0, 6], [None, float("-inf")], (LEAST, 1)),
    ],
)
def test_where_a_choice_begins(opened, tokens, offsets, values, wanted):
    with Server(script=lambda *_: logprob_reply(tokens, offsets, values)) as server:
        [answer] = answers(opened(server, method="logprob"), [Request("t", (), "Is it?", ("y",), ("Yes",))])
    assert (answer.logprobs[0], answer.tokens[0]) == wanted


@pytest.mark.parametrize("values", [[None, None], [None, float("nan")], [None, "x"]])
def test_log_probabilities_that_are_none(opened, values):
    with Server(script=lambda *_: logprob_reply(["Is it?", " Yes"], [0, 6], values)) as server:
        [answer] = answers(opened(server, method="logprob"), [Request("t", (), "Is it?", ("y",), ("Yes",))])
    assert answer.error == "the server gave no log-probability for a choice"


def test_free_text_is_written_where_choices_are_scored(opened):
    with Server() as server:
        model = opened(server, method="logprob")
        free, chosen = Request("t", (), "Is it?", (), ()), Request("t", (), "Is it?", ("y",), ("Yes",))
        written, scored = answers(model, [free, chosen])
        alone = opened(server)
        assert key_maker(model)(free) == key_maker(alone)(free)
        assert key_maker(model)(chosen) != key_maker(alone)(chosen)
        assert [written] == answers(alone, [free])
    assert written.text
    assert scored.logprobs


# --- the server as a program


def test_the_server_as_a_program(opened):
    script = Path(__file__).parents[1] / "server.py"
    run = subprocess.Popen([sys.executable, script, "--faults", "0.2"], stdout=subprocess.PIPE, text=True)
    try:
        given = answers(opened(run.stdout.readline().strip(), timeout=3.0, retries=8), requests(40))
    finally:
        run.kill()
        run.communicate()
    assert {a.text for a in given} == {"Yes", "No"}
