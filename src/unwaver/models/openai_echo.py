"""The log-probability of each choice by /completions with echo: the server scores a prompt that ends in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from unwaver.groups.conversations import prompt_after
from unwaver.models.dialect import Dialect
from unwaver.models.openai_replies import Fault, NoScores, Scored, scored
from unwaver.models.openai_server import FIRST_TRIES, Server
from unwaver.types import Answer, Request


class Echo:
    """How one model of one server is asked to score choices."""

    def __init__(self, name: str, server: Server, settings: Mapping[str, object], dialect: Dialect):
        self._name, self._server, self._settings, self._dialect = name, server, settings, dialect
        self._generated = 0  # tokens that the server is asked to add
        self._works = False

    def answer(self, request: Request, stop: threading.Event) -> Answer:
        """One call for each choice. NoScores: the server does not score choices in this way."""
        prompt, endings = self._choices(request)
        parts = [self._score(prompt, ending, stop) for ending in endings]
        self._works = True
        usages = [usage for _, _, usage in parts if usage is not None]
        return Answer(
            logprobs=tuple(logprob for logprob, _, _ in parts),
            tokens=tuple(count for _, count, _ in parts),
            # all of them, or it would seem to be less than it was
            usage=(sum(u[0] for u in usages), sum(u[1] for u in usages)) if len(usages) == len(parts) else None,
        )

    def bodies(self, request: Request) -> list[dict[str, object]]:
        prompt, endings = self._choices(request)
        return [self._body(prompt + ending, 1) for ending in endings]

    def _choices(self, request: Request) -> tuple[str, list[str]]:
        """What comes before the choices, and each of them."""
        system = self._settings["system"]
        prompt = prompt_after(request, None if system is None else str(system))
        space = "" if prompt[-1:].isspace() else " "
        return prompt, [space + word for word in request.words or request.choices]

    def _score(self, prompt: str, ending: str, stop: threading.Event) -> Scored:
        try:
            return self._echo(prompt, ending, self._generated, stop)
        except Fault as fault:
            refused = not fault.passing and not fault.setup
            if refused and self._generated == 0 and "max_tokens" in str(fault):
                self._generated = 1  # some servers will not generate nothing
                return self._echo(prompt, ending, 1, stop)
            if not self._works and _is_another_kind(fault):
                raise NoScores(str(fault), hint="use method=generate", setup=True, status=fault.status) from None
            if refused and fault.said:
                fault.hint = "the server does not score choices this way: use method=generate"
            raise

    def _echo(self, prompt: str, ending: str, generated: int, stop: threading.Event) -> Scored:
        whole = prompt + ending

        def parse(reply: dict[str, Any]) -> Scored:
            return scored(reply, len(prompt), whole, generated)

        def post(body: dict[str, Any]) -> Scored:
            tries = None if self._works or self._server.met else FIRST_TRIES
            return self._server.post("/completions", body, parse, stop, tries)

        return self._dialect.put(self._body(whole, generated), post)

    def _body(self, whole: str, generated: int) -> dict[str, object]:
        extra = {k: v for k, v in self._settings.items() if k not in ("method", "system", "top_logprobs")}
        asked = {"model": self._name, "prompt": whole, "echo": True, "logprobs": 1, "max_tokens": generated}
        return {"temperature": 0, **extra, **asked}


def _is_another_kind(fault: Fault) -> bool:
    """Whether the server may be one that does not score choices at the end of a prompt: it refuses, has no such
    address, fails at it, or sends something else."""
    if fault.status:
        return fault.status in (400, 404, 405, 422) or fault.status >= 500
    return fault.setup and fault.hint == "use method=generate"
