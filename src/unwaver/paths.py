"""Paths on a command line: what they name, and what is there."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
STDERR = ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2")


def named_files(params: Mapping[str, Any], *, outputs: Iterable[str] = ()) -> list[Path]:
    """Everything on a command line that is there: mine.csv, bank/mine.csv, entail=hf/FOLDER …"""
    leave = set(outputs)
    return [path for name, value in params.items() if name not in leave for path in _paths(value)]


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _paths(part)
        return
    if not isinstance(value, str | Path):
        return
    whole = str(value)
    _, _, after = whole.partition("=")
    for text in dict.fromkeys(t for t in (whole, after, *re.split(r"[,@]", after or whole)) if t):
        _, _, below = text.partition("/")  # of bank/FILE, predictions/FILE, hf/FOLDER
        for candidate in (text, below):
            with suppress(OSError, ValueError):  # a text that is too long or cannot be a path
                if candidate and Path(candidate).expanduser().exists():
                    yield Path(candidate).expanduser()


def is_stream(path: Path) -> bool:
    """Standard output, a device or a pipe: there is nothing to replace."""
    if str(path) in STDOUT + STDERR:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def head(path: Path) -> bytes | None:
    """The beginning of a file; None if there is none, or if it cannot be read (writing says why)."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(1 << 14)
    except OSError:
        return None


def same(one: Path, other: Path) -> bool:
    """One file, by whatever name: a link, another case, a path through another folder."""
    try:
        return one.samefile(other)
    except OSError:
        return False
