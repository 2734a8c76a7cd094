"""core-mini through a chat server: what arrives there, and what is read from replies in sentences."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.asking.render import _words
from unwaver.suites.core.suite import mini
from unwaver.types import Item

SUITE = mini()
ITEMS = {i.id: i for t, kinds in SUITE.cases.items() for k in kinds for g in SUITE.groups(t, k) for i in g.items}


def right(item: Item) -> str:
    """The right answer, as a chatty model says it."""
    words = _words(item, SUITE.tasks[item.task].form_of(item))
    return f"The answer is: {words[item.choices.index(item.accepted[0])]}."


# what the last message of the user says, for plain items; second turns repeat the answer that they hold
KNOWN = {
    item.fields["question"] + item.fields["instruction"]: right(item)
    for item in ITEMS.values()
    if not item.messages
}


@pytest.fixture
def server() -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    seen: list[list[dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = asked["messages"]
            seen.append(messages)
            said = KNOWN.get(messages[-1]["content"]) or messages[-2]["content"]
            reply = {"role": "assistant", "content": said}
            body = {"choices": [{"index": 0, "message": reply, "finish_reason": "stop"}], "model": "m"}
            data = json.dumps({**body, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/v1", seen
    http.shutdown()
    http.server_close()


@pytest.mark.slow
def test_every_kind_through_a_chat_server(
    server: tuple[str, list[list[dict[str, Any]]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    address, seen = server
    result = unwaver.run("core-mini", f"openai/m,base_url={address},method=generate", out=tmp_path / "run")
    held = {s.kind: (s.value, s.accuracy, s.not_applicable) for s in result.scores if s.metric == "held"}
    assert set(held.values()) == {(1.0, 1.0, 0)}
    doubted = [
        m
        for m in seen
        if [part["role"] for part in m] == ["user", "assistant", "user"] and m[1]["content"] in KNOWN.values()
    ]
    assert len(doubted) >= 8  # the model's own first answers are in the second turns
    assert not any("{answer of" in part["content"] for m in seen for part in m)
