"""Requests and results of batches, one JSON object per line, as OpenAI and Anthropic have them.

    {"custom_id": ID, "method": "POST", "url": "/v1/chat/completions", "body": {…}}          OpenAI
    {"custom_id": ID, "params": {"model": …, "max_tokens": …, "messages": […]}}              Anthropic

The id holds the key of the answer and a hash of the question, 32 hexadecimal digits each: results find their place
in any order, and those of another run are known as such.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unwaver.errors import DataError, UsageError, about_json
from unwaver.models.openai_replies import printable
from unwaver.types import Request

ENDPOINT = "/v1/chat/completions"
ANTHROPIC = ".anthropic.jsonl"  # the end of a file's name that asks for Anthropic's format
HALF = 32
_ENDS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
EXPIRED, CANCELLED = "the batch expired before this request was answered", "the batch was cancelled"


@dataclass(frozen=True)
class Result:
    """What a batch has of one request: a reply in OpenAI's form, or why there is none."""

    reply: Mapping[str, Any] | None
    error: str = ""


def id_of(key: str, request: Request) -> str:
    return key[:HALF] + question_of(request)


def question_of(request: Request) -> str:
    """A hash of what is asked, whoever answers."""
    messages = [[m.role, m.text, m.tool_calls, m.call] for m in request.messages]
    asked = [request.task, request.prompt, messages, request.choices, request.words, request.replicate]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:HALF]


def line_of(id: str, body: Mapping[str, Any], *, anthropic: bool = False) -> str:
    if anthropic:
        return json.dumps({"custom_id": id, "params": _params(body)})
    return json.dumps({"custom_id": id, "method": "POST", "url": ENDPOINT, "body": body})


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a chat as Anthropic wants it: the system text is not a message, and there is always a limit."""
    if refused := [name for name in ("response_format", "logprobs") if name in body]:
        raise UsageError(
            f"Anthropic's batches have no {refused[0]}", hint="write a file for OpenAI, or leave it out"
        )
    known = {name: body[name] for name in ("model", "temperature", "top_p", "thinking") if name in body}
    known["max_tokens"] = body.get("max_tokens") or body.get("max_completion_tokens") or 2048
    system = "\n\n".join(str(m["content"]) for m in body["messages"] if m["role"] == "system")
    more: dict[str, Any] = {"system": system} if system else {}
    more |= {"stop_sequences": body["stop"]} if "stop" in body else {}
    more |= {"tools": [_tool(tool["function"]) for tool in body["tools"]]} if "tools" in body else {}
    return {**known, **more, "messages": [_turn(m) for m in body["messages"] if m["role"] != "system"]}


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function["name"], "description": function.get("description") or "", "input_schema": schema}


def _turn(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with calls of tools, or the result of one, has parts."""
    text = message.get("content") or ""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": text}
        return {"role": "user", "content": [result]}
    calls = [
        {
            "type": "tool_use",
            "id": call.get("id"),
            "name": call["function"]["name"],
            "input": json.loads(call["function"].get("arguments") or "{}"),
        }
        for call in message.get("tool_calls") or ()
    ]
    if not calls:
        return {"role": message["role"], "content": text}
    return {"role": "assistant", "content": [*([{"type": "text", "text": text}] if text else []), *calls]}


def is_result(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("custom_id"), str) and ("response" in record or "result" in record)


def read_results(path: Path) -> dict[str, Result]:
    """The results in a file, by their ids; an answer goes before a failure of the same request."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError("no such file", file=path, hint="give the file of results that you downloaded") from None
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"the file cannot be read: {e}", file=path) from None
    return results_of(_records(text, path), path)


def results_of(records: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> dict[str, Result]:
    found: dict[str, Result] = {}
    for line, record in records:
        if not is_result(record):
            meant = (
                "these are the requests: give the file of results"
                if "body" in record or "params" in record
                else ""
            )
            hint = meant or 'a result is {"custom_id": …, "response": …} or {"custom_id": …, "result": …}'
            raise DataError("this line is not a result of a batch", file=path, line=line, hint=hint)
        id = record["custom_id"]
        if id not in found or found[id].reply is None:
            found[id] = result_of(record)
    if not found:
        raise DataError("the file has no results in it", file=path)
    return found


def _records(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in enumerate(text.split("\n"), 1):  # not splitlines: U+2028 is legal inside a JSON string
        if not content.strip():
            continue
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as e:
            what = about_json(e) if isinstance(e, json.JSONDecodeError) else e
            raise DataError(f"not JSON: {what}", hint="one JSON object per line", file=path, line=line) from None
        yield line, record if isinstance(record, dict) else {}


def result_of(record: Mapping[str, Any]) -> Result:
    if "result" in record:
        return _of_anthropic(record["result"])
    response, error = record.get("response"), record.get("error")
    if isinstance(error, dict) and error:
        code = error.get("code")
        return Result(None, EXPIRED if code == "batch_expired" else f"the batch failed: {_said(error)}")
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if status != 200 or not isinstance(body, dict):
        told = body.get("error") if isinstance(body, dict) else None
        return Result(None, f"the batch answered {printable(str(status))}: {_said(told or body)}")
    return Result(body)


def _of_anthropic(result: object) -> Result:
    kind = result.get("type") if isinstance(result, dict) else None
    if not isinstance(result, dict) or kind not in ("succeeded", "errored", "canceled", "expired"):
        return Result(None, f"the batch has a result of an unknown kind: {_said(result)}")
    if kind == "expired":
        return Result(None, EXPIRED)
    if kind == "canceled":
        return Result(None, CANCELLED)
    if kind == "errored":
        error = result.get("error")
        inner = error.get("error") if isinstance(error, dict) and isinstance(error.get("error"), dict) else error
        return Result(None, f"the batch failed: {_said(inner)}")
    message = result.get("message")
    return Result(_as_chat(message)) if isinstance(message, dict) else Result(None, "the batch has no message")


def _as_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of Anthropic's as a reply of OpenAI's."""
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    texts = [p["text"] for p in parts if p.get("type") == "text" and isinstance(p.get("text"), str)]
    thoughts = [p["thinking"] for p in parts if p.get("type") == "thinking" and isinstance(p.get("thinking"), str)]
    calls = [
        {
            "id": p.get("id"),
            "type": "function",
            "function": {"name": p.get("name"), "arguments": json.dumps(p["input"])},
        }
        for p in parts
        if p.get("type") == "tool_use" and "input" in p
    ]
    reason = str(message.get("stop_reason"))
    said: dict[str, Any] = {
        "content": "".join(texts),
        "reasoning_content": "\n".join(thoughts),
        "tool_calls": calls,
    }
    choice = {"message": said, "finish_reason": _ENDS.get(reason, reason)}
    return {"choices": [choice], "model": message.get("model"), "usage": _usage(message.get("usage"))}


def _usage(usage: object) -> dict[str, Any] | None:
    if not isinstance(usage, dict):
        return None
    cached = usage.get("cache_read_input_tokens") or 0
    made = usage.get("cache_creation_input_tokens") or 0
    try:
        prompt = int(usage["input_tokens"]) + int(cached) + int(made)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": int(usage["output_tokens"]),
            "prompt_tokens_details": {"cached_tokens": int(cached)},
        }
    except (KeyError, TypeError, ValueError):
        return None


def _said(error: object) -> str:
    """What an error says, in one line."""
    if isinstance(error, dict):
        for name in ("message", "code", "type"):
            if isinstance(error.get(name), str) and error[name]:
                return printable(error[name])
    return printable(str(error)) if error else "no reason given"
