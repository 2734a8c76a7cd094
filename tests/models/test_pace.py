"""Limits per minute and what servers say of their own, on a clock that only waiting moves."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from unwaver.errors import UsageError
from unwaver.models import openai
from unwaver.models import pace as pace_module
from unwaver.models.pace import MINUTE, Clock, Limits, Pace, pace_of
from unwaver.models.rate_headers import Left, asked_to_wait, left_of, seconds_until
from unwaver.types import Request

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server

NOW = 1_800_000_000.0


class FakeClock(Clock):
    def __init__(self, start=1000.0):
        super().__init__()
        self.time, self.waited = start, 0.0
        self.lock = threading.Lock()

    def now(self):
        return self.time

    def wait(self, seconds, stop):
        with self.lock:
            self.time += seconds
            self.waited += seconds


@pytest.fixture
def clock():
    return FakeClock()


def sent_at(pace, clock, tokens):
    """When each of these requests may go, from the start."""
    start, times = clock.now(), []
    for count in tokens:
        pace.admit(lambda count=count: count, clock, threading.Event())
        times.append(clock.now() - start)
    return times


def in_any_minute(times, weights=None):
    weights = weights or [1] * len(times)
    return max(
        sum(w for t, w in zip(times, weights, strict=True) if start <= t < start + MINUTE) for start in times
    )


# --- the limits


def test_no_limits_no_waiting(clock):
    pace = Pace()
    pace.join(Limits())
    assert sent_at(pace, clock, [10**9] * 1000)[-1] == 0


@pytest.mark.parametrize(("rpm", "count"), [(1, 3), (7, 50), (60, 150), (2.5, 9)])
def test_requests_per_minute(clock, rpm, count):
    pace = Pace()
    pace.join(Limits(rpm=rpm))
    times = sent_at(pace, clock, [1] * count)
    assert in_any_minute(times) == int(rpm)
    assert times[-1] == pytest.approx(MINUTE * ((count - 1) // int(rpm)))


def test_tokens_per_minute(clock):
    pace = Pace()
    pace.join(Limits(tpm=1000))
    tokens = [400, 400, 400, 100, 900, 5000, 10]
    times = sent_at(pace, clock, tokens)
    assert times == pytest.approx([0, 0, 60, 60, 120, 180, 240])  # one above the limit goes alone
    assert in_any_minute(times[:5], tokens[:5]) <= 1000


def test_what_a_reply_has_really_taken_counts(clock):
    pace = Pace()
    pace.join(Limits(tpm=1000))
    for _ in range(11):  # 10 · 10 have gone, and 900 still fit
        sent = pace.admit(lambda: 900, clock, threading.Event())
        pace.settle(sent, 10)
    assert clock.waited == 0
    times = []
    for _ in range(10):
        pace.settle(pace.admit(lambda: 900, clock, threading.Event()), None)  # a reply that does not say it
        times.append(clock.now())
    assert in_any_minute(times) == 1


def test_the_lowest_limits_hold_for_all_and_end_with_those_who_brought_them(clock):
    pace = Pace()
    strict = Limits(rpm=2)
    for limits in (Limits(), Limits(rpm=50), strict):
        pace.join(limits)
    assert in_any_minute(sent_at(pace, clock, [1] * 6)) == 2
    pace.leave(strict)
    assert sent_at(pace, clock, [1] * 40)[-1] == 0


def test_a_run_that_ends_does_not_wait(clock):
    pace, stop = Pace(), threading.Event()
    pace.join(Limits(rpm=1))
    stop.set()
    for _ in range(5):
        pace.admit(lambda: 1, clock, stop)
    assert clock.waited == 0


@pytest.mark.parametrize("options", [{"rpm": 0}, {"tpm": -5}, {"rpm": float("nan")}, {"tpm": float("inf")}])
def test_limits_that_are_none(options):
    with pytest.raises(UsageError, match="expected 1 or more in a minute"):
        openai.open_model("m", base_url="http://localhost:1/v1", **options)


# --- what servers say


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1), ("350ms", 0.35), ("6m0s", 60), ("7.66s", 7.66), ("1m2.5s", 60), ("0s", 0), ("12", 12), ("0.5", 0.5),
        ("1800000007", 7), ("1799999999", 0), ("2027-01-15T08:00:05Z", 5), ("-3", 0), ("", None), ("soon", None),
        ("1x", None), ("nan", None), ("inf", None), (None, None), ("99999999-99", None),
    ],
)  # fmt: skip
def test_times_in_headers(text, seconds):
    assert seconds_until(text, NOW) == (seconds if seconds is None else pytest.approx(seconds))


def test_what_is_left():
    openai_headers = {
        "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20s",
        "x-ratelimit-remaining-tokens": "149", "x-ratelimit-reset-tokens": "6ms",
    }  # fmt: skip
    assert left_of(openai_headers, NOW) == {"requests": Left(0, 20, 60), "tokens": Left(149, 0.006)}
    assert left_of({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "9"}, NOW) == {"requests": Left(3, 9)}
    assert left_of({"ratelimit-remaining": "3", "ratelimit-reset": "9"}, NOW) == {"requests": Left(3, 9)}
    assert left_of({"x-ratelimit-remaining-requests": "0"}, NOW) == {}
    assert left_of({"x-ratelimit-remaining-requests": "x", "x-ratelimit-reset-requests": "1s"}, NOW) == {}
    assert left_of({}, NOW) == {}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, 9),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "9s"}, None),
        ({}, None),
    ],
)
def test_how_long_a_refusal_asks_to_wait(headers, seconds):
    assert asked_to_wait(headers, NOW) == seconds


def test_what_a_server_has_left_is_not_overdrawn(clock):
    pace = Pace()
    pace.join(Limits())
    pace.hear({"requests": Left(2, 30)}, None, clock.now())
    assert sent_at(pace, clock, [1] * 4) == pytest.approx([0, 0, 30, 30])
    pace.hear({"tokens": Left(1000, 10, 1500)}, None, clock.now())
    assert sent_at(pace, clock, [600, 600, 9000]) == pytest.approx([0, 10, 10])
    pace.hear({"tokens": Left(1500, 10, 1500)}, None, clock.now())
    assert sent_at(pace, clock, [9000]) == [0]  # more than there ever is


def test_all_wait_where_one_is_asked_to(clock):
    pace = Pace()
    pace.join(Limits())
    pace.hear({}, 12.0, clock.now())
    pace.hear({}, 3.0, clock.now())
    assert sent_at(pace, clock, [1, 1]) == pytest.approx([12, 12])


# --- with a server


def requests(n, name="Question"):
    return [Request("t", (), f"{name} {i}?", (), (), f"id{i}") for i in range(n)]


def answers(model, asked):
    return [answer for batch in model.answer(asked) for _, answer in batch]


@pytest.fixture
def shared_clock(monkeypatch, clock):
    """Every model that is opened has this clock."""
    monkeypatch.setattr(openai, "Clock", lambda _wait: clock)
    return clock


class Timed(Server):
    """Notes when each request came, by the clock."""

    def __init__(self, clock, script=None):
        self.times, self.clock = [], clock
        self.said = script
        super().__init__(script=self.noted)

    def noted(self, number, body, headers):
        self.times.append(self.clock.now())
        return self.said(number, body, headers) if self.said else None


def test_everything_that_asks_one_server_shares_its_limits(shared_clock):
    with Timed(shared_clock) as server, Timed(shared_clock) as other:
        model = openai.open_model("m", base_url=server.url, rpm=5.0, concurrency=3)
        judge = openai.open_model("judge", base_url=server.url + "/", concurrency=3)
        elsewhere = openai.open_model("m", base_url=other.url, concurrency=3)
        try:
            threads = [
                threading.Thread(target=answers, args=[who, requests(15, name)], daemon=True)
                for who, name in ((model, "a"), (judge, "b"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            waited = shared_clock.waited
            assert len(answers(elsewhere, requests(40))) == 40
            assert shared_clock.waited == waited
        finally:
            for each in (model, judge, elsewhere):
                each.close()
    assert len(server.times) == 30
    # a request may arrive a little after it was let go: at the ends of a minute neighbours meet
    assert shared_clock.now() - 1000 >= 5 * MINUTE
    assert in_any_minute(sorted(server.times)) <= 5 + 6
    assert {body["model"] for body in server.bodies} == {"m", "judge"}


def test_retries_count(shared_clock):
    with Timed(shared_clock, lambda n, *_: None if n == 0 else "500") as server:
        model = openai.open_model("m", base_url=server.url, rpm=2.0, concurrency=1, retries=5, backoff=0.0)
        answers(model, requests(2))
        model.close()
    assert len(server.times) == 7
    assert in_any_minute(server.times) == 2


def test_a_run_of_tokens_is_limited_by_what_replies_say(shared_clock):
    with Timed(shared_clock) as server:
        model = openai.open_model("m", base_url=server.url, tpm=1000.0, concurrency=1, max_tokens=600)
        answers(model, requests(20))
        model.close()
    assert len(server.times) == 20
    assert shared_clock.waited == 0  # each took 3 tokens in the end


def test_headers_of_a_reply_are_obeyed(shared_clock):
    def script(number, _body, _headers):
        if number != 3:
            return None
        headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "40s"}
        return Raw(200, {"choices": [{"message": {"content": "Yes"}}]}, headers)

    with Timed(shared_clock, script) as server:
        model = openai.open_model("m", base_url=server.url, concurrency=1)
        given = answers(model, requests(8))
        model.close()
    assert [a.error for a in given] == [None] * 8
    assert [t - 1000 for t in server.times] == pytest.approx([0] * 4 + [40] * 4)


def test_a_refusal_makes_the_others_wait_too(shared_clock):
    """Another model on the same server does not run into the same wall."""
    with Timed(shared_clock, lambda n, *_: Raw(429, {}, {"Retry-After": "20"}) if n == 1 else None) as server:
        model = openai.open_model("m", base_url=server.url, concurrency=1, backoff=0.0, retries=0)
        judge = openai.open_model("judge", base_url=server.url, concurrency=1)
        answers(model, requests(2))
        answers(judge, requests(1))
        for each in (model, judge):
            each.close()
    assert [t - 1000 for t in server.times] == pytest.approx([0, 0, 20])


def test_a_pace_is_forgotten_with_its_last_member():
    pace = pace_of("http://somewhere")
    limits = Limits()
    pace.join(limits)
    pace.hear({"requests": Left(0, 60)}, 60.0, 0.0)
    pace.leave(limits)
    assert not pace._is_limited()
    assert pace_of("http://somewhere") is pace
    pace_module._paces.pop("http://somewhere")


def test_a_server_is_one_however_its_address_is_written():
    from unwaver.models.openai_address import address_of

    forms = ["http://Host:1/v1", "http://host:1/v1/", "http://host:1/v1/chat/completions", "http://host:1/v1?a=b"]
    assert len({address_of(form, "m", None).server for form in forms}) == 1
    assert address_of("http://host:2/v1", "m", None).server not in {address_of(f, "m", None).server for f in forms}


# --- what a person hears


def told_while(pace, clock, tokens=1):
    heard = []
    pace.admit(lambda: tokens, clock, threading.Event(), heard.append)
    return heard


def test_a_wait_is_told_with_its_reason_and_its_end(clock):
    pace = Pace()
    pace.join(Limits(rpm=1, tpm=500))
    assert told_while(pace, clock, 400) == []
    heard = told_while(pace, clock, 400)
    assert heard[0] == "waiting 60 s: rpm=1 is reached"
    assert heard[-2:] == ["waiting 1 s: rpm=1 is reached", ""]


@pytest.mark.parametrize(("left", "after", "why"), [
    ({}, 12.0, "waiting 12 s: it asks for a pause"),
    ({"requests": Left(0, 7.5)}, None, "waiting 8 s: its limit of requests is used up"),
    ({"tokens": Left(5, 30.0)}, None, "waiting 30 s: its limit of tokens is used up"),
])  # fmt: skip
def test_what_a_server_says_is_told(clock, left, after, why):
    pace = Pace()
    pace.hear(left, after, clock.now())
    assert told_while(pace, clock, 100)[0] == why


def test_short_waits_are_not_told(clock):
    pace = Pace()
    pace.hear({}, 1.5, clock.now())
    assert told_while(pace, clock) == []
    assert clock.waited == 1.5


def test_tokens_in_a_minute_are_told(clock):
    pace = Pace()
    pace.join(Limits(tpm=500))
    told_while(pace, clock, 400)
    assert told_while(pace, clock, 400)[0] == "waiting 60 s: tpm=500 is reached"


@pytest.mark.parametrize(("status", "headers", "why"), [
    (429, {"Retry-After": "9"}, "it asks for a pause"),
    (503, {"Retry-After": "9"}, "it asks for a pause"),
    (429, {}, "it is too busy (429)"),
    (500, {}, None),
])  # fmt: skip
def test_one_who_asks_alone_hears_of_a_pause(status, headers, why):
    """Nobody else may be there to wait for a turn."""
    refused = Raw(status, {"error": {"message": "slow down"}}, headers)
    heard, waited = [], []
    with Server(script=lambda number, *_: refused if number == 0 else None) as server:
        model = openai.open_model("m", base_url=server.url, backoff=5.0, wait=waited.append)
        model._server._random.uniform = lambda low, high: high
        model.tell = heard.append
        answers = [a for batch in model.answer([Request("t", (), "Who?", (), ())]) for _, a in batch]
        model.close()
    assert [a.error for a in answers] == [None]
    assert sum(waited) >= 5
    if why is None:
        assert heard == []
    else:
        assert heard[0].startswith(f"{server.url}: waiting ")
        assert heard[0].endswith(f" s: {why}")
        assert heard[-1] == ""
