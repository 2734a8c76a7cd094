"""A service that keeps its own till, the referee of torture/money.py: it bills what it does, whatever it reports.

Lengths of answers are drawn from the prompt and a seed: the same question has the same length in any order.
A model called "judge" says Yes or No, the others write free text.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

Draw = Callable[[random.Random], float]
Money = tuple[float, float, float]  # prompt, answer and cached prompt tokens, for a million of each


@dataclass(frozen=True)
class Service:
    """How it answers. `faults` are the shares of requests that end in such a way, each tried again by a client."""

    seed: int
    length: Draw  # tokens of an answer
    prices: dict[str, Money]
    characters: float = 4.0  # of a prompt token
    same: float = 0.5  # of pairs of answers that are equal
    usage: bool = True
    cached: float = 0.0  # the share of prompt tokens that are reported as cached, and billed as such
    reasoning: Draw | None = None  # tokens beside the answer, counted as a part of it
    faults: dict[str, float] = field(default_factory=dict)
    ignores_limit: bool = False


@dataclass
class Till:
    """What was billed: all of it, and by model; the answers that were given, by model and prompt."""

    bill: float = 0.0
    by_model: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    given: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, model: str, cost: float) -> None:
        self.bill += cost
        self.by_model[model] += cost
        self.calls[model] += 1


def lognormal(median: float, sigma: float) -> Draw:
    return lambda draw: median * math.exp(draw.gauss(0, sigma))


def mixture(share: float, short: Draw, long: Draw) -> Draw:
    """Short with this probability, else long."""
    return lambda draw: short(draw) if draw.random() < share else long(draw)


class Counting:
    """The service on the loopback, in a thread of its own: with Counting(service) as server: server.url"""

    def __init__(self, service: Service):
        self.service, self.till, self.tries = service, Till(), Counter[str]()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def __enter__(self) -> Counting:
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

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        """Status and reply; None closes the connection."""
        prompt, model = body["messages"][-1]["content"], body["model"]
        tokens_in = math.ceil(sum(len(m["content"]) for m in body["messages"]) / self.service.characters)
        most = body.get("max_tokens") or body.get("max_completion_tokens") or 100_000
        fault = self._fault(prompt)
        if fault is not None:
            self.till.failed[fault] += 1
            if fault in ("500", "drop"):  # the dearest service there can be
                self.till.add(model, self.cost(model, tokens_in, most))
            return {"429": 429, "500": 500, "drop": 0}[fault], None if fault == "drop" else {"error": {}}
        tokens_out, text, thought = self._answer(model, prompt, most)
        cached = int(tokens_in * self.service.cached)
        self.till.add(model, self.cost(model, tokens_in, tokens_out, cached))
        self.till.given[model, prompt] += 1
        choice = {"message": {"content": text}, "finish_reason": "length" if tokens_out >= most else "stop"}
        usage: dict[str, Any] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        if cached:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        if thought:
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        return 200, {"choices": [choice], **({"usage": usage} if self.service.usage else {})}

    def cost(self, model: str, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        prompt, answer, less = self.service.prices[model]
        return ((tokens_in - cached) * prompt + cached * less + tokens_out * answer) / 1e6

    def _fault(self, prompt: str) -> str | None:
        self.tries[prompt] += 1
        at = _drawn(f"{self.service.seed} {self.tries[prompt]} {prompt}").random()
        for name, share in self.service.faults.items():
            if at < share:
                return name
            at -= share
        return None

    def _answer(self, model: str, prompt: str, most: int) -> tuple[int, str, int]:
        """Tokens of an answer with its thoughts, its text, and the tokens of the thoughts."""
        draw = _drawn(f"{self.service.seed} {prompt}")
        if model == "judge":
            return 1, "Yes" if draw.random() < 0.5 else "No", 0
        if "@label" in prompt:
            return 1, "yes" if draw.random() < 0.5 else "no", 0
        topic = prompt.split("#")[-1].split()[0] if "#" in prompt else prompt  # what both wordings have in common
        agreed = _drawn(f"{self.service.seed} {topic}")
        if agreed.random() < self.service.same:
            draw = agreed
        tokens = max(1, round(self.service.length(draw)))
        thought = max(0, round(self.service.reasoning(draw))) if self.service.reasoning else 0
        if not self.service.ignores_limit:
            thought = min(thought, most - 1)
            tokens = min(tokens, most - thought)
        word = f"w{draw.randrange(10**6)}"
        return tokens + thought, f"{word} " + "so " * (tokens - 1), thought


def _drawn(text: str) -> random.Random:
    return random.Random(hashlib.blake2b(text.encode(), digest_size=8).digest())


class _Connection(asyncio.Protocol):
    def __init__(self, server: Counting):
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
                self._send(404, {"error": {}})
                continue
            length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n")[0])
            if len(self._held) < end + 4 + length:
                return
            body = json.loads(self._held[end + 4 : end + 4 + length])
            self._held = self._held[end + 4 + length :]
            self._send(*self._server.reply(body))

    def _send(self, status: int, reply: dict[str, Any] | None) -> None:
        if reply is None:
            self._transport.close()
            return
        content = json.dumps(reply).encode()
        later = b"Retry-After: 0.02\r\n" if status == 429 else b""
        head = b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
        self._transport.write(head % (status, later, len(content)) + content)
