"""Answers on disk: one SQLite file that is both cache and resume; unwaver.answers.postgres has the same in a
PostgreSQL database, for teams. Its statements are those of this file and its callers: SQL that both read.

Every batch is one transaction in WAL mode with synchronous=FULL: NORMAL would lose the last commits when the
power goes. Several processes may write to one file; an answer that is already there is kept.

    answers   key -> what a model said (never changed once written)
    failures  key -> why a call failed for good; gone as soon as it is answered
    asked     which key belongs to which item of the run in this folder, for scoring without the model

More tables are made when they are first needed: `beside`, `scoring` and `dialects` for services, `workers`
and `claims` where several processes share a store.
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from unwaver.answers.store_errors import BUSY_SECONDS, explain
from unwaver.console import silent
from unwaver.errors import StoreError
from unwaver.files import shown
from unwaver.secrets import masked, masked_echo
from unwaver.types import Answer

VERSION = 1
CACHE, LOG = 65_536, 8_192  # KiB, and pages of the log before they are moved: keys are random, pages are far apart
CHUNK = 500  # bound variables in one query; SQLite's limit was once 999
MANY, ROW = 2_000, 1_000  # keys, and bytes a key: a smaller file is read as a whole faster than row by row

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, text TEXT, logprobs TEXT, tokens TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, finish TEXT NOT NULL, truncated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (key TEXT PRIMARY KEY, error TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked (
    model INTEGER NOT NULL, item TEXT NOT NULL, replicate INTEGER NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (model, item, replicate)
) WITHOUT ROWID;
"""

FAILED = "INSERT INTO failures VALUES (?,?) ON CONFLICT (key) DO UPDATE SET error = excluded.error"

Result = TypeVar("Result")
_first = itemgetter(0)
Asked = tuple[int, str, int, str]  # model number, item id, replicate, key


class Store:
    def __init__(self, path: Path, *, read_only: bool = False, any_thread: bool = False):
        self.path, self._read_only = path, read_only
        self.has_claims = False  # several processes ask at once: see unwaver.asking.claims
        self.say: Callable[[str], None] = silent  # hears what the store waits for
        with self._explained():
            if read_only:
                self._db = sqlite3.connect(_read_only(path), uri=True, timeout=BUSY_SECONDS)
            else:
                self._db = sqlite3.connect(
                    path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not any_thread
                )
                _patiently(self._prepare)
            self._check_version()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(f"PRAGMA cache_size=-{CACHE}")
        self._db.execute(f"PRAGMA wal_autocheckpoint={LOG}")
        if self._db.execute("PRAGMA user_version").fetchone()[0] == 0:
            with self.transaction():
                for statement in SCHEMA.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={VERSION}")

    def _check_version(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found != VERSION:
            raise StoreError(
                f"the answer store has version {found}, this unwaver reads version {VERSION}",
                file=self.path,
                hint="use another --out or --store, or the unwaver that wrote it",
            )
        # rows that are computed may have no end, and triggers change what is written
        made = self._db.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')"
        ).fetchone()
        if made is not None:
            self._explain(TypeError(f"it has a {made[0]} {shown(made[1])}"))

    def answered(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that have an answer."""
        return {key for (key,) in self._of_answers("key", keys)}

    def answers(self, keys: Iterable[str]) -> dict[str, Answer]:
        columns = "key, text, logprobs, tokens, prompt_tokens, completion_tokens, finish, truncated"
        rows = self._of_answers(columns, keys)
        try:
            found = _answers(rows)
            if self.has("beside"):
                from unwaver.answers.beside_table import with_beside

                found = with_beside(found, self)
            return found
        except (ValueError, TypeError, OverflowError, RecursionError) as e:  # a cell that we did not write
            self._explain(e)

    def _of_answers(self, columns: str, keys: Iterable[str]) -> list[Any]:
        """Rows of the table answers, looked up or, where most are wanted, read from the first to the last."""
        wanted = set(keys)
        if len(wanted) < MANY or self._size() > ROW * len(wanted):
            return self.select(f"SELECT {columns} FROM answers WHERE key IN", wanted)
        rows = self.rows(f"SELECT {columns} FROM answers")
        return rows if wanted.issuperset(map(_first, rows)) else [row for row in rows if row[0] in wanted]

    def _size(self) -> float:
        """Bytes of the whole store."""
        return float(math.prod(self.rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size")))

    def failures(self, keys: Iterable[str]) -> dict[str, str]:
        rows = self.select("SELECT key, error FROM failures WHERE key IN", keys)
        return {key: str(error) for key, error in rows}

    def has_failures(self) -> bool:
        return bool(self.rows("SELECT 1 FROM failures LIMIT 1"))

    def put(self, batch: Sequence[tuple[str, Answer]]) -> None:
        """Commit what came back, all of it or nothing. A failed call never replaces an answer."""
        good = sorted([(key, *_to_row(a)) for key, a in batch if a.error is None], key=_first)
        failed = [(key, _storable(masked_echo(a.error))) for key, a in batch if a.error is not None]

        def write(db: Any) -> None:
            db.executemany("INSERT INTO answers VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", good)
            if list(db.execute("SELECT 1 FROM failures LIMIT 1")):  # no cursor in PostgreSQL
                db.executemany("DELETE FROM failures WHERE key = ?", [(row[0],) for row in good])
            db.executemany(FAILED, failed)
            if any(a.beside is not None for _, a in batch):
                from unwaver.answers.beside_table import put

                put(db, batch)
            if self.has_claims:
                db.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key, _ in batch])

        self.atomically(write, alone=False)

    def link(self, rows: Iterable[Asked]) -> None:
        """Say which keys belong to the items of this run; what was said before is replaced."""
        rows = ((model, masked(item), replicate, key) for model, item, replicate, key in rows)
        with self.transaction() as db:
            db.execute("DELETE FROM asked")
            db.executemany("INSERT INTO asked VALUES (?,?,?,?)", rows)

    def linked(self) -> list[Asked]:
        return list(self.each_linked())

    def each_linked(self) -> Iterator[Asked]:
        """The same one after the other: there may be millions."""
        query = "SELECT model, item, replicate, key FROM asked"
        with self._explained():
            left = _patiently(lambda: self._db.execute(query))
            while rows := left.fetchmany(CHUNK):
                if [set(map(type, column)) for column in zip(*rows, strict=True)] != _ASKED:
                    row = next(row for row in rows if [{type(cell)} for cell in row] != _ASKED)
                    self._explain(TypeError(f"in asked: found {shown(row)}, expected numbers and texts"))
                yield from rows

    def has(self, table: str) -> bool:
        return bool(self.rows(f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{table}'"))

    def another(self) -> Store:
        """The same store once more, for another thread."""
        return Store(self.path, any_thread=True)

    def clock(self) -> tuple[float, float]:
        """The time for all who share the store, and since when nobody was kept from writing to it."""
        return time.time(), 0.0

    def close(self) -> None:
        self._db.close()

    def select(self, query: str, keys: Iterable[str]) -> list[Any]:
        keys = sorted(keys)  # neighbours are on one page
        rows: list[Any] = []
        with self._explained():
            for start in range(0, len(keys), CHUNK):
                part = keys[start : start + CHUNK]
                wanted = f"{query} ({','.join('?' * len(part))})"
                rows += _patiently(partial(self._fetch, wanted, part))
        return rows

    def rows(self, query: str) -> list[Any]:
        with self._explained():
            return _patiently(partial(self._fetch, query, ()))

    def run(self, statement: str, *values: object) -> None:
        with self._explained():
            self._db.execute(statement, values)

    def _fetch(self, query: str, values: Sequence[str]) -> list[Any]:
        return self._db.execute(query, values).fetchall()

    def atomically(self, work: Callable[[Any], Result], *, alone: bool = True) -> Result:
        """All of it or nothing. A store on a server may do the work again: it must not change anything else. What
        need not be `alone` may be done by several processes at once, where the store can do that."""
        del alone
        with self.transaction() as db:
            return work(db)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """All of it or nothing, in one try."""
        with self._explained():
            # IMMEDIATE: a transaction that begins by reading could not be upgraded while another process writes.
            _patiently(lambda: self._db.execute("BEGIN IMMEDIATE"))
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as e:  # what SQLite says may quote a damaged name
            self._explain(e)

    def _explain(self, error: Exception) -> NoReturn:
        explain(error, self.path, self._read_only)


def _patiently(step: Callable[[], Result]) -> Result:
    """Try again while another process is in the way. SQLite's own patience does not cover everything: making a
    file, setting it to WAL mode and recovering its log can fail at once."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return step()
        except sqlite3.OperationalError as e:
            busy = (getattr(e, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > end:
                raise
        time.sleep(random.uniform(0.001, 0.05))


def _read_only(path: Path) -> str:
    """Nobody writing: open the bare file, which leaves no traces and works on read-only media."""
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return f"{path.absolute().as_uri()}?{mode}"


def _to_row(a: Answer) -> tuple[object, ...]:
    prompt_tokens, completion_tokens = a.usage or (None, None)
    logprobs = _numbers_text(a.logprobs) if a.logprobs else None
    tokens = json.dumps(a.tokens) if a.tokens else None
    text = None if a.text is None else _storable(a.text)
    return (
        text,
        logprobs,
        tokens,
        prompt_tokens,
        completion_tokens,
        _storable(masked_echo(a.finish)) if a.finish else "",
        int(a.truncated),
    )


def _numbers_text(numbers: Sequence[float]) -> str:
    """As JSON, which knows no infinity: an impossible choice is stored as null. [-0.5, -inf] -> "[-0.5, null]"."""
    if set(map(type, numbers)) == {float} and all(map(math.isfinite, numbers)):
        return f"[{', '.join(map(repr, numbers))}]"
    return json.dumps([x if math.isfinite(x) else None for x in numbers])


def _storable(text: str) -> str:
    """Without lone surrogates, which no file takes: "a\\ud800" -> "a?"."""
    return text.encode("utf-8", "replace").decode()


def _answers(rows: Sequence[Sequence[Any]]) -> dict[str, Answer]:
    """Answers by their keys; column by column, as there may be millions."""
    if not rows:
        return {}
    keys, text, logprobs, tokens, prompt_tokens, completion_tokens, finish, truncated = zip(*rows, strict=True)
    for expected, types, columns in (
        ("texts", _TEXTS, (text, finish)),
        ("numbers of tokens", _COUNTS, (prompt_tokens, completion_tokens, truncated)),
    ):
        for column in columns:
            if not types.issuperset(map(type, column)):
                found = next(cell for cell in column if type(cell) not in types)
                raise TypeError(f"found {shown(found)}, expected {expected}")
    usage = [
        None if prompt is None else (prompt, completion or 0)
        for prompt, completion in zip(prompt_tokens, completion_tokens, strict=True)
    ]
    ends = [end or "" for end in finish]
    made = map(Answer, text, map(_logprobs, logprobs), map(_tokens, tokens), usage, ends, map(bool, truncated))
    return dict(zip(keys, made, strict=True))


_ASKED: list[set[type]] = [{int}, {str}, {int}, {str}]
_TEXTS, _COUNTS = {str, type(None)}, {int, type(None)}
_numbers = msgspec.json.Decoder(tuple[float | None, ...]).decode


def _logprobs(cell: Any) -> tuple[float, ...]:
    """A JSON list of numbers and nulls: '[-0.5, null]' -> (-0.5, -inf)."""
    if not cell:
        return ()
    found = _decoded(cell)
    return tuple([-math.inf if x is None else x for x in found]) if None in found else found  # type: ignore[return-value]


def _tokens(cell: Any) -> tuple[int, ...]:
    return tuple([0 if n is None else int(n) for n in _decoded(cell)]) if cell else ()


def _decoded(cell: Any) -> tuple[float | None, ...]:
    try:
        return _numbers(cell)
    except (TypeError, msgspec.DecodeError):
        raise TypeError(f"found {shown(cell)}, expected a list of numbers") from None
