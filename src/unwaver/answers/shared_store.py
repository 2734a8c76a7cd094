"""A store that several runs share (--store): a file, or a PostgreSQL database by its address."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unwaver.answers import dialect_table
from unwaver.answers.store import Store
from unwaver.errors import StoreError
from unwaver.store_address import is_address, kept_apart
from unwaver.types import Answer

if TYPE_CHECKING:
    from unwaver.answers.postgres import PostgresStore


def open_store(place: str | Path) -> Store:
    """open_store("all.sqlite"), open_store("postgresql://db.lab/answers")"""
    return _in_postgres(str(place)) if is_address(place) else Store(Path(place))


def look_at(place: str | Path, *, bare: bool = False) -> Store | None:
    """The store, to look at; None if there is none yet. To open the `bare` file leaves no traces, but others must
    not be making it; it is also for those who may not write."""
    if is_address(place):
        store = _in_postgres(str(place), read_only=True)
        if store.is_made:
            return store
        store.close()
        return None
    path = Path(place)
    if not path.exists():
        return None
    return Store(path, read_only=bare or not os.access(path, os.W_OK))


def _in_postgres(address: str, *, read_only: bool = False) -> PostgresStore:
    address = kept_apart(address)
    try:
        from unwaver.answers.postgres import PostgresStore
    except ImportError as e:  # psycopg itself, or the library of PostgreSQL that it needs
        hint = "pip install 'unwaver[postgres]'"
        raise StoreError(f"a store in PostgreSQL needs psycopg ({e})", file=address, hint=hint) from e
    return PostgresStore(address, read_only=read_only)


def copy_answers(own: Store, shared: Store, keys: Sequence[str]) -> None:
    """Bring answers, failures and dialects from a shared store, so that a run folder is complete."""
    dialect_table.copy(own, shared)
    own.put(list(shared.answers(keys).items()))
    own.put([(key, Answer(error=error)) for key, error in shared.failures(keys).items()])
