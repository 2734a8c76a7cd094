"""Calls of tools as the text of an answer, one call a line:

    get_weather({"city": "Rome"})

written_calls makes it of what a service sends, calls_in reads it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from unwaver.answers.extract import DECODER
from unwaver.types import Answer, Beside

_LINE = re.compile(r"(?P<name>[\w.:/-]+)\((?P<arguments>\{.*\})\)")
RAW = "(arguments)"  # arguments that are not a JSON object, as one text


class Call(NamedTuple):
    name: str
    arguments: Mapping[str, Any]


def written_calls(calls: str) -> str | None:
    """The calls of an answer (JSON, in the form of OpenAI, of its older function_call, or of Anthropic) as text;
    None if they are none of these."""
    try:
        found = json.loads(calls)
    except (ValueError, RecursionError):
        return None
    lines = [_line(call) for call in (found if isinstance(found, list) else [found])]
    return "\n".join(line for line in lines if line) if lines and all(lines) else None


_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


def calls_said(answer: Answer) -> str | None:
    """The calls of an answer as text: those that a service sends apart, or those that a model writes into its text
    as its chat template has them, <tool_call>{"name": …}</tool_call>. None if it calls nothing."""
    if answer.beside and answer.beside.tool_calls:
        return written_calls(answer.beside.tool_calls)
    text = answer.text or ""
    if "<tool_call>" in text:
        found = [written_calls(part) for part in _TAGGED.findall(text)]
        return "\n".join(line for line in found if line) if found and all(found) else None
    return text.strip() if calls_in(text) else None


def with_calls(calls: object, text: object = None) -> Answer:
    """An answer that calls tools; ValueError if these are not calls."""
    written = json.dumps(json.loads(calls) if isinstance(calls, str) else calls)
    if written_calls(written) is None:
        raise ValueError('tool_calls must be a list like [{"function": {"name": "…", "arguments": {…}}}]')
    said = text if isinstance(text, str) else ""
    return Answer(text=said, finish="tool_calls", beside=Beside(tool_calls=written))


def _line(call: object) -> str | None:
    if not isinstance(call, Mapping):
        return None
    function = call.get("function", call)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not re.fullmatch(r"[\w.:/-]+", name):
        return None
    given = function.get("arguments", function.get("input", {}))
    return f"{name}({json.dumps(arguments_of(given), ensure_ascii=False)})".encode(errors="replace").decode()


def arguments_of(given: object) -> Mapping[str, Any]:
    """The arguments as an object, whether they came as one or as its text."""
    if isinstance(given, str):
        try:
            given = DECODER.decode(given.strip() or "{}")
        except (ValueError, RecursionError):
            return {RAW: given}
    return given if isinstance(given, Mapping) else {RAW: given}


def calls_in(text: str) -> list[Call]:
    """The calls of an answer; none if it is any other text."""
    found = []
    for line in text.strip().splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            return []
        try:
            arguments = DECODER.decode(match["arguments"])
        except (ValueError, RecursionError):
            return []
        found.append(Call(match["name"], arguments))
    return found
