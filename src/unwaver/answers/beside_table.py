"""The table `beside` of an answer store: key -> what a service sent beside the text of an answer.

It is made when it is first needed, so that a store without services has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from unwaver.files import shown
from unwaver.secrets import masked_echo
from unwaver.types import Answer, Beside

if TYPE_CHECKING:
    from unwaver.answers.store import Store

TABLE = "beside"
COLUMNS = "reasoning, refusal, tool_calls, cached_tokens, reasoning_tokens, served, fingerprint"
SCHEMA = f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    key TEXT PRIMARY KEY, reasoning TEXT, refusal TEXT, tool_calls TEXT, cached_tokens INTEGER,
    reasoning_tokens INTEGER, served TEXT, fingerprint TEXT
) WITHOUT ROWID"""


def put(db: Any, batch: Sequence[tuple[str, Answer]]) -> None:
    """Store what came with these answers; what is there stays."""
    db.execute(SCHEMA)
    rows = [(key, *map(_cell, astuple(a.beside))) for key, a in batch if a.beside is not None]
    db.executemany(f"INSERT INTO {TABLE} VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", rows)


def with_beside(found: Mapping[str, Answer], store: Store) -> dict[str, Answer]:
    """The answers with what came beside them."""
    rows = store.select(f"SELECT key, {COLUMNS} FROM {TABLE} WHERE key IN", found)
    return {**found, **{row[0]: replace(found[row[0]], beside=_from_row(row[1:])) for row in rows}}


def _cell(value: str | int | None) -> str | int | None:
    """Without keys that a service echoes, and without lone surrogates, which no file takes."""
    return masked_echo(value).encode("utf-8", "replace").decode() or None if isinstance(value, str) else value


def _from_row(row: Sequence[Any]) -> Beside:
    *texts, cached, thought, served, fingerprint = row
    words, counts = [*texts, served, fingerprint], [cached, thought]
    if not all(isinstance(x, str | None) for x in words) or not all(isinstance(n, int | None) for n in counts):
        raise TypeError(f"in {TABLE}: found {shown(row)}, expected texts and numbers of tokens")
    reasoning, refusal, calls, served, fingerprint = (word or "" for word in words)
    return Beside(reasoning, refusal, calls, cached, thought, served, fingerprint)
