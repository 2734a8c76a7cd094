"""A job with all that it needs: its groups, its cards in the database, and links for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unwaver.config import Config
from unwaver.console import Console
from unwaver.errors import UsageError
from unwaver.people.cards import Pair, cards_of
from unwaver.people.job import Job, read_job
from unwaver.people.store import Card, Database
from unwaver.types import Group
from unwaver.web.sessions import new_token

OWNER = "owner"
ADDRESS = "address"  # of the server, for links that are made while it runs


def open_job(path: Path, console: Console | None = None) -> tuple[Job, list[Group], int]:
    """The job, its groups, and how many cards it has. Cards that are in the database already stay as they are."""
    job = read_job(path)
    groups, cards = _content(job, console or Console())
    database = Database(job.database)
    try:
        database.add_cards(cards)
    finally:
        database.close()
    return job, groups, len(cards)


def _content(job: Job, console: Console) -> tuple[list[Group], list[Card]]:
    beside = job.path.parent / job.source
    source = beside if beside.exists() else Path(job.source)
    if job.kind == "pairs":
        return [], cards_of(job, pairs=_pairs(source, job))
    if job.kind == "write" and source.is_file() and (groups := _questions(source)):
        return groups, cards_of(job, groups)
    from unwaver.asking.render import Renderer
    from unwaver.engine.prepare import choose

    config = Config((str(source),), ())
    chosen = choose(config, console)
    groups = list(chosen.groups)
    if job.kind != "answer":
        return groups, cards_of(job, groups)
    renderer = Renderer(chosen.selection, config)
    asked = (item for group in groups for item in group.items if item.role not in ("judge", "test"))
    prompts = {item.id: str(renderer.shown(item)["prompt"]) for item in asked}
    return groups, cards_of(job, groups, prompts=prompts)


def _pairs(source: Path, job: Job) -> Sequence[Pair]:
    from unwaver.agree.human_pairs import unjudged_pairs

    if not source.is_file():
        hint = 'from = "pairs.csv" with columns question, a and b'
        raise UsageError(f"from = {job.source}: there is no such file", file=job.path, hint=hint)
    return unjudged_pairs(source)


def _questions(source: Path) -> list[Group]:
    """Each question of a table as a group of its own."""
    from unwaver.suites.questions import holds_questions, read_questions

    if source.suffix == ".jsonl" or not holds_questions(source, {}):
        return []
    items = read_questions(source).source.items
    return [Group(item.id, source.stem, item.task, "write", "same", (item,)) for item in items]


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


def keep_address(job: Job, address: str) -> None:
    database = Database(job.database)
    try:
        database.set_meta(ADDRESS, address)
    finally:
        database.close()
