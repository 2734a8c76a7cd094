"""A lock on the run folder: one process at a time writes to it; readers never wait.

The lock is a file in the folder that the process holds open (flock). The system releases it when the process ends,
also after a kill. The file names the process, for the error message of the next one.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unwaver.errors import UsageError

LOCK = ".lock"


@contextmanager
def at_work(place: Path) -> Iterator[None]:
    """Hold the lock, or raise an error that names the process that has it; the file is removed afterwards."""
    held = _take(place / LOCK)
    try:
        yield
    finally:
        if held is not None:
            with suppress(OSError):  # while it is still ours: nobody else's file is removed
                (place / LOCK).unlink()
            os.close(held)


def _take(path: Path) -> int | None:
    """The open file; None if the file system has no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None  # a read-only folder: whatever is written next says so
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = _holder(file)
            os.close(file)
            raise _busy(path.parent, said) from None
        except OSError:
            os.close(file)
            return None
        if _is_at(file, path):
            break
        os.close(file)  # it was removed by the one who held it before us
    with suppress(OSError):  # a full disk: the lock holds all the same
        os.ftruncate(file, 0)
        who = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.write(file, json.dumps(who).encode())
    return file


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _holder(file: int) -> str:
    try:
        who = json.loads(os.pread(file, 1000, 0))
        return f"process {int(who['pid'])} on {who['host']}, since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "it has just started"  # and not yet written down who it is


def _busy(place: Path, who: str) -> UsageError:
    hint = "wait until it ends, or use another folder (--out OTHER); --store FILE on both runs shares answers"
    return UsageError(f"another process is using this run folder ({who})", file=place, hint=hint)
