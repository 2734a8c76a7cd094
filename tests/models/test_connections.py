"""Many connections at once, proxies, TLS: what is below the replies."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from unwaver.errors import ModelError
from unwaver.models import openai
from unwaver.models.proxies import Proxy, parsed
from unwaver.types import Request

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server
from waiting import FOR_EVER, ends, wait_for

KEY = "sk-secret-7f3a9c1e5b"
MANY = 300


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        for spelt in (name, name.lower()):
            monkeypatch.delenv(spelt, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def opened():
    models = []

    def open_model(url, **options):
        models.append(openai.open_model("m", base_url=url, **{"backoff": 0.001, "timeout": FOR_EVER, **options}))
        return models[-1]

    yield open_model
    for model in models:
        model.close()


def requests(n):
    return [Request("t", (), f"Question {i}?", (), (), f"id{i}") for i in range(n)]


def answers(model, asked):
    return [answer for batch in model.answer(asked) for _, answer in batch]


class Barrier:
    """Answers nobody until `many` ask at the same time; the first, which goes alone, is not among them."""

    def __init__(self, many):
        self.barrier, self.lock, self.first = threading.Barrier(many), threading.Lock(), True

    def __call__(self, prompt):
        with self.lock:
            alone, self.first = self.first, False
        if not alone:
            self.barrier.wait(FOR_EVER)
        return "Yes"


# --- many at once


def test_three_hundred_requests_are_under_way_at_the_same_time(opened):
    with Server(Barrier(MANY)) as server:
        given = answers(opened(server.url, concurrency=MANY), requests(2 * MANY + 1))
        assert Counter(a.text for a in given) == {"Yes": 2 * MANY + 1}
        assert server.most_working == MANY
        assert len(server.http.connections) <= MANY + 1  # the second round goes over those of the first


def calls_of_one_request(model):
    """How many functions are called: what it costs, on any machine."""
    count = 0

    def called(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        answer = model._ask(requests(1)[0], threading.Event())
    finally:
        sys.setprofile(None)
    assert answer.text == "Yes"
    return count


def cost_beside(opened, busy):
    """Of one request while so many others are waited for."""
    go_on = threading.Event()

    def reply(prompt):
        if prompt.startswith("Wait"):
            go_on.wait(FOR_EVER)
        return "Yes"

    with Server(reply) as server:
        model = opened(server.url, concurrency=busy + 1)
        calls_of_one_request(model)
        waiting = [Request("t", (), f"Wait {i}", (), (), f"id{i}") for i in range(busy)]
        thread = threading.Thread(target=answers, args=[model, waiting], daemon=True)
        thread.start()
        wait_for(lambda: server.working == busy, "all are under way")
        cost = min(calls_of_one_request(model) for _ in range(3))
        go_on.set()
        thread.join()
    return cost


def test_a_request_costs_the_same_however_many_connections_there_are(opened):
    assert cost_beside(opened, MANY - 1) < 1.5 * cost_beside(opened, 2)


def test_connections_are_used_again_and_given_up_where_a_server_hangs_up(opened):
    with Server() as server:
        model = opened(server.url, concurrency=1)
        assert {a.text for a in answers(model, requests(30))} == {"Yes"}
        assert len(server.http.connections) == 1
        server.http.hang_up()
        assert [a.error for a in answers(model, requests(1))] == [None]
        assert len(server.http.connections) == 2


def test_a_connection_that_the_server_closes_after_each_reply(opened):
    script = lambda *_: Raw(200, b'{"choices": [{"message": {"content": "Yes"}}]}', {"Connection": "close"})  # noqa: E731
    with Server(script=script) as server:
        model = opened(server.url, concurrency=1)
        assert [a.text for a in answers(model, requests(5))] == ["Yes"] * 5
        assert model._server._connections._open == set()


def test_closing_a_model_wakes_those_who_wait(opened):
    with Server(script=lambda n, *_: "hang" if n else None, hang=2 * FOR_EVER) as server:
        model = opened(server.url, retries=0, concurrency=4)
        given = []
        thread = threading.Thread(target=lambda: given.extend(answers(model, requests(5))), daemon=True)
        thread.start()
        wait_for(lambda: server.working == 4, "all are under way")
        model.close()
        ends(thread.join, "a thread that waits for a server")
    assert [a.error for a in given[1:]] == ["the connection was closed"] * 4


def raw_server(*replies):
    """Answers each connection with the next bytes; says what it was sent."""
    listening = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve():
        for reply in replies:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        head += connection.recv(65536) or b"\r\n\r\n"
                    heard.append(head)
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
                    while more := connection.recv(65536):
                        heard[-1] += more

    threading.Thread(target=serve, daemon=True).start()
    return listening, heard


BODY = b'{"choices": [{"message": {"content": "Yes"}}]}'
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@pytest.mark.parametrize(
    "before", [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"]
)
def test_what_comes_before_a_reply_is_passed_over(opened, before):
    listening, _ = raw_server(before * 2 + WHOLE)
    with listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        assert [a.text for a in answers(opened(url, retries=0), requests(1))] == ["Yes"]


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n" + b"x" * 12_000_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 12_000_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n" + b"x" * 12_000_000,
        (b"HTTP/1.1 100 Continue\r\nX: " + b"x" * 60_000 + b"\r\n\r\n") * 200,
    ],
)
def test_a_reply_without_end_is_given_up(opened, reply):
    listening, _ = raw_server(reply)
    with listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        [answer] = answers(opened(url, retries=0), requests(1))
    assert answer.error in (
        "the answer is longer than 10,000,000 bytes",
        "the connection broke: the answer ends too early",
    )


def test_a_redirect_takes_the_key_nowhere(opened):
    with (
        Server() as other,
        Server(script=lambda *_: Raw(307, b"", {"Location": other.url + "/chat/completions"})) as server,
    ):
        with pytest.raises(ModelError, match="answered 307") as e:
            answers(opened(server.url), requests(1))
        assert "redirects are not followed" in e.value.hint
        assert (len(server.bodies), len(other.bodies)) == (1, 0)


# --- proxies


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("http://proxy:3128", Proxy("proxy", 3128)),
        ("proxy:3128", Proxy("proxy", 3128)),
        ("http://me:w%3Ard@proxy", Proxy("proxy", 80, authorization="Basic bWU6dzpyZA==")),
        ("https://proxy/", Proxy("proxy", 443, tls=True)),
    ],
)
def test_addresses_of_proxies(text, proxy):
    assert parsed(text) == proxy


@pytest.mark.parametrize(
    "text", ["socks5://me:word-of-mine@proxy:1080", "http://", "http://me:word-of-mine@proxy:x"]
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(opened, monkeypatch, text):
    monkeypatch.setenv("HTTPS_PROXY", text)
    with pytest.raises(ModelError, match="the HTTP client cannot start") as e:
        opened("https://model.invalid/v1")
    assert "HTTPS_PROXY" in e.value.hint
    assert "word-of-mine" not in str(e.value.as_dict())


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_gets_the_whole_address(opened, monkeypatch, variable):
    listening, heard = raw_server(WHOLE)
    with listening:
        monkeypatch.setenv(variable, f"http://me:word@127.0.0.1:{listening.getsockname()[1]}")
        given = answers(opened("http://model.invalid:81/v1", retries=0), requests(1))
    assert [a.text for a in given] == ["Yes"]
    lines = heard[0].split(b"\r\n")
    assert lines[0] == b"POST http://model.invalid:81/v1/chat/completions HTTP/1.1"
    assert {b"Host: model.invalid:81", b"Proxy-Authorization: Basic bWU6d29yZA=="} <= set(lines)


def test_no_proxy_for_our_own_machine_nor_for_hosts_that_are_excepted(opened, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Server() as server:
        assert [a.text for a in answers(opened(server.url), requests(1))] == ["Yes"]
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    assert opened("http://model.invalid/v1")._server._connections._proxy is None
    assert opened("http://other.invalid/v1")._server._connections._proxy == Proxy("127.0.0.1", 9)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "the proxy answered 407 Proxy Authentication Required",
        ),
        (b"SSH-2.0\r\n\r\n", "the proxy did not answer with HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "cannot be reached"),  # and then no TLS
    ],
)
def test_a_proxy_before_a_server_with_tls_sees_no_key(opened, monkeypatch, reply, why):
    listening, heard = raw_server(*[reply] * 3)
    with listening:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(ModelError, match=r"https://model\.invalid/v1 cannot be reached") as e:
            answers(opened("https://model.invalid/v1"), requests(1))
        wait_for(lambda: len(heard) == 3, "three tries")
    assert why in str(e.value)
    assert heard[0].startswith(b"CONNECT model.invalid:443 HTTP/1.1\r\nHost: model.invalid:443\r\nProxy-Auth")
    assert KEY.encode() not in b"".join(heard)


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:model.invalid",
        "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"),
    ]  # fmt: skip
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"openssl cannot make a certificate: {made.stderr[-200:]}")
    return folder


@pytest.fixture
def secure(certificate):
    """A server with TLS, by its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server = Server()
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True, do_handshake_on_connect=False)
    with server:
        yield server


def test_a_server_with_tls(opened, monkeypatch, certificate, secure):
    url = secure.url.replace("http://127.0.0.1", "https://localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    assert {a.text for a in answers(opened(url), requests(20))} == {"Yes"}
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ModelError, match="certificate verify failed"):
        answers(opened(url), requests(1))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "none.pem"))
    with pytest.raises(ModelError, match="the HTTP client cannot start"):
        opened(url)


def test_a_certificate_of_another_host(opened, monkeypatch, certificate, secure):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    with pytest.raises(ModelError, match="certificate is not valid for '127"):
        answers(opened(secure.url.replace("http:", "https:")), requests(1))


def pumped(source, drain):
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            drain.sendall(part)
        drain.shutdown(socket.SHUT_WR)


class Tunnel:
    """A proxy that leads every CONNECT to one port."""

    def __init__(self, port, context=None):
        self.port, self.context, self.asked = port, context, []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self.listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self._lead, args=[connection], daemon=True).start()

    def _lead(self, connection):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(lambda: connection.close())
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            self.asked.append(head.split(b"\r\n")[0])
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            there = stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
            back = threading.Thread(target=pumped, args=[there, connection], daemon=True)
            back.start()
            pumped(connection, there)
            back.join()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_with_tls_behind_a_proxy(opened, monkeypatch, certificate, secure, scheme):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    tunnel = Tunnel(secure.http.server_address[1], context if scheme == "https" else None)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://{tunnel.address}")
    with tunnel.listening:
        given = answers(opened("https://model.invalid/v1", concurrency=2), requests(20))
        with pytest.raises(ModelError, match="certificate is not valid for 'other"):
            answers(opened("https://other.invalid/v1"), requests(1))
    assert {a.text for a in given} == {"Yes"}
    assert set(tunnel.asked) == {b"CONNECT model.invalid:443 HTTP/1.1", b"CONNECT other.invalid:443 HTTP/1.1"}
    assert len([line for line in tunnel.asked if b"model" in line]) <= 3
