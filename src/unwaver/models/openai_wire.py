"""The time limit of a whole reply, on the wire.

httpx limits the time of each read. A server that sends a byte now and then, in the head of its reply, or "100
Continue" without end, would be waited for for ever. Here every read of a reply shares one limit.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


class Deadline(threading.local):
    """When the reply that this thread waits for must have ended."""

    until: float | None = None


def limit_reads(client: httpx.Client, deadline: Deadline) -> None:
    """Make all connections of a client obey the deadline. There is no public way to it: where a version of httpx
    is made in another way, the limits of each read remain."""
    transports = [getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]
    for transport in transports:
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if pool is not None and backend is not None:
            pool._network_backend = _Backend(backend, deadline)


class _Backend:
    def __init__(self, backend: Any, deadline: Deadline):
        self._backend, self._deadline = backend, deadline

    def connect_tcp(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._backend.connect_tcp(*args, **options), self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    def __init__(self, stream: Any, deadline: Deadline):
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._deadline.until is not None:
            left = self._deadline.until - time.monotonic()
            if left <= 0:
                import httpcore

                raise httpcore.ReadTimeout("the reply takes too long")
            timeout = left if timeout is None else min(timeout, left)
        found: bytes = self._stream.read(max_bytes, timeout)
        return found

    def start_tls(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._stream.start_tls(*args, **options), self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
