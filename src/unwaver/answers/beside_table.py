"""The tables `beside` and `scoring` of an answer store: key -> what a service sent beside the text of an answer,
and how probabilities came from its first token.

They are made when they are first needed, so that a store without services has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unwaver.files import shown
from unwaver.secrets import masked_echo
from unwaver.types import Answer, Beside, replace

if TYPE_CHECKING:
    from unwaver.answers.store import Store

TABLE, SCORING = "beside", "scoring"
COLUMNS = "reasoning, refusal, tool_calls, cached_tokens, reasoning_tokens, served, fingerprint"
SCHEMA = f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    key TEXT PRIMARY KEY, reasoning TEXT, refusal TEXT, tool_calls TEXT, cached_tokens INTEGER,
    reasoning_tokens INTEGER, served TEXT, fingerprint TEXT
) WITHOUT ROWID"""


SCORING_SCHEMA = f"CREATE TABLE IF NOT EXISTS {SCORING} (key TEXT PRIMARY KEY, how TEXT NOT NULL) WITHOUT ROWID"
_COLUMNS = COLUMNS.split(", ")


def put(db: Any, batch: Sequence[tuple[str, Answer]]) -> None:
    """Store what came with these answers; what is there stays."""
    db.execute(SCHEMA)
    found = [(key, a.beside) for key, a in batch if a.beside is not None]
    rows = [(key, *(_cell(getattr(beside, name)) for name in _COLUMNS)) for key, beside in found]
    db.executemany(f"INSERT INTO {TABLE} VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", rows)
    scored = [(key, _cell(beside.scoring)) for key, beside in found if beside.scoring]
    if scored:
        db.execute(SCORING_SCHEMA)
        db.executemany(f"INSERT INTO {SCORING} VALUES (?,?) ON CONFLICT DO NOTHING", scored)


def with_beside(found: Mapping[str, Answer], store: Store) -> dict[str, Answer]:
    """The answers with what came beside them."""
    rows = store.select(f"SELECT key, {COLUMNS} FROM {TABLE} WHERE key IN", found)
    how = dict(store.select(f"SELECT key, how FROM {SCORING} WHERE key IN", found)) if store.has(SCORING) else {}
    besides = {row[0]: replace(_from_row(row[1:]), scoring=str(how.get(row[0], ""))) for row in rows}
    return {**found, **{key: replace(found[key], beside=beside) for key, beside in besides.items()}}


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
