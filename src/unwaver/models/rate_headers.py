"""What a reply says of the limits of its server, in the headers that services have for it.

Retry-After: 7                    seconds, or a date
retry-after-ms: 250
x-ratelimit-remaining-requests: 0      with x-ratelimit-reset-requests: 6m0s
x-ratelimit-remaining-tokens: 120      with x-ratelimit-reset-tokens: 350ms
ratelimit-remaining: 0                 with ratelimit-reset: 12
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from unwaver.models.openai_replies import LONGEST_WAIT, retry_after

KINDS = ("requests", "tokens")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_EPOCH = 1e9  # a number of seconds above it is a date


@dataclass(frozen=True)
class Left:
    """What is left of a limit, and the seconds until it is whole again."""

    remaining: float
    reset: float
    limit: float | None = None


def asked_to_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a refusal asks for: by Retry-After, else until the limit that is used up is whole again."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return _bounded(exact / 1000)
    said = retry_after(headers.get("retry-after"), now)
    if said is not None:
        return said
    return max((x.reset for x in left_of(headers, now).values() if x.remaining <= 0), default=None)


def left_of(headers: Mapping[str, str], now: float) -> dict[str, Left]:
    """{"requests": Left(0, 12.0)} where a reply says what is left, and until when."""
    found = {}
    for kind in KINDS:
        for form in _forms(kind):
            left = _number(headers.get(form.format("remaining")))
            reset = seconds_until(headers.get(form.format("reset")), now)
            if left is not None and reset is not None:
                limit = _number(headers.get(form.format("limit")))
                found[kind] = Left(left, reset, limit if limit else None)
                break
    return found


def _forms(kind: str) -> list[str]:
    forms = [f"x-ratelimit-{{}}-{kind}", f"anthropic-ratelimit-{kind}-{{}}"]
    return [*forms, "x-ratelimit-{}", "ratelimit-{}"] if kind == "requests" else forms


def seconds_until(value: str | None, now: float) -> float | None:
    """ "6m0s" -> 60.0, the most; "350ms" -> 0.35; "12" -> 12.0; a date or seconds since 1970 -> until then."""
    if value is None:
        return None
    text = value.strip()
    if _DURATION.fullmatch(text):
        return _bounded(sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text)))
    number = _number(text)
    if number is not None:
        return _bounded(number - now if number > _EPOCH else number)
    try:
        return _bounded(datetime.fromisoformat(text).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _bounded(seconds: float) -> float | None:
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_WAIT)
