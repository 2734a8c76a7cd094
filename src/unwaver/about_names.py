"""One line about each name in the catalog."""

from __future__ import annotations

import importlib
import inspect

import unwaver.registry as registry
from unwaver.catalog import SECTIONS
from unwaver.errors import UsageError


def about_name(section: str, name: str) -> str:
    """One line about a name: of a built-in from the catalog, of a plug-in from its docstring."""
    if registry.is_built_in(section, name):
        return SECTIONS[section][name][1]
    try:
        found = registry.find(section, name)
    except UsageError as e:
        return e.message
    documented = found if inspect.isroutine(found) or inspect.isclass(found) else None
    module = importlib.import_module(registry.names(section)[name].partition(":")[0])
    text = inspect.getdoc(documented) or inspect.getdoc(module) or ""
    return " ".join(text.strip().partition("\n")[0].split())
