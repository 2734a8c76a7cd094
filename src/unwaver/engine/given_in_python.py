"""What Python hands to `unwaver.run` beside names: tables in memory, and functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unwaver.types import Model


def as_suites(given: Any) -> tuple[str, ...]:
    """Names and paths as texts; a table in memory becomes a file in the cache, named by what it holds."""
    if isinstance(given, str | Path):
        return (str(given),)
    if isinstance(given, list | tuple) and all(isinstance(each, str | Path) for each in given):
        return tuple(map(str, given))
    from unwaver.suites.in_memory import as_file

    return (str(as_file(given)),)


def as_models(given: Any) -> list[str | Model]:
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [each if isinstance(each, str) or hasattr(each, "answer") else _function(each) for each in several]


def _function(given: object) -> Model:
    from unwaver.models.python import from_function

    return from_function(given)
