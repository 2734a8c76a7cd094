"""A connection to PostgreSQL that reads the statements of unwaver, which are written as SQLite takes them.

Texts are stored as they are, but for the character NUL, which PostgreSQL cannot hold: "a\\0b" is stored as
"a\\ufdd00b", and U+FDD0 itself, which Unicode gives to nobody, twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from unwaver.answers.store_errors import BUSY_SECONDS
from unwaver.errors import StoreError
from unwaver.store_address import password_of

SCHEMA = "unwaver"
OLDEST = 12  # version of the server
# by the tables of the server: its functions may answer from a cache, and not see what another has just made
HAS = f"""
SELECT 1 FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '{SCHEMA}' AND relname = ?
"""
# a set of keys, whatever the server knows of the tables: with "= ANY(?)" it may compare every row with every key
AMONG = "(SELECT unnest(?::text[]))"
LOCK = 0x756E7776, 1  # what transactions of unwaver lock in a database: nobody else locks the same
MARK = "\ufdd0"  # a noncharacter of Unicode
IDLE_SECONDS = 60  # what a client may let others wait in the middle of a transaction

# a connection whose other end is gone must be noticed on both sides: a transaction keeps others from writing
_NOTICING = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
_SETTINGS = f"""
SET client_min_messages TO warning;
SET search_path TO {SCHEMA}, pg_temp;
SET lock_timeout TO '{BUSY_SECONDS:.0f}s';
SET idle_in_transaction_session_timeout TO '{IDLE_SECONDS}s';
SET tcp_keepalives_idle TO 10;
SET tcp_keepalives_interval TO 5;
SET tcp_keepalives_count TO 3;
SET tcp_user_timeout TO '30s';
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
"""
_MADE = re.compile(r"\s*CREATE TABLE IF NOT EXISTS (\w+)")
_READS = re.compile(r"\s*(SELECT|SHOW)\b")
_DELETED = re.compile(r"DELETE FROM \w+ WHERE \w+ = \?")
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03", "08")  # sqlstates: the server has closed the connection


class Session:
    """One connection. `execute` gives rows; `begin`, `commit` and `rollback` are for a transaction."""

    def __init__(self, address: str, read_only: bool):
        self._tables: set[str] = set()
        given = conninfo_to_dict(address)
        settings: dict[str, Any] = {"client_encoding": "utf8", "fallback_application_name": "unwaver", **_NOTICING}
        if not os.environ.get("PGCONNECT_TIMEOUT"):
            settings["connect_timeout"] = 10
        settings = {**settings, **given, **password_of(address)}
        self._connection = psycopg.connect(autocommit=True, **settings)
        try:
            self._check_server(address)
            self._connection.execute(_SETTINGS)
            if read_only:
                self._connection.execute("SET default_transaction_read_only TO on")
        except BaseException:
            self._connection.close()
            raise

    def _check_server(self, address: str) -> None:
        server = self._connection.info
        encoding = server.parameter_status("server_encoding")
        if server.server_version < OLDEST * 10_000 or server.parameter_status("crdb_version"):
            hint = "use a newer PostgreSQL server, or a file"
            raise StoreError(f"this server is not PostgreSQL {OLDEST} or newer", file=address, hint=hint)
        if encoding != "UTF8":
            hint = "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
            raise StoreError(f"the database has the encoding {encoding}, expected UTF8", file=address, hint=hint)

    def is_lost(self, error: BaseException) -> bool:
        """Whether the connection is gone; what was sent last may have been done or not."""
        state = getattr(error, "sqlstate", None) or ""
        broken = isinstance(error, psycopg.OperationalError) and not state  # not the server's word: libpq's
        return self._connection.closed or broken or state.startswith(_GONE)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        made = _MADE.match(statement)
        if made and self.has(made[1]):  # to say it again needs the right to make tables
            return []
        cursor = self._connection.execute(translated(statement), [encoded(value) for value in values] or None)
        if not _READS.match(statement):  # to ask for the rows would wait for the server
            return []
        return [tuple(map(decoded, row)) for row in cursor]

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """In one order for all processes, so that two of them do not wait for one another."""
        sent = [[encoded(value) for value in row] for row in sorted(rows, key=lambda row: str(row[0]))]
        if sent and _DELETED.fullmatch(statement):  # at once
            at_once = statement.replace("= ?", f"IN {AMONG}")
            self._connection.execute(translated(at_once), [[row[0] for row in sent]])
        elif sent:
            with self._connection.cursor() as cursor:
                cursor.executemany(translated(statement), sent)

    def has(self, table: str) -> bool:
        if table not in self._tables and self.execute(HAS, [table]):
            self._tables.add(table)
        return table in self._tables

    def together(self) -> AbstractContextManager[Any]:
        """What is sent from now on does not wait for what was sent before, until rows are read."""
        return self._connection.pipeline() if psycopg.capabilities.has_pipeline() else nullcontext()

    def begin(self, alone: bool) -> None:
        """With others who need not be alone, or when all others are done."""
        self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
        self._connection.execute(f"SELECT {lock}({LOCK[0]}, {LOCK[1]})")

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        self._tables.clear()
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()  # then the server does it

    def close(self) -> None:
        self._connection.close()


@cache
def translated(statement: str) -> Any:
    """ "… WHERE key = ?" -> "… WHERE key = %s"; INTEGER and REAL of SQLite have 64 bits."""
    if _MADE.match(statement):
        statement = statement.replace("INTEGER", "BIGINT").replace("REAL", "DOUBLE PRECISION")
        statement = statement.replace("WITHOUT ROWID", "")
    return statement.replace("?", "%s")


def encoded(value: Any) -> Any:
    """As PostgreSQL holds it: "a\\0" -> "a\\ufdd00"."""
    if isinstance(value, list):
        return [encoded(part) for part in value]
    if isinstance(value, str) and ("\0" in value or MARK in value):
        return value.replace(MARK, MARK + MARK).replace("\0", MARK + "0")
    return value


def decoded(value: Any) -> Any:
    """As it was given; what others have written stays as it is."""
    if isinstance(value, str) and MARK in value:
        return re.sub(f"{MARK}([0{MARK}])", lambda found: "\0" if found[1] == "0" else MARK, value)
    return value
