"""Who gets which card next.

- `raters` people get each unit (a card; with `answer`, all cards of a group), nobody gets one twice, nobody one of
  their own texts.
- Units that somebody has begun come first, so that judgements overlap early; among equals the order is drawn for
  each person from the seed.
- A person takes one unit at a time. With `answer`, it is a batch of groups, in an order that is drawn; the cards
  of a group stand as far apart as the batch allows.
- Who skips a card is not one of its people: somebody else gets it.
- What is not answered within the time is free again; each save gives all that a person holds new time. A late
  reply is still kept where nobody else has the unit.
- Every `check_every` cards a person gets one whose answer is known, while there are such.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from unwaver.people.job import Job
from unwaver.people.store import DONE, SKIPPED, Card, Database, Reply, reply_of

BATCH = 20  # groups that a person takes at once with `answer`, and the rest with them where it is smaller

# what somebody may get at all: no known answers, nothing withdrawn, no text of their own, here or in another job
_MAY_GET = """
    NOT is_check AND NOT withdrawn AND author IS NOT :rater AND units.id NOT IN (
        SELECT unit FROM authors WHERE name = (SELECT identity(raters.name) FROM raters WHERE id = :rater)
    )
"""
_HELD = f"""
    SELECT cards.id, cards.unit, cards.known, claims.batch, EXISTS (
        SELECT 1 FROM replies WHERE replies.card = cards.id AND replies.rater = :rater
    ) AS done
    FROM claims JOIN cards ON cards.unit = claims.unit JOIN units ON units.id = claims.unit AND NOT withdrawn
    WHERE claims.rater = :rater
    AND claims.batch IN (SELECT batch FROM claims WHERE rater = :rater AND until < {DONE})
"""


class Gone(Exception):
    """A reply that cannot be kept: the card went to others, was never this person's, or was changed meanwhile."""


def next_card(database: Database, job: Job, rater: int, now: float) -> Card | None:
    """What this person is to do now, and nobody else beyond `raters`; None where nothing is left for them."""
    with database.transaction() as db:
        _free_expired(db, now)
        waiting = _waiting(db, job, rater)
        if not (waiting and waiting[0]["known"] is not None):
            taken = _check_due(db, job, rater) or ([] if waiting else _free_units(db, job, rater))
            if not taken and not waiting:
                taken = _check_due(db, job, rater, at_end=True)
            _claim(db, job, rater, taken, now)
            waiting = _waiting(db, job, rater) if taken else waiting
    return database.card(waiting[0]["id"]) if waiting else None


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
    was_given: bool = False,
) -> Reply:
    """Keep a reply. `times` is how often it had been saved when the page was made: a page that was sent already is
    refused. The same reply sent twice is one reply: the answer to the first may have been lost on the way.

    `was_given` says that this person once got the card: where their time is over, the reply is still kept if the
    card is free, and refused if others have it by now."""
    text = json.dumps(value, ensure_ascii=False)
    with database.transaction() as db:
        before = db.execute("SELECT * FROM replies WHERE card = ? AND rater = ?", (card.id, rater)).fetchone()
        if before and before["times"] == times + 1 and before["value"] == text:
            return reply_of(before)
        if (before["times"] if before else 0) != times:
            raise Gone("this page was sent before")
        _free_expired(db, now, but=rater)
        if not before and not _holds(db, card.unit, rater):
            if not (was_given and _is_free(db, job, card.unit)):
                raise Gone("this card went to somebody else")
            _claim(db, job, rater, [card.unit], now)
        number = db.execute(
            "SELECT coalesce(max(number), 0) + 1 FROM replies WHERE rater = ?", (rater,)
        ).fetchone()[0]
        db.execute(
            "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT (rater, card) DO UPDATE SET "
            "value = excluded.value, saved = excluded.saved, times = times + 1",
            (card.id, rater, text, number, seconds, now),
        )
        db.execute("DELETE FROM drafts WHERE card = ? AND rater = ?", (card.id, rater))
        _prolong(db, job, rater, card.unit, now)
        made = db.execute("SELECT * FROM replies WHERE card = ? AND rater = ?", (card.id, rater)).fetchone()
    return reply_of(made)


def left(database: Database, job: Job, rater: int) -> int:
    """How many cards this person may still get, as things stand; those with a known answer are among them, so that
    no number tells them from the others."""
    free = f"SELECT id FROM units WHERE {_MAY_GET} AND taken < :most"
    query = f"""
        SELECT count(*) FROM cards WHERE known IS NULL AND (
            unit IN (
                SELECT unit FROM claims JOIN units ON id = unit
                WHERE rater = :rater AND until < {DONE} AND NOT withdrawn
            )
            OR unit IN ({free})
        ) AND NOT EXISTS (SELECT 1 FROM replies WHERE replies.card = cards.id AND replies.rater = :rater)
    """
    own = int(database.named(query, rater=rater, most=job.raters)[0][0])
    row = database.named(_COUNTS, rater=rater)[0]
    checks = int(database.rows("SELECT count(*) FROM units WHERE is_check")[0][0])
    planned = _planned_checks(job, rater, row["done"] + own)
    return own + max(0, min(checks, planned) - int(row["checked"]))


def others_are_busy(database: Database, rater: int) -> bool:
    """Whether somebody holds cards that they may still give back."""
    return bool(database.rows(f"SELECT 1 FROM claims WHERE rater != ? AND until < {DONE} LIMIT 1", rater))


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


def _waiting(db: sqlite3.Connection, job: Job, rater: int) -> list[sqlite3.Row]:
    """The cards that this person has taken and not answered, in their order: one with a known answer first."""
    batches: dict[int, dict[str, list[sqlite3.Row]]] = {}
    for row in db.execute(_HELD, {"rater": rater}):  # with those that are done, so that the order stays as it is
        batches.setdefault(row["batch"], {}).setdefault(row["unit"], []).append(row)
    found: list[sqlite3.Row] = []
    for _, units in sorted(batches.items()):
        names = sorted(units, key=lambda unit: drawn(job.seed, rater, unit))
        rows = [sorted(units[u], key=lambda row: drawn(job.seed, rater, f"place {row['id']}")) for u in names]
        turns = [iter(of_unit) for of_unit in rows]
        found += [next(turns[n]) for n in spread(tuple(map(len, rows)))]
    return sorted((row for row in found if not row["done"]), key=lambda row: row["known"] is None)


@lru_cache(maxsize=1000)
def spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """An order of cards in which two of one group are as far apart as can be: (2, 1, 1) -> (0, 1, 2, 0).

    With m cards in the largest of the groups, and t groups of that size, the distance d fits if m − 1 stretches
    of it and the last card of each of the t groups are no more than all cards. The group with the most cards left
    comes first, of those that were not seen within d cards."""
    largest = max(sizes, default=0)
    apart = (sum(sizes) - sizes.count(largest)) // (largest - 1) if largest > 1 else 0
    left, free_at, found = list(sizes), [0] * len(sizes), []
    for now in range(sum(sizes)):
        waiting = [n for n, count in enumerate(left) if count]
        ready = [n for n in waiting if free_at[n] <= now] or waiting
        chosen = min(ready, key=lambda n: (-left[n], n))
        left[chosen] -= 1
        free_at[chosen] = now + apart
        found.append(chosen)
    return tuple(found)


def _holds(db: sqlite3.Connection, unit: str, rater: int) -> bool:
    return db.execute("SELECT 1 FROM claims WHERE unit = ? AND rater = ?", (unit, rater)).fetchone() is not None


def _is_free(db: sqlite3.Connection, job: Job, unit: str) -> bool:
    row = db.execute("SELECT is_check, taken FROM units WHERE id = ?", (unit,)).fetchone()
    return row is not None and bool(row["is_check"] or row["taken"] < job.raters)


def _free_expired(db: sqlite3.Connection, now: float, but: int | None = None) -> None:
    """A person who is still there keeps theirs as long as nobody has asked for it."""
    db.execute("DELETE FROM claims WHERE until < ? AND rater IS NOT ?", (now, but))


def _claim(db: sqlite3.Connection, job: Job, rater: int, units: Iterable[str], now: float) -> None:
    batch = db.execute("SELECT coalesce(max(batch), 0) + 1 FROM claims WHERE rater = ?", (rater,)).fetchone()[0]
    until = now + 60 * job.claim_minutes
    db.executemany("INSERT INTO claims VALUES (?, ?, ?, ?)", [(unit, rater, batch, until) for unit in units])


def _prolong(db: sqlite3.Connection, job: Job, rater: int, unit: str, now: float) -> None:
    """New time for all that a person holds; what they have done does not end."""
    until = now + 60 * job.claim_minutes
    db.execute(f"UPDATE claims SET until = ? WHERE rater = ? AND until < {DONE}", (until, rater))
    own = "SELECT json_extract(value, '$.skip') FROM replies WHERE replies.card = cards.id AND rater = :rater"
    query = f"SELECT EXISTS ({own}) AS done, ({own}) IS NOT NULL AS skipped FROM cards WHERE unit = :unit"
    cards = db.execute(query, {"rater": rater, "unit": unit}).fetchall()
    if all(card["done"] for card in cards):
        until = SKIPPED if any(card["skipped"] for card in cards) else DONE
        db.execute("UPDATE claims SET until = ? WHERE rater = ? AND unit = ?", (until, rater, unit))


_COUNTS = """
    SELECT coalesce(sum(known IS NULL), 0) AS done, coalesce(sum(known IS NOT NULL), 0) AS checked
    FROM replies JOIN cards ON cards.id = replies.card WHERE rater = :rater
"""


def _first_check(job: Job, rater: int) -> int:
    """How many cards come before the first one with a known answer."""
    return drawn(job.seed, rater, "first check")[0] % job.check_every


def _planned_checks(job: Job, rater: int, cards: int) -> int:
    """How many cards with a known answer belong to so many others; one where there are few."""
    if not cards:
        return 0
    return max(1, (cards - _first_check(job, rater)) // job.check_every + 1)


def _check_due(db: sqlite3.Connection, job: Job, rater: int, *, at_end: bool = False) -> list[str]:
    """A card with a known answer, every `check_every` cards; the first somewhere in the first stretch, or at the
    end of a job that is shorter."""
    row = db.execute(_COUNTS, {"rater": rater}).fetchone()
    due = row["done"] >= _first_check(job, rater) + row["checked"] * job.check_every
    if not due and not (at_end and row["done"] and not row["checked"]):
        return []
    query = "SELECT id FROM units WHERE is_check AND id NOT IN (SELECT unit FROM claims WHERE rater = ?)"
    found = [each["id"] for each in db.execute(query, (rater,))]
    return sorted(found, key=lambda unit: drawn(job.seed, rater, unit))[:1]


def _free_units(db: sqlite3.Connection, job: Job, rater: int) -> list[str]:
    """First those that this person has begun and lost, then those of others, then the rest."""
    begun = " UNION ".join(
        f"SELECT unit FROM cards JOIN {table} ON {table}.card = cards.id WHERE rater = :rater"
        for table in ("replies", "drafts")
    )
    query = f"""
        SELECT id, taken, id IN ({begun}) AS begun FROM units
        WHERE {_MAY_GET} AND taken < :most
        AND id NOT IN (SELECT unit FROM claims WHERE rater = :rater) ORDER BY begun DESC, taken DESC
    """
    rows = db.execute(query, {"rater": rater, "most": job.raters})
    if job.kind == "answer":
        found = list(rows)
    else:  # one of the best is enough: the others need not be drawn, nor read
        _, best = next(groupby(rows, key=lambda row: (row["begun"], row["taken"])), (None, iter(())))
        found = list(best)
    found.sort(key=lambda row: (-row["begun"], -row["taken"], drawn(job.seed, rater, row["id"])))
    most = 1 if job.kind != "answer" else len(found) if len(found) < 2 * BATCH else BATCH
    return [row["id"] for row in found[:most]]
