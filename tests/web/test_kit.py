"""The kit of all pages: limits, headers, links, cookies, forms, files."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from itsdangerous import TimestampSigner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from unwaver.errors import UsageError
from unwaver.web.guard import HEADERS, MOST_BYTES, Guard, host_of
from unwaver.web.pages import form_of, static
from unwaver.web.serving import bound, hosts_for, is_loopback
from unwaver.web.sessions import COOKIE, LASTS, Sessions, kept_secret, link_of, new_token


async def echo(request: Request) -> Response:
    form = await form_of(request)
    return PlainTextResponse(f"{sorted(form.items())}")


def app() -> Starlette:
    return Starlette(routes=[Route("/", echo, methods=["GET", "POST"]), Route("/static/{name:path}", static)])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(**more: object) -> TestClient:
    guarded = Guard(app(), hosts=hosts_for("127.0.0.1"), **more)  # type: ignore[arg-type]
    return TestClient(guarded, base_url="http://127.0.0.1:8000")


def test_every_answer_has_the_headers() -> None:
    for path in ("/", "/nothing", "/static/../guard.py"):
        found = client().get(path)
        for name, value in HEADERS.items():
            assert found.headers[name] == value, (path, name)
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1:8000", 200), ("localhost", 200), ("evil.example", 421), ("", 421)]
)
def test_other_host_names_are_refused(host: str, status: int) -> None:
    assert client().get("/", headers={"host": host}).status_code == status


def test_bodies_have_a_limit() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client().post("/", content=b"a=" + b"x" * 1000, headers=form).status_code == 200
    assert client().post("/", content=b"a=" + b"x" * MOST_BYTES, headers=form).status_code == 413

    def parts() -> Iterator[bytes]:  # no length is announced
        for _ in range(MOST_BYTES // 1000 + 2):
            yield b"x" * 1000

    assert client().post("/", content=parts(), headers=form).status_code == 413


def test_the_rate_is_limited_for_each_client() -> None:
    clock = Clock()
    found = client(per_second=2.0, burst=3, clock=clock, client=lambda r: r.headers.get("x-who"))
    assert [found.get("/", headers={"x-who": "a"}).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert found.get("/", headers={"x-who": "b"}).status_code == 200
    late = found.get("/", headers={"x-who": "a"})
    assert late.headers["retry-after"] == "1"
    clock.now += 0.5
    assert [found.get("/", headers={"x-who": "a"}).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("header", "host"), [("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "[::1]"), ("A.example", "a.example")]
)
def test_host_of(header: str, host: str) -> None:
    assert host_of(header) == host


def test_forms() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client().post("/", content="a=1&a=%C3%A4&b=", headers=form).text == "[('a', ['1', 'ä']), ('b', [''])]"
    for body, headers in (("a=1", {}), ("&".join(f"a{n}=1" for n in range(300)), form), ("a=\xff", form)):
        assert client().post("/", content=body.encode("latin-1"), headers=headers).text == "[]"


@pytest.mark.parametrize("name", ["../guard.py", "%2e%2e/guard.py", "/etc/passwd", "x.py", ".", "..%2fguard.py"])
def test_no_other_file_is_served(name: str) -> None:
    assert client().get(f"/static/{name}").status_code == 404


# --- sessions -----------------------------------------------------------------------------------------------


def request_with(cookie: str | None) -> Request:
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode())] if cookie is not None else []
    return Request({"type": "http", "headers": headers})


def cookie_of(response: Response) -> str:
    return response.headers["set-cookie"].partition("=")[2].partition(";")[0]


def test_a_session_is_known_again_over_restarts(tmp_path: Path) -> None:
    secret = kept_secret(tmp_path / "secret")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert kept_secret(tmp_path / "secret") == secret
    response, hashed = Response(), sha256(new_token().encode()).hexdigest()
    Sessions(secret).begin(response, 7, hashed)
    found = Sessions(secret).of(request_with(cookie_of(response)))
    assert found is not None
    assert (found.who, found.link) == (7, link_of(hashed))
    for part in ("HttpOnly", "SameSite=lax", f"Max-Age={LASTS}"):
        assert part in response.headers["set-cookie"]
    assert "Secure" not in response.headers["set-cookie"]
    behind = Response()
    Sessions(secret, secure=True).begin(behind, 7, hashed)
    assert "Secure" in behind.headers["set-cookie"]


@pytest.mark.parametrize("cookie", [None, "", "x", "W10.x.y"])
def test_strange_cookies(cookie: str | None) -> None:
    assert Sessions(b"s" * 32).of(request_with(cookie)) is None


def test_cookies_of_another_server_and_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    response = Response()
    Sessions(b"a" * 32).begin(response, 1, "token")
    assert Sessions(b"b" * 32).of(request_with(cookie_of(response))) is None
    now = TimestampSigner(b"a").get_timestamp()
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now + LASTS + 5)
    assert Sessions(b"a" * 32).of(request_with(cookie_of(response))) is None


def test_a_form_belongs_to_its_session() -> None:
    sessions = Sessions(b"s" * 32)
    found = []
    for who in (1, 1, 2):
        response = Response()
        sessions.begin(response, who, "token")
        session = sessions.of(request_with(cookie_of(response)))
        assert session is not None
        found.append(session)
    assert sessions.is_own_form(found[0], sessions.csrf(found[0]))
    for sent in ("", "ä", sessions.csrf(found[1]), sessions.csrf(found[2])):
        assert not sessions.is_own_form(found[0], sent)


# --- where it listens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("a.example", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_port_that_is_taken() -> None:
    first = bound("127.0.0.1", None)
    port = first.getsockname()[1]
    with pytest.raises(UsageError, match="cannot be used") as e:
        bound("127.0.0.1", port)
    assert "leave --port out" in str(e.value.hint)
    assert first.proto == socket.IPPROTO_TCP  # asyncio asks for this before it sends at once
    second = bound("127.0.0.1", None)
    assert second.getsockname()[1] != port
    first.close()
    second.close()
