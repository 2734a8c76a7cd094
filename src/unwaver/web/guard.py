"""What stands before every page: limits on what may come in, and headers on what goes out.

hosts      a request for another host name is refused: a page elsewhere cannot reach a server on this machine
bodies     above `MOST_BYTES` are refused, also where no length was announced
rate       each client has `BURST` requests at once and `PER_SECOND` in the long run
headers    scripts, styles and pictures from this server alone; no frames, no referrer, no cache
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 256 * 1024
PER_SECOND, BURST = 10.0, 60
MOST_CLIENTS = 10_000
TOO_LARGE = "This is more than can be sent at once."
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
    "cache-control": "no-store",
}


class Guard:
    """Wraps an application. `client` names who sends a request, for the limit; the address if it does not know."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        client: Callable[[Request], str | None] = lambda _: None,
        per_second: float = PER_SECOND,
        burst: int = BURST,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._app, self._hosts, self._client = app, {host.lower() for host in hosts}, client
        self._buckets = Buckets(per_second, burst, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if refusal := self._refusal(scope):
            await refusal(scope, receive, with_headers)
            return
        await self._app(scope, _counted(receive), with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if host_of(headers.get("host", "")) not in self._hosts:
            return _refused(421, "This server does not answer for this host name.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return _refused(413, TOO_LARGE)
        request = Request(scope)
        name = self._client(request) or (request.client.host if request.client else "")
        if (wait := self._buckets.wait(name)) > 0:
            found = _refused(429, "Too many requests. Wait a moment, then try again.")
            found.headers["retry-after"] = str(int(wait) + 1)
            return found
        return None


def _refused(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text, status_code=status)


def host_of(header: str) -> str:
    """host_of("127.0.0.1:8000") -> "127.0.0.1"; host_of("[::1]:80") -> "[::1]"."""
    host, _, port = header.rpartition(":")
    return (host if host and port.isdigit() else header).lower()


def _counted(receive: Receive) -> Receive:
    """A body that ends at the limit, whatever length was announced."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    return counted


class Buckets:
    """How many requests each client has left. Those not seen for the longest time are forgotten first."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float]):
        self._rate, self._burst, self._clock = per_second, float(burst), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, name: str) -> float:
        """0 where the client may go on; else seconds until it may."""
        now = self._clock()
        with self._lock:
            left, seen = self._left.pop(name, (self._burst, now))
            left = min(self._burst, left + (now - seen) * self._rate)
            allowed = left >= 1
            self._left[name] = (left - 1 if allowed else left, now)
            while len(self._left) > MOST_CLIENTS:
                self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
