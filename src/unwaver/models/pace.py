"""How fast one server is asked: limits of requests and tokens per minute, and what the server says of its own.

Everything in a process that asks one address (model, judge, agreement, scorer, writer) shares one `Pace`. In any
minute at most `rpm` requests are sent, retries included, and at most `tpm` tokens: what a request can take at most
until its reply says what it took. A reply that leaves no request or too few tokens, or asks to come back later,
makes all wait, for at most a minute.

    pace = pace_of("https://api.example/v1")
    pace.join(limits := Limits(rpm=60))
    sent = pace.admit(lambda: 900, clock, stop)     waits for its turn
    pace.settle(sent, 120)                          it took less than it might have
    pace.leave(limits)
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from unwaver.errors import UsageError
from unwaver.models.rate_headers import Left

MINUTE = 60.0  # seconds
STEP = 0.25  # seconds; a reply may free tokens sooner than foreseen
PATIENCE = 2.0  # seconds; shorter waits are not worth a word

Wait = Callable[[float], object]
Tell = Callable[[str], None]  # what is waited for; "" when it is over


def check_limits(rpm: float | None, tpm: float | None) -> None:
    for name, value in (("rpm", rpm), ("tpm", tpm)):
        if value is not None and not (math.isfinite(value) and value >= 1):
            raise UsageError(
                f"{name} is {value:g}, expected 1 or more in a minute", hint="leave it out for no limit"
            )


PAUSE = "it asks for a pause"


def waiting(seconds: float, why: str) -> str:
    """ "waiting 12 s: rpm=60 is reached"."""
    return f"waiting {math.ceil(seconds)} s: {why}"


class Clock:
    """The time, and waiting. With a stand-in for waiting, as in tests, what was waited for counts as passed."""

    def __init__(self, wait: Wait | None = None):
        self._wait, self._passed = wait, 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return time.monotonic() + self._passed

    def wait(self, seconds: float, stop: threading.Event) -> None:
        if self._wait is None:
            stop.wait(seconds)
            return
        self._wait(seconds)
        with self._lock:
            self._passed += seconds


@dataclass(eq=False)
class Sent:
    """A request that was sent at a time, and the tokens it counts for."""

    at: float
    tokens: int


@dataclass(frozen=True, eq=False)
class Limits:
    """Most requests and tokens in a minute; None if there is no limit."""

    rpm: float | None = None
    tpm: float | None = None


@dataclass
class _Told:
    """What a server said that it has left, by what it counts: requests or tokens."""

    left: float
    until: float
    most: float | None = None


@dataclass(eq=False)
class Pace:
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _members: list[Limits] = field(default_factory=list)
    _sent: deque[Sent] = field(default_factory=deque)
    _told: dict[str, _Told] = field(default_factory=dict)
    _closed_until: float = 0.0

    def join(self, limits: Limits) -> None:
        """Somebody asks this server; the lowest limits of all hold for all."""
        with self._lock:
            self._members.append(limits)

    def leave(self, limits: Limits) -> None:
        with self._lock:
            if limits in self._members:
                self._members.remove(limits)
            if not self._members:
                self._told.clear()
                self._closed_until = 0.0

    def admit(
        self, tokens: Callable[[], int], clock: Clock, stop: threading.Event, tell: Tell | None = None
    ) -> Sent | None:
        """Wait until a request may be sent, and count it. Who comes first goes first: small requests must not keep
        a large one waiting forever."""
        if not self._is_limited():
            return None
        with self._turn:
            count, told = tokens(), False
            while (missing := self._missing(count, clock.now()))[0] > 0 and not stop.is_set():
                seconds, why = missing
                if tell is not None and (told or seconds >= PATIENCE):
                    told = True
                    tell(waiting(seconds, why))
                clock.wait(min(seconds, STEP), stop)
            if told and tell is not None:
                tell("")
            return self._count(count, clock.now())

    def settle(self, sent: Sent | None, tokens: int | None) -> None:
        """What a request has really taken."""
        if sent is not None and tokens is not None:
            with self._lock:
                sent.tokens = tokens

    def hear(self, left: dict[str, Left], after: float | None, now: float) -> None:
        """What a server has said with a reply."""
        if not left and after is None:
            return
        with self._lock:
            if after is not None:
                self._closed_until = max(self._closed_until, now + after)
            for kind, said in left.items():
                self._told[kind] = _Told(said.remaining, now + said.reset, said.limit)

    def _is_limited(self) -> bool:
        return bool(self._closed_until or self._told) or any(m.rpm or m.tpm for m in self._members)

    def _missing(self, tokens: int, now: float) -> tuple[float, str]:
        """Seconds until a request with this many tokens may be sent, as things are, and what they are due to."""
        with self._lock:
            while self._sent and self._sent[0].at <= now - MINUTE:
                self._sent.popleft()
            if self._closed_until <= now:
                self._closed_until = 0.0
            waits = [(self._closed_until - now if self._closed_until else 0.0, PAUSE)]
            for kind, need in (("requests", 1), ("tokens", tokens)):
                waits.append((self._until_reset(kind, need, now), f"its limit of {kind} is used up"))
            rpm = min((m.rpm for m in self._members if m.rpm), default=None)
            tpm = min((m.tpm for m in self._members if m.tpm), default=None)
            if rpm is not None and len(self._sent) >= max(int(rpm), 1):
                oldest = self._sent[len(self._sent) - max(int(rpm), 1)]
                waits.append((oldest.at + MINUTE - now, f"rpm={rpm:g} is reached"))
            if tpm is not None:
                waits.append((self._until_tokens(tokens, tpm, now), f"tpm={tpm:g} is reached"))
            return max(waits, key=lambda wait: wait[0])

    def _until_tokens(self, tokens: int, tpm: float, now: float) -> float:
        """A request with more tokens than the limit goes when nothing else has gone for a minute."""
        excess = sum(s.tokens for s in self._sent) + min(tokens, tpm) - tpm
        for sent in self._sent:
            if excess <= 0:
                break
            excess -= sent.tokens
            if excess <= 0:
                return sent.at + MINUTE - now
        return 0.0

    def _until_reset(self, kind: str, need: float, now: float) -> float:
        told = self._told.get(kind)
        if told is None:
            return 0.0
        if told.until <= now:
            del self._told[kind]
            return 0.0
        most = need if told.most is None else min(need, told.most)
        return told.until - now if told.left < most else 0.0

    def _count(self, tokens: int, now: float) -> Sent:
        sent = Sent(now, tokens)
        with self._lock:
            if any(m.rpm or m.tpm for m in self._members):
                self._sent.append(sent)
            for kind, need in (("requests", 1), ("tokens", tokens)):
                if kind in self._told:
                    self._told[kind].left -= need
        return sent


_paces: dict[str, Pace] = {}
_lock = threading.Lock()


def pace_of(address: str) -> Pace:
    """The one that all share who ask this address."""
    with _lock:
        return _paces.setdefault(address, Pace())
