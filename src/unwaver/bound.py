"""Options as one writes them, bound to the keyword arguments of a function and checked before work starts."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

from unwaver.errors import UsageError, near


def bind(function: Any, given: Mapping[str, Any], what: str, written: str = "--model-arg ") -> dict[str, Any]:
    """Check options against a function's keyword arguments and turn strings into what they are annotated as.
    `written` is the text before an option on the command line.

    {"concurrency": "4"} -> {"concurrency": 4} for a function with `concurrency: int`.
    """
    parameters = keywords(function)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    bound = {}
    for name, value in given.items():
        if name not in parameters and takes_any:
            bound[name] = value
            continue
        if name not in parameters:
            raise UsageError(f"{written}{name}: {what} has no option {name!r}", hint=near(name, parameters))
        hint = parameters[name].annotation
        bound[name] = _convert(name, value, str if hint is inspect.Parameter.empty else hint, written)
    return bound


def keywords(function: Any) -> dict[str, inspect.Parameter]:
    """The options of a function, by name."""
    return {p.name: p for p in _signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}


def _signature(function: Any) -> inspect.Signature:
    """With annotations as types; as texts where one of them names what only a type checker imports."""
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.signature(function)


def takes_value(function: Any) -> tuple[bool, bool]:
    """Whether a function takes a value, and whether it needs one: `json(path="")` -> (True, False)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    needs = any(p.default is p.empty for p in parameters if p.kind in kinds)
    return any(p.kind in (*kinds, p.VAR_POSITIONAL) for p in parameters), needs


def _convert(name: str, value: Any, hint: Any, written: str) -> Any:
    if not isinstance(value, str):
        return value
    if isinstance(hint, str):
        hint = _PLAIN.get(hint.replace(" ", ""), str)
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
    raise UsageError(f"option {name}={value}: expected {expected}", hint=f"{written}{name}=…, or leave it out")


_PLAIN: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "int|None": int | None,
    "float|None": float | None,
    "bool|None": bool | None,
}
