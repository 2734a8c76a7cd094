"""Connections to one server that stay open, for many threads: HTTP/1.1 over plain sockets.

A thread takes an idle connection or opens one, sends its request in one piece and reads the reply with the parser
of http.client. Both cost the same with one connection or a thousand. (The pools of httpx look through all their
connections at every request: with 300 of them one request takes 10 ms of a processor, here 0.2 ms.)

Every read of a reply shares one limit of time and of bytes, so a server that sends a byte now and then, header
lines or "100 Continue" without end is not waited for forever. Redirects are not followed.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from unwaver.models.proxies import Proxy, proxy_for

if TYPE_CHECKING:
    import ssl

CONNECT = 10.0  # seconds to reach a server
IDLE = 4.0  # seconds; many servers hang up after 5 s without a request
HEAD = 1_000_000  # bytes of a reply besides its body
PART = 1 << 16  # bytes read at once


class Unreachable(Exception):
    """No connection to the server or to the proxy before it."""


class Late(Exception):
    """The time of the reply was up. `began`: its head had come."""

    def __init__(self, began: bool):
        super().__init__()
        self.began = began


class TooLong(Exception):
    """The reply has more bytes than it may have."""


class Broken(Exception):
    """The connection ended in the middle, or what came is not HTTP."""


class Closed(Exception):
    """Somebody has closed the connections."""


@dataclass(frozen=True)
class Reply:
    """`trouble`: why the body is not whole; its beginning is not kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    trouble: Exception | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Connections:
    def __init__(self, url: SplitResult, headers: Mapping[str, str], *, keep: int, longest: int):
        """`headers` go with each request to the host of `url`; `keep` idle connections are kept, and a body has at
        most `longest` bytes. Raises ValueError or OSError where the proxy or the certificates cannot be used."""
        self._host = (url.hostname or "").encode("idna").decode()
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._tls = _context() if url.scheme == "https" else None
        self._proxy = proxy_for(url)
        self._outer = _context() if self._proxy is not None and self._proxy.tls else None
        self._longest = longest
        named = f"[{self._host}]" if ":" in self._host else self._host
        self._authority = f"{named}:{self._port}"
        host = self._authority if url.port else named
        # a proxy gets the whole address, unless it only passes on what is encrypted
        self._before = f"http://{host}" if self._proxy is not None and self._tls is None else ""
        sent = {"Host": host, "Connection": "keep-alive", **headers}
        if self._before and self._proxy is not None and self._proxy.authorization:
            sent["Proxy-Authorization"] = self._proxy.authorization
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        self._idle: deque[_Connection] = deque()
        self._keep = keep
        self._open: set[_Connection] = set()
        self._lock = threading.Lock()
        self._closed = False

    def post(self, target: str, content: bytes, until: float, method: str = "POST") -> Reply:
        """The reply to a request for `target`, a path with its query, which must have ended by then."""
        head = f"{method} {self._before}{target} HTTP/1.1\r\n{self._headers}Content-Length: {len(content)}\r\n\r\n"
        connection = self._take(until)
        try:
            reply, stays = connection.ask(head.encode("latin-1") + content, until, self._longest)
        except BaseException as e:
            self._drop(connection)
            if self._closed and isinstance(e, Exception):
                raise Closed from None
            raise
        if stays and reply.trouble is None and not self._closed and len(self._idle) < self._keep:
            self._idle.append(connection)
        else:
            self._drop(connection)
        return reply

    def close(self) -> None:
        """Hang up, also where a reply is waited for."""
        with self._lock:
            self._closed = True
            left, self._open = self._open, set()
        for connection in left:
            connection.hang_up()

    def _take(self, until: float) -> _Connection:
        while True:
            try:
                connection = self._idle.pop()  # the one that was used last: the others grow old and are closed
            except IndexError:
                break
            if connection.is_fresh():
                return connection
            self._drop(connection)
        connection = _Connection(self._connected(until))
        with self._lock:
            if not self._closed:
                self._open.add(connection)
                return connection
        connection.hang_up()
        raise Closed

    def _drop(self, connection: _Connection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.hang_up()

    def _connected(self, until: float) -> Any:
        if self._closed:
            raise Closed
        limit = min(CONNECT, max(until - time.monotonic(), 0.001))
        place = (self._host, self._port) if self._proxy is None else (self._proxy.host, self._proxy.port)
        try:
            found = socket.create_connection(place, limit)
        except (OSError, UnicodeError) as e:
            raise Unreachable(str(e) or type(e).__name__) from None
        try:
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._proxy is not None and self._outer is not None:
                found = self._outer.wrap_socket(found, server_hostname=self._proxy.host)
            if self._tls is None:
                return found
            if self._proxy is not None:
                self._lead_on(found, self._proxy, time.monotonic() + limit)
            return self._secured(found, self._tls, time.monotonic() + limit)
        except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
            found.close()
            raise Unreachable(str(e) or type(e).__name__) from None
        except BaseException:
            found.close()
            raise

    def _secured(self, found: Any, context: ssl.SSLContext, until: float) -> Any:
        if self._outer is None:
            return context.wrap_socket(found, server_hostname=self._host)
        from unwaver.models.tls_in_tls import TlsInTls

        return TlsInTls(found, context, self._host, until)

    def _lead_on(self, found: socket.socket, proxy: Proxy, until: float) -> None:
        """Have a proxy lead a connection on to the server, with which we talk in secret."""
        allowed = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
        found.sendall(
            f"CONNECT {self._authority} HTTP/1.1\r\nHost: {self._authority}\r\n{allowed}\r\n".encode("latin-1")
        )
        try:
            # byte by byte: what follows the head belongs to TLS
            reply = _head(_reader(found, until, HEAD, 1), "CONNECT")
        except (http.client.HTTPException, TooLong) as e:
            raise Unreachable(f"the proxy did not answer with HTTP: {type(e).__name__}") from None
        if not 200 <= reply.status < 300:
            raise Unreachable(f"the proxy answered {reply.status} {reply.reason}")


class _Connection:
    def __init__(self, found: socket.socket):
        self._socket = found
        self._since = time.monotonic()

    def ask(self, request: bytes, until: float, longest: int) -> tuple[Reply, bool]:
        """The reply, and whether the connection can be used again."""
        began = False
        try:
            self._send(request, until)
            reader = _reader(self._socket, until, longest + HEAD)
            response = _head(reader, "POST")
            began = True
            headers = {name.lower(): str(value) for name, value in reversed(response.headers.items())}
            body, trouble = _body(response, longest)
        except TimeoutError:
            raise Late(began) from None
        except http.client.HTTPException as e:
            raise Broken(_what(e)) from None
        except (OSError, ValueError) as e:
            raise Broken(str(e) or type(e).__name__) from None
        self._since = time.monotonic()
        return Reply(response.status, headers, body, trouble), not response.will_close

    def is_fresh(self) -> bool:
        """Whether a request may be sent: nothing has come (such as the end) since the last reply."""
        if time.monotonic() - self._since > IDLE:
            return False
        try:
            if hasattr(select, "poll"):  # select() has no place for file descriptors above 1023
                poll = select.poll()
                poll.register(self._socket, select.POLLIN)
                return not poll.poll(0)
            return not select.select([self._socket], [], [], 0)[0]
        except (OSError, ValueError):
            return False

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads from it
        with contextlib.suppress(OSError):
            self._socket.close()

    def _send(self, request: bytes, until: float) -> None:
        self._socket.settimeout(_left(until))
        with contextlib.suppress(ConnectionError):
            # a server that refuses a request may hang up before it has read it: see what it said
            self._socket.sendall(request)


class _Received(io.RawIOBase):
    """What a socket receives, until the time or the bytes of one reply are used up."""

    def __init__(self, found: socket.socket, until: float, most: int):
        self._socket, self._until, self._most = found, until, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(_left(self._until))
        count = self._socket.recv_into(buffer)
        self._most -= count
        if self._most < 0:
            raise TooLong
        return count


def _reader(found: socket.socket, until: float, most: int, size: int = 8192) -> io.BufferedReader:
    return io.BufferedReader(_Received(found, until, most), size)


class _AsSocket:
    """What http.client takes for a socket."""

    def __init__(self, reader: io.BufferedReader):
        self._reader = reader

    def makefile(self, *_: object) -> io.BufferedReader:
        return self._reader


def _head(reader: io.BufferedReader, method: str) -> http.client.HTTPResponse:
    """The reply, up to its body; "103 Early Hints" and the like come before it."""
    while True:
        response = http.client.HTTPResponse(_AsSocket(reader), method=method)  # type: ignore[arg-type]
        response.begin()
        if not 100 <= response.status < 200 or response.status == 101:
            return response
        response.fp = None  # type: ignore[assignment]  # or its end would close what the next is read from


def _body(response: http.client.HTTPResponse, longest: int) -> tuple[bytes, Exception | None]:
    """The body as it came; if it is not whole, why."""
    size, parts = 0, []
    try:
        while part := response.read(PART):
            size += len(part)
            if size > longest:
                raise TooLong
            parts.append(part)
        if response.length:  # http.client says nothing where the end comes too early
            raise Broken(f"{response.length:,} bytes of the answer are missing")
    except TimeoutError:
        return b"", Late(began=True)
    except http.client.HTTPException as e:
        return b"", Broken(_what(e))
    except OSError as e:
        return b"", Broken(str(e) or type(e).__name__)
    except (TooLong, Broken) as e:
        return b"", e
    return b"".join(parts), None


def _what(error: http.client.HTTPException) -> str:
    """ "IncompleteRead: 12 bytes read", "RemoteDisconnected: Remote end closed connection without response"."""
    if isinstance(error, http.client.IncompleteRead):
        return "the answer ends too early"
    return f"{type(error).__name__}: {error}"


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _context() -> ssl.SSLContext:
    """Certificates of the system and of certifi, or those of SSL_CERT_FILE and SSL_CERT_DIR."""
    import os
    import ssl

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    context = ssl.create_default_context()
    with contextlib.suppress(ImportError):
        import certifi

        context.load_verify_locations(certifi.where())
    return context
