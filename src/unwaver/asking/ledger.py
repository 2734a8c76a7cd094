"""What processes that share a store have spent and set aside of a common cost cap: each writes it down there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, TypeVar

from unwaver.answers.shared_tables import SPENDING
from unwaver.answers.store import Store
from unwaver.asking.worker import Worker, began, process

ROW = """
INSERT INTO spending VALUES (?,?,?,?,?) ON CONFLICT (worker)
DO UPDATE SET spent = excluded.spent, reserved = excluded.reserved, at = excluded.at
"""

Result = TypeVar("Result")


@dataclass
class LedgerView:
    """What others have spent or set aside, and whether some who set it aside are alive; `write` is one's own."""

    others: float = 0.0
    set_aside: bool = False
    ledger: Ledger | None = None

    def write(self, spent: float, reserved: float) -> None:
        if self.ledger is not None:
            self.ledger.write(spent, reserved)


def fit(
    ledger: Ledger | None, costs: Sequence[float], cap: float, spent: float, reserved: float
) -> tuple[list[float] | None, bool]:
    """The sums of as many of the costs, from the first, as fit under the cap, set aside in the ledger; None while
    others may give back some of what they have set aside. And whether others have a part of the cap."""

    def work(view: LedgerView) -> tuple[list[float] | None, bool]:
        left = cap - spent - reserved - view.others
        fitting = list(takewhile(left.__ge__, accumulate(costs)))
        if not fitting and costs and view.set_aside:
            return None, view.others > 0
        view.write(spent, reserved + sum(fitting[-1:]))
        return fitting, view.others > 0

    return _on_page(ledger, work)


def put_down(ledger: Ledger | None, spent: float, reserved: float) -> float:
    """Write down what this process has spent and set aside; what others have."""

    def work(view: LedgerView) -> float:
        view.write(spent, reserved)
        return view.others

    return _on_page(ledger, work)


def _on_page(ledger: Ledger | None, work: Callable[[LedgerView], Result]) -> Result:
    """Read and write as one step, while no other process does. It may be done again: see Store.atomically."""
    if ledger is None:
        return work(LedgerView())
    return ledger.store.atomically(lambda _: work(ledger.read()))


class Ledger:
    """The page of a store on which those who share a cap write: processes that run at the same time, and those
    that ran at the same time as one of them. What earlier ones have spent is cleared away."""

    def __init__(self, store: Store, worker: Worker):
        self.store, self._worker = store, worker
        store.atomically(self._enter)

    def _enter(self, db: Any) -> None:
        db.execute(SPENDING)
        rows = list(db.execute("SELECT worker, process, at FROM spending"))
        living = self._living(worker for worker, _, _ in rows)
        # an earlier run of this same process is none that runs beside it
        gone = [worker for worker, who, _ in rows if who == process() and worker not in living]
        since = began() + self.store.clock()[0] - time.time()  # by the clock of the store
        if not living and all(at < since for worker, _, at in rows if worker not in gone):
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
        self.store.run(ROW, self._worker.id, process(), spent, reserved, self.store.clock()[0])


@contextmanager
def sharing(store: Store, worker: Worker) -> Iterator[Ledger]:
    """A connection of its own, for calls are made again in threads."""
    with closing(store.another()) as own:
        yield Ledger(own, worker)
