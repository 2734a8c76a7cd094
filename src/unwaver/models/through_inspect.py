"""Any provider that Inspect knows (Anthropic, Google, Bedrock, …): inspect/PROVIDER/NAME, by its model API.

What is asked, stored, counted and tried again is up to unwaver: Inspect makes single calls, without its cache and
its retries. Keys are read by Inspect from the environment variables of the provider.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unwaver.errors import ModelError, UsageError, missing_extra
from unwaver.models.complaints import SCORES
from unwaver.models.decoding import before_stop, described, stop_strings
from unwaver.models.dialect import Dialect
from unwaver.models.event_loop import as_completed, wait_for
from unwaver.models.first_token import TOP, asked, first_token, marks_of
from unwaver.models.limits import most_tokens
from unwaver.models.openai_replies import Fault, NoScores, chat_answer, printable
from unwaver.models.own_price import OwnPrice, own_price
from unwaver.models.pace import Tell
from unwaver.models.parts import Meter, way_of
from unwaver.models.thinking import effort_room, limit
from unwaver.secret_sources import learn_variable, looks_like_key
from unwaver.secrets import KEYS_BELONG, is_secret_name, learn_environment
from unwaver.types import Answer, Batch, Request, replace

NOT_GIVEN = -1  # None is taken: it leaves a setting to the provider
GIVE_UP = 8  # requests in a row that failed for good
LONGEST_BACKOFF = 30.0  # seconds


class InspectModel:
    reads = ("prompt", "words")
    deterministic = False

    def __init__(
        self,
        name: str,
        identity: str,
        settings: Mapping[str, object],
        api: Any,
        dialect: Dialect,
        patience: tuple[float, int, float, int],
        free_text: InspectModel | None = None,
    ):
        """`patience`: seconds for a reply, retries, seconds of the first wait, requests at a time."""
        self.name, self.identity, self.settings = name, identity, settings
        self.method = str(settings["method"])
        self.dialect, self.free_text = dialect, free_text
        self._api = api
        self._timeout, self._retries, self._backoff, self.concurrency = patience
        self.price: OwnPrice | None = None
        self.meter: Meter | None = None
        self.tell: Tell | None = None
        self._met = self._finishing = self._scored = False
        self._failed_in_a_row = 0
        self._gave_up = ""

    @property
    def decoding(self) -> str:
        if self.method == "generate":
            return described(self.settings)
        return "answered by generate" if self._writes else "first token"

    @property
    def _writes(self) -> bool:
        return self.method == "generate" or SCORES in self.dialect.switches

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        """The first goes alone, so that a wrong key or name costs one call."""
        self._finishing = False
        first = 0 if self._met else 1
        if first and requests:
            yield [(0, wait_for(self._ask(requests[0], first=True)))]

        async def call(index: int) -> Answer | None:
            return None if self._finishing else await self._ask(requests[first + index])

        arriving = as_completed(call, len(requests) - first, self.concurrency)
        with contextlib.closing(arriving):
            for index, answer, error in arriving:
                if error is not None:
                    raise error
                if answer is not None:
                    yield [(first + index, answer)]

    def finish(self) -> None:
        """Send nothing more; what is in flight is still waited for."""
        self._finishing = True

    def close(self) -> None:
        with contextlib.suppress(Exception):
            wait_for(self._api.api.aclose())

    @property
    def batch(self) -> Any:
        raise UsageError(f"{self.name} cannot be put into a batch", hint="batches are for openai/ models")

    async def _ask(self, request: Request, *, first: bool = False) -> Answer:
        if self._gave_up:
            return Answer(error=self._gave_up)
        way = way_of(self, request)
        way.meter = self.meter
        try:
            answer = await way._answered(request)
        except Fault as fault:
            if first and fault.setup and not self._met:
                raise ModelError(str(fault), hint=fault.hint) from None
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= GIVE_UP and (fault.passing or not self._met):
                self._gave_up = f"given up after {self._failed_in_a_row} failures in a row: {fault}"
            return Answer(error=str(fault))
        self._met, self._failed_in_a_row = True, 0
        return answer

    async def _answered(self, request: Request) -> Answer:
        if self._writes:
            return await self._written(request)
        try:
            marks = marks_of(request)
            reply = await self._reply(asked(request, marks), scores=True)
            answer = first_token(reply, request, marks)
        except NoScores:
            if self.meter is not None:  # a cap has set aside what scoring takes
                raise
            answer = await self._written(request)
            if not self._scored:
                self.dialect.know({SCORES})
            return answer
        self._scored = True
        return answer

    async def _written(self, request: Request) -> Answer:
        answer = chat_answer(await self._reply(request, scores=False))
        stops = self.settings.get("stop")
        before = before_stop(answer.text or "", stops) if isinstance(stops, list) else None
        return answer if before is None else replace(answer, text=before, finish="stop")

    async def _reply(self, request: Request, *, scores: bool) -> dict[str, Any]:
        from unwaver.models.inspect_messages import as_reply, given_to

        twin = self.free_text or self
        sent = given_to(request, twin.settings, self.settings.get("top_logprobs", TOP) if scores else None)
        faults = 0
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    return as_reply(await self._api.generate(**sent))
            except Exception as e:
                fault = _fault(e, self._timeout)
                faults += 1
                again = fault.passing and faults <= self._retries
                if self.meter is not None:
                    again = self.meter(*most_tokens(self, request), again)
                if not again:
                    raise fault from None
                pause = random.uniform(0, min(LONGEST_BACKOFF, self._backoff * 2 ** (faults - 1)))
                await asyncio.sleep(pause)


def _fault(error: Exception, timeout: float) -> Fault:
    """What went wrong in a call; what Inspect would try again may pass."""
    from inspect_ai._util.error import PrerequisiteError
    from tenacity import RetryError

    if isinstance(error, Fault):
        return error
    if isinstance(error, TimeoutError):
        return Fault(f"no answer within {timeout:g} s", passing=True)
    if isinstance(error, RetryError):
        cause = error.last_attempt.exception()
        return Fault(_said(cause if isinstance(cause, BaseException) else error), passing=True)
    if isinstance(error, PrerequisiteError):
        return Fault(_said(error), setup=True)
    status = getattr(error, "status_code", None)
    return Fault(_said(error), setup=status in (401, 403, 404), refused=True)


def _said(error: BaseException) -> str:
    """The words of an error in one line, without keys and without markup for a terminal."""
    from rich.errors import MarkupError
    from rich.text import Text

    text = str(getattr(error, "message", "") or error)
    with contextlib.suppress(MarkupError):
        text = Text.from_markup(text).plain
    return f"{type(error).__name__}: {printable(text)}" if text.strip() else type(error).__name__


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    method: str = "generate",
    system: str | None = None,
    concurrency: int = 8,
    timeout: float = 600.0,
    retries: int = 6,
    backoff: float = 0.5,
    max_tokens: int | None = NOT_GIVEN,
    temperature: float | None = 0.0,
    top_p: float | None = None,
    seed: int | None = None,
    stop: str | list[str] | None = None,
    reasoning_effort: str | None = None,
    thinking_budget: int | None = None,
    top_logprobs: int | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    price_cached: float | None = None,
    args: str | Mapping[str, object] | None = None,
) -> InspectModel:
    """The model PROVIDER/NAME of Inspect. Options are those of openai/NAME; `args` are arguments of Inspect's
    provider, a mapping or JSON."""
    _check(name, method, concurrency, timeout, retries)
    further, stops = _args(args), stop_strings(stop)
    price = own_price(price_in, price_out, price_cached)
    learn_environment()
    for variable in os.environ:
        if is_secret_name(variable):
            learn_variable(variable)
    most = limit(max_tokens, reasoning_effort, given=max_tokens != NOT_GIVEN)

    def settings(method: str) -> dict[str, object]:
        said: dict[str, object] = {"method": method, "system": system}
        if method == "generate":
            said |= {"temperature": temperature, "max_tokens": most, "seed": None if temperature == 0 else seed}
            optional = {"top_p": top_p, "reasoning_effort": reasoning_effort, "thinking_budget": thinking_budget}
            said |= {key: value for key, value in optional.items() if value is not None}
            if stops:
                said["stop"] = list(stops)
        elif top_logprobs is not None:
            said["top_logprobs"] = top_logprobs
        return said | ({"args": further} if further else {})

    own, free = settings(method), settings("generate")
    place = f"inspect:{base_url}" if base_url else "inspect"
    api, dialect = _api(name, base_url, concurrency, further), Dialect(place, name)
    patience, identity = (timeout, retries, backoff, concurrency), f"{place} {name}"
    twin = None if own == free else InspectModel(name, identity, free, api, dialect, patience)
    model = InspectModel(name, identity, own, api, dialect, patience, twin)
    if method == "logprob" and (effort_room(free) or thinking_budget):
        dialect.know({SCORES})  # the first token would be one of a thought
    model.price = price
    return model


def _api(name: str, base_url: str | None, concurrency: int, args: Mapping[str, object]) -> Any:
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        raise missing_extra("inspect_ai", "inspect") from None
    config = GenerateConfig(max_connections=concurrency, max_retries=0)
    try:
        model = get_model(name, config=config, base_url=base_url, memoize=False, **args)
    except (PrerequisiteError, ValueError, TypeError, LookupError, ImportError) as e:
        hint = "keys come from the environment; inspect/PROVIDER/NAME, as Inspect names models"
        raise ModelError(f"Inspect cannot open {name}: {_said(e)}", hint=hint) from None
    client: Any = getattr(model.api, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0  # the client of a provider may have retries of its own
    return model


def _check(name: str, method: str, concurrency: int, timeout: float, retries: int) -> None:
    if looks_like_key(name):
        raise UsageError("the name of the model looks like a key", hint=f"inspect/PROVIDER/NAME; {KEYS_BELONG}")
    if "/" not in name.strip("/"):
        raise UsageError(f"inspect/{name} has no provider", hint="inspect/PROVIDER/NAME: inspect/anthropic/NAME")
    if method not in ("generate", "logprob"):
        raise UsageError(f"unknown method {method}", hint="known: generate, logprob")
    if concurrency < 1 or retries < 0 or not timeout > 0:
        raise UsageError("concurrency must be at least 1, retries at least 0, timeout more than 0")


def _args(args: str | Mapping[str, object] | None) -> dict[str, Any]:
    try:
        given = json.loads(args) if isinstance(args, str) else args or {}
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        raise UsageError("args is not a JSON object", hint="""args='{"responses_api": true}'""")
    if any(is_secret_name(str(key)) for key in given):
        raise UsageError("args cannot hold a key", hint=KEYS_BELONG)
    return dict(given)
