"""A job with all that it needs: its groups, its cards in the database, and links for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from unwaver.console import Console
from unwaver.engine.job_content import content, keep_cards
from unwaver.errors import DataError, UsageError
from unwaver.people.job import Job, read_job
from unwaver.people.store import Database
from unwaver.types import Group
from unwaver.web.sessions import new_token

OWNER = "owner"
KIND = "kind"  # of the job whose replies these are
ADDRESS = "address"  # of the server, for links that are made while it runs


def open_job(path: Path, console: Console | None = None) -> tuple[Job, list[Group], int]:
    """The job, its groups, and how many cards it has without those of [[checks]]. Cards that are in the database
    already stay as they are."""
    job = read_job(path)
    found = content(job, console)
    _check_kind(job)
    keep_cards(job, found)
    return job, found.groups, sum(card.known is None for card in found.cards)


def _check_kind(job: Job) -> None:
    """The replies in a file are to one kind of question."""
    database = Database(job.database)
    try:
        before = database.meta(KIND)
        if before is None:
            database.set_meta(KIND, job.kind)
    finally:
        database.close()
    if before not in (None, job.kind):
        hint = f'kind = "{before}", or another name for this job: its replies are kept under that name'
        what = f"kind = {job.kind}, but {job.database.name} holds a job of kind {before}"
        raise DataError(what, file=job.path, hint=hint)


# --- links --------------------------------------------------------------------------------------------------


def invite(job: Job, names: Sequence[str]) -> dict[str, str]:
    """Tokens for the owner and for people who have none yet, by name. A token is known only here: the database
    holds its hash."""
    database = Database(job.database)
    try:
        known = {row["name"] for row in database.rows("SELECT name FROM raters")}
        made: dict[str, str] = {}
        for name in (OWNER, *names):
            if name not in known and name not in made:
                made[name] = new_token()
                database.add_rater(name, made[name], owner=name == OWNER)
        return made
    finally:
        database.close()


def new_link(job: Job, name: str) -> tuple[str, str | None]:
    """A new token in place of the old one, and the address of the server where it has run."""
    from unwaver.errors import near

    database = Database(job.database)
    try:
        token = new_token()
        if not database.new_token(name, token):
            known = [row["name"] for row in database.rows("SELECT name FROM raters")]
            raise UsageError(f"--new-link {name}: nobody has this name", hint=near(name, known))
        return token, database.meta(ADDRESS)
    finally:
        database.close()


def last_port(job: Job) -> int | None:
    """Where the server was the last time, so that links stay good."""
    if not job.database.exists():
        return None
    database = Database(job.database, read_only=True)
    try:
        return urlsplit(database.meta(ADDRESS) or "").port
    finally:
        database.close()


def invited(job: Job) -> list[str]:
    """Who has a link, without the owner."""
    database = Database(job.database, read_only=True)
    try:
        return [rater.name for rater in database.raters()]
    finally:
        database.close()


def keep_address(job: Job, address: str) -> None:
    database = Database(job.database)
    try:
        database.set_meta(ADDRESS, address)
    finally:
        database.close()
