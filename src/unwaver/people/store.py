"""The replies of people on disk: one SQLite file beside the job, JOB.sqlite.

Every save is one transaction in WAL mode with synchronous=FULL: what was answered with success is there after a
power cut. Several processes may open the file.

    cards      what is shown, in units that one person gets as a whole: a card, or all cards of a group
    raters     who may come, by the hash of a token; the owner is one of them
    authors    who wrote the text that a unit is about, in another job
    claims     who has taken which unit, until when
    replies    what somebody said of a card, and how often they changed it
    drafts     what somebody has typed and not yet sent
    decisions  what the owner decided where raters differ
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from unwaver.answers.store_errors import BUSY_SECONDS
from unwaver.errors import StoreError
from unwaver.people.store_errors import explain

Made = TypeVar("Made")
VERSION = 2
# the times of claims that do not end, because all cards are answered; with one that was skipped, others get them
DONE, SKIPPED = 1e18, 2e18
SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE raters (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL UNIQUE,
    owner INTEGER NOT NULL, aside INTEGER NOT NULL DEFAULT 0, practised INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE units (
    id TEXT PRIMARY KEY, author INTEGER, is_check INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX units_taken ON units (is_check, taken);
CREATE TABLE authors (
    unit TEXT NOT NULL REFERENCES units (id), name TEXT NOT NULL, PRIMARY KEY (unit, name)
) WITHOUT ROWID;
CREATE TABLE cards (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, unit TEXT NOT NULL REFERENCES units (id),
    place INTEGER NOT NULL, shown TEXT NOT NULL, known TEXT
);
CREATE INDEX cards_of_unit ON cards (unit, place);
CREATE TABLE claims (
    unit TEXT NOT NULL REFERENCES units (id), rater INTEGER NOT NULL REFERENCES raters (id),
    batch INTEGER NOT NULL, until REAL NOT NULL, PRIMARY KEY (rater, unit)
) WITHOUT ROWID;
CREATE INDEX claims_of_unit ON claims (unit);
CREATE INDEX claims_that_end ON claims (until);
CREATE TRIGGER claim_made AFTER INSERT ON claims WHEN (SELECT NOT aside FROM raters WHERE id = NEW.rater)
BEGIN UPDATE units SET taken = taken + 1 WHERE id = NEW.unit; END;
CREATE TRIGGER claim_ended AFTER DELETE ON claims
WHEN OLD.until < {SKIPPED} AND (SELECT NOT aside FROM raters WHERE id = OLD.rater)
BEGIN UPDATE units SET taken = taken - 1 WHERE id = OLD.unit; END;
CREATE TRIGGER claim_skipped AFTER UPDATE OF until ON claims
WHEN (SELECT NOT aside FROM raters WHERE id = OLD.rater) AND (OLD.until < {SKIPPED}) != (NEW.until < {SKIPPED})
BEGIN UPDATE units SET taken = taken - (OLD.until < {SKIPPED}) + (NEW.until < {SKIPPED}) WHERE id = OLD.unit; END;
CREATE TRIGGER set_aside AFTER UPDATE OF aside ON raters WHEN OLD.aside != NEW.aside
BEGIN UPDATE units SET taken = taken + OLD.aside - NEW.aside WHERE id IN (
SELECT unit FROM claims WHERE rater = NEW.id AND until < {SKIPPED}); END;
CREATE TABLE replies (
    card TEXT NOT NULL REFERENCES cards (id), rater INTEGER NOT NULL REFERENCES raters (id), value TEXT NOT NULL,
    number INTEGER NOT NULL, seconds REAL, saved REAL NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (rater, card)
) WITHOUT ROWID;
CREATE INDEX replies_of_card ON replies (card);
CREATE TABLE drafts (
    card TEXT NOT NULL, rater INTEGER NOT NULL, value TEXT NOT NULL, saved REAL NOT NULL, PRIMARY KEY (rater, card)
) WITHOUT ROWID;
CREATE TABLE decisions (card TEXT PRIMARY KEY, value TEXT NOT NULL, saved REAL NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Card:
    """What one page shows. `known` is the right reply, where there is one."""

    id: str
    unit: str
    shown: Mapping[str, Any]
    place: int = 0
    known: str | None = None
    author: int | None = None
    number: int = 0  # in the file
    authors: tuple[str, ...] = ()  # who wrote this text, in another job: by name
    withdrawn: bool = False  # it is shown to nobody any more


@dataclass(frozen=True)
class Rater:
    id: int
    name: str
    owner: bool = False
    aside: bool = False
    practised: bool = False
    token: str = ""  # its hash


@dataclass(frozen=True)
class Reply:
    card: str
    rater: int
    value: Mapping[str, Any]
    number: int  # 1 for the first card of this rater
    seconds: float | None
    saved: float
    times: int  # 1: saved once, never changed


class Database:
    """One connection; each thread has its own."""

    def __init__(self, path: Path, *, read_only: bool = False, turn: AbstractContextManager[Any] | None = None):
        """`turn` is a lock that the threads of a server share: they write one after the other, in place of trying
        again and again until SQLite lets them."""
        self.path, self._read_only, self._turn = path, read_only, turn or nullcontext()
        with self._explained():
            if read_only:
                self.db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
            else:
                self.db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
                self.db.execute("PRAGMA journal_mode=WAL")
                self.db.execute("PRAGMA synchronous=FULL")
                self.db.execute("PRAGMA foreign_keys=ON")
                self.db.execute("PRAGMA secure_delete=ON")  # what is deleted is not in the file any more
                self._file = _file(path)
                self._prepare()
            self.db.row_factory = sqlite3.Row
            self.db.create_function("identity", 1, identity, deterministic=True)
            found = self.db.execute("PRAGMA user_version").fetchone()[0]
        if found != VERSION:
            hint = "use the unwaver that made it, or start a new job"
            raise StoreError(f"the replies have version {found}, expected {VERSION}", file=path, hint=hint)

    def _prepare(self) -> None:
        with self.transaction():
            if self.db.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in SCHEMA.split(";\n"):
                    self.db.execute(statement)
                self.db.execute(f"PRAGMA user_version={VERSION}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as e:  # the second: names of a damaged schema
            explain(e, self.path, self._read_only)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else writes in between."""
        with self._turn, self._explained():
            if _file(self.path) != self._file:  # SQLite would go on with a file that nobody can open any more
                hint = "put it back, or stop the server and start it again"
                raise StoreError("the file was moved or deleted while it was open", file=self.path, hint=hint)
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
            except BaseException:
                self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._explained(), closing(self.db.execute(query, values)) as found:
            return list(found)

    def named(self, query: str, **values: Any) -> list[sqlite3.Row]:
        """`rows` with names in place of question marks."""
        with self._explained(), closing(self.db.execute(query, values)) as found:
            return list(found)

    def _made(self, make: Callable[[sqlite3.Row], Made], query: str, *values: Any) -> list[Made]:
        """Rows as what they stand for; a column that is missing, or a cell that we did not write, is damage."""
        found = self.rows(query, *values)
        try:
            return [make(row) for row in found]
        except (IndexError, ValueError, TypeError, RecursionError) as e:
            explain(e, self.path, self._read_only)

    def close(self) -> None:
        self.db.close()

    # --- what is asked --------------------------------------------------------------------------------------

    def add_cards(self, cards: Iterable[Card]) -> int:
        """Those that are not there yet; how many they are."""
        new = 0
        with self.transaction() as db:
            for card in cards:
                is_check = int(card.known is not None)
                unit = (card.unit, card.author, is_check)
                db.execute("INSERT OR IGNORE INTO units (id, author, is_check) VALUES (?, ?, ?)", unit)
                names = [(card.unit, identity(name)) for name in card.authors]
                db.executemany("INSERT OR IGNORE INTO authors VALUES (?, ?)", names)
                db.execute(f"DELETE FROM claims WHERE unit = ? AND EXISTS ({_OWN})", (card.unit,))
                row = (card.id, card.unit, card.place, json.dumps(card.shown, ensure_ascii=False), card.known)
                insert = "INSERT OR IGNORE INTO cards (id, unit, place, shown, known) VALUES (?, ?, ?, ?, ?)"
                if db.execute(insert, row).rowcount:
                    new += 1
                    # who had done the unit has not done this card
                    db.execute("UPDATE claims SET until = 0 WHERE unit = ?", (card.unit,))
        return new

    def withdraw(self, units: Collection[str]) -> None:
        """Show these to nobody any more, and all others again. What was said of them stays."""
        with self.transaction() as db:
            db.execute("UPDATE units SET withdrawn = 0")
            db.executemany("UPDATE units SET withdrawn = 1 WHERE id = ?", [(unit,) for unit in units])

    def card(self, id: str) -> Card | None:
        found = self._made(_card, f"{_CARDS} WHERE cards.id = ?", id)
        return found[0] if found else None

    def card_at(self, number: int) -> Card | None:
        found = self._made(_card, f"{_CARDS} WHERE number = ?", number)
        return found[0] if found else None

    def cards(self) -> list[Card]:
        """In the order of the source."""
        return self._made(_card, f"{_CARDS} ORDER BY number")

    def meta(self, name: str) -> str | None:
        found = self.rows("SELECT value FROM meta WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def set_meta(self, name: str, value: str) -> None:
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    # --- who is asked ---------------------------------------------------------------------------------------

    def add_rater(self, name: str, token: str, *, owner: bool = False) -> Rater:
        """`token` is the text of the link; the file holds its hash alone."""
        with self.transaction() as db:
            values = (name, hashed(token), int(owner))
            found = db.execute("INSERT INTO raters (name, token, owner) VALUES (?, ?, ?)", values)
        return Rater(int(found.lastrowid or 0), name, owner, token=hashed(token))

    def new_token(self, name: str, token: str) -> bool:
        """A new link for somebody, in place of the old one; False where nobody has this name."""
        with self.transaction() as db:
            done = db.execute("UPDATE raters SET token = ? WHERE name = ?", (hashed(token), name))
            return done.rowcount == 1

    def rater_with(self, token: str) -> Rater | None:
        found = self._made(_rater, "SELECT * FROM raters WHERE token = ?", hashed(token))
        return found[0] if found else None

    def rater(self, id: int) -> Rater | None:
        found = self._made(_rater, "SELECT * FROM raters WHERE id = ?", id)
        return found[0] if found else None

    def raters(self) -> list[Rater]:
        """Without the owner."""
        return self._made(_rater, "SELECT * FROM raters WHERE NOT owner ORDER BY id")

    def pseudonyms(self) -> dict[int, str]:
        """r1, r2, … in the order of the invitations; who was deleted leaves a gap: no name is given twice."""
        owners = [row["id"] for row in self.rows("SELECT id FROM raters WHERE owner")]
        return {each.id: f"r{each.id - sum(owner < each.id for owner in owners)}" for each in self.raters()}

    def set_aside(self, rater: int, aside: bool) -> None:
        """What they said stays, marked; their cards go to others."""
        with self.transaction() as db:
            db.execute("UPDATE raters SET aside = ? WHERE id = ?", (int(aside), rater))

    def has_practised(self, rater: int) -> None:
        with self.transaction() as db:
            db.execute("UPDATE raters SET practised = 1 WHERE id = ?", (rater,))

    def forget(self, rater: int) -> None:
        """Delete everything of one person. Texts that they wrote and others judge go as well."""
        with self.transaction() as db:
            name = "SELECT identity(name) FROM raters WHERE id = ?"
            alone = f"SELECT unit FROM authors GROUP BY unit HAVING count(*) = 1 AND max(name) = ({name})"
            query = f"SELECT id FROM units WHERE author = ? OR id IN ({alone})"
            _delete_units(db, [row["id"] for row in db.execute(query, (rater, rater))])
            db.execute(f"DELETE FROM authors WHERE name = ({name})", (rater,))
            for table in ("replies", "drafts", "claims"):
                db.execute(f"DELETE FROM {table} WHERE rater = ?", (rater,))
            db.execute("DELETE FROM raters WHERE id = ?", (rater,))
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")  # nor in the log of SQLite

    def authors(self) -> set[str]:
        """Who wrote texts in another job that are judged here."""
        return {row["name"] for row in self.rows("SELECT name FROM authors")}

    def forget_authors(self, names: Collection[str]) -> None:
        """Delete texts that these people alone wrote, with all that was said of them."""
        with self.transaction() as db:
            for name in names:
                alone = "SELECT unit FROM authors GROUP BY unit HAVING count(*) = 1 AND max(name) = ?"
                _delete_units(db, [row["unit"] for row in db.execute(alone, (name,))])
                db.execute("DELETE FROM authors WHERE name = ?", (name,))

    # --- what they said -------------------------------------------------------------------------------------

    def replies(self, rater: int | None = None) -> list[Reply]:
        """All, or those of one person, as they were given; without the owner's."""
        if rater is None:
            return self._made(reply_of, "SELECT * FROM replies ORDER BY rater, number")
        return self._made(reply_of, "SELECT * FROM replies WHERE rater = ? ORDER BY number", rater)

    def on_own_texts(self) -> set[tuple[str, int]]:
        """Card and person, where somebody has written the text of the card themselves: in another job, after they
        judged it here."""
        own = "authors JOIN raters ON identity(raters.name) = authors.name JOIN cards ON cards.unit = authors.unit"
        return {
            (row["card"], row["rater"])
            for row in self.rows(f"SELECT cards.id AS card, raters.id AS rater FROM {own}")
        }

    def reply(self, card: str, rater: int) -> Reply | None:
        found = self._made(reply_of, "SELECT * FROM replies WHERE card = ? AND rater = ?", card, rater)
        return found[0] if found else None

    def keep_draft(self, card: str, rater: int, value: Mapping[str, Any], now: float, times: int = 0) -> bool:
        """False where the reply was saved since the page was made: a draft that comes late is no draft."""
        with self.transaction() as db:
            found = db.execute("SELECT times FROM replies WHERE card = ? AND rater = ?", (card, rater)).fetchone()
            if (found["times"] if found else 0) != times:
                return False
            row = (card, rater, json.dumps(value, ensure_ascii=False), now)
            db.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?)", row)
            return True

    def draft(self, card: str, rater: int) -> dict[str, Any] | None:
        found = self.rows("SELECT value FROM drafts WHERE card = ? AND rater = ?", card, rater)
        return dict(json.loads(found[0][0])) if found else None

    def decide(self, card: str, value: Mapping[str, Any], now: float) -> None:
        with self.transaction() as db:
            row = (card, json.dumps(value, ensure_ascii=False), now)
            db.execute("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?)", row)

    def decisions(self) -> dict[str, dict[str, Any]]:
        return dict(self._made(_decision, "SELECT * FROM decisions"))


# whether the person of a claim wrote the text that it is about
_OWN = "SELECT 1 FROM authors JOIN raters ON identity(raters.name) = authors.name WHERE authors.unit = claims.unit"
_OWN += " AND raters.id = claims.rater"
_CARDS = "SELECT cards.*, author, withdrawn FROM cards JOIN units ON units.id = unit"


def _file(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def identity(name: str) -> str:
    """By what a person is known over several jobs: identity("Ann  Lee") == identity("ann lee")."""
    return " ".join(name.split()).casefold()


def hashed(token: str) -> str:
    """Tokens are long and random, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def _card(row: sqlite3.Row) -> Card:
    texts = dict(json.loads(row["shown"]))
    found = Card(row["id"], row["unit"], texts, row["place"], row["known"], row["author"], row["number"])
    return replace(found, withdrawn=True) if row["withdrawn"] else found


def _delete_units(db: sqlite3.Connection, units: Collection[str]) -> None:
    of_card = "card IN (SELECT id FROM cards WHERE unit = ?)"
    for where in (
        *(f"{table} WHERE {of_card}" for table in ("replies", "drafts", "decisions")),
        *(f"{table} WHERE unit = ?" for table in ("claims", "authors", "cards")),
        "units WHERE id = ?",
    ):
        db.executemany(f"DELETE FROM {where}", [(unit,) for unit in units])


def _rater(row: sqlite3.Row) -> Rater:
    owner, aside, practised = (bool(row[name]) for name in ("owner", "aside", "practised"))
    return Rater(row["id"], row["name"], owner, aside, practised, row["token"])


def _decision(row: sqlite3.Row) -> tuple[str, dict[str, Any]]:
    return row["card"], dict(json.loads(row["value"]))


def reply_of(row: sqlite3.Row) -> Reply:
    value = dict(json.loads(row["value"]))
    return Reply(row["card"], row["rater"], value, row["number"], row["seconds"], row["saved"], row["times"])
