"""Requests and results of batches as OpenAI and Anthropic have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unwaver.errors import DataError, UsageError
from unwaver.models.batch_lines import id_of, line_of, read_results, result_of
from unwaver.models.openai_replies import chat_answer
from unwaver.types import Message, Request

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"day": 1}'}}


def params(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line_of("x", body, anthropic=True))["params"]
    return found


def test_a_conversation_with_tools_for_anthropic() -> None:
    schema = {"type": "object", "properties": {"day": {"type": "integer"}}}
    body = {
        "model": "c", "max_completion_tokens": 9, "temperature": 0, "stop": ["."],
        "messages": [
            {"role": "system", "content": "S."},
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "rain", "tool_call_id": "c1"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}],
    }  # fmt: skip
    assert params(body) == {
        "model": "c", "temperature": 0, "max_tokens": 9, "system": "S.", "stop_sequences": ["."],
        "tools": [{"name": "look", "description": "", "input_schema": schema}],
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"day": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]},
        ],
    }  # fmt: skip


def test_what_anthropic_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="response_format"):
        params({"model": "c", "messages": [], "response_format": {"type": "json_object"}})


def test_calls_of_tools_in_a_result_of_anthropic() -> None:
    parts = [{"type": "tool_use", "id": "c1", "name": "look", "input": {"day": 1}}]
    message = {"content": parts, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}}
    reply = result_of({"custom_id": "x", "result": {"type": "succeeded", "message": message}}).reply
    assert reply is not None
    answer = chat_answer(reply)
    assert answer.beside is not None
    assert json.loads(answer.beside.tool_calls) == [CALL]
    assert (answer.finish, answer.usage) == ("tool_calls", (1, 2))


def test_ids_tell_questions_and_replicates_apart() -> None:
    ask = Request("t", (), "Is it?", ("a",), ())
    others = [
        Request("t", (), "Is it not?", ("a",), ()),
        Request("t", (), "Is it?", ("a",), (), replicate=1),
        Request("t", (), "Is it?", ("a",), (), messages=(Message("user", "Is it?"),)),
    ]
    assert len({id_of("k" * 64, request) for request in [ask, *others]}) == 4


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        "7",
        '{"custom_id": 7, "response": {}}',
        '{"id": "a", "label": "b"}',
        '{"custom_id": "x", "body": {}}',
        "[" * 10_000,
    ],
)
def test_files_that_are_no_results(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.jsonl").write_text(f"{line}\n")
    with pytest.raises(DataError):
        read_results(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "record",
    [
        {"response": None, "error": None},
        {"response": {"status_code": 200, "body": None}},
        {"response": {"status_code": "x", "body": []}},
        {"response": 7},
        {"result": None},
        {"result": {"type": "succeeded"}},
        {"result": {"type": "errored"}},
        {"result": {"type": "new"}},
        {"response": None, "error": {"code": "x", "message": "a\x1b[31m"}},
    ],
)
def test_odd_results_are_failures_with_a_reason(record: dict[str, Any]) -> None:
    result = result_of({"custom_id": "x", **record})
    assert result.reply is None
    assert result.error
    assert result.error.isprintable()
