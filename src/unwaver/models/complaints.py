"""What a refusal is about: which parameter a server does not take, or how many tokens it has room for.

A parameter counts only if it was sent. Words of the question that a server quotes name no parameter, and a value
that the server finds out of range is not one that it does not take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from unwaver.models.openai_replies import error_message

LIMIT, SYSTEM, SCORES, ECHO = "max_tokens", "system", "logprobs", "echo"
LIMIT_NAMES = (LIMIT, "max_completion_tokens")


class Complaint(NamedTuple):
    """The parameter that a refusal is about ("" if it does not say), and its words."""

    param: str
    message: str


_REFUSED = re.compile(
    r"support|unknown|unrecogni|unexpected|extra|invalid|deprecated|removed?\b|does ?n.t|cannot|may only|must|"
    r"not (?:permitted|allowed|available|implemented|accepted|valid|enabled|a valid|be (?:set|specified|used))|"
    r"only|disabled|reject|refus|instead|no longer",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"between|out of range|in the range|too (?:large|high|low|small|big|many)|exceed|at (?:least|most)|positive|"
    r"(?:greater|less|larger|smaller|more|fewer|lower|higher) than|non-?negative|[<>≤≥]=?\s*\d|maximum|minimum",
    re.IGNORECASE,
)
_ROOM = re.compile(
    r"too (?:large|high|big|many)|exceed|at most|maximum|context (?:length|window)|less than|in the completion|"
    r"more than|up to|[<≤]=?\s*`?\d|\d\s*[>≥]",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"max_(?:completion_|new_)?tokens|in the completion|(?:output|completion) tokens", re.IGNORECASE
)
_CONTEXT = re.compile(r"(?:context (?:length|window|size)|inputs?`? tokens \+).{0,40}?(\d[\d,]*)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?![\w.]*\w)")
_NO_SYSTEM = re.compile(
    r"\bsystem['\"`]? ?(?:role|message|prompt|instruction)|role[^.]{0,20}\bsystem\b|"
    r"\bdeveloper instruction|only user[, ]|roles must alternate",
    re.IGNORECASE,
)
_STOP = re.compile(  # a word that a message may use otherwise
    r"['\"`\[]stop['\"`\]]|(?:parameters?|arguments?|fields?|property|keys?|inputs?|supplied):? stop\b|^stop\b|"
    r"\bstop (?:sequences?|parameter|strings?|words?)\b|\bstop (?:is|are) (?:not|un)",
    re.IGNORECASE,
)
_ANOTHER_NAME = re.compile(r"unsupported|(?:not|n't) support(?!s? (?:more|\d))|instead", re.IGNORECASE)
_ROLE = re.compile(r"messages?\W.*role")
_PIECE = re.compile(r"[.\[\]/]+")
ALIKE = 12  # characters beside a word that make it a quotation


def complaints(said: bytes) -> list[Complaint]:
    """{"error": {"param": "top_p", "message": "no"}} -> [("top_p", "no")]
    {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]} -> [("seed", "Extra …")]
    """
    text = said.decode("utf-8", "replace")
    try:
        reply = json.loads(said)
    except (ValueError, RecursionError):
        return [Complaint("", text)]
    if isinstance(reply, list) and reply:
        reply = reply[0]
    if not isinstance(reply, dict):
        return [Complaint("", text)]
    error = reply.get("error")
    inner = error if isinstance(error, dict) else reply
    for place in (inner, reply):
        listed = place.get("detail") or place.get("errors") or place.get("details")
        if isinstance(listed, list) and listed and all(isinstance(entry, dict) for entry in listed):
            return [_entry(entry, text) for entry in listed]
    param = inner.get("param")
    named = param if isinstance(param, str) and param not in ("None", "null") else ""
    return [Complaint(named, f"{error_message(reply) or text} {_behind(inner)}".strip())]


def _entry(entry: Mapping[str, Any], text: str) -> Complaint:
    """One entry of a list of errors, as pydantic and others write it."""
    place = next((entry[name] for name in ("loc", "path", "field", "param", "property") if entry.get(name)), "")
    pieces = [place] if isinstance(place, str) else place if isinstance(place, list) else []
    named = ".".join(str(piece) for piece in pieces if piece not in ("body", "query"))
    return Complaint(named, str(entry.get("msg") or entry.get("message") or text))


def _behind(error: Mapping[str, Any]) -> str:
    """What the service behind a gateway said: {"metadata": {"raw": "…"}} -> "…"."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return raw if isinstance(raw, str) else ""


def refused(said: Sequence[Complaint], sent: Mapping[str, Any], names: Iterable[str]) -> str:
    """The parameter, of these names, that the server does not take in a request with this body; "" for none."""
    for param, message in said:
        if has_system(sent) and (_ROLE.search(param) or (param in ("", "messages") and _no_system(message, sent))):
            return SYSTEM
        for name in names:
            if name in sent and _is_about(name, param, message, sent):
                return "" if _is_wrong_value(name, message, sent[name]) else name
    return ""


def room(said: Sequence[Complaint], sent: Mapping[str, Any]) -> tuple[str, int] | None:
    """The limit of a request and how many tokens there is room for, if it is what the server misses.

    "max_tokens is too large: 2048. This model supports at most 1024 completion tokens" -> ("max_tokens", 1024)
    """
    name = next((name for name in LIMIT_NAMES if isinstance(sent.get(name), int)), "")
    if not name or "messages" not in sent:
        return None
    for param, message in said:
        about = _PIECE.split(param)[-1] in LIMIT_NAMES if param else _LIMIT.search(message)
        if about and _ROOM.search(message) and not _wants_another_name(message):
            return name, _room(message, sent[name])
    return None


def _room(message: str, limit: int) -> int:
    """Below the limit; a quarter of it where the message does not tell."""
    numbers = [int(found.replace(",", "")) for found in _NUMBER.findall(message)]
    context = _CONTEXT.search(message)
    if context is not None:  # for question and answer together; the least number is that of the question's tokens
        whole = int(context[1].replace(",", ""))
        found = whole - min(numbers, default=0) if min(numbers, default=whole) < whole else 0
    else:
        found = max((n for n in numbers if n < limit), default=0)
    return found if 0 < found < limit else limit // 4


def _is_about(name: str, param: str, message: str, sent: Mapping[str, Any]) -> bool:
    if param:
        pieces = _PIECE.split(param)
        return name in (pieces[0], pieces[-1])
    named = _STOP if name == "stop" else re.compile(rf"(?<![\w.]){name}(?!\w)", re.IGNORECASE)
    return bool(_REFUSED.search(message)) and any(
        not _is_quoted(message, found, sent) for found in named.finditer(message)
    )


def _no_system(message: str, sent: Mapping[str, Any]) -> bool:
    return any(not _is_quoted(message, found, sent) for found in _NO_SYSTEM.finditer(message))


def _is_quoted(message: str, found: re.Match[str], sent: Mapping[str, Any]) -> bool:
    """Whether a word of a message is one of the question: "What is the temperature in Paris?" is not supported."""
    message, name = message.lower(), found[0].lower()
    for asked in _asked(sent):
        enough = max(4, min(ALIKE, len(asked) - len(name)))
        for place in re.finditer(re.escape(name), asked):
            before = _alike(reversed(message[: found.start()]), reversed(asked[: place.start()]))
            if before + _alike(message[found.end() :], asked[place.end() :]) >= enough:
                return True
    return False


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """How many characters are the same from the first on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _asked(sent: Mapping[str, Any]) -> list[str]:
    messages = sent.get("messages")
    texts = [m.get("content", "") for m in messages] if isinstance(messages, list) else [sent.get("prompt", "")]
    return [str(text).lower() for text in texts]


def _is_wrong_value(name: str, message: str, value: object) -> bool:
    """The server takes the parameter, but not this value, which somebody has chosen: temperature 0 is what we send
    unasked."""
    if name == LIMIT:
        return bool(_ROOM.search(message) or _RANGE.search(message)) and not _wants_another_name(message)
    return value != 0 and bool(_RANGE.search(message)) and "support" not in message.lower()


def _wants_another_name(message: str) -> bool:
    return _ANOTHER_NAME.search(message) is not None


def has_system(sent: Mapping[str, Any]) -> bool:
    messages = sent.get("messages")
    return isinstance(messages, list) and any(message.get("role") == SYSTEM for message in messages)
