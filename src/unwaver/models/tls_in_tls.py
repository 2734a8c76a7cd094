"""TLS to a server inside the TLS of the connection to a proxy (HTTPS_PROXY=https://…): a socket cannot do both."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar

PART = 1 << 16  # bytes read at once

Found = TypeVar("Found")


class TlsInTls:
    """As much of a socket as connections need."""

    def __init__(self, outer: ssl.SSLSocket, context: ssl.SSLContext, host: str, until: float):
        self._outer, self._until = outer, until
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_hostname=host)
        self._done(self._tls.do_handshake)

    def settimeout(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            part = rest[:PART]
            rest = rest[self._done(lambda part=part: self._tls.write(part)) :]  # type: ignore[misc]

    def recv_into(self, buffer: Any) -> int:
        try:
            found = self._done(lambda: self._tls.read(len(buffer)))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0  # as sockets do
        buffer[: len(found)] = found
        return len(found)

    def fileno(self) -> int:
        return self._outer.fileno()

    def shutdown(self, how: int) -> None:
        self._outer.shutdown(how)

    def close(self) -> None:
        self._outer.close()

    def _done(self, step: Callable[[], Found]) -> Found:
        """What a step gives, after as many bytes have gone and come as it needs."""
        while True:
            try:
                found = step()
            except ssl.SSLWantReadError:
                self._flush()
                if part := self._limited().recv(PART):
                    self._coming.write(part)
                else:
                    self._coming.write_eof()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._flush()  # says why
                raise
            else:
                self._flush()
                return found

    def _flush(self) -> None:
        if data := self._going.read():
            self._limited().sendall(data)

    def _limited(self) -> ssl.SSLSocket:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._outer.settimeout(left)
        return self._outer
