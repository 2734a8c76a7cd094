"""What processes that share a store have spent and set aside of a common cost cap: each writes it down there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from unwaver.answers.store import Store
from unwaver.asking.worker import Worker, began, process

SCHEMA = """
CREATE TABLE IF NOT EXISTS spending (
    worker TEXT PRIMARY KEY, process TEXT NOT NULL, spent REAL NOT NULL, reserved REAL NOT NULL, at REAL NOT NULL
) WITHOUT ROWID
"""


@dataclass
class LedgerView:
    """What others have spent or set aside, and whether some who set it aside are alive; `write` is one's own."""

    others: float = 0.0
    set_aside: bool = False
    ledger: Ledger | None = None

    def write(self, spent: float, reserved: float) -> None:
        if self.ledger is not None:
            self.ledger.write(spent, reserved)


@contextmanager
def page(ledger: Ledger | None) -> Iterator[LedgerView]:
    if ledger is None:
        yield LedgerView()
        return
    with ledger.store.transaction():
        yield ledger.read()


class Ledger:
    """The page of a store on which those who share a cap write: processes that run at the same time, and those
    that ran at the same time as one of them. What earlier ones have spent is cleared away."""

    def __init__(self, store: Store, worker: Worker):
        self.store, self._worker = store, worker
        with store.transaction() as db:
            db.execute(SCHEMA)
            rows = list(db.execute("SELECT worker, process, at FROM spending"))
            living = self._living(worker for worker, _, _ in rows)
            # an earlier run of this same process is none that runs beside it
            gone = [worker for worker, who, _ in rows if who == process() and worker not in living]
            if not living and all(at < began() for worker, _, at in rows if worker not in gone):
                gone = [worker for worker, _, _ in rows]
            db.executemany("DELETE FROM spending WHERE worker = ?", [(worker,) for worker in gone])
            self.write(0.0, 0.0)

    def _living(self, workers: Iterable[str]) -> set[str]:
        return self._worker.living(workers, self.store) - {self._worker.id}

    def read(self) -> LedgerView:
        """What a dead process had set aside counts as spent: the server may have had its requests."""
        rows = self.store.rows("SELECT worker, spent, reserved FROM spending")
        others = {worker: (spent, reserved) for worker, spent, reserved in rows if worker != self._worker.id}
        waiting = [worker for worker, (_, reserved) in others.items() if reserved > 0]
        return LedgerView(sum(map(sum, others.values())), bool(waiting and self._living(waiting)), self)

    def write(self, spent: float, reserved: float) -> None:
        """Also where others have taken this process for dead and cleared its row away."""
        statement = "INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?)"
        self.store.run(statement, self._worker.id, process(), spent, reserved, time.time())


@contextmanager
def sharing(store: Store, worker: Worker) -> Iterator[Ledger]:
    """A connection of its own, for calls are made again in threads."""
    with closing(Store(store.path, any_thread=True)) as own:
        yield Ledger(own, worker)
