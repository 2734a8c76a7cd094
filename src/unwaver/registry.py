"""From a name in the catalog to the thing itself, with its options bound and checked before work starts."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, reduce, wraps
from typing import Any

from unwaver.catalog import SECTIONS
from unwaver.errors import UnwaverError, UsageError, near


@cache
def names(section: str) -> Mapping[str, str]:
    """Every name in a section with its "module:attribute"; built-ins win over entry points of the same name."""
    from importlib.metadata import entry_points

    others = {e.name: e.value for e in entry_points(group=f"unwaver.{section}")}
    return {**others, **{name: place for name, (place, _) in SECTIONS[section].items()}}


def find(section: str, name: str) -> Any:
    """What a name leads to: find("suites", "sample") -> the function unwaver.suites.sample.suite."""
    if is_built_in(section, name):
        return _loaded(SECTIONS[section][name][0])
    known = names(section)
    if name not in known:
        raise UsageError(f"unknown {singular(section)} {name!r}", hint=near(name, known))
    try:
        return _loaded(known[name])
    except Exception as e:
        raise broken(section, name, f"cannot be loaded: {_told(e)}") from e


def call(section: str, name: str, expected: Any, *arguments: Any, **options: Any) -> Any:
    """Call what a name leads to; what comes out is an `expected`."""
    return guarded(section, name, find(section, name), expected)(*arguments, **options)


def guarded(section: str, name: str, function: Callable[..., Any], expected: Any) -> Callable[..., Any]:
    """A function of a plug-in with failures that name the plug-in, also where it gives no `expected`. A built-in
    stays as it is: its failures are ours."""
    if is_built_in(section, name):
        return function

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        try:
            made = function(*arguments, **options)
        except UnwaverError:
            raise
        except Exception as e:
            raise broken(section, name, f"failed: {_told(e)}") from e
        if not isinstance(made, expected):
            raise broken(section, name, f"gave {made!r:.60}, expected {_kind(expected)}")
        return made

    return called


def is_built_in(section: str, name: str) -> bool:
    return name in SECTIONS[section]


def broken(section: str, name: str, why: str) -> UsageError:
    """The error of a plug-in that does not do what it should; it names the plug-in and where it comes from."""
    hint = f"its entry point is {name} = {names(section)[name]!r} in unwaver.{section}; mend, update or remove it"
    return UsageError(f"the {singular(section)} {name!r} of an installed package {why}", hint=hint)


def singular(section: str) -> str:
    """ "suites" -> "suite"; --judge names a certifier."""
    return "certifier" if section == "judges" else section.removesuffix("s")


def about(section: str, name: str) -> str:
    """One line about a name: of a built-in from the catalog, of a plug-in from its docstring."""
    if is_built_in(section, name):
        return SECTIONS[section][name][1]
    try:
        found = find(section, name)
    except UsageError as e:
        return e.message
    documented = found if inspect.isroutine(found) or inspect.isclass(found) else None
    module = importlib.import_module(names(section)[name].partition(":")[0])
    text = inspect.getdoc(documented) or inspect.getdoc(module) or ""
    return " ".join(text.strip().partition("\n")[0].split())


def _loaded(place: str) -> Any:
    module, colon, attribute = place.partition(":")
    if not colon:
        raise ImportError(f"found {place!r}, expected module:attribute")
    return reduce(getattr, attribute.strip().split("."), importlib.import_module(module.strip()))


def _told(error: Exception) -> str:
    """ "No module named 'x'" says enough; a bare "'x'" of a KeyError does not."""
    kind = "" if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def _kind(expected: Any) -> str:
    """_kind(Suite) -> "a Suite"; _kind(str | None) -> "str or None"."""
    if isinstance(expected, types.UnionType):
        return str(expected).replace(" | ", " or ")
    return "a function" if expected is Callable else f"a {expected.__name__}"


def beside(section: str, name: str, attribute: str) -> Any:
    """Another attribute of the module that a name leads to; None where it has none: `MEANINGS` of a metric."""
    find(section, name)  # says what is wrong with a plug-in
    return getattr(importlib.import_module(names(section)[name].partition(":")[0].strip()), attribute, None)


def bind(function: Any, given: Mapping[str, Any], what: str, written: str = "--model-arg ") -> dict[str, Any]:
    """Check options against a function's keyword arguments and turn strings into what they are annotated as.
    `written` is what stands before an option on the command line.

    {"concurrency": "4"} -> {"concurrency": 4} for a function with `concurrency: int`.
    """
    parameters = {p.name: p for p in _signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    bound = {}
    for name, value in given.items():
        if name not in parameters:
            raise UsageError(f"{what} has no option {name!r}", hint=near(name, parameters))
        hint = parameters[name].annotation
        bound[name] = _convert(name, value, str if hint is inspect.Parameter.empty else hint, written)
    return bound


def _signature(function: Any) -> inspect.Signature:
    """With annotations as types; as texts where one of them names what only a type checker imports."""
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.signature(function)


def with_options(text: str) -> tuple[str, dict[str, str]]:
    """ "judge=openai/x,timeout=5" -> "judge=openai/x" and {"timeout": "5"}; a comma before anything but a name and
    = is part of what it stands in."""
    first, *options = re.split(r",(?=\s*\w+=)", text)
    return first, {key.strip(): value for key, _, value in (option.partition("=") for option in options)}


def takes_value(function: Any) -> tuple[bool, bool]:
    """Whether a function takes a value, and whether it needs one: `json(path="")` -> (True, False)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    needs = any(p.default is p.empty for p in parameters if p.kind in kinds)
    return any(p.kind in (*kinds, p.VAR_POSITIONAL) for p in parameters), needs


def accepted(function: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given options that the function takes; None means not given."""
    parameters = inspect.signature(function).parameters
    return {n: v for n, v in given.items() if n in parameters and v is not None}


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
    f"{kind.__name__}{end}": kind | None if end else kind for kind in (int, float, bool) for end in ("", "|None")
}
