"""Answers as JSON, compared field by field: see unwaver.agree.structured.

    --agree json   --agree json,fields=price+city,price=0.01,tags=set   --agree json,schema=answer.schema.json

A field is named by its path: `address.city`, `items.0.price`, `items.*.price` for that of all members of a list.
Without names every value that is no object counts; a list is one value.
"""

from __future__ import annotations

import json as json_library
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from unwaver.agree import Agreement
from unwaver.agree.structured import Fields, Structure, names_in, parse_rules, structured
from unwaver.answers.calls import calls_in
from unwaver.answers.extract import json_values
from unwaver.answers.thoughts import without_thought
from unwaver.errors import UsageError

_OPTION = "--agree json,"
_DEEPEST = 20


def json(*, fields: str = "", schema: str = "", **rules: str) -> Agreement:
    """`fields` are those that count, "price+city"; `schema` is a file with a JSON schema whose properties count.
    Any other option is the rule for a field: price=0.01."""
    if fields and schema:
        raise UsageError(f"{_OPTION}fields and schema are both given", hint="give one of them")
    wanted = names_in(fields, _OPTION) or (tuple(properties_in(Path(schema))) if schema else ())
    if wanted and (unknown := [field for field in rules if field not in wanted]):
        hint = f"add it: fields={'+'.join((*wanted, unknown[0]))}"
        raise UsageError(f"{_OPTION}{unknown[0]}: this field does not count", hint=hint)
    read = partial(fields_of, wanted=(*wanted, *(f for f in rules if not wanted)))
    return structured(Structure("json", read, parse_rules(rules, _OPTION), wanted))


@lru_cache(maxsize=4096)
def fields_of(text: str, wanted: tuple[str, ...] = ()) -> Fields | None:
    """The values of the first JSON object or list in a text, by path; None if it has none, or calls a tool."""
    if calls_in(text):
        return None
    values = (v for v in json_values(without_thought(text) or "") if isinstance(v, dict | list))
    value = next(values, None)
    if value is None:
        return None
    found = dict(_leaves(value))
    for path in wanted:
        if path not in found and (at := list(_at(value, path.split(".")))):
            found[path] = at if "*" in path.split(".") else at[0]
    return found


def _leaves(value: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value and len(before) < _DEEPEST:
        for name, part in value.items():
            yield from _leaves(part, (*before, name))
    else:
        yield ".".join(before) or "value", value


def _at(value: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(value, list) and step == "*":
        for part in value:
            yield from _at(part, rest)
    elif isinstance(value, dict) and step in value:
        yield from _at(value[step], rest)
    elif isinstance(value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
        yield from _at(value[int(step)], rest)


def properties_in(path: Path) -> list[str]:
    """The paths of the properties of a JSON schema, also one inside a response_format."""
    try:
        schema = json_library.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"{_OPTION}schema={path}: {e.strerror}", hint="give a file with a JSON schema") from None
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{_OPTION}schema={path}: not JSON: {e}", hint="give a file with a JSON schema") from None
    found = list(_properties(schema_in(schema)))
    if not found:
        raise UsageError(
            f"{_OPTION}schema={path}: no properties found", hint='expected {"type": "object", "properties": {…}}'
        )
    return found


def schema_in(value: Any) -> Any:
    """{"type": "json_schema", "json_schema": {"schema": {…}}} -> {…}; a schema as it is."""
    inner = value.get("json_schema") if isinstance(value, Mapping) else None
    return inner.get("schema", inner) if isinstance(inner, Mapping) else value


def _properties(schema: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(named, Mapping) and named and len(before) < _DEEPEST:
        for name, part in named.items():
            yield from _properties(part, (*before, str(name)))
    elif before:
        yield ".".join(before)
