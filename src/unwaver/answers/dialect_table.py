"""The table `dialects` of an answer store: what a model of a server does not take (unwaver.models.dialect).

It is made when a server first refuses something.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unwaver.answers.store import Store

Known = tuple[str, str, str]  # server, model, switch

SCHEMA = """CREATE TABLE IF NOT EXISTS dialects (
    server TEXT NOT NULL, model TEXT NOT NULL, switch TEXT NOT NULL, PRIMARY KEY (server, model, switch)
) WITHOUT ROWID"""


def learned(store: Store) -> list[Known]:
    """All that a store knows of servers."""
    rows = store.rows("SELECT server, model, switch FROM dialects") if store.has("dialects") else []
    return [row for row in rows if all(isinstance(cell, str) for cell in row)]


def learn(store: Store, known: Iterable[Known]) -> None:
    rows = list(known)

    def write(db: Any) -> None:
        db.execute(SCHEMA)
        db.executemany("INSERT INTO dialects VALUES (?,?,?) ON CONFLICT DO NOTHING", rows)

    store.atomically(write)


def copy(store: Store, other: Store) -> None:
    """Bring what another store knows, so that a run folder is complete."""
    if found := learned(other):
        learn(store, found)
