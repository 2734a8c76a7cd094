"""What SQLite says went wrong with the replies of people, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from unwaver.answers.store_errors import BUSY_SECONDS, trouble_of
from unwaver.errors import StoreError, StoreFull


def explain(error: Exception, path: Path, read_only: bool) -> NoReturn:
    trouble = trouble_of(error, read_only)
    if trouble == "full":
        raise StoreFull(
            f"no more replies can be saved ({error}); those saved so far are safe",
            file=path,
            hint="free some disk space; people can then go on where they were",
        ) from error
    if trouble == "closed":
        hint = "copy the job and its files to a folder that you may write to"
        raise StoreError(f"the replies cannot be opened ({error})", file=path, hint=hint) from error
    if trouble == "busy":
        what = f"another process has held the replies for {BUSY_SECONDS:.0f} s"
        raise StoreError(what, file=path, hint="stop the other process, then try again") from error
    raise StoreError(
        f"the replies are damaged, or this is not a file of replies ({error})",
        file=path,
        hint="move the file away and restore a copy (sqlite3 FILE .recover may save it), or start a new job",
    ) from error
