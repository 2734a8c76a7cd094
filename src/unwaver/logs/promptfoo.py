"""promptfoo: what `promptfoo eval --output FILE.json` (or .jsonl) writes, version 2 or 3 of its results.

    {"evalId": …, "results": {"version": 3, "prompts": […], "results": [RESULT, …], "stats": …}, "config": …}

A RESULT has vars, prompt {raw, label}, provider {id, label}, response {output}, success, score, namedScores,
gradingResult, failureReason (2: the call failed), testCase. Without other word a test is a bucket, and the
prompts are its wordings; the same prompt on the same vars again (`--repeat`) is a replicate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from unwaver.files import Where, extension, read_rows, stem
from unwaver.logs.common import (
    LogOptions,
    Partial,
    as_right,
    digest,
    entry,
    field_text,
    head,
    lines_of,
    lookup,
    read_document,
    table_of_entries,
    with_named_fields,
)
from unwaver.logs.ended import log_status
from unwaver.typed import of_log

NAME = "promptfoo"
CALL_FAILED = 2
_BEGINNINGS = (
    r'\s*\{\s*"evalId"',
    r'\s*\{\s*"version"\s*:\s*[23]\s*,\s*"timestamp"',
    r'\s*\{\s*"results"\s*:\s*\{\s*"version"',
)
_NEEDED = ("vars", "prompt", "success")


def looks_like(path: Path) -> bool:
    if path.is_dir():
        return False
    start = head(path)
    if extension(path) == ".jsonl":
        return all(f'"{name}"' in start for name in ("promptIdx", "testIdx"))
    return any(re.match(beginning, start) for beginning in _BEGINNINGS)


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    task, results = _results(path)
    partial = Partial()
    if options.metric_key is not None:
        results = [(r, _with_metric(raw, options.metric_key, results), where) for r, raw, where in results]
    entries = [_entry(r, raw, where, task, options, partial) for r, raw, where in results]
    partial.tell(options.say, options.metric_key or "score")
    return table_of_entries(entries, path, options, suite=NAME)


Texts = str | int | float | bool | None


class _Prompt(msgspec.Struct):
    raw: str | None = None
    label: str | None = None


class _Provider(msgspec.Struct):
    id: str | None = None
    label: str | None = None


class _Response(msgspec.Struct):
    output: Any = None
    finish_reason: str | None = None
    other_reason: str | None = msgspec.field(default=None, name="finishReason")
    is_refusal: bool | None = msgspec.field(default=None, name="isRefusal")


class _Case(msgspec.Struct):
    description: Texts = None


class _Grading(msgspec.Struct):
    reason: str | None = None


class _Result(msgspec.Struct, rename="camel"):
    """One test with one prompt and one provider."""

    vars: Any
    prompt: _Prompt | str
    success: bool | float | None
    provider: _Provider | str | None = None
    response: _Response | None = None
    test_case: _Case | None = None
    grading_result: _Grading | None = None
    named_scores: dict[str, Any] | None = None
    failure_reason: int | None = None
    test_idx: Texts = None
    error: Any = None


class _Several(msgspec.Struct):
    results: list[Any]


class _Config(msgspec.Struct):
    description: Texts = None


class _Document(msgspec.Struct):
    results: _Several | list[Any]
    config: _Config | None = None


Read = tuple[_Result, Mapping[str, Any], Where]  # also as it was written, for fields that options name


def _with_metric(result: Mapping[str, Any], key: str, results: Sequence[Read]) -> Mapping[str, Any]:
    """The result, with an unknown value for a named score that only other tests have."""
    scores = result.get("namedScores") or {}
    if key in scores or key in result or not any(key in (r.named_scores or {}) for r, _, _ in results):
        return result
    return {**result, "namedScores": {**scores, key: None}}


def _results(path: Path) -> tuple[str, list[Read]]:
    """The task – the eval's description, else the file's name – and the results, each with its place."""
    if extension(path) == ".jsonl":
        return stem(path), [_typed(row.cells, row.where) for row in read_rows(path, required=_NEEDED)]
    raw, text = read_document(path)
    hint = "give what `promptfoo eval --output FILE.json` wrote"
    document: _Document = of_log(_Document, raw, Where(str(path), 1), hint)
    found = document.results if isinstance(document.results, list) else document.results.results
    description = document.config.description if document.config is not None else None
    lines = lines_of(text, "success", len(found))
    return str(description or stem(path)), [
        _typed(result, Where(str(path), line), f"results.{n}")
        for n, (result, line) in enumerate(zip(found, lines, strict=True))
    ]


def _typed(result: Any, where: Where, at: str = "") -> Read:
    return of_log(_Result, result, where, "write the file again", at), result, where


def _entry(
    result: _Result, raw: Mapping[str, Any], where: Where, task: str, options: LogOptions, partial: Partial
) -> dict[str, Any]:
    prompt = result.prompt if isinstance(result.prompt, _Prompt) else _Prompt(result.prompt)
    output = result.response.output if result.response is not None else None
    description = result.test_case.description if result.test_case is not None else None
    made = entry(
        where,
        task=task,
        model=_provider(result.provider),
        group=digest(result.vars),
        id=field_text(description) or field_text(result.test_idx),
        item=digest(prompt.label or prompt.raw, result.vars),
        prompt=field_text(prompt.raw),
        label=field_text(output),
        right=_right(result, raw, options.metric_key, partial, where),
        status=log_status(_finish(result.response), field_text(output)),
    )
    if _failed(result, output):
        made |= {"status": "failed", "label": None, "right": None}
    return with_named_fields(made, raw, options, where)


def _finish(response: _Response | None) -> str:
    """Why the text ended: {"finishReason": "length"} -> "length", {"isRefusal": true} -> "refusal"; else ""."""
    if response is None:
        return ""
    return "refusal" if response.is_refusal else response.other_reason or response.finish_reason or ""


def _provider(provider: _Provider | str | None) -> str:
    named = provider.label or provider.id if isinstance(provider, _Provider) else provider
    return named or "unknown"


def _failed(result: _Result, output: Any) -> bool:
    reason = result.failure_reason
    return reason == CALL_FAILED if reason is not None else bool(result.error) and output is None


def _right(
    result: _Result, raw: Mapping[str, Any], key: str | None, partial: Partial, where: Where
) -> float | None:
    """Whether the assertions passed; a test without assertions always passes, which says nothing."""
    if key is not None:
        return as_right(lookup({**raw, **(raw.get("namedScores") or {})}, key, where), partial)
    if result.grading_result is None or result.grading_result.reason == "No assertions":
        return None
    return as_right(result.success, partial)
