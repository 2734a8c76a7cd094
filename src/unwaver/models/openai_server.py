"""One call to an OpenAI-compatible server, made again until it succeeds or there is no more hope.

A call that fails in a way that may pass (429, 5xx, timeouts, broken connections, HTML, cut JSON, no content) is
made again after min(30 s, backoff · 2ⁿ) · random, or after what Retry-After says, at most 60 s. When `GIVE_UP`
requests in a row have failed for good, the rest fail at once with the same error.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from unwaver.models.connections import Broken, Closed, Connections, Late, Reply, TooLong, Unreachable
from unwaver.models.limits import MARGIN, byte_count, token_limit
from unwaver.models.openai_address import PUBLIC_API, Address
from unwaver.models.openai_hints import Hints
from unwaver.models.openai_replies import Fault, Filtered, NoScores, error_message, is_filtered, printable
from unwaver.models.pace import PATIENCE, PAUSE, Clock, Limits, Sent, Tell, pace_of, waiting
from unwaver.models.parts import Meter, Tokens
from unwaver.models.rate_headers import asked_to_wait, left_of
from unwaver.secrets import masked_echo
from unwaver.unpack import BARE, STEP, ZLIB, inflated

_OWN_SERVER = "; one of your own: --model-arg base_url=…"
LONGEST_BACKOFF = 30.0  # seconds
LONGEST_BODY = 10_000_000  # bytes, as they come and unpacked
LARGE_BODY = 1_000_000  # bytes; JSON takes up to forty times as many in memory: such are read one by one
GIVE_UP = 8  # requests in a row that failed for good
FIRST_TRIES = 3  # of a server that was never met and seems not to be there, or to be another kind of server
_PASSING = {408, 409, 425, 429}
_MOVED = {301, 302, 303, 307, 308}
_PLAIN = {"model", "messages", "prompt", "stop"}  # fields that no server counts as further text
_SETUP = {401, 403, 404, 405} | _MOVED  # no other request would fare better

Parsed = TypeVar("Parsed")


def most_tokens(body: Mapping[str, object]) -> Tokens:
    """The most tokens of a request with this body, and of its answer."""
    messages = body.get("messages")
    texts = [_written(m) for m in messages] if isinstance(messages, list) else [body.get("prompt", "")]
    more = [json.dumps(v) for k, v in body.items() if k not in _PLAIN and isinstance(v, str | list | dict)]
    return sum(map(byte_count, [*texts, *more])) + MARGIN * len(texts), token_limit(body)


def _written(message: Mapping[str, Any]) -> str:
    """All that a message holds, for counting."""
    return str(message["content"]) + (json.dumps(message["tool_calls"]) if "tool_calls" in message else "")


class Server:
    def __init__(
        self,
        connections: Connections,
        address: Address,
        *,
        hints: Hints,
        timeout: float,
        retries: int,
        backoff: float,
        clock: Clock,
        limits: Limits,
    ):
        self.met = False  # has any request succeeded?
        self.gave_up: str | None = None
        self.meter: Meter | None = None
        self.tell: Tell | None = None
        self._connections, self._place, self._address = connections, address, address.base
        self._hints, self._clock = hints, clock
        self._pace, self._limits = pace_of(address.server), limits
        self._pace.join(limits)
        self._timeout, self._retries, self._backoff = timeout, retries, backoff
        self._random = random.Random()  # for jitter only: the global generator belongs to the caller
        self._lock = threading.Lock()
        self._one_by_one = threading.Lock()
        self._failed_in_a_row = 0

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        parse: Callable[[dict[str, Any]], Parsed],
        stop: threading.Event,
        tries: int | None = None,
    ) -> Parsed:
        """The parsed reply, after as many tries as it takes and `retries` (or `tries`) allows; `stop` ends the
        waiting."""
        content = json.dumps(body).encode()  # in ASCII: a lone surrogate in a text must not stop us
        faults: list[Fault] = []
        while True:
            sent = self._pace.admit(lambda: _all(most_tokens(body)), self._clock, stop, self._told)
            try:
                if stop.is_set():
                    raise Fault("the run ended before it was sent", free=True)
                return self._once(path, content, parse, sent)
            except Fault as fault:
                faults.append(fault)
                again = not stop.is_set() and self._try_again(faults) and len(faults) != tries
                if self.meter is not None and not fault.free:
                    again = self.meter(*most_tokens(body), again)
                if not again:
                    raise self._final(faults) from None
                self._pause(fault, len(faults), stop)
            if self.gave_up is not None:
                raise Fault(self.gave_up, passing=True)

    def succeeded(self) -> None:
        with self._lock:
            self.met, self._failed_in_a_row = True, 0

    def failed(self, fault: Fault) -> None:
        with self._lock:
            # A server that refuses one request (too long, say) is alive, once it has answered another.
            if fault.passing or fault.setup or not self.met:
                self._failed_in_a_row += 1
            if self._failed_in_a_row >= GIVE_UP and self.gave_up is None:
                self.gave_up = f"given up after {self._failed_in_a_row} failures in a row: {fault}"

    def close(self) -> None:
        self._pace.leave(self._limits)
        self._connections.close()

    def _try_again(self, faults: list[Fault]) -> bool:
        # not yet met: another request has failed for good, or all tries of this one look like a wrong address
        bad_start = self._failed_in_a_row > 0 or all(f.setup for f in faults)
        hopeless = not self.met and len(faults) >= FIRST_TRIES and bad_start
        return faults[-1].passing and len(faults) <= self._retries and not hopeless

    def _final(self, faults: list[Fault]) -> Fault:
        """The last fault; one that may pass is a matter of setup only if all tries ended so."""
        last, tries = faults[-1], len(faults)
        if isinstance(last, Filtered | NoScores):
            return last
        message = str(last) if tries == 1 else f"{last} (tried {tries} times)"
        setup = last.setup and (not last.passing or all(f.setup for f in faults))
        final = Fault(masked_echo(message), hint=last.hint, passing=last.passing, setup=setup)
        final.refused, final.said, final.status = last.refused, last.said, last.status
        return final

    def _pause(self, fault: Fault, tries: int, stop: threading.Event) -> None:
        seconds = self._random.uniform(0, min(LONGEST_BACKOFF, self._backoff * 2 ** (tries - 1)))
        if fault.after is not None:
            # a little more than asked, so that not all come back in the same moment
            seconds = fault.after + self._random.uniform(0, self._backoff)
        if not (fault.busy or fault.after is not None) or seconds < PATIENCE:
            self._clock.wait(seconds, stop)
            return
        self._told(waiting(seconds, PAUSE if fault.after is not None else "it is too busy (429)"))
        self._clock.wait(seconds, stop)
        self._told("")

    def _told(self, what: str) -> None:
        """Say what is waited for: "http://…: waiting 12 s: rpm=60 is reached"."""
        if self.tell is not None:
            self.tell(what and f"{self._address}: {what}")

    def _once(
        self, path: str, content: bytes, parse: Callable[[dict[str, Any]], Parsed], sent: Sent | None
    ) -> Parsed:
        """Any reply is at worst a failed call with its reason."""
        try:
            response, body = self._reply(path, content)
            with self._one_by_one if len(body) > LARGE_BODY else contextlib.nullcontext():
                reply = self._parsed(response, body)
                self._pace.settle(sent, _taken(reply))
                return parse(reply)
        except Fault:
            raise
        except Exception as e:  # not foreseen: a reply, whatever it is, does not stop a run
            why = printable(str(e))
            raise Fault(f"the answer cannot be read: {type(e).__name__}: {why}", passing=True) from None

    def _reply(self, path: str, content: bytes) -> tuple[Reply, bytes]:
        until = time.monotonic() + self._timeout
        try:
            reply = self._connections.post(self._place.target(path), content, until)
            self._pace.hear(left_of(reply.headers, time.time()), None, self._clock.now())
            body = self._body(reply, until)
        except Unreachable as e:
            raise self._absent(e) from None
        except Late as e:
            late = "the answer did not end in time" if e.began else f"no answer within {self._timeout:g} s"
            raise Fault(late, passing=True) from None
        except TooLong:
            raise Fault(f"the answer is longer than {LONGEST_BODY:,} bytes", passing=True) from None
        except Broken as e:
            raise Fault(f"the connection broke: {printable(str(e))}", passing=True) from None
        except Closed:
            raise Fault("the connection was closed") from None
        if not reply.is_success:
            raise self._refusal(reply, body)
        return reply, body

    def _body(self, reply: Reply, until: float) -> bytes:
        try:
            if reply.trouble is not None:
                raise reply.trouble
            return _body(reply, until)
        except Exception:
            if reply.is_success:
                raise
            return b""  # what a refusal says cannot be read: its status tells enough

    def _absent(self, error: Exception) -> Fault:
        why = printable(str(error)) or type(error).__name__
        own = _OWN_SERVER if self._address == PUBLIC_API else ""
        return Fault(
            f"{self._address} cannot be reached: {why}",
            hint=f"is the server running? base_url is {self._address}{own}",
            passing=True,
            setup=True,
            free=True,
        )

    def _refusal(self, response: Reply, body: bytes) -> Fault:
        status, says = response.status, self._excerpt(body)
        message = f"{self._address} answered {status}" + (f": {says}" if says else "")
        if status in (400, 403) and is_filtered(body):
            return Filtered(message, free=True)
        no_credit = status == 429 and b"insufficient_quota" in body
        setup = status in _SETUP or no_credit
        passing = not setup and (status in _PASSING or status >= 500)
        hint = "the account has no credit left" if no_credit else self._hints.of(status, says)
        if status in _MOVED:
            hint = "the address has moved: redirects are not followed, give the new base_url"
        after = asked_to_wait(response.headers, time.time()) if passing else None
        self._pace.hear({}, after, self._clock.now())
        if status >= 500:
            hint = self._hints.failed()
        told = body[:20_000] if status in (400, 422) else b""
        return Fault(
            message,
            hint=hint,
            passing=passing,
            setup=setup,
            refused=True,
            after=after,
            free=status < 500,
            said=told,
            busy=status == 429,
            status=status,
        )

    def _parsed(self, response: Reply, body: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            kind = printable(response.headers.get("content-type", "no content type").split(";")[0])
            html = "html" in kind or body.lstrip()[:1] == b"<"
            raise Fault(
                f"{self._address} answered {'HTML' if html else 'broken JSON'} "
                f"(status {response.status}, {kind}): {self._excerpt(body)}",
                hint="base_url usually ends in /v1" if html else None,
                passing=True,
                setup=html,
            ) from None
        if not isinstance(reply, dict) or (reply.get("error") and not reply.get("choices")):
            raise Fault(f"{self._address} answered no completion: {self._excerpt(body)}", passing=True)
        return reply

    def _excerpt(self, body: bytes) -> str:
        """What a reply says, in at most 200 characters."""
        text = body.decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError):
            text = error_message(json.loads(body)) or text
        return printable(text[:20_000])


def _all(tokens: Tokens) -> int:
    """Of a request and its answer; where nothing limits the answer, its reply will tell."""
    return tokens[0] + (tokens[1] or 0)


def _taken(reply: Mapping[str, Any]) -> int | None:
    """{"usage": {"prompt_tokens": 9, "completion_tokens": 1}} -> 10; None where a reply does not say it."""
    usage = reply.get("usage")
    counts = (
        [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
    )
    known = [n for n in counts if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**53]
    return sum(known) if known else None


def _body(reply: Reply, until: float) -> bytes:
    """The body unpacked, which may be neither endless nor endlessly slow."""
    size, parts = 0, []
    pieces = (reply.body[begin : begin + STEP] for begin in range(0, len(reply.body), STEP))
    try:
        for part in _unpacked(pieces, reply.headers.get("content-encoding", "")):
            size = _within(size + len(part), until)
            parts.append(part)
    except (zlib.error, EOFError) as e:
        raise Fault(f"the compressed answer is damaged: {printable(str(e))}", passing=True) from None
    return b"".join(parts)


def _within(size: int, until: float) -> int:
    if size > LONGEST_BODY:
        raise Fault(f"the answer is longer than {LONGEST_BODY:,} bytes", passing=True)
    if time.monotonic() > until:
        raise Fault("the answer did not end in time", passing=True)
    return size


def _unpacked(parts: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """ "gzip" and "deflate" are what we ask for; one within another is how bombs are made."""
    kinds = [kind for kind in (k.strip().lower() for k in encoding.split(",")) if kind not in ("", "identity")]
    if not kinds:
        return parts
    if kinds in (["gzip"], ["x-gzip"]):
        return inflated(parts)
    if kinds == ["deflate"]:
        first = next(parts, b"")
        # some servers leave the two bytes out that begin a zlib stream: a multiple of 31
        bare = len(first) > 1 and (first[0] & 15 != 8 or int.from_bytes(first[:2]) % 31 != 0)
        return inflated(chain([first], parts), BARE if bare else ZLIB)
    raise Fault(f"the answer is packed as {printable(encoding)!r}, expected gzip or deflate", passing=True)
