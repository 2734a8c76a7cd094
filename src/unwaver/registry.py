"""From a name in the catalog to the thing itself."""

from __future__ import annotations

import importlib
import inspect
import types
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
    hint = f"its entry point is {name} = {names(section)[name]!r} in unwaver.{section}; fix, update or remove it"
    return UsageError(f"the {singular(section)} {name!r} of an installed package {why}", hint=hint)


def singular(section: str) -> str:
    """ "suites" -> "suite"; --judge names a certifier."""
    return "certifier" if section == "judges" else section.removesuffix("s")


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
    """Another attribute of the module that a name leads to; None if it has none: `MEANINGS` of a metric."""
    find(section, name)  # says what is wrong with a plug-in
    return getattr(importlib.import_module(names(section)[name].partition(":")[0].strip()), attribute, None)


def accepted(function: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given options that the function takes; None means not given."""
    parameters = inspect.signature(function).parameters
    return {n: v for n, v in given.items() if n in parameters and v is not None}
