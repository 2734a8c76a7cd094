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
from typing import TYPE_CHECKING, Any, TypeVar

from unwaver.models.limits import MARGIN, byte_count, token_limit
from unwaver.models.openai_replies import Fault, Filtered, error_message, is_filtered, printable, retry_after
from unwaver.models.openai_wire import Deadline, limit_reads
from unwaver.models.parts import Meter, Tokens
from unwaver.secrets import masked_echo
from unwaver.unpack import BARE, ZLIB, inflated

if TYPE_CHECKING:
    import httpx

PUBLIC_API = "https://api.openai.com/v1"
_OWN_SERVER = "; one of your own: --model-arg base_url=…, of a judge: --agree judge=openai/NAME,base_url=…"
LONGEST_BACKOFF = 30.0  # seconds
LONGEST_BODY = 10_000_000  # bytes, as they come and unpacked
LARGE_BODY = 1_000_000  # bytes; JSON takes up to forty times as many in memory: such are read one by one
GIVE_UP = 8  # requests in a row that failed for good
FIRST_TRIES = 3  # of a server that was never met and seems not to be there, or to be another kind of server
_PASSING = {408, 409, 425, 429}
_MOVED = {301, 302, 303, 307, 308}
_PLAIN = {"model", "messages", "prompt", "stop"}  # fields that no server counts as further text
_SETUP = {401, 403, 404, 405} | _MOVED  # no other request would fare better

Wait = Callable[[float], object]
# hears of each try that failed and may be billed, with the most tokens it can have taken; says if it may go on
Parsed = TypeVar("Parsed")


def most_tokens(body: Mapping[str, object]) -> Tokens:
    """The most tokens of a request with this body, and of its answer."""
    messages = body.get("messages")
    texts = [m["content"] for m in messages] if isinstance(messages, list) else [body.get("prompt", "")]
    more = [json.dumps(v) for k, v in body.items() if k not in _PLAIN and isinstance(v, str | list | dict)]
    return sum(map(byte_count, [*texts, *more])) + MARGIN * len(texts), token_limit(body)


class Server:
    def __init__(
        self,
        client: httpx.Client,
        address: str,
        *,
        hints: Mapping[int, str],
        timeout: float,
        retries: int,
        backoff: float,
        wait: Wait | None,
    ):
        self.met = False  # has any request succeeded?
        self.gave_up: str | None = None
        self.meter: Meter | None = None
        self._client, self._address = client, address
        self._hints, self._wait = hints, wait
        self._timeout, self._retries, self._backoff = timeout, retries, backoff
        self._random = random.Random()  # for jitter only: the global generator belongs to the caller
        self._deadline = Deadline()
        limit_reads(client, self._deadline)
        self._lock = threading.Lock()
        self._one_by_one = threading.Lock()
        self._failed_in_a_row = 0

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        parse: Callable[[dict[str, Any]], Parsed],
        stop: threading.Event,
    ) -> Parsed:
        """The parsed reply, after as many tries as it takes and `retries` allows; `stop` ends the waiting."""
        content = json.dumps(body).encode()  # in ASCII: a lone surrogate in a text must not stop us
        faults: list[Fault] = []
        while True:
            try:
                return self._once(path, content, parse)
            except Fault as fault:
                faults.append(fault)
                again = not stop.is_set() and self._try_again(faults)
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
        self._client.close()

    def _try_again(self, faults: list[Fault]) -> bool:
        # not yet met: another request has failed for good, or all tries of this one look like a wrong address
        bad_start = self._failed_in_a_row > 0 or all(f.setup for f in faults)
        hopeless = not self.met and len(faults) >= FIRST_TRIES and bad_start
        return faults[-1].passing and len(faults) <= self._retries and not hopeless

    def _final(self, faults: list[Fault]) -> Fault:
        """The last fault; one that may pass is a matter of setup only if all tries ended so."""
        last, tries = faults[-1], len(faults)
        if isinstance(last, Filtered):
            return last
        message = str(last) if tries == 1 else f"{last} (tried {tries} times)"
        setup = last.setup and (not last.passing or all(f.setup for f in faults))
        return Fault(masked_echo(message), hint=last.hint, passing=last.passing, setup=setup, refused=last.refused)

    def _pause(self, fault: Fault, tries: int, stop: threading.Event) -> None:
        seconds = self._random.uniform(0, min(LONGEST_BACKOFF, self._backoff * 2 ** (tries - 1)))
        if fault.after is not None:
            # a little more than asked, so that not all come back in the same moment
            seconds = fault.after + self._random.uniform(0, self._backoff)
        (self._wait or stop.wait)(seconds)

    def _once(self, path: str, content: bytes, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
        """Any reply is at worst a failed call with its reason."""
        try:
            response, body = self._reply(path, content)
            with self._one_by_one if len(body) > LARGE_BODY else contextlib.nullcontext():
                return parse(self._parsed(response, body))
        except Fault:
            raise
        except Exception as e:  # not foreseen: a reply, whatever it is, does not stop a run
            why = printable(str(e))
            raise Fault(f"the answer cannot be read: {type(e).__name__}: {why}", passing=True) from None

    def _reply(self, path: str, content: bytes) -> tuple[httpx.Response, bytes]:
        import httpx

        until = self._deadline.until = time.monotonic() + self._timeout
        began = False
        try:
            with self._client.stream("POST", self._address + path, content=content) as response:
                began = True
                body = self._body(response, until)
        except (httpx.ConnectError, httpx.ConnectTimeout) as e:
            raise self._absent(e) from None
        except httpx.TimeoutException:
            late = "the answer did not end in time" if began else f"no answer within {self._timeout:g} s"
            raise Fault(late, passing=True) from None
        except (httpx.HTTPError, httpx.StreamError) as e:
            why = printable(str(e))
            raise Fault(f"the connection broke: {type(e).__name__}: {why}", passing=True) from None
        except (RuntimeError, OSError) as e:  # another thread has closed the client
            raise Fault(f"the connection was closed: {type(e).__name__}") from None
        if not response.is_success:
            raise self._refusal(response, body)
        return response, body

    def _body(self, response: httpx.Response, until: float) -> bytes:
        try:
            return _body(response, until)
        except Fault:
            if response.is_success:
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

    def _refusal(self, response: httpx.Response, body: bytes) -> Fault:
        status, says = response.status_code, self._excerpt(body)
        message = f"{self._address} answered {status}" + (f": {says}" if says else "")
        if status in (400, 403) and is_filtered(body):
            return Filtered(message, free=True)
        no_credit = status == 429 and b"insufficient_quota" in body
        setup = status in _SETUP or no_credit
        passing = not setup and (status in _PASSING or status >= 500)
        hint = "the account has no credit left" if no_credit else self._hints.get(status)
        if status in _MOVED:
            hint = "the address has moved: redirects are not followed, give the new base_url"
        after = retry_after(response.headers.get("retry-after"), time.time()) if passing else None
        if status >= 500:
            hint = "the server failed: check its log, then run the same command again to continue"
        return Fault(
            message, hint=hint, passing=passing, setup=setup, refused=True, after=after, free=status < 500
        )

    def _parsed(self, response: httpx.Response, body: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            kind = printable(response.headers.get("content-type", "no content type").split(";")[0])
            html = "html" in kind or body.lstrip()[:1] == b"<"
            raise Fault(
                f"{self._address} answered {'HTML' if html else 'broken JSON'} "
                f"(status {response.status_code}, {kind}): {self._excerpt(body)}",
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


def _body(response: httpx.Response, until: float) -> bytes:
    """The body, which may be neither endless nor endlessly slow, packed or unpacked."""
    size, parts = 0, []

    def raw() -> Iterator[bytes]:
        received = 0
        for part in response.iter_raw():
            received = _within(received + len(part), until)
            yield part

    try:
        for part in _unpacked(raw(), response.headers.get("content-encoding", "")):
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
