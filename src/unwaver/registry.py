"""From a name in the catalog to the thing itself, with its options bound and checked before work starts."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from unwaver import catalog
from unwaver.errors import UsageError, near

ROOMS: dict[str, dict[str, str]] = {
    "suites": catalog.SUITES,
    "models": catalog.MODELS,
    "variants": catalog.VARIANTS,
    "metrics": catalog.METRICS,
    "logs": catalog.LOGS,
}


@cache
def names(room: str) -> Mapping[str, str]:
    """Every name in a room with its "module:attribute"; built-ins win over entry points of the same name."""
    from importlib.metadata import entry_points

    others = {e.name: e.value for e in entry_points(group=f"unwaver.{room}")}
    return {**others, **ROOMS[room]}


def find(room: str, name: str) -> Any:
    known = ROOMS[room] if name in ROOMS[room] else names(room)
    if name not in known:
        raise UsageError(f"unknown {room.removesuffix('s')} {name!r}", hint=near(name, known))
    module, _, attribute = known[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        if known[name] == ROOMS[room].get(name):
            raise
        raise UsageError(
            f"the {room.removesuffix('s')} {name!r} of an installed package cannot be loaded: {e}",
            hint=f"its entry point says {known[name]}; update or remove that package",
        ) from e


def beside(room: str, name: str, attribute: str) -> Any:
    """Another attribute of the module that a name leads to; None where it has none: `figures` of a metric."""
    return getattr(importlib.import_module(find(room, name).__module__), attribute, None)


def bind(function: Any, given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Check options against a function's keyword arguments and turn strings into what they are annotated as.

    {"concurrency": "4"} -> {"concurrency": 4} for a function with `concurrency: int`.
    """
    parameters = {p.name: p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    hints = typing.get_type_hints(function)
    bound = {}
    for name, value in given.items():
        if name not in parameters:
            raise UsageError(f"{what} has no option {name!r}", hint=near(name, parameters))
        bound[name] = _convert(name, value, hints.get(name, str))
    return bound


def with_options(text: str) -> tuple[str, dict[str, str]]:
    """ "judge=openai/x,timeout=5" -> "judge=openai/x" and {"timeout": "5"}; a comma before anything but a name and
    = is part of what it stands in."""
    first, *options = re.split(r",(?=\s*\w+=)", text)
    return first, {key.strip(): value for key, _, value in (option.partition("=") for option in options)}


def accepted(function: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given options that the function takes; None means not given."""
    parameters = inspect.signature(function).parameters
    return {n: v for n, v in given.items() if n in parameters and v is not None}


def _convert(name: str, value: Any, hint: Any) -> Any:
    if not isinstance(value, str):
        return value
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value.lower() == "none" and types.NoneType in kinds:
        return None
    if str in kinds:
        return value
    for kind in kinds:
        try:
            if kind is bool:
                return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                    value.lower()
                ]
            if kind in (int, float):
                return kind(value)
        except (ValueError, KeyError):
            continue
    words = {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "none"}
    expected = " or ".join(dict.fromkeys(words.get(kind, str(kind)) for kind in kinds))
    raise UsageError(f"option {name}={value}: expected {expected}", hint=f"--model-arg {name}=…, or leave it out")
