"""A chat server on the loopback in a thread of its own, fast enough for 100,000 replies; what it sends is given as
bytes, so that it can send anything.

    with Listening(lambda body: Sent(chat("Yes"))) as server: server.url, server.asked
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Sent:
    """`data` is the whole response, sent `after` so many seconds; with `close`, the connection ends after it."""

    data: bytes
    close: bool = False
    after: float = 0.0


def response(body: bytes, status: str = "200 OK", *headers: str, kind: str = "application/json") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def chat(text: Any, finish: Any = "stop", **more: Any) -> bytes:
    message = {"role": "assistant", "content": text, **more}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return response(
        json.dumps({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}).encode()
    )


class Listening:
    """`asked` counts prompts, each under the name of the model that was asked."""

    def __init__(self, reply: Callable[[dict[str, Any]], Sent]):
        self.reply, self.asked = reply, Counter[tuple[str, str]]()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def __enter__(self) -> Listening:
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        listening = self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=1024)
        server = self._loop.run_until_complete(listening)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def answer(self, body: dict[str, Any]) -> Sent:
        self.asked[body["model"], body["messages"][-1]["content"]] += 1
        return self.reply(body)


class _Connection(asyncio.Protocol):
    def __init__(self, server: Listening):
        self._server, self._held = server, b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head = self._held[:end].lower()
            if not head.startswith(b"post"):
                self._held = self._held[end + 4 :]
                self._transport.write(response(b"{}", "404 Not Found"))
                continue
            length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n")[0])
            if len(self._held) < end + 4 + length:
                return
            body = json.loads(self._held[end + 4 : end + 4 + length])
            self._held = self._held[end + 4 + length :]
            sent = self._server.answer(body)
            if sent.after:
                asyncio.get_event_loop().call_later(sent.after, self._send, sent)
            else:
                self._send(sent)

    def _send(self, sent: Sent) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(sent.data)
        if sent.close:
            self._transport.close()
