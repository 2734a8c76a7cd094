"""What PostgreSQL says went wrong with an answer store, and what to do about it.

A refused connection has no code, so that its words are looked at: those of libpq, and of a server that speaks
English. Other words lead to a more general hint.
"""

from __future__ import annotations

import re
from typing import NoReturn

import psycopg

from unwaver.answers.store_errors import BUSY_SECONDS
from unwaver.errors import StoreError, StoreFull

AGAIN = "run the same command again to continue: unwaver asks only what is missing"
PASSWORD = "set PGPASSWORD, or put HOST:PORT:DATABASE:ROLE:PASSWORD into ~/.pgpass"
MAKE = "to create the tables, it needs GRANT CREATE ON DATABASE name TO role"
RIGHTS = (
    "it needs GRANT USAGE ON SCHEMA unwaver TO role; "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA unwaver TO role"
)

# of a server that was reached and will take connections soon
_STARTING = re.compile(r"starting up|shutting down|recovery mode|too many clients|connection slots|not yet accept")
_SOON = ("57P03", "53300")
# two made the same at once, or waited for one another
_PASSING = ("40001", "40P01", "23505", "42P07", "42P06", "42710")
# words of a refusal -> what it is, what to do
_REFUSED = [
    (r"password|SCRAM|authentication|pg_hba", "the server refuses the connection", PASSWORD),
    (r'role ".*" does not exist|not permitted to log in', "the server refuses the connection",
     "give a role that may log in: postgresql://ROLE@HOST/DATABASE"),
    (r'database ".*" does not exist', "the database does not exist",
     "create it (createdb -h HOST DATABASE), or correct the address"),
    (r"permission denied for database", "the role may not connect",
     "ask for GRANT CONNECT, CREATE ON DATABASE name TO role"),
    (r"certificate|(support|require)s? SSL|sslmode", "the encrypted connection failed",
     "check sslmode, sslrootcert and the certificate"),
    (r"resolve|translate host name|Name or service", "unknown host", "check host and port"),
    (r"refused|No such file|timeout|timed out|unreachable|no route",
     "the server cannot be reached", "check host and port, and that the server is running"),
]  # fmt: skip
_FINAL = _REFUSED[:5]


def is_final(error: psycopg.Error) -> bool:
    """Whether another try to connect would fail too: a wrong password, an unknown database."""
    if isinstance(error, psycopg.ProgrammingError) or (error.sqlstate or "").startswith(("28", "3D")):
        return True
    return any(re.search(words, str(error)) for words, _, _ in _FINAL) and not is_starting(error)


def is_starting(error: psycopg.Error) -> bool:
    return error.sqlstate in _SOON or _STARTING.search(str(error)) is not None


def is_passing(error: psycopg.Error) -> bool:
    """Whether the same may be done again at once."""
    return error.sqlstate in _PASSING


def explain(error: Exception, address: str) -> NoReturn:
    state = getattr(error, "sqlstate", None) or ""
    said = " ".join(str(error).split())
    if state.startswith("53") and state != "53300":  # disk full, out of memory
        raise StoreFull(
            f"no more answers can be saved ({said}); those saved so far are safe",
            file=address,
            hint="make room on the server, then run the same command again to continue",
        ) from error
    what, hint = _in_words(error, state, said)
    raise StoreError(f"{what} ({said})", file=address, hint=hint) from error


def _in_words(error: Exception, state: str, said: str) -> tuple[str, str]:
    if state == "25006":
        hint = "give the address of the primary, or add ?target_session_attrs=read-write"
        return "the server is read-only", hint
    if state == "42501":
        return "the role has no permission", MAKE if "for database" in said else RIGHTS
    if state == "55P03":
        return f"another process has held the answer store for {BUSY_SECONDS:.0f} s", "try again later"
    if state == "57014":
        return "the server cancelled a query", "increase statement_timeout for this role"
    if isinstance(error, psycopg.ProgrammingError) and not state:
        return "the address of the store is not valid", "postgresql://ROLE@HOST:PORT/DATABASE?sslmode=require"
    if isinstance(error, psycopg.OperationalError):
        for words, what, hint in _REFUSED:
            if re.search(words, said) and not is_starting(error):
                return what, hint
        return "the connection to the server failed", AGAIN
    hint = "use another database, or rename the schema unwaver; unwaver then asks everything again"
    return "the answer store is damaged, or it is not an answer store", hint
