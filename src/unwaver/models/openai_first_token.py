"""Asking a chat for the probabilities of its first token: one short call for each request."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from unwaver.models.dialect import Dialect
from unwaver.models.first_token import FEW, TOP, asked, first_token, marks_of, thinks
from unwaver.models.limits import LIMITS
from unwaver.models.openai_replies import Fault, NoScores
from unwaver.models.openai_server import Server
from unwaver.models.thinking import effort_room
from unwaver.types import Answer, Request

ENOUGH = 16  # tokens, where a server does not answer with one
_NOT_SENT = {"top_p", "seed", "stop", "response_format", *LIMITS}
_LIMIT = re.compile(r"max_(?:completion_|output_|new_)?tokens|num_predict", re.IGNORECASE)


class FirstToken:
    """How one model of one server is asked. `body` makes the body of a chat request."""

    def __init__(
        self,
        server: Server,
        dialect: Dialect,
        settings: Mapping[str, object],
        body: Callable[[Request], dict[str, object]],
    ):
        self._server, self._dialect, self._settings, self._body = server, dialect, settings, body
        given = settings.get("top_logprobs")
        self._own_top = not isinstance(given, int)
        self._top = given if isinstance(given, int) else TOP
        self._limit = 1
        self.works = False

    def answer(self, request: Request, stop: threading.Event) -> Answer:
        """NoScores: the server gives no such probabilities, or the model thinks before it answers."""
        marks = marks_of(request)

        def post(body: dict[str, Any]) -> Answer:
            return self._server.post(
                "/chat/completions", body, lambda reply: first_token(reply, request, marks), stop
            )

        while True:
            try:
                answer = self._dialect.put(self.body(request), post)
            except Fault as fault:
                if not self._adapts(fault):
                    raise _told(fault) from None
            else:
                self.works = True
                return answer

    def body(self, request: Request) -> dict[str, object]:
        body = self._body(asked(request, marks_of(request)))
        if effort_room(body) or _has_budget(body):
            raise thinks()
        limit = next((name for name in LIMITS if name in body), LIMITS[0])
        kept = {name: value for name, value in body.items() if name not in _NOT_SENT}
        if "temperature" in kept:
            kept["temperature"] = 0
        return {**kept, limit: self._limit, "logprobs": True, "top_logprobs": self._top}

    def _adapts(self, fault: Fault) -> bool:
        """Whether to ask again: for fewer tokens, or with room for more than one."""
        if fault.status not in (400, 422):
            return False
        said = f"{fault} {fault.said.decode('utf-8', 'replace')}"
        if "top_logprobs" in said and self._own_top and self._top > FEW:
            self._top = FEW
            return True
        if _LIMIT.search(said) and self._limit == 1:
            self._limit = ENOUGH
            return True
        return False


def _told(fault: Fault) -> Fault:
    said = f"{fault} {fault.said.decode('utf-8', 'replace')}"
    if isinstance(fault, NoScores) or fault.status not in (400, 422) or "logprob" not in said:
        return fault
    return NoScores(str(fault), hint="use method=generate", setup=True, status=fault.status)


def _has_budget(body: Mapping[str, object]) -> bool:
    """Whether thoughts are asked for: {"thinking": {"type": "enabled", …}} -> True."""
    form = body.get("thinking") or body.get("reasoning")
    asked_for = isinstance(form, dict) and form.get("type") != "disabled" and form.get("enabled") is not False
    return asked_for or body.get("enable_thinking") is True
