"""What SQLite says went wrong with an answer store, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NoReturn

from unwaver.errors import StoreError, StoreFull

BUSY_SECONDS = 120.0


def trouble_of(error: Exception, read_only: bool) -> Literal["full", "closed", "busy", "damaged"]:
    """What an error of SQLite means; other errors come from content that cannot be read: "damaged"."""
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")) and not read_only:
        return "full"
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return "closed"
    return "busy" if code.startswith("SQLITE_BUSY") else "damaged"


def explain(error: Exception, path: Path, read_only: bool) -> NoReturn:
    trouble = trouble_of(error, read_only)
    if trouble == "full":
        raise StoreFull(
            f"no more answers can be saved ({error}); those saved so far are safe",
            file=path,
            hint="free some disk space, then run the same command again to continue",
        ) from error
    if trouble == "closed":
        hint = "choose a folder you may write to with --out, or a file with --store"
        raise StoreError(f"the answer store cannot be opened ({error})", file=path, hint=hint) from error
    if trouble == "busy":
        raise StoreError(
            f"another process has held the answer store for {BUSY_SECONDS:.0f} s",
            file=path,
            hint="try again later",
        ) from error
    raise StoreError(
        f"the answer store is damaged, or it is not an answer store ({error})",
        file=path,
        hint="move the file away (sqlite3 FILE .recover may save it); what it held will be asked again",
    ) from error
