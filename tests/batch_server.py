"""A server on the loopback with OpenAI's end points for files and batches.

Of the requests in a batch some fail and some expire, by their number; the results come in another order.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class BatchServer:
    """`failing` and `expiring` are shares of the requests. A batch is done after `polls` looks at it. `slow` waits
    before a batch is confirmed; `lost` hangs up instead, though the batch was made."""

    def __init__(
        self,
        reply: Callable[[str], str] = lambda prompt: "Yes",
        *,
        failing: float = 0.0,
        expiring: float = 0.0,
        polls: int = 1,
        slow: float = 0.0,
        lost: int = 0,
        seed: int = 0,
        state: str = "completed",
    ):
        self.reply, self.failing, self.expiring, self.polls = reply, failing, expiring, polls
        self.slow, self.lost, self.state, self.random = slow, lost, state, random.Random(seed)
        self.files: dict[str, str] = {}
        self.batches: dict[str, Body] = {}
        self.looks: Counter[str] = Counter()
        self.submitted: Counter[str] = Counter()  # custom_id -> in how many batches it was
        self.paths: list[str] = []
        self.made = threading.Event()
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients are killed
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> BatchServer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def upload(self, raw: bytes) -> Body:
        text = raw.decode()
        content = re.search(r'name="file".*?\r\n\r\n(.*?)\r\n--', text, re.DOTALL)
        assert content is not None
        assert 'name="purpose"\r\n\r\nbatch\r\n' in text
        with self.lock:
            id = f"file-{len(self.files)}"
            self.files[id] = content[1]
        return {"id": id, "object": "file"}

    def submit(self, body: Body) -> Body:
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        with self.lock:
            id = f"batch_{len(self.batches)}"
            made = {"id": id, "object": "batch", "status": "in_progress", "metadata": body["metadata"]}
            self.batches[id] = {**made, "input_file_id": body["input_file_id"]}
            self.submitted.update(line["custom_id"] for line in lines)
        self.made.set()
        return self.batches[id]

    def look(self, id: str) -> Body:
        with self.lock:
            batch = self.batches[id]
            self.looks[id] += 1
            if self.looks[id] > self.polls and batch["status"] == "in_progress":
                batch |= {"status": self.state, **self._results(batch["input_file_id"])}
            return batch

    def _results(self, file: str) -> Body:
        good, bad = [], []
        for line in map(json.loads, self.files[file].splitlines()):
            drawn, id = self.random.random(), line["custom_id"]
            if drawn < self.failing:
                response = {"status_code": 500, "body": {"error": {"message": "overloaded"}}}
                bad.append({"custom_id": id, "response": response, "error": None})
            elif drawn < self.failing + self.expiring:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad.append({"custom_id": id, "response": None, "error": error})
            else:
                body = completion(self.reply(line["body"]["messages"][-1]["content"]))
                good.append({"custom_id": id, "response": {"status_code": 200, "body": body}, "error": None})
        for part in (good, bad):
            self.random.shuffle(part)
        made = {}
        for name, part in (("output_file_id", good), ("error_file_id", bad)):
            made[name] = f"{file}-{name}" if part else None
            self.files[f"{file}-{name}"] = "".join(json.dumps(each) + "\n" for each in part)
        return made


def completion(text: str) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "model": "m-1", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}


def _handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            server.paths.append(f"POST {self.path}")
            if self.path == "/v1/files":
                self.send(200, server.upload(raw))
            elif self.path == "/v1/batches":
                made = server.submit(json.loads(raw))
                if server.lost:
                    server.lost -= 1
                    self.close_connection = True
                    return
                threading.Event().wait(server.slow)
                self.send(200, made)
            else:
                self.send(404, {"error": {"message": "batches only"}})

        def do_GET(self) -> None:
            server.paths.append(f"GET {self.path}")
            _, _, kind, *rest = self.path.split("?")[0].split("/")
            if kind == "batches" and not rest:
                listed = list(server.batches.values())
                after = re.search(r"after=([^&]+)", self.path)
                begin = 1 + [b["id"] for b in listed].index(after[1]) if after else 0
                self.send(200, {"data": listed[begin : begin + 1], "has_more": begin + 1 < len(listed)})
            elif kind == "batches":
                self.send(200, server.look(rest[0]))
            else:
                self.send(200, server.files[rest[0]].encode())

        def send(self, status: int, body: object) -> None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler
