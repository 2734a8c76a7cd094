"""300 requests at a time to a server on the loopback: the client of servers against a plain loop of http.client.

Both have as many threads and send the same requests, by turns, to a server that answers after 0.2 s; the medians
of three rounds count. Then 20,000 requests to one that answers at once: the memory that they take.

    python bench/connections.py serve SECONDS     the server alone: prints its port
"""

from __future__ import annotations

import asyncio
import http.client
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from unwaver.models import openai
from unwaver.types import Request

AT_ONCE, EACH, ROUNDS = 300, 8, 3
LATENCY = 0.2  # seconds
LEAST = 0.5
MANY, SETTLED = 20_000, 5_000
MOST_GROWTH = 8.0  # MB between the request SETTLED and the last
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
REPLY = json.dumps({"choices": [CHOICE], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}).encode()
WIRE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(REPLY), REPLY)
PROMPT = "Is it so that what is said here follows from what was said before? " * 6


class Answering(asyncio.Protocol):
    """As little work as a server can have: it is not what is measured."""

    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end].lower()
            length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n")[0])
            if len(self.held) < end + 4 + length:
                return
            self.held = self.held[end + 4 + length :]
            write = self.transport.write  # type: ignore[attr-defined]
            asyncio.get_running_loop().call_later(self.latency, write, WIRE)


async def serve(latency: float) -> None:
    Answering.latency = latency
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(latency: float) -> Iterator[int]:
    command = [sys.executable, __file__, "serve", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


def plain(port: int) -> float:
    """Requests per second of threads that do nothing but ask."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 16}).encode()

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(EACH):
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            json.loads(connection.getresponse().read())
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return AT_ONCE * EACH / (time.perf_counter() - start)


def ours(port: int) -> float:
    """Requests per second of the client; the first one goes alone and is not counted."""
    model = openai.open_model("m", base_url=f"http://127.0.0.1:{port}/v1", concurrency=AT_ONCE)
    list(model.answer(asked(1)))
    start = time.perf_counter()
    answered = sum(answer.error is None for batch in model.answer(asked(AT_ONCE * EACH)) for _, answer in batch)
    seconds = time.perf_counter() - start
    model.close()
    assert answered == AT_ONCE * EACH
    return answered / seconds


def asked(count: int) -> list[Request]:
    return [Request("t", (), f"{n}: {PROMPT}", ("y", "n"), ("Yes", "No"), str(n)) for n in range(count)]


def growth(port: int) -> float:
    """MB that the highest memory of the process rises by after the first requests."""
    model = openai.open_model("m", base_url=f"http://127.0.0.1:{port}/v1", concurrency=AT_ONCE)
    done, before = 0, 0
    for batch in model.answer(asked(MANY)):
        done += len(batch)
        if done >= SETTLED and not before:
            before = _peak()
    model.close()
    assert done == MANY
    return (_peak() - before) / 1000


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    with serving(LATENCY) as port:
        rates = [(ours(port), plain(port)) for _ in range(ROUNDS)]
    mine, bare = (statistics.median(column) for column in zip(*rates, strict=True))
    line = {"bench": f"{AT_ONCE} requests at a time / http.client", "ratio": round(mine / bare, 3)}
    figures = {"per_second": round(mine), "http_client_per_second": round(bare)}
    print(json.dumps({**line, **figures, "target": f">= {LEAST}", "ok": mine / bare >= LEAST}))
    with serving(0.0) as port:
        megabytes = growth(port)
    line = {"bench": f"memory from request {SETTLED} to {MANY}", "MB": round(megabytes, 1)}
    print(json.dumps({**line, "target": f"<= {MOST_GROWTH:g} MB", "ok": megabytes <= MOST_GROWTH}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(float(sys.argv[2])))
    else:
        main()
