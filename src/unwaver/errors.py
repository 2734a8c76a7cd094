"""Everything that can go wrong and was foreseen.

    UnwaverError            message, hint, file, line; becomes one short message for the user
    ├── UsageError          the call is wrong: unknown suite, bad option             exit 2
    ├── DataError           a file is missing or a row in it is bad                  exit 2
    ├── ModelError          the model cannot be loaded or asked                      exit 2
    └── StoreError          the answer store is damaged or cannot be written         exit 2
        └── StoreFull       nothing more can be written; what was written is safe    exit 3

Anything else that escapes is a bug and exits with 70.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from json import JSONDecodeError
from pathlib import Path

from unwaver.secrets import masked


class UnwaverError(Exception):
    """An error a user can act on: what happened (`summary`), where, and what to do next (`hint`)."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | Path | None = None,
        line: int | None = None,
    ):
        message = masked(message)
        super().__init__(message)
        self.message = message
        self.hint = None if hint is None else masked(hint)
        self.file = None if file is None else masked(str(file))
        self.line = line

    @property
    def summary(self) -> str:
        """Where and what, without the hint: "my.csv:3: …"."""
        where = "" if self.file is None else self.file + ("" if self.line is None else f":{self.line}") + ": "
        return where + self.message

    def __str__(self) -> str:
        """With the hint: a traceback of Python, a notebook and pytest show no more than this."""
        return self.summary if not self.hint else f"{self.summary}\nhint: {self.hint}"

    def as_dict(self) -> dict[str, object]:
        return {"message": self.message, "hint": self.hint, "file": self.file, "line": self.line}


class UsageError(UnwaverError):
    pass


class DataError(UnwaverError):
    pass


class ModelError(UnwaverError):
    pass


class StoreError(UnwaverError):
    pass


class StoreFull(StoreError):
    exit_code = 3


class Stopped(UnwaverError):
    """Not everything was asked: a budget is spent, or the answers are worth nothing."""

    exit_code = 3


def missing_extra(library: str, extra: str) -> ModelError:
    return ModelError(f"{library} is not installed", hint=f"pip install 'unwaver[{extra}]'")


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def about_json(error: JSONDecodeError) -> str:
    """ "Unterminated string starting at column 48": Python's own words end in " at" only sometimes."""
    return f"{error.msg.removesuffix(' at')} at column {error.colno}"


def near(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known names: near("becl", ["becel", "calm"]) -> "did you mean becel?"."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        # a much worse match beside a good one is none, unless it begins alike
        best = _likeness(name, close[0])
        meant = [n for n in close if n[:1] == name[:1] or _likeness(name, n) > best - 0.15]
        return f"did you mean {' or '.join(meant)}?"
    return "known: " + ", ".join(names[:20]) + (" …" if len(names) > 20 else "")
