"""Answers in a PostgreSQL database, for teams: --store postgresql://HOST/DATABASE.

The tables and promises are those of the file (unwaver.answers.store), in a schema of their own. Every batch is one
transaction, committed to disk before it counts. What reads and then writes does so alone: it holds a lock that all
processes of unwaver take in this database.

A lost connection is taken up again, and the transaction that was under way is done again: its end may have been
lost on the way back, so all of them may be done twice without harm.

    meta  version -> the version of the tables
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

import psycopg

from unwaver.answers import beside_table, dialect_table, shared_tables, store
from unwaver.answers.postgres_errors import explain, is_final, is_passing, is_starting
from unwaver.answers.postgres_session import AMONG, SCHEMA, Session
from unwaver.answers.store import VERSION, Result, Store
from unwaver.answers.store_errors import BUSY_SECONDS
from unwaver.console import silent
from unwaver.errors import StoreError
from unwaver.files import shown

CHUNK = 5_000  # keys in one query
SCHEMAS = (
    *(statement for statement in store.SCHEMA.split(";\n") if statement.strip()),
    beside_table.SCHEMA,
    beside_table.SCORING_SCHEMA,
    dialect_table.SCHEMA,
    shared_tables.WORKERS,
    shared_tables.CLAIMS,
    shared_tables.SPENDING,
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
TABLES = ("answers", "failures", "asked", "beside", "scoring", "dialects", "workers", "claims", "spending", "meta")
# what is no table, and what changes rows on their way
ODD = f"""
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'view' WHEN 'f' THEN 'foreign table' ELSE 'relation' END,
       relname
FROM pg_class WHERE relnamespace = to_regnamespace('{SCHEMA}') AND relname = ANY(?) AND relkind NOT IN ('r', 'i')
UNION ALL SELECT 'trigger', tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
WHERE NOT tgisinternal AND relnamespace = to_regnamespace('{SCHEMA}') AND relname = ANY(?)
UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class
WHERE relkind = 'r' AND relnamespace = to_regnamespace('{SCHEMA}') AND relname = ANY(?)
LIMIT 1
"""
CLOCK = """
SELECT extract(epoch FROM clock_timestamp())::float8, extract(epoch FROM pg_postmaster_start_time())::float8
"""


class PostgresStore(Store):
    """`is_made` says whether the database has the tables: who may only look does not make them."""

    def __init__(self, address: str, *, read_only: bool = False, since: float | None = None):
        self.address, self._read_only = address, read_only
        self.has_claims, self.say = False, silent
        self._inside = False  # of a transaction
        self._is_away = False  # the server was waited for in vain: what is left to do does not wait again
        self._since = since or 0.0  # when this process could write again after it had lost the server
        with self._explained():
            again = since is not None  # another connection of a store that has reached its server
            self._session = self._connected(time.monotonic() + BUSY_SECONDS, again)
            try:
                self.is_made = again or self._made()
            except BaseException:
                self._session.close()
                raise

    def _made(self) -> bool:
        if not self._session.has("meta"):
            if self._read_only:
                return False
            self.atomically(self._make)
        self._check_version()
        return True

    def _make(self, db: Session) -> None:
        if db.has("meta"):  # another process was faster
            return
        if foreign := [table for table in TABLES if db.has(table)]:
            self._explain(TypeError(f"the schema {SCHEMA} has a table {foreign[0]} of other origin"))
        if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", [SCHEMA]):
            db.execute(f"CREATE SCHEMA {SCHEMA}")
        for statement in SCHEMAS:  # all of them now: rights are given on tables that are there
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('version', ?)", [str(VERSION)])

    def _check_version(self) -> None:
        found = self.rows(f"SELECT value FROM {SCHEMA}.meta WHERE name = 'version'")
        if found != [(str(VERSION),)]:
            version = shown(found[0][0]) if found else "none"
            raise StoreError(
                f"the answer store has version {version}, this unwaver reads version {VERSION}",
                file=self.address,
                hint="use another database with --store, or the unwaver that wrote it",
            )
        if odd := self._read(ODD, [[*TABLES]] * 3):
            self._explain(TypeError(f"it has a {odd[0][0]} {shown(odd[0][1])}"))

    # --- reading -----------------------------------------------------------------------------------------------

    def select(self, query: str, keys: Iterable[str]) -> list[Any]:
        keys = list(keys)
        wanted = f"{query} {AMONG}"
        parts = [keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK)]
        return [row for part in parts for row in self._read(wanted, [part])]

    def _size(self) -> float:
        return math.inf  # nobody reads the whole store of a team

    def rows(self, query: str) -> list[Any]:
        return self._read(query, [])

    def run(self, statement: str, *values: object) -> None:
        self._read(statement, values)

    def has(self, table: str) -> bool:
        with self._explained():
            return self._patiently(lambda: self._session.has(table))

    def clock(self) -> tuple[float, float]:
        """By the server. Who was cut off from it with others, or finds it restarted, gives them time to return."""
        ((now, started),) = self._read(CLOCK, [])
        return now, max(started, self._since)

    def another(self) -> Store:
        return PostgresStore(self.address, read_only=self._read_only, since=self._since)

    def close(self) -> None:
        self._session.close()

    def _read(self, statement: str, values: Any) -> list[Any]:
        with self._explained():
            return self._patiently(lambda: self._session.execute(statement, values))

    # --- writing -----------------------------------------------------------------------------------------------

    def atomically(self, work: Callable[[Any], Result], *, alone: bool = True) -> Result:
        def once() -> Result:
            with self._transaction(alone) as db:
                return work(db)

        with self._explained():
            return self._patiently(once)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._explained(), self._transaction(alone=True) as db:
            yield db

    @contextmanager
    def _transaction(self, alone: bool) -> Iterator[Session]:
        session = self._session
        try:
            # the server has all of a batch at once: others who want to be alone wait for no slow client
            with nullcontext() if alone else session.together():
                session.begin(alone)
                self._inside = True
                yield session
                session.commit()
        except BaseException:
            session.rollback()
            raise
        finally:
            self._inside = False

    # --- lost and found ----------------------------------------------------------------------------------------

    def _patiently(self, step: Callable[[], Result]) -> Result:
        """Try again with a new connection while the server is away. Inside a transaction that is for whoever began
        it: all of it is done again."""
        if self._inside:
            return step()
        end: float | None = None
        while True:
            try:
                result = step()
                self._is_away = False
                return result
            except psycopg.Error as e:
                lost = self._session.is_lost(e)
                if not (lost or is_passing(e)) or (end and time.monotonic() > end):
                    raise
                end = end or time.monotonic() + (0.0 if self._is_away else BUSY_SECONDS)
            time.sleep(random.uniform(0.001, 0.05))
            if lost:
                self._find_again(end)

    def _find_again(self, end: float) -> None:
        self._session.close()
        self._is_away = True
        self._session = self._connected(end, again=True)
        self._since = self._session.execute(CLOCK)[0][0]

    def _connected(self, end: float, again: bool) -> Session:
        """A new connection. Where there was one before, the server is waited for; else only while it starts."""
        pause, told = 0.05, False
        while True:
            try:
                return Session(self.address, self._read_only)
            except psycopg.Error as e:
                left = end - time.monotonic()
                if is_final(e) or not (again or is_starting(e)) or left < 0:
                    raise
            if pause > 1.0 and not told:
                told = True
                self.say(f"the answer store cannot be reached: unwaver tries for another {left:.0f} s")
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, 2.0)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as e:
            if self._inside:
                raise
            self._explain(e)

    def _explain(self, error: Exception) -> NoReturn:
        explain(error, self.address)
