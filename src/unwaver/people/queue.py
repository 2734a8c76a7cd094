"""Who gets which card next.

- `raters` people get each unit (a card; with `answer`, all cards of a group), nobody gets one twice, nobody one of
  their own texts.
- Units that somebody has begun come first, so that judgements overlap early; among equals the order is drawn for
  each person from the seed.
- A person takes one unit at a time. With `answer`, it is a batch of groups whose first cards come before their
  second ones: the cards of a group stand as far apart as the batch allows.
- What is not answered within the time is free again; each save gives all that a person holds new time.
- Every `check_every` cards a person gets one whose answer is known, while there are such.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from unwaver.people.job import Job
from unwaver.people.store import Card, Database, Reply

BATCH = 20  # groups that a person takes at once with `answer`

# who holds a unit or has done it; people who were set aside do not count
_TAKEN = """
    SELECT count(*) FROM claims JOIN raters ON raters.id = claims.rater
    WHERE claims.unit = units.id AND NOT raters.aside
"""
_OPEN = """
    SELECT cards.id FROM cards JOIN claims ON claims.unit = cards.unit AND claims.rater = :rater
    WHERE NOT EXISTS (SELECT 1 FROM replies WHERE replies.card = cards.id AND replies.rater = :rater)
"""


class Gone(Exception):
    """A reply that cannot be kept: the card went to others, was never this person's, or was changed meanwhile."""


def next_card(database: Database, job: Job, rater: int, now: float) -> Card | None:
    """What this person is to do now, and nobody else beyond `raters`; None where nothing is left for them."""
    with database.transaction() as db:
        _free_expired(db, now)
        if not _open(db, rater):
            _take(db, job, rater, now)
        found = _open(db, rater)
    cards = [database.card(id) for id in found]
    waiting = [card for card in cards if card is not None]
    batches = {row["unit"]: row["batch"] for row in database.rows("SELECT * FROM claims WHERE rater = ?", rater)}
    return min(
        waiting, key=lambda c: (batches.get(c.unit, 0), c.place, drawn(job.seed, rater, c.unit)), default=None
    )


def save(
    database: Database,
    job: Job,
    rater: int,
    card: Card,
    value: Mapping[str, Any],
    *,
    times: int,
    seconds: float | None,
    now: float,
) -> Reply:
    """Keep a reply. `times` is how often it had been saved when the page was made: a page that was sent already is
    refused, and so is one that somebody else has the card of by now."""
    with database.transaction() as db:
        _free_expired(db, now, but=rater)
        before = db.execute("SELECT times FROM replies WHERE card = ? AND rater = ?", (card.id, rater)).fetchone()
        if (before["times"] if before else 0) != times:
            raise Gone("this page was sent before")
        if not _holds(db, card.unit, rater):
            raise Gone("this card went to somebody else")
        number = db.execute(
            "SELECT coalesce(max(number), 0) + 1 FROM replies WHERE rater = ?", (rater,)
        ).fetchone()[0]
        text = json.dumps(value, ensure_ascii=False)
        db.execute(
            "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT (rater, card) DO UPDATE SET "
            "value = excluded.value, saved = excluded.saved, times = times + 1",
            (card.id, rater, text, number, seconds, now),
        )
        db.execute("DELETE FROM drafts WHERE card = ? AND rater = ?", (card.id, rater))
        db.execute("UPDATE claims SET until = ? WHERE rater = ?", (now + 60 * job.claim_minutes, rater))
    found = database.reply(card.id, rater)
    assert found is not None
    return found


def left(database: Database, job: Job, rater: int) -> int:
    """How many cards this person may still get, as things stand."""
    free = f"SELECT id FROM units WHERE NOT is_check AND author IS NOT :rater AND ({_TAKEN}) < :most"
    query = f"""
        SELECT count(*) FROM cards WHERE (
            unit IN (SELECT unit FROM claims WHERE rater = :rater)
            OR unit IN ({free})
        ) AND NOT EXISTS (SELECT 1 FROM replies WHERE replies.card = cards.id AND replies.rater = :rater)
    """
    found = database.db.execute(query, {"rater": rater, "most": job.raters})
    return int(found.fetchone()[0])


def release(database: Database, rater: int) -> None:
    """Give back what somebody has taken and not begun."""
    with database.transaction() as db:
        db.execute(
            "DELETE FROM claims WHERE rater = ? AND NOT EXISTS (SELECT 1 FROM replies JOIN cards ON "
            "cards.id = replies.card WHERE cards.unit = claims.unit AND replies.rater = claims.rater)",
            (rater,),
        )


def smallest_gap(replies: list[Reply], units: Mapping[str, str]) -> int | None:
    """How many cards at the least came between two of one group, over all people; None without such two."""
    last: dict[tuple[int, str], int] = {}
    found: list[int] = []
    for reply in sorted(replies, key=lambda r: (r.rater, r.number)):
        key = reply.rater, units[reply.card]
        if key in last:
            found.append(reply.number - last[key] - 1)
        last[key] = reply.number
    return min(found, default=None)


def drawn(seed: int, rater: int, unit: str) -> bytes:
    """The order of one person."""
    return hashlib.sha256(f"{seed}\0{rater}\0{unit}".encode()).digest()


def _open(db: sqlite3.Connection, rater: int) -> list[str]:
    return [row["id"] for row in db.execute(_OPEN, {"rater": rater})]


def _holds(db: sqlite3.Connection, unit: str, rater: int) -> bool:
    return db.execute("SELECT 1 FROM claims WHERE unit = ? AND rater = ?", (unit, rater)).fetchone() is not None


def _free_expired(db: sqlite3.Connection, now: float, but: int | None = None) -> None:
    """Claims whose time is over, with a card that is not answered. A person who is still there keeps theirs as
    long as nobody has asked for it."""
    db.execute(
        "DELETE FROM claims WHERE until < ? AND rater IS NOT ? AND EXISTS (SELECT 1 FROM cards WHERE "
        "cards.unit = claims.unit AND NOT EXISTS (SELECT 1 FROM replies WHERE replies.card = cards.id AND "
        "replies.rater = claims.rater))",
        (now, but),
    )


def _take(db: sqlite3.Connection, job: Job, rater: int, now: float) -> None:
    units = _check_due(db, job, rater) or _free_units(db, job, rater) or _check_due(db, job, rater, at_end=True)
    batch = db.execute("SELECT coalesce(max(batch), 0) + 1 FROM claims WHERE rater = ?", (rater,)).fetchone()[0]
    until = now + 60 * job.claim_minutes
    db.executemany("INSERT INTO claims VALUES (?, ?, ?, ?)", [(unit, rater, batch, until) for unit in units])


def _check_due(db: sqlite3.Connection, job: Job, rater: int, *, at_end: bool = False) -> list[str]:
    """A card with a known answer, every `check_every` cards; the first somewhere in the first stretch, or at the
    end of a job that is shorter."""
    query = """
        SELECT coalesce(sum(known IS NULL), 0) AS done, coalesce(sum(known IS NOT NULL), 0) AS checked
        FROM replies JOIN cards ON cards.id = replies.card WHERE rater = ?
    """
    row = db.execute(query, (rater,)).fetchone()
    first = drawn(job.seed, rater, "first check")[0] % job.check_every
    if (
        not (at_end and row["done"] and not row["checked"])
        and row["done"] < first + row["checked"] * job.check_every
    ):
        return []
    query = "SELECT id FROM units WHERE is_check AND id NOT IN (SELECT unit FROM claims WHERE rater = ?)"
    found = [each["id"] for each in db.execute(query, (rater,))]
    return sorted(found, key=lambda unit: drawn(job.seed, rater, unit))[:1]


def _free_units(db: sqlite3.Connection, job: Job, rater: int) -> list[str]:
    """First those that this person has begun and lost, then those of others, then the rest."""
    begun = "SELECT unit FROM cards JOIN replies ON replies.card = cards.id WHERE rater = :rater"
    query = f"""
        SELECT id, ({_TAKEN}) AS taken, id IN ({begun}) AS begun FROM units
        WHERE NOT is_check AND author IS NOT :rater AND taken < :most
        AND id NOT IN (SELECT unit FROM claims WHERE rater = :rater)
    """
    found = list(db.execute(query, {"rater": rater, "most": job.raters}))
    found.sort(key=lambda row: (-row["begun"], -row["taken"], drawn(job.seed, rater, row["id"])))
    return [row["id"] for row in found[: BATCH if job.kind == "answer" else 1]]
