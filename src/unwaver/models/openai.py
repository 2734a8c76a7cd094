"""Any OpenAI-compatible HTTP server: vLLM, llama.cpp, Ollama, the public API.

    generate   POST /chat/completions, what comes back is read for a label
    logprob    POST /completions with echo and logprobs, once per choice: the summed log-probability of each;
               where a server does not do that, POST /chat/completions with top_logprobs: those of the first token

What may pass is tried again (openai_server.py says when and how often). What cannot pass (a wrong key, an
unknown model, no server) is told at the first contact instead of failing thousands of calls. The key is read
from the environment, sent as a header and kept out of every message.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from unwaver.errors import ModelError, UsageError
from unwaver.groups.conversations import sent
from unwaver.models.complaints import ECHO, SCORES
from unwaver.models.connections import Connections
from unwaver.models.decoding import before_stop, described, stop_strings
from unwaver.models.dialect import Dialect
from unwaver.models.openai_address import Address, address_of, headers_of, key_in
from unwaver.models.openai_echo import Echo
from unwaver.models.openai_first_token import FirstToken
from unwaver.models.openai_hints import Hints
from unwaver.models.openai_replies import Fault, Filtered, NoScores, chat_answer
from unwaver.models.openai_server import LONGEST_BODY, Server, most_tokens
from unwaver.models.openai_shape import refuses_schema, shaped
from unwaver.models.own_price import OwnPrice, own_price
from unwaver.models.pace import Clock, Limits, Tell, Wait, check_limits
from unwaver.models.parts import Meter, Tokens, way_of
from unwaver.models.thinking import effort_room, limit, options, with_budget
from unwaver.secret_sources import is_odd_variable, learn, learn_variable, looks_like_key
from unwaver.secrets import KEYS_BELONG, learn_environment
from unwaver.types import Answer, Batch, Request, replace

if TYPE_CHECKING:
    from unwaver.models.openai_batches import OpenAIBatch

NOT_GIVEN = -1  # None is taken: it leaves a setting to the server
PROBES = 2  # requests that go alone before a server that refuses them is believed
RESERVED = {"model", "messages", "prompt", "stream", "n", "echo", "logprobs", "top_logprobs", "seed"}


class OpenAIModel:
    reads = ("prompt", "words")
    takes = ("tools", "response_format")
    deterministic = False  # servers do not guarantee it, not even at temperature 0

    def __init__(
        self,
        name: str,
        address: str,
        server: Server,
        settings: Mapping[str, object],
        concurrency: int,
        stops: tuple[str, ...],
        dialect: Dialect,
        free_text: OpenAIModel | None = None,
    ):
        self.name = name
        self.identity = f"openai:{address} {name}"
        self.method = str(settings["method"])
        self.settings = settings
        self.dialect = dialect
        self._server = server
        self.concurrency = concurrency
        self._stops = stops
        self._echo = Echo(name, server, settings, dialect)
        self._first_token = FirstToken(server, dialect, settings, self._chat_body)
        self._known = False
        self._finishing = False
        self._plain = False  # the server has refused structured output
        self.price: OwnPrice | None = None
        self.batch: OpenAIBatch | None = None
        self.free_text = free_text  # who answers if there are no choices, by the same server

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        """The replies that have come, a batch at a time. The order is kept: requests come group by group, so
        neighbours share their beginning, as a server's prefix cache wants it, and a server that dies leaves whole
        groups."""
        order = iter(range(len(requests)))
        self._finishing = False
        yield from self._first_contact(requests, order)
        yield from self._in_threads(requests, order)

    def answered_before(self, yes: bool) -> None:
        """Whether an earlier run has answers of this model: then a refusal is about the request, not the setup."""
        self._known = yes

    def close(self) -> None:
        self._server.close()

    @property
    def decoding(self) -> str:
        """How tokens are chosen; where the server takes no temperature, by its own."""
        own = {"temperature": None} if "temperature" in self.dialect.switches else {}
        if self.method == "generate":
            return described({**self.settings, **own})
        if self._writes:
            return "answered by generate"
        return "first token" if ECHO in self.dialect.switches else ""

    @property
    def met(self) -> bool:
        """Whether any request has succeeded."""
        return self._server.met

    @met.setter
    def met(self, met: bool) -> None:
        self._server.met = met

    @property
    def meter(self) -> Meter | None:
        """Who hears of tries that failed and may be billed."""
        return self._server.meter

    @meter.setter
    def meter(self, meter: Meter | None) -> None:
        self._server.meter = meter

    @property
    def tell(self) -> Tell | None:
        """Who hears what is waited for."""
        return self._server.tell

    @tell.setter
    def tell(self, tell: Tell | None) -> None:
        self._server.tell = tell

    def finish(self) -> None:
        """Send nothing more; what is in flight is still waited for."""
        self._finishing = True

    def most_tokens(self, request: Request) -> Tokens:
        """The most tokens of a request and its answer, which log-probabilities take for each choice."""
        way = way_of(self, request)
        found = [most_tokens(body) for body in way._bodies(request)]
        limits = [limit for _, limit in found]
        return sum(most for most, _ in found), None if None in limits else sum(x for x in limits if x is not None)

    def _bodies(self, request: Request) -> list[dict[str, object]]:
        if self._writes:
            return [self._chat_body(request)]
        try:
            chat = [self._first_token.body(request)]
        except NoScores:
            chat = []
        if ECHO in self.dialect.switches and chat:
            return chat
        return max(self._echo.bodies(request), chat, key=lambda bodies: sum(most_tokens(b)[0] for b in bodies))

    def _first_contact(self, requests: Sequence[Request], order: Iterator[int]) -> Iterator[Batch]:
        """The first goes alone, so that a wrong key, address or setting costs one call; where it is refused, so
        does the next, which may be less odd. The reason why a run ends here is handed over like any failure."""
        for left in reversed(range(PROBES)):
            index = None if self._server.met or self._finishing else next(order, None)
            if index is None:
                return
            last = left == 0 or index + 1 == len(requests)
            try:
                answer = self._ask(requests[index], threading.Event(), last=last)
            except ModelError as e:
                yield [(index, Answer(error=e.message))]
                raise
            yield [(index, answer)]

    def _in_threads(self, requests: Sequence[Request], order: Iterator[int]) -> Iterator[Batch]:
        todo: SimpleQueue[int | None] = SimpleQueue()
        done: SimpleQueue[tuple[int, Answer | BaseException]] = SimpleQueue()
        stop = threading.Event()

        def work() -> None:
            while (index := todo.get()) is not None and not stop.is_set():
                try:
                    done.put((index, self._ask(requests[index], stop)))
                except BaseException as e:
                    done.put((index, e))

        first = [] if self._finishing else list(islice(order, self.concurrency))
        threads = len(first)
        for index in first:
            todo.put(index)
        for _ in range(threads):
            # Daemons: an executor's threads would keep an interrupted program waiting for a server that hangs.
            threading.Thread(target=work, daemon=True, name="unwaver-openai").start()
        in_flight = threads
        try:
            while in_flight:
                batch, trouble = _replies(done)
                if batch:
                    yield batch
                if trouble is not None:
                    raise trouble
                # Only now that these are stored: a kill loses no more than `concurrency` replies.
                in_flight -= len(batch)
                for following in islice(order, 0 if self._finishing else len(batch)):
                    todo.put(following)
                    in_flight += 1
        finally:
            stop.set()
            for _ in range(threads):
                todo.put(None)

    def _ask(self, request: Request, stop: threading.Event, *, last: bool = False) -> Answer:
        """`last`: nothing has succeeded yet, and no other request will be tried if the server refuses this one."""
        if self._server.gave_up is not None:
            return Answer(error=self._server.gave_up)
        try:
            way = way_of(self, request)
            answer = way._generate(request, stop) if way._writes else way._score_or_write(request, stop)
        except Filtered:
            answer = Answer(text="", finish="content_filter", usage=(0, 0))
        except Fault as fault:
            if not self._server.met and (fault.setup or (fault.refused and last and not self._known)):
                raise ModelError(str(fault), hint=fault.hint) from None
            if not stop.is_set():
                self._server.failed(fault)
            return Answer(error=str(fault))
        self._server.succeeded()
        return answer

    def batch_body(self, request: Request) -> dict[str, object]:
        """As a chat, which is what batches are made of."""
        return self._chat_body(request) if self._writes else self._first_token.body(request)

    def batch_answer(self, request: Request, reply: Mapping[str, Any]) -> Answer:
        if self._writes:
            return self._cut(chat_answer(reply))
        from unwaver.models.first_token import first_token, marks_of

        self.dialect.know({ECHO})
        return first_token(reply, request, marks_of(request))

    def _generate(self, request: Request, stop: threading.Event) -> Answer:
        def post(body: dict[str, Any]) -> Answer:
            return self._server.post("/chat/completions", body, chat_answer, stop)

        body = self._chat_body(request)
        try:
            answer = self.dialect.put(body, post)
        except Fault as fault:
            if not (fault.refused and request.schema and "response_format" in body and refuses_schema(str(fault))):
                raise
            self._plain = True
            answer = self.dialect.put(self._chat_body(request), post)
        return self._cut(answer)

    def _chat_body(self, request: Request) -> dict[str, object]:
        if self.method != "generate" and self.free_text is not None:
            return self.free_text._chat_body(request)  # who has the settings of writing
        messages = sent(request, self.settings["system"])
        body = {"model": self.name, "messages": messages, **self._sampling(request)}
        body = shaped(body, request, plain=self._plain, thoughts=effort_room(self.settings))
        return with_budget(body, self.dialect.place[0])

    def _cut(self, answer: Answer) -> Answer:
        """Servers end a text before a stop string; some do not know of any."""
        before = before_stop(answer.text or "", self._stops)
        return answer if before is None else replace(answer, text=before, finish="stop")

    def _sampling(self, request: Request) -> dict[str, object]:
        sampling = {k: v for k, v in self.settings.items() if k not in ("method", "system") and v is not None}
        if sampling.get("top_p") == 1:
            del sampling["top_p"]  # the default everywhere: not worth the refusal of a server
        if isinstance(seed := sampling.get("seed"), int):
            # One seed for all replicates would give one answer many times.
            sampling["seed"] = seed + request.replicate
        return sampling

    @property
    def _writes(self) -> bool:
        return self.method == "generate" or SCORES in self.dialect.switches

    def _score_or_write(self, request: Request, stop: threading.Event) -> Answer:
        """Log-probabilities in the first way that the server takes, or what is written where it takes none; not
        under a cost cap, which has set aside what scoring takes."""
        faults: list[NoScores] = []
        for score in self._ways():
            try:
                answer = score(request, stop)
            except NoScores as fault:
                faults.append(fault)
                continue
            except Fault as fault:
                raise fault if fault.status or not faults else faults[0] from None
            self.dialect.know({ECHO} if faults else ())
            return answer
        if self.meter is not None:
            raise faults[-1]
        try:
            answer = self._generate(request, stop)
        except Fault:
            raise faults[0] from None
        if not self._first_token.works:
            self.dialect.know({ECHO, SCORES})
        return answer

    def _ways(self) -> Iterator[Callable[[Request, threading.Event], Answer]]:
        if ECHO not in self.dialect.switches:
            yield self._echo.answer
        yield self._first_token.answer


def _replies(done: SimpleQueue[tuple[int, Answer | BaseException]]) -> tuple[Batch, BaseException | None]:
    """All that have come, at least one, so that they are stored together; and what went wrong, if anything did."""
    batch: Batch = []
    while not batch or not done.empty():
        index, answer = done.get()
        if isinstance(answer, BaseException):
            return batch, answer
        batch.append((index, answer))
    return batch, None


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    method: str = "generate",
    system: str | None = None,
    concurrency: int = 8,
    timeout: float = 600.0,
    retries: int = 6,
    max_tokens: int | None = NOT_GIVEN,
    temperature: float | None = 0.0,
    top_p: float | None = 1.0,
    seed: int | None = None,
    stop: str | list[str] | None = None,
    key_env: str = "OPENAI_API_KEY",
    backoff: float = 0.5,
    extra: str | Mapping[str, object] | None = None,
    headers: str | Mapping[str, object] | None = None,
    api_version: str | None = None,
    rpm: float | None = None,
    tpm: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    price_cached: float | None = None,
    reasoning_effort: str | None = None,
    thinking_budget: int | None = None,
    top_logprobs: int | None = None,
    wait: Wait | None = None,
) -> OpenAIModel:
    """The model `name` of the server at `base_url` (default: OPENAI_BASE_URL, else the public API).

    `max_tokens` is 2,048 if not given, more with `reasoning_effort`; `thinking_budget` are tokens beside it.
    None leaves a setting to the server, and `extra` are further fields of the request, a mapping or JSON:
    max_tokens=None, extra='{"max_completion_tokens": 200}'. `key_env` names the variable that holds the key.
    `headers` go with every request, a mapping or JSON. `api_version` is Azure's. `rpm` and `tpm` are the most
    requests and tokens in a minute, of all that ask this address. `price_in`, `price_out` and `price_cached` are
    the money for a million tokens of prompts, of answers, and of prompts in the server's cache.
    With a seed, replicate r is asked with seed + r. `stop` are strings before which a text ends, a list or one
    text with "|" between them. `top_logprobs` is how many of the most likely first tokens a chat gives with their
    probabilities (method=logprob; 20 if not given). `wait` stands in for sleeping, in tests.
    """
    _check(name, method, concurrency, timeout, retries, key_env)
    check_limits(rpm, tpm)
    if top_logprobs is not None and top_logprobs < 1:
        raise UsageError(f"top_logprobs is {top_logprobs}", hint="20 is the most that OpenAI gives")
    price = own_price(price_in, price_out, price_cached)
    learn_environment()
    address = address_of(base_url, name, api_version)
    key = key_in(key_env)
    learn("extra", extra)
    stops, further = stop_strings(stop), _extra(extra)
    most = limit(max_tokens, reasoning_effort, given=max_tokens != NOT_GIVEN)
    thinking = options(reasoning_effort, thinking_budget)

    def settings(method: str) -> dict[str, object]:
        said: dict[str, object] = {"method": method, "system": system}
        if method == "generate":
            # nothing is drawn at temperature 0: another seed must not ask again
            drawn = {"top_p": top_p, "max_tokens": most, "seed": None if temperature == 0 else seed}
            said |= {"temperature": temperature, **drawn}
            if stops:  # else the key stays what it was before there was such an option
                said["stop"] = list(stops)
            said |= thinking
        elif top_logprobs is not None:
            said["top_logprobs"] = top_logprobs
        return said | further

    server = Server(
        _connections(address, key, headers, concurrency),
        address,
        hints=Hints(name, key_env, bool(key), address.azure, tuple(further)),
        timeout=timeout,
        retries=retries,
        backoff=backoff,
        clock=Clock(wait),
        limits=Limits(rpm, tpm),
    )
    own, free = settings(method), settings("generate")
    dialect = Dialect(address.whole, name, own_limit=max_tokens == NOT_GIVEN)
    free_text = (
        None if own == free else OpenAIModel(name, address.whole, server, free, concurrency, stops, dialect)
    )
    model = OpenAIModel(name, address.whole, server, own, concurrency, stops, dialect, free_text)
    model.price = price
    for way in (model, free_text):
        if way is not None:
            from unwaver.models.openai_batches import OpenAIBatch

            way.batch = OpenAIBatch(way, address, headers_of(key, address.azure, headers), timeout)
    return model


def _check(name: str, method: str, concurrency: int, timeout: float, retries: int, key_env: str) -> None:
    if not name:
        raise UsageError("the model has no name", hint="openai/NAME, as the server calls it")
    if method not in ("generate", "logprob"):
        raise UsageError(f"unknown method {method}", hint="known: generate, logprob")
    if concurrency < 1 or retries < 0 or not timeout > 0:
        raise UsageError("concurrency must be at least 1, retries at least 0, timeout more than 0")
    learn_variable(key_env)
    if looks_like_key(name):
        raise UsageError("the name of the model looks like a key", hint=f"openai/NAME; {KEYS_BELONG}")
    absent = key_env not in os.environ and is_odd_variable(key_env)
    if absent or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key_env):
        # not shown: people put the key itself here
        raise UsageError("key_env is not the name of an environment variable", hint="key_env=OPENAI_API_KEY")


def _extra(extra: str | Mapping[str, object] | None) -> dict[str, object]:
    try:
        given = json.loads(extra) if isinstance(extra, str) else extra or {}
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        raise UsageError("extra is not a JSON object", hint="""extra='{"top_k": 1}'""")
    if taken := RESERVED & given.keys():
        raise UsageError(f"extra cannot hold {', '.join(sorted(taken))}", hint="unwaver sets these itself")
    return dict(given)


def _connections(
    address: Address, key: str, headers: str | Mapping[str, object] | None, concurrency: int
) -> Connections:
    sent = headers_of(key, address.azure, headers)
    try:
        return Connections(address.url, sent, keep=concurrency, longest=LONGEST_BODY)
    except (ValueError, OSError) as e:
        # not shown: a proxy address may hold a password
        raise ModelError(
            f"the HTTP client cannot start ({type(e).__name__})",
            hint="see the environment variables HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE",
        ) from None
