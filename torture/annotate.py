"""A server of `unwaver annotate` that is killed again and again while two people save.

    python torture/annotate.py [--short]

Every save that was answered with success is in the file afterwards, as it was sent and once; a reply whose answer
was lost is sent again and is one reply; nobody holds a card for ever.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from _people import Client, form_of
from annotating import Served, write_job

from unwaver.people.job import read_job
from unwaver.people.queue import next_card, save
from unwaver.people.store import DONE, Database

GONE = (OSError, http.client.HTTPException)


class Saver(threading.Thread):
    """Saves card after card until the server has gone; `saved` is what it was told is safe, by card."""

    def __init__(self, client: Client, name: str):
        super().__init__(daemon=True)
        self.client, self.who = client, name
        self.saved: dict[str, str] = {}
        self.pending: tuple[str, dict[str, str]] | None = None
        self.again = self.count = self.steps = 0
        self.wrong: list[str] = []

    def go_on(self) -> Saver:
        """The same person in a new thread, after the server was started anew."""
        found = Saver(self.client, self.who)
        found.saved, found.pending, found.again, found.count = self.saved, self.pending, self.again, self.count
        found.wrong = self.wrong
        return found

    def run(self) -> None:
        try:
            while self._step():
                self.steps += 1
        except GONE:
            self.client.hang_up()

    def _step(self) -> bool:
        if self.pending is None:
            status, page = self.client.request("GET", "/")
            if status == 429:
                time.sleep(0.1)
                return True
            if (found := form_of(page)) is None:
                return False
            self.count += 1
            self.pending = found[0], {**found[1], "value": "yes", "flag": f"{self.who} {self.count}"}
        else:
            self.again += 1
        action, form = self.pending
        status, page = self.client.request("POST", action, form)
        if status == 303:
            self.saved[action.rpartition("/")[2]] = form["flag"]
            self.pending = None
        elif status == 429:
            self.again -= 1
            time.sleep(0.1)
        else:
            self.wrong.append(f"{status}: {re.sub('<[^>]+>', ' ', page)[-300:]}")
            self.pending = None
        return True


def lost(path: Path, savers: list[Saver]) -> list[str]:
    """What is not in the file as it should be."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        query = "SELECT cards.number, raters.name, value, times FROM replies "
        query += "JOIN cards ON cards.id = card JOIN raters ON raters.id = rater"
        there = {(str(card), name): (json.loads(value), times) for card, name, value, times in db.execute(query)}
        check = db.execute("PRAGMA integrity_check").fetchone()[0]
        most = db.execute("SELECT max(n) FROM (SELECT count(*) AS n FROM claims GROUP BY unit)").fetchone()[0]
    found = [] if check == "ok" else [f"integrity_check: {check}"]
    found += [f"{most} people have one card"] if (most or 0) > 2 else []
    for saver in savers:
        for number, flag in saver.saved.items():
            value, times = there.get((number, saver.who), ({}, 0))
            if value.get("flag") != flag or times != 1:
                found.append(f"{saver.who} card {number}: {flag} was saved, {value} is there, {times} times")
        flags = [value["flag"] for (_, who), (value, _) in there.items() if who == saver.who]
        found += [f"{saver.who}: a reply is there twice"] if len(flags) != len(set(flags)) else []
    return found


def kills(count: int, cards: int, seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        job = write_job(Path(name), "pairs", cards, raters=2)
        job.write_text(job.read_text().partition("[[practice]]")[0])
        served = Served(job, "--raters", "2")
        clients = {who: Client(served.links[who]) for who in ("rater1", "rater2")}
        for client in clients.values():
            client.enter()
        savers = [Saver(client, who) for who, client in clients.items()]
        problems: list[str] = []
        began = time.monotonic()
        for _ in range(count):
            for saver in savers:
                saver.start()
            _until(savers, draw.randrange(2, 50))
            time.sleep(draw.uniform(0.0, 0.02))
            served.kill()
            for saver in savers:
                saver.join(60)
            problems += lost(job.with_suffix(".sqlite"), savers)
            savers = [saver.go_on() for saver in savers]
            served.start()
        problems += _nothing_is_held(job, clients)
        served.kill()
        for client in clients.values():
            client.hang_up()
        problems += [line for saver in savers for line in saver.wrong]
        return {
            "attack": "annotate",
            "case": f"{count} kills while two people save",
            "seed": seed,
            "saved": sum(len(saver.saved) for saver in savers),
            "sent_again": sum(saver.again for saver in savers),
            "seconds": round(time.monotonic() - began, 1),
            "problems": problems[:10],
            "ok": not problems and all(saver.saved for saver in savers),
        }


def _until(savers: list[Saver], steps: int) -> None:
    """A moment that lies after so many requests, however slow the machine is."""
    while sum(saver.steps for saver in savers) < steps and any(saver.is_alive() for saver in savers):
        time.sleep(0.001)


def _nothing_is_held(path: Path, clients: dict[str, Client]) -> list[str]:
    """Each gets the card back that they had; what nobody comes back for goes to a third person in the end."""
    job = read_job(path)
    problems = []
    with closing(Database(job.database)) as database:
        database.db.execute("PRAGMA synchronous=OFF")
        for who, client in clients.items():
            query = "SELECT cards.number FROM claims JOIN raters ON raters.id = rater JOIN cards USING (unit) "
            query += f"WHERE name = ? AND until < {DONE}"
            held = {f"/card/{row['number']}" for row in database.rows(query, who)}
            found = form_of(client.request("GET", "/")[1])
            if held and (found is None or found[0] not in held):
                problems.append(f"{who} does not get back what they had: {held}, {found}")
        third = database.add_rater("third", "token-of-the-third").id
        later = time.time() + 2 * 60 * job.claim_minutes
        while (card := next_card(database, job, third, later)) is not None:
            save(database, job, third, card, {"value": "no"}, times=0, seconds=None, now=later)
        query = "SELECT unit, count(*) AS n FROM claims GROUP BY unit HAVING n > 2 OR sum(until < ?) > 0"
        problems += [f"{row['unit']}: {row['n']} people" for row in database.rows(query, DONE)]
        one = "SELECT unit FROM claims GROUP BY unit HAVING count(*) = 1 AND sum(rater = ?) = 0"
        problems += [f"{row['unit']} is held" for row in database.rows(one, third)]
    return problems


def main() -> None:
    short = "--short" in sys.argv
    found = kills(4, 120, seed=1) if short else kills(100, 2500, seed=1)
    print(json.dumps(found), flush=True)
    sys.exit(not found["ok"])


if __name__ == "__main__":
    main()
