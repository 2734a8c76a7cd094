"""What servers answer, taken apart with suspicion: any field may be missing, of another type, or hostile."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from unwaver.answers.thoughts import without_thought
from unwaver.secrets import masked_echo
from unwaver.state import is_cut, is_refused
from unwaver.types import Answer, Beside

REFUSAL = "refusal"  # a part of a message that is one
LONGEST_WAIT = 60.0  # seconds; the most that Retry-After is obeyed
LEAST = -1e9  # for a log-probability of minus infinity
ROUNDING = 0.01  # a log-probability may be above 0 by as much

Scored = tuple[float, int, tuple[int, int] | None]  # log-probability, tokens, usage


class Fault(Exception):
    """A call that failed. `passing`: it may succeed later. `setup`: every call will fail until a person acts.

    Both at once: it looks like a wrong address, but some gateways do this now and then. `refused`: the status says
    that the server does not want, or is not able, to answer. `after` are the seconds it asked us to wait.
    `free`: the server did not work on it, so nobody bills it. `said` is what a refused request was told.
    `busy`: it has too many requests (429). `status` is that of the reply, 0 where there was none or it was good.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        passing: bool = False,
        setup: bool = False,
        refused: bool = False,
        after: float | None = None,
        free: bool = False,
        said: bytes = b"",
        busy: bool = False,
        status: int = 0,
    ):
        super().__init__(message)
        self.hint, self.passing, self.setup, self.refused, self.after = hint, passing, setup, refused, after
        self.free, self.said, self.busy, self.status = free, said, busy, status


class NoScores(Fault):
    """The server gives no log-probabilities in the way in which it was asked for them."""


class Filtered(Fault):
    """No failed call: a filter of the service keeps the question or the answer back, now and later."""


def printable(text: str) -> str:
    """One line of at most 200 characters without control characters and secrets."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    short = masked_echo(" ".join(clean.split())[:2000])  # before the cut, or a part would stay
    return short if len(short) <= 200 else short[:200] + "…"


def error_message(reply: object) -> str | None:
    """{"error": {"message": "no such model"}}, {"detail": "no such model"} -> "no such model"."""
    found: object = reply
    for key in ("error", "message"):
        if isinstance(found, dict):
            found = found.get(key) or found.get("detail") or found
    return found if isinstance(found, str) else None


def is_filtered(body: bytes) -> bool:
    """{"error": {"code": "content_filter"}} -> True: the call is right, the service refuses to answer."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return False
    error = reply.get("error") if isinstance(reply, dict) else None
    codes = [error.get(name) for name in ("code", "type")] if isinstance(error, dict) else []
    return any(isinstance(code, str) and is_refused(code) for code in codes)


def retry_after(value: str | None, now: float) -> float | None:
    """ "7" -> 7.0; a date -> the seconds until then; at most LONGEST_WAIT; None if it says nothing."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError, TypeError, IndexError, OSError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_WAIT)


def chat_answer(reply: Mapping[str, Any]) -> Answer:
    """What came back, as it came; unwaver.state says later what became of the question."""
    choice = first_choice(reply)
    reason = choice.get("finish_reason")
    finish = reason if isinstance(reason, str) else ""
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    said = _reasoning(message)
    text, refusal, calls = _content(message), _refusal(message), _tool_calls(message)
    if text is None and (said or refusal or calls or is_cut(finish) or is_refused(finish)):
        text = refusal  # asking again would give the same: all tokens spent on thinking, an answer kept back …
    if text is None:
        raise Fault("the server answered without content", passing=True)
    thought, text = _parted(text)
    usage = reply.get("usage")
    beside = Beside(
        reasoning="\n".join(part for part in (said, thought) if part),
        refusal=refusal,
        tool_calls=calls,
        cached_tokens=_detail(usage, ("prompt_tokens_details", "cached_tokens"), "prompt_cache_hit_tokens"),
        reasoning_tokens=_detail(usage, ("completion_tokens_details", "reasoning_tokens"), "reasoning_tokens"),
        served=_word(reply.get("model")),
        fingerprint=_word(reply.get("system_fingerprint")),
    )
    return Answer(text=text, usage=_usage(reply), finish=finish, beside=None if beside == Beside() else beside)


def _reasoning(message: Mapping[str, Any]) -> str:
    """The reasoning that a service gives apart from the answer, under one of its names, or as parts."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if text := _text_of(message.get(name)):
            return text
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    return "".join(_text_of(_inside(p)) or "" for p in parts if p.get("type") in _THOUGHTS)


def _parted(text: str) -> tuple[str, str]:
    """The thoughts in a text, and the answer: "<think>Hm.</think> Yes" -> ("<think>Hm.</think>", "Yes")."""
    after = without_thought(text)
    if after is None:
        return text, ""
    return ("", text) if after == text else (text[: len(text) - len(after)], after.lstrip())


def scored(reply: Mapping[str, Any], start: int, whole: str, generated: int) -> Scored:
    """Log-probability and number of the tokens of `whole` from its character `start` on.

    `generated` is how many tokens the server added of its own, because it would not add none.
    """
    given = first_choice(reply).get("logprobs")
    values, tokens, offsets = _token_lists(given if isinstance(given, dict) else {})
    shift = _special_start(tokens, offsets, whole)
    begins = [offset - shift for offset in offsets]
    ends = [*begins[1:], len(whole)]
    counted = [
        value
        for value, begin, end in zip(values, begins, ends, strict=True)
        if (begin >= start or end > start)  # a token may straddle the border
        and not (generated and begin >= len(whole))
    ]
    if not counted:
        raise Fault("the server gave no log-probability for a choice", hint="use method=generate")
    return max(math.fsum(map(log_probability, counted)), LEAST), len(counted), _usage(reply)


def log_probability(value: object) -> float:
    """-0.25 -> -0.25; 1e-7 -> 0.0; minus infinity -> LEAST; anything that is not a log-probability is a fault."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Fault("the server gave no log-probability for a choice", hint="use method=generate")
    if value > ROUNDING:
        said = f"{float(value):g}" if value < 1e300 else "a number above 1e300"
        raise Fault(f"the server gave the log-probability {said}, which is above 0", hint="use method=generate")
    return float(min(max(value, LEAST), 0))


def first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Fault("the server answered without choices", passing=True)
    return choices[0]


_THOUGHTS = ("thinking", "reasoning", "thought", "redacted_thinking")  # parts of a message that are not an answer


def _content(message: Mapping[str, Any]) -> str | None:
    """A text, a number, or a list of parts [{"type": "text", "text": "Yes"}], as text."""
    content = message.get("content")
    if isinstance(content, list):
        content = [p for p in content if not isinstance(p, dict) or p.get("type") not in (*_THOUGHTS, REFUSAL)]
    return _text_of(content)


def _text_of(content: object) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, int | float):
        return str(content)
    if isinstance(content, list):
        parts = [p.get("text") if isinstance(p, dict) else p for p in content]
        texts = [p for p in parts if isinstance(p, str)]
        return "".join(texts) if texts else None
    return None


def _inside(part: Mapping[str, Any]) -> object:
    """{"type": "thinking", "thinking": "Hm."}, {"type": "reasoning", "text": "Hm."} -> "Hm."."""
    return part.get(str(part.get("type"))) or part.get("text")


def _refusal(message: Mapping[str, Any]) -> str:
    """{"refusal": "I can't help with that"}, {"content": [{"type": "refusal", …}]} -> "I can't …"."""
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    said = [message.get("refusal"), *(p.get("refusal") for p in parts if p.get("type") == REFUSAL)]
    return next((text for text in said if isinstance(text, str) and text.strip()), "")


def _tool_calls(message: Mapping[str, Any]) -> str:
    """The calls as JSON; "" if there are none."""
    calls = message.get("tool_calls") or message.get("function_call")
    return json.dumps(calls) if isinstance(calls, list | dict) and calls else ""


def _word(value: object) -> str:
    return printable(value) if isinstance(value, str) else ""


def _detail(usage: object, place: tuple[str, str], other: str) -> int | None:
    """A count inside the usage: {"prompt_tokens_details": {"cached_tokens": 5}} -> 5."""
    if not isinstance(usage, dict):
        return None
    details = usage.get(place[0])
    found = details.get(place[1]) if isinstance(details, dict) else usage.get(other)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**53 else None


def _usage(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return None
    try:
        counts = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
        total = int(usage.get("total_tokens") or 0)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    thought = _detail(usage, ("completion_tokens_details", "reasoning_tokens"), "reasoning_tokens")
    if thought and total == sum(counts) + thought:  # some services bill them beside the tokens of the answer
        counts = counts[0], counts[1] + thought
    return counts if min(counts) >= 0 and max(counts) < 2**53 else None


def _token_lists(given: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[int]]:
    values, tokens, offsets = given.get("token_logprobs"), given.get("tokens"), given.get("text_offset")
    if not isinstance(values, list) or not values:
        raise Fault(
            "the server answered without log-probabilities",
            hint="use method=generate",
            passing=True,
            setup=True,
        )
    if (
        not isinstance(tokens, list)
        or not isinstance(offsets, list)
        or not len(values) == len(tokens) == len(offsets)
        or not all(isinstance(o, int) for o in offsets)
    ):
        raise Fault(
            "the server answered log-probabilities without a text_offset for each token",
            hint="use method=generate",
            setup=True,
        )
    return values, tokens, offsets


def _special_start(tokens: list[Any], offsets: list[int], whole: str) -> int:
    """Some servers count the characters of a begin-of-text token: ["<s>", "Yes"], [0, 3] -> 3."""
    first = tokens[0]
    if not isinstance(first, str) or len(tokens) < 2 or whole.startswith(first):
        return 0
    return len(first) if re.fullmatch(r"[<\[].+[>\]]", first) and offsets[1] == len(first) else 0
