"""A small OpenAI-compatible server on the loopback, with a layer that makes requests fail.

with Server(lambda prompt: "Yes", faults=0.2, seed=1) as server:
    openai.open_model("m", base_url=server.url)

python tests/server.py --model demo --faults 0.2        prints its base_url, serves until it is killed
python tests/server.py --model hf:FOLDER --port 8000
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

FAULTS = ("429", "500", "hang", "html", "cut", "drop", "empty", "null")
HTML = b"<!doctype html><title>Gateway</title><p>Please log in"


class Backend(Protocol):
    def reply(self, messages: list[dict[str, str]], max_tokens: int) -> str: ...

    def tokens(self, text: str) -> list[tuple[str, int, float | None]]:
        """(token, offset, log-probability) of each token; none has been seen before the first."""
        ...


class FakeBackend:
    """Answers by a function of the user's message; each word is a token, with a log-probability of its own."""

    def __init__(self, reply: Callable[[str], str]):
        self._reply = reply

    def reply(self, messages: list[dict[str, str]], max_tokens: int) -> str:
        return self._reply(messages[-1]["content"])

    def tokens(self, text: str) -> list[tuple[str, int, float | None]]:
        found = re.finditer(r"\s*\S+|\s+", text)
        return [(m[0], m.start(), None if m.start() == 0 else word_logprob(m[0])) for m in found]


def word_logprob(token: str) -> float:
    return -(1 + hashlib.sha256(token.encode()).digest()[0]) / 64


class HFBackend:
    """A causal language model of a local folder, through transformers."""

    def __init__(self, folder: str):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self._torch = torch
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self._model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._lock = threading.Lock()

    def reply(self, messages: list[dict[str, str]], max_tokens: int) -> str:
        given = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with self._lock, self._torch.inference_mode():
            out = self._model.generate(
                **given, max_new_tokens=max_tokens, do_sample=False, pad_token_id=self._tokenizer.eos_token_id
            )
        return self._tokenizer.decode(out[0, given["input_ids"].shape[1] :], skip_special_tokens=True)

    def tokens(self, text: str) -> list[tuple[str, int, float | None]]:
        given = self._tokenizer(text, return_offsets_mapping=True, return_tensors="pt", add_special_tokens=False)
        ids = given["input_ids"]
        with self._lock, self._torch.inference_mode():
            logits = self._model(input_ids=ids).logits[0, :-1]
        logprobs = logits.log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0].tolist()
        offsets = given["offset_mapping"][0].tolist()
        return [(text[a:b], a, p) for (a, b), p in zip(offsets, [None, *logprobs], strict=True)]


def backend_named(name: str) -> Backend:
    if name == "fake":
        return FakeBackend(lambda prompt: "Yes" if hashlib.sha256(prompt.encode()).digest()[0] % 2 else "No")
    if name == "demo":
        from unwaver.models.demo import path_of_demo

        return HFBackend(str(path_of_demo()))
    return HFBackend(name.removeprefix("hf:"))


@dataclass
class Raw:
    """A response as given, for scripted tests."""

    status: int = 200
    body: bytes | object = b""
    headers: dict[str, str] = field(default_factory=dict)


Script = Callable[[int, dict[str, Any], dict[str, str]], "Raw | str | None"]


class Server:
    """`script(number, body, headers)` may answer with a Raw or the name of a fault; else `faults` is the share
    of requests that fail, each in a way drawn by `seed`; after `dies_after` requests all answer 500.
    Without `stops` it does not know of stop strings."""

    def __init__(
        self,
        reply: Callable[[str], str] | Backend = lambda prompt: "Yes",
        *,
        faults: float = 0.0,
        kinds: Sequence[str] = FAULTS,
        seed: int = 0,
        hang: float = 30.0,
        retry_after: str = "0.05",
        dies_after: int | None = None,
        script: Script | None = None,
        slow: float = 0.0,
        stops: bool = True,
        port: int = 0,
    ):
        self.backend = FakeBackend(reply) if callable(reply) else reply
        self.faults, self.kinds, self.hang, self.slow = faults, kinds, hang, slow
        self.retry_after, self.dies_after, self.script = retry_after, dies_after, script
        self.stops = stops
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.answered: Counter[str] = Counter()  # prompt -> how often it was answered well
        self.failed: Counter[str] = Counter()  # kind of fault -> how often
        self.working = self.most_working = 0
        self.http = _Http(("127.0.0.1", port), _handler(self))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if not self.closing.is_set():
            self.closing.set()
            self.http.shutdown()
            self.http.server_close()
            self.http.hang_up()
            self.thread.join()

    def fault(self, body: dict[str, Any], path: str, headers: dict[str, str]) -> Raw | str | None:
        with self.lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.paths.append(path)
            if self.dies_after is not None and number >= self.dies_after:
                kind: Raw | str | None = "500"
            elif self.script is not None:
                kind = self.script(number, body, headers)
            else:
                kind = self.random.choice(list(self.kinds)) if self.random.random() < self.faults else None
            if isinstance(kind, str):
                self.failed[kind] += 1
            return kind

    def completion(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/v1/chat/completions":
            text = self.backend.reply(body["messages"], body.get("max_tokens", 16))
            for stop in body.get("stop", ()) if self.stops else ():
                text = text.split(stop, 1)[0]
            choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            prompt = body["messages"][-1]["content"]
        else:
            prompt = body["prompt"]
            tokens = self.backend.tokens(prompt)
            if body.get("max_tokens"):
                tokens = [*tokens, (" more", len(prompt), -9.0)]
            choice = {"text": "".join(t for t, _, _ in tokens), "finish_reason": "length"}
            choice["logprobs"] = {
                "tokens": [t for t, _, _ in tokens],
                "text_offset": [o for _, o, _ in tokens],
                "token_logprobs": [p for _, _, p in tokens],
            }
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": 1}
        with self.lock:
            self.answered[prompt] += 1
        return {"object": "completion", "choices": [{"index": 0, **choice}], "usage": usage}


class _Http(ThreadingHTTPServer):
    def __init__(self, *arguments: Any):
        self.connections: list[socket.socket] = []
        super().__init__(*arguments)

    daemon_threads = True
    request_queue_size = 1024

    def get_request(self) -> Any:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """Connections that are kept alive have threads of their own, which outlive the listening socket."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are what these tests are about


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65536  # head and body in one packet, or Nagle makes each reply wait 40 ms

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.working += 1
                server.most_working = max(server.most_working, server.working)
            try:
                self.respond(body)
            finally:
                with server.lock:
                    server.working -= 1

        def respond(self, body: dict[str, Any]) -> None:
            kind = server.fault(body, self.path, dict(self.headers.items()))
            if isinstance(kind, Raw):
                self.send(kind.status, kind.body, **kind.headers)
            elif kind is not None:
                self.fail(kind, body)
            elif self.path not in ("/v1/chat/completions", "/v1/completions"):
                self.send(404, {"detail": "Not Found"})
            else:
                time.sleep(server.slow)
                self.send(200, server.completion(self.path, body))

        def fail(self, kind: str, body: dict[str, Any]) -> None:
            if kind == "429":
                self.send(429, {"error": {"message": "too many requests"}}, **{"Retry-After": server.retry_after})
            elif kind == "500":
                self.send(500, {"error": {"message": "out of memory"}})
            elif kind == "hang":
                server.closing.wait(server.hang)
                self.close_connection = True
            elif kind == "html":
                self.send(200, HTML, **{"Content-Type": "text/html"})
            elif kind == "cut":
                self.send(200, b'{"choices": [{"message": {"content": "No')
            elif kind == "drop":
                self.send(200, b'{"choices": [', claimed=500)
                self.close_connection = True
            elif kind == "empty":
                self.send(200, {"choices": []})
            else:
                nothing = {"message": {"content": None}, "text": None, "logprobs": None, "finish_reason": "stop"}
                self.send(200, {"choices": [nothing]})

        def send(self, status: int, body: object, *, claimed: int | None = None, **headers: str) -> None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(claimed or len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="fake", help="fake, demo or hf:FOLDER")
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hang", type=float, default=30.0, help="seconds")
    parser.add_argument("--dies-after", type=int, default=None)
    given = parser.parse_args()
    server = Server(
        backend_named(given.model), faults=given.faults, seed=given.seed, hang=given.hang,
        dies_after=given.dies_after, port=given.port,
    )  # fmt: skip
    print(server.url, flush=True)
    with server:
        server.thread.join()


if __name__ == "__main__":
    main()
