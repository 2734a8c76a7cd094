"""Replies that no sane server gives: each is at worst a failed call with its reason."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import random
import socket
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unwaver.answers.store import Store
from unwaver.errors import ModelError
from unwaver.models import openai
from unwaver.models.openai_replies import LEAST, Fault, chat_answer, retry_after, scored
from unwaver.models.openai_server import LONGEST_BODY
from unwaver.types import Answer, Request
from unwaver.unpack import BARE, STEP, ZLIB, inflated

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server

FREE = Request("t", (), "Say it.", (), ())
CHOICE = Request("t", (), "Is it?", ("y",), ("Yes",))


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def asked(url, *requests, **options):
    model = openai.open_model("m", base_url=url, **{"backoff": 0.001, "timeout": 5.0, "retries": 0, **options})
    try:
        found = dict(pair for batch in model.answer(requests) for pair in batch)
    finally:
        model.close()
    return [found[i] for i in range(len(requests))]


def said(text="Yes", **more):
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop", **more}]}


# --- packed


@pytest.mark.parametrize("size", [0, 1, 1000, 3 * STEP])
@pytest.mark.parametrize("step", [1, 1000, 10**9])
def test_what_was_packed_comes_out(size, step):
    text = bytes(random.Random(size).choices(b"ab", k=size))
    bare = zlib.compressobj(wbits=-15)
    for packed, kind in (
        (gzip.compress(text) + gzip.compress(b"end"), None),
        (zlib.compress(text), ZLIB),
        (bare.compress(text) + bare.flush(), BARE),
    ):
        parts = [packed[i : i + step] for i in range(0, len(packed), step)]
        out = list(inflated(parts) if kind is None else inflated(parts, kind))
        assert b"".join(out) == text + (b"end" if kind is None else b"")
        assert max(map(len, out), default=0) <= STEP


def test_what_was_cut_or_damaged_is_told():
    packed = gzip.compress(b"abc" * 1000)
    with pytest.raises(EOFError):
        list(inflated([packed[:-9]]))
    with pytest.raises(zlib.error):
        list(inflated([b"no gzip at all"]))
    assert b"".join(inflated([packed, b"\0" * 100])) == b"abc" * 1000


@pytest.mark.parametrize("kind", ["gzip", "x-gzip", "GZIP", "deflate", "deflate-bare", "identity", ""])
def test_packed_replies_are_read(kind):
    plain = json.dumps(said("Yes " * 50_000)).encode()
    bare = zlib.compressobj(wbits=-15)
    body = {
        "deflate": zlib.compress(plain),
        "deflate-bare": bare.compress(plain) + bare.flush(),
        "identity": plain,
        "": plain,
    }.get(kind, gzip.compress(plain))
    headers = {"Content-Encoding": kind.removesuffix("-bare")} if kind else {}
    with Server(script=lambda *_: Raw(200, body, headers)) as server:
        [answer] = asked(server.url, FREE)
    assert (answer.error, answer.text) == (None, "Yes " * 50_000)


@pytest.mark.parametrize("kind", ["gzip, gzip", "gzip,gzip,gzip", "br", "zstd", "deflate, gzip", "unknown"])
def test_replies_packed_in_another_way_fail_with_the_reason(kind):
    body = gzip.compress(gzip.compress(json.dumps(said()).encode()))
    with Server(script=lambda *_: Raw(200, body, {"Content-Encoding": kind})) as server:
        [answer] = asked(server.url, FREE)
    assert answer.error == f"the answer is packed as {kind!r}, expected gzip or deflate"


def test_a_refusal_that_cannot_be_unpacked_is_told_by_its_status():
    with (
        Server(script=lambda *_: Raw(401, b"\x00\x01", {"Content-Encoding": "br"})) as server,
        pytest.raises(ModelError, match="answered 401"),
    ):
        asked(server.url, FREE)


BOMBS = {
    "twice": ("gzip, gzip", lambda zeros: gzip.compress(gzip.compress(zeros))),
    "once": ("gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "text": ("gzip", lambda zeros: gzip.compress(b'{"a": "' + zeros)),
    "members": ("gzip", lambda zeros: gzip.compress(zeros[:1_000_000]) * 300),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_in_little_memory(kind):
    """In a process of its own, whose memory is measured: the bomb holds 150 MB or more."""
    encoding, pack = BOMBS[kind]
    body = pack(bytes(150_000_000))
    code = """
import resource, sys
from unwaver.models import openai
from unwaver.types import Request
model = openai.open_model("m", base_url=sys.argv[1], retries=0, timeout=60.0)
list(model.answer([]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
[[(_, answer)]] = model.answer([Request("t", (), "Say it.", (), ())])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000, answer.error)
"""
    with Server(script=lambda *_: Raw(200, body, {"Content-Encoding": encoding})) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url], capture_output=True, text=True, timeout=120
        )
    assert done.returncode == 0, done.stderr
    megabytes, _, error = done.stdout.strip().partition(" ")
    assert int(megabytes) < 100
    assert error.startswith((f"the answer is longer than {LONGEST_BODY:,} bytes", "the answer is packed as"))


def test_time_is_looked_at_while_a_bomb_unpacks():
    """Empty members: no byte comes out of them, however many there are."""
    body = gzip.compress(b"") * 300_000
    with Server(script=lambda *_: Raw(200, body, {"Content-Encoding": "gzip"})) as server:
        [answer] = asked(server.url, FREE, timeout=0.2)
    assert answer.error
    assert answer.error.startswith(("the answer did not end in time", "no answer within", server.url))


# --- texts, numbers, addresses


@pytest.mark.parametrize("odd", ["\ud800", "stop\udfff", "\x00", "x" * 100_000, "\u202e\x1b[31m"])
def test_a_finish_reason_that_no_file_takes(tmp_path, odd):
    with Server(script=lambda *_: Raw(200, said(odd, finish_reason=odd))) as server:
        [answer] = asked(server.url, FREE)
    store = Store(tmp_path / "answers.sqlite")
    store.put([("a", answer), ("b", Answer(error=odd))])
    assert store.answers(["a"])["a"].text == odd.encode("utf-8", "replace").decode()
    assert store.failures(["b"]) == {"b": odd.encode("utf-8", "replace").decode()}
    store.close()


@pytest.mark.parametrize(
    "place",
    [
        "javascript:alert(1)",
        "javascript:",
        "//",
        "http://[::1",
        "http://:99999/",
        "\x7f",
        "data:,x",
        "",
        "é",
        "ftp://x",
    ],
)
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_to_anywhere_is_told_as_such(place, status):
    with (
        Server(script=lambda *_: Raw(status, b"", {"Location": place})) as server,
        pytest.raises(ModelError, match=f"answered {status}") as e,
    ):
        asked(server.url, FREE)
    assert "redirects are not followed" in e.value.hint


def logprobs(*values, tokens=("Is it?", " Yes"), offsets=(0, 6)):
    given = {"tokens": tokens, "text_offset": offsets, "token_logprobs": [None, *values]}
    return json.dumps({"choices": [{"logprobs": given}]}).encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1" + "0" * 400, "log-probability a number above 1e300, which is above 0"),
        ("Infinity", "log-probability a number above 1e300, which is above 0"),
        ("1e999", "log-probability a number above 1e300, which is above 0"),
        ("0.5", "log-probability 0.5, which is above 0"),
        ("3", "log-probability 3, which is above 0"),
        ("NaN", "gave no log-probability"),
        ("true", "gave no log-probability"),
        ('"-1"', "gave no log-probability"),
        ("[]", "gave no log-probability"),
        ("1" * 5000, "broken JSON"),
    ],
)
def test_a_number_that_is_no_log_probability_is_a_failed_call(value, reason):
    body = logprobs("PLACE").replace(b'"PLACE"', value.encode())
    with Server(script=lambda *_: Raw(200, body)) as server:
        [answer] = asked(server.url, CHOICE, method="logprob")
    assert answer.logprobs == ()
    assert reason in answer.error


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("-1" + "0" * 400, LEAST),
        ("-Infinity", LEAST),
        ("-1e999", LEAST),
        ("1e-6", 0.0),
        ("0", 0.0),
        ("-2.5", -2.5),
    ],
)
def test_log_probabilities_at_the_edge(value, wanted):
    body = logprobs("PLACE").replace(b'"PLACE"', value.encode())
    with Server(script=lambda *_: Raw(200, body)) as server:
        [answer] = asked(server.url, CHOICE, method="logprob")
    assert (answer.logprobs, answer.error) == ((wanted,), None)


# --- anything at all

texts = st.text() | st.sampled_from(["stop", "length", "content_filter", "\ud800", "\x00", ""])
numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**400), math.inf, -math.inf, math.nan, 0, True, -1.5, 2**63])
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


def partly(**fields):
    """Replies that look right, with any value in any place."""
    return st.fixed_dictionaries({}, optional={name: strategy | values for name, strategy in fields.items()})


part = partly(type=texts, text=texts)
message = partly(role=texts, content=texts | st.lists(part | texts, max_size=3), refusal=texts)
lists = partly(
    token_logprobs=st.lists(numbers | st.none(), max_size=4),
    tokens=st.lists(texts, max_size=4),
    text_offset=st.lists(st.integers(-3, 12) | numbers, max_size=4),
)
aligned = st.integers(1, 4).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "token_logprobs": st.lists(numbers | st.none(), min_size=n, max_size=n),
            "tokens": st.lists(texts | st.just("<s>"), min_size=n, max_size=n),
            "text_offset": st.lists(st.integers(-3, 12), min_size=n, max_size=n),
        }
    )
)
a_choice = partly(index=numbers, message=message, text=texts, finish_reason=texts, logprobs=lists | aligned)
usage = partly(prompt_tokens=numbers | texts, completion_tokens=numbers | texts)
replies = partly(id=texts, model=texts, choices=st.lists(a_choice | values, max_size=2), usage=usage)


def is_sound(answer: Answer) -> None:
    assert isinstance(answer.text, str)
    assert isinstance(answer.finish, str)
    assert answer.usage is None or all(0 <= n < 2**53 for n in answer.usage)


@settings(max_examples=400, deadline=None)
@given(replies)
def test_any_reply_of_a_chat_is_an_answer_or_a_fault(reply):
    with contextlib.suppress(Fault):
        is_sound(chat_answer(reply))


@settings(max_examples=400, deadline=None)
@given(replies, st.integers(0, 8), st.integers(0, 1))
def test_any_reply_with_log_probabilities_is_a_number_or_a_fault(reply, start, generated):
    with contextlib.suppress(Fault):
        value, count, _ = scored(reply, start, "Is it? Yes", generated)
        assert LEAST <= value <= 0
        assert count > 0


@settings(max_examples=200, deadline=None)
@given(st.text() | st.sampled_from(["Mon, 01 Jan 0001 00:00:00 GMT", "1_0", "99999999999999999999 Jan", "1e400"]))
def test_any_retry_after(value):
    seconds = retry_after(value, 1.8e9)
    assert seconds is None or 0 <= seconds <= 60


class Wire:
    """Answers every connection with the next of the given bytes, whatever was asked."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1"
        self.raw = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536) or b"\r\n\r\n"
                connection.sendall(self.raw)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass


@pytest.fixture(scope="module")
def wire():
    wire = Wire()
    yield wire
    wire.listening.close()


header_names = st.sampled_from(
    [b"Content-Type", b"Content-Encoding", b"Location", b"Retry-After", b"Set-Cookie", b"Transfer-Encoding",
     b"Content-Length", b"Connection", b"WWW-Authenticate", b"X"]
)  # fmt: skip
header_values = st.binary(max_size=20) | st.sampled_from(
    [
        b"gzip",
        b"gzip, gzip",
        b"deflate",
        b"br",
        b"chunked",
        b"javascript:",
        b"text/html; charset=\xff",
        b"-1",
        b"0",
    ]
)
bodies = (
    st.binary(max_size=100)
    | replies.map(lambda reply: json.dumps(reply, default=str).encode())
    | st.sampled_from([gzip.compress(b"{}"), b"5\r\n{}   \r\n0\r\n\r\n", b"zz\r\n", b"{" * 5000])
)


@st.composite
def raw_replies(draw):
    if draw(st.booleans()) and draw(st.booleans()):
        return draw(st.binary(max_size=200))
    status = draw(st.integers(100, 999) | st.sampled_from([200, 200, 200, 307, 400, 429, 500]))
    headers = draw(st.lists(st.tuples(header_names, header_values), max_size=3))
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return b"HTTP/1.1 %d Odd\r\n%s\r\n%s" % (status, lines, draw(bodies))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(raw=raw_replies(), method=st.sampled_from(["generate", "logprob"]))
def test_any_bytes_from_a_server_are_an_answer_a_failed_call_or_an_error_that_says_why(wire, raw, method):
    wire.raw = raw
    try:
        [answer] = asked(wire.url, CHOICE, method=method, timeout=10.0)
    except ModelError:  # at the first contact: a wrong key, an address that moved
        return
    if answer.error is None:
        assert answer.text is not None or answer.logprobs
    else:
        assert answer.error.isprintable()


DRIPS = {
    "head": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "a header": (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "status": (b"HTTP/1.1 200 ", b"O"),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
    "empty members": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(b"")),
}


@pytest.mark.parametrize("place", DRIPS)
def test_a_reply_that_drips_has_one_time_limit(place):
    """The server goes on until we hang up, or for 20 s: how long it took is counted in what was sent."""
    begin, drop = DRIPS[place]
    sent = 0

    def drip(listening):
        nonlocal sent
        connection, _ = listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(begin)
            for sent in range(1000):  # noqa: B007
                connection.sendall(drop)
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=[listening])
        thread.start()
        [answer] = asked(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", FREE, timeout=0.3)
        thread.join()
    assert answer.error in ("no answer within 0.3 s", "the answer did not end in time")
    assert sent < 900
