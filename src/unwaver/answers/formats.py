"""Whether an answer keeps the format that was asked for.

    response_format json_object   the whole text is a JSON object
    response_format json_schema   it is JSON that fits the schema
    tools                         it calls tools that were offered, with arguments that fit their parameters

Text around the JSON, also a code fence, loses the format: a program that expects JSON cannot read it. A text where
tools were offered is neither (-1): whether a call was wanted can be told from the other answers of its group.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from unwaver.answers.calls import RAW, calls_in, calls_said
from unwaver.answers.extract import DECODER
from unwaver.answers.thoughts import without_thought
from unwaver.errors import DataError, missing_extra
from unwaver.state import NO_ANSWER
from unwaver.types import Answer, Item

TEXT = -1.0
Fits = Callable[[Any], bool]


def formats_of(rows: Sequence[tuple[Item, Answer | None]], statuses: Sequence[str]) -> pl.Series:
    """Per row: 1, 0 or TEXT; null where no format was asked for, or there is no answer."""
    values = [
        None if answer is None or status in NO_ANSWER else kept(item, answer)
        for (item, answer), status in zip(rows, statuses, strict=True)
    ]
    return pl.Series("format", values, dtype=pl.Float64)


def check(items: Iterable[Item]) -> None:
    """Raise before anything is asked if a schema is not one, or the library that checks them is missing."""
    for tools, wanted in {(item.tools, item.response_format) for item in items}:
        if tools:
            _parameters(tools)
        if wanted:
            _wanted(wanted)


def kept(item: Item, answer: Answer) -> float | None:
    if item.tools and (calls := calls_said(answer)):
        return float(_offered(item.tools, calls))
    if item.tools and answer.beside and answer.beside.tool_calls:
        return 0.0  # what cannot be read as calls
    if item.response_format and json.loads(item.response_format).get("type") != "text":
        return float(_fits(item.response_format, answer.text or ""))
    return TEXT if item.tools else None


def _offered(tools: str, calls: str) -> bool:
    known, found = _parameters(tools), calls_in(calls)
    return bool(found) and all(
        call.name in known and RAW not in call.arguments and known[call.name](dict(call.arguments))
        for call in found
    )


@lru_cache(maxsize=64)
def _parameters(tools: str) -> Mapping[str, Fits]:
    """What checks the arguments of each tool."""
    found: dict[str, Fits] = {}
    for tool in json.loads(tools):
        function = tool.get("function", tool)
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            found[function["name"]] = validator(json.dumps(schema)) if schema else _anything
    return found


def _anything(value: Any) -> bool:
    del value
    return True


def _fits(response_format: str, text: str) -> bool:
    try:
        value = DECODER.decode((without_thought(text) or "").strip())
    except (ValueError, RecursionError):
        return False
    fits = _wanted(response_format)
    return isinstance(value, dict) if fits is None else fits(value)


@lru_cache(maxsize=64)
def _wanted(response_format: str) -> Fits | None:
    asked = json.loads(response_format)
    if asked.get("type") == "json_schema":
        inner = asked.get("json_schema", asked)
        schema = inner.get("schema") if isinstance(inner, Mapping) else None
        return validator(json.dumps(schema)) if schema is not None else None
    return None


@lru_cache(maxsize=64)
def validator(schema: str) -> Fits:
    """Whether a value fits a JSON schema. Nothing is fetched: a reference to another place is an error."""
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ImportError:
        raise missing_extra("jsonschema", "json") from None
    parsed = json.loads(schema)
    try:
        Draft202012Validator.check_schema(parsed)
    except SchemaError as e:
        raise DataError(f"not a JSON schema: {e.message}", hint="see json-schema.org") from None
    check = Draft202012Validator(parsed, registry=Registry())

    def fits(value: Any) -> bool:
        try:
            return bool(check.is_valid(value))
        except Unresolvable as e:
            raise DataError(
                f"a JSON schema refers to {e.ref}, which is not in it", hint="put it in $defs"
            ) from None
        except RecursionError:
            return False

    return fits
