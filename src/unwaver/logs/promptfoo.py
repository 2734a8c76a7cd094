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

import polars as pl

from unwaver.errors import DataError
from unwaver.files import Where, extension, read_rows, shown, stem
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
        results = [(_with_metric(r, options.metric_key, results), where) for r, where in results]
    entries = [_entry(r, where, task, options, partial) for r, where in results]
    partial.tell(options.say, options.metric_key or "score")
    return table_of_entries(entries, path, options, suite=NAME)


def _with_metric(result: Mapping[str, Any], key: str, results: Sequence[tuple[Mapping[str, Any], Where]]) -> Any:
    """The result, with an unknown value for a named score that only other tests have."""
    scores = _table(result.get("namedScores"))
    if key in scores or key in result or not any(key in _table(r.get("namedScores")) for r, _ in results):
        return result
    return {**result, "namedScores": {**scores, key: None}}


def _results(path: Path) -> tuple[str, list[tuple[Mapping[str, Any], Where]]]:
    """The task – the eval's description, else the file's name – and the results, each with its place."""
    if extension(path) == ".jsonl":
        return stem(path), [(row.cells, row.where) for row in read_rows(path, required=_NEEDED)]
    document, text = read_document(path)
    found = document.get("results")
    found = found.get("results") if isinstance(found, Mapping) else found
    if not isinstance(found, list):
        hint = "give what `promptfoo eval --output FILE.json` wrote"
        raise DataError(f'"results": found {shown(found)}, expected a list', file=path, line=1, hint=hint)
    config = document.get("config")
    description = config.get("description") if isinstance(config, Mapping) else None
    lines = lines_of(text, "success", len(found))
    return str(description or stem(path)), [
        (_checked(result, Where(str(path), line), n), Where(str(path), line))
        for n, (result, line) in enumerate(zip(found, lines, strict=True))
    ]


def _checked(result: Any, where: Where, number: int) -> Mapping[str, Any]:
    if not isinstance(result, Mapping):
        raise where.error(f"result {number}: found {shown(result)}, expected an object", "write the file again")
    for name in _NEEDED:
        if name not in result:
            raise where.error(f'result {number}: no "{name}"; found: {", ".join(result)}', "write the file again")
    return result


def _entry(
    result: Mapping[str, Any], where: Where, task: str, options: LogOptions, partial: Partial
) -> dict[str, Any]:
    prompt, variables = result["prompt"], result["vars"]
    template = prompt.get("label") or prompt.get("raw") if isinstance(prompt, Mapping) else prompt
    case = result.get("testCase")
    description = case.get("description") if isinstance(case, Mapping) else None
    response = result.get("response")
    output = response.get("output") if isinstance(response, Mapping) else None
    made = entry(
        where,
        task=task,
        model=_provider(result.get("provider")),
        group=digest(variables),
        id=field_text(description) or field_text(result.get("testIdx")),
        item=digest(template, variables),
        prompt=field_text(prompt.get("raw") if isinstance(prompt, Mapping) else prompt),
        label=field_text(output),
        right=_right(result, options.metric_key, partial, where),
        status=log_status(_finish(response), field_text(output)),
    )
    if _failed(result, output):
        made |= {"status": "failed", "label": None, "right": None}
    return with_named_fields(made, result, options, where)


def _finish(response: Any) -> str:
    """Why the text ended: {"finishReason": "length"} -> "length", {"isRefusal": true} -> "refusal"; else ""."""
    if not isinstance(response, Mapping):
        return ""
    if response.get("isRefusal") is True:
        return "refusal"
    found = response.get("finishReason") or response.get("finish_reason")
    return found if isinstance(found, str) else ""


def _provider(provider: Any) -> str:
    if isinstance(provider, Mapping):
        return str(provider.get("label") or provider.get("id") or "unknown")
    return str(provider or "unknown")


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _failed(result: Mapping[str, Any], output: Any) -> bool:
    reason = result.get("failureReason")
    return reason == CALL_FAILED if reason is not None else bool(result.get("error")) and output is None


def _right(result: Mapping[str, Any], key: str | None, partial: Partial, where: Where) -> float | None:
    """Whether the assertions passed; a test without assertions always passes, which says nothing."""
    if key is not None:
        return as_right(lookup({**result, **_table(result.get("namedScores"))}, key, where), partial)
    grading = result.get("gradingResult")
    if not isinstance(grading, Mapping) or grading.get("reason") == "No assertions":
        return None
    return as_right(result["success"], partial)
