"""Room for an answer, and for the thoughts before it: what `max_tokens`, `reasoning_effort` and `thinking_budget`
make of a request.

    max_tokens         the most tokens of an answer; 2,048 if not given
    reasoning_effort   sent as it is; without max_tokens, thoughts get room of their own
    thinking_budget    tokens for thoughts, beside max_tokens; sent in the form that the service has
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unwaver.errors import UsageError

ENOUGH = 2048  # tokens of an answer
_EFFORTS = {"none": 0, "minimal": 1024, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 32768}


def limit(max_tokens: int | None, effort: str | None, *, given: bool) -> int | None:
    """The most tokens of an answer: as given, else enough for a real answer after the thoughts of this effort.

    limit(16, "high", given=True) -> 16; limit(None, None, given=True) -> None: the server's own
    limit(-1, None, given=False) -> 2048; limit(-1, "low", given=False) -> 6144
    """
    if given:
        return max_tokens
    return ENOUGH + effort_room({"reasoning_effort": effort})


def effort_room(settings: Mapping[str, object]) -> int:
    """Tokens for the thoughts of an effort: {"reasoning_effort": "low"} -> 4096."""
    effort = settings.get("reasoning_effort")
    return 0 if effort is None else _EFFORTS.get(str(effort), _EFFORTS["high"])


def options(effort: str | None, budget: int | None) -> dict[str, object]:
    """The settings that go into the key; none where nothing was said, so that keys stay what they were."""
    if budget is not None and budget < 0:
        raise UsageError(f"thinking_budget is {budget}", hint="give a number of tokens, 0 for no thoughts")
    if effort is not None and not effort.strip():
        raise UsageError("reasoning_effort is empty", hint="reasoning_effort=low, medium or high")
    given = {"reasoning_effort": effort, "thinking_budget": budget}
    return {name: value for name, value in given.items() if value is not None}


def with_budget(fields: Mapping[str, Any], address: str) -> dict[str, Any]:
    """The fields of a request with `thinking_budget` in the form of the service, and room for it in the limit.

    {"max_tokens": 2048, "thinking_budget": 500} -> {"max_tokens": 2548, "thinking": {"type": "enabled", …}}
    """
    found = dict(fields)
    budget = found.pop("thinking_budget", None)
    if budget is None:
        return found
    for name in ("max_tokens", "max_completion_tokens"):
        if isinstance(found.get(name), int):
            found[name] += budget
    return {**_form(address, budget), **found}  # what somebody gave as `extra` goes before


def _form(address: str, budget: int) -> dict[str, Any]:
    """By the names that services have; most gateways take Anthropic's."""
    if "openrouter.ai" in address:
        return {"reasoning": {"max_tokens": budget} if budget else {"enabled": False}}
    if "googleapis.com" in address:
        return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}
    if "dashscope" in address or "aliyuncs.com" in address:
        return {"enable_thinking": budget > 0, **({"thinking_budget": budget} if budget else {})}
    return {"thinking": {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}}
