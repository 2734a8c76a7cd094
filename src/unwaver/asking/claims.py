"""Several processes on one store: a request is claimed before it is asked, so that each is asked once.

A process claims about as much as it asks in a few seconds, answers it, and claims more. What others have claimed
it leaves to them; in the end it waits for their answers, and takes over what a dead process has left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from unwaver.answers.shared_tables import CLAIMS
from unwaver.answers.store import Store
from unwaver.asking.worker import Worker
from unwaver.console import Progress, silent
from unwaver.errors import StoreError
from unwaver.models.parts import Parts
from unwaver.types import Model

CLAIM = "INSERT INTO claims VALUES (?,?) ON CONFLICT (key) DO UPDATE SET worker = excluded.worker"
MOST = 4096  # requests that are claimed at once
SECONDS = 10.0  # what a claim should take to be answered
LOCAL = 256  # the first claim for a model that does not say how many it answers at once
SHORTEST, LONGEST = 0.05, 1.0  # seconds between two looks at what others do
PATIENCE = 2.0  # seconds before a person is told why nothing happens


@dataclass
class Claims:
    """The claims of one process on the requests of a store."""

    store: Store
    worker: Worker
    say: Callable[[str], None] = silent
    _wait: Callable[[float], None] = field(default=time.sleep)

    def waves(self, groups: Sequence[Sequence[str]], model: Model, progress: Progress) -> Iterator[list[str]]:
        """The keys in parts that this process is to ask; groups stay whole where they can. `progress` hears of
        what others have answered meanwhile."""
        queue, theirs = [list(group) for group in reversed(groups)], set[str]()
        size = first_size(model)
        try:
            while queue or theirs:
                mine = self._take(queue, theirs, self._fair(queue, size, model), progress)
                if mine:
                    began = time.monotonic()
                    yield mine
                    self.release()
                    size = next_size(size, len(mine), time.monotonic() - began)
                elif theirs:
                    freed = self._await(theirs, progress)
                    queue = [freed] if freed else []
        finally:
            self.release()

    def release(self) -> None:
        """Give up what was claimed and not asked."""
        with suppress(StoreError):  # a full disk: the claims end with the process
            self.store.atomically(lambda db: db.execute("DELETE FROM claims WHERE worker = ?", (self.worker.id,)))

    def _fair(self, queue: Sequence[Sequence[str]], size: int, model: Model) -> int:
        """Towards the end smaller parts, so that no process is left with most of what remains."""
        everyone = len(self.worker.everyone())
        return min(size, max(first_size(model), sum(map(len, queue)) // (2 * everyone)))

    def _take(self, queue: list[list[str]], theirs: set[str], size: int, progress: Progress) -> list[str]:
        """Claim the next groups of the queue; what others have goes to `theirs`."""

        def take(db: Any) -> tuple[list[str], set[str], int, int]:
            mine, others, answered, end = list[str](), set[str](), 0, len(queue)
            while end and len(mine) < size:
                keys = list[str]()
                while end and len(keys) < size - len(mine):
                    end -= 1
                    keys += queue[end]
                known = self.store.answered(keys)
                taken = self._claimed(key for key in keys if key not in known)
                free = [key for key in keys if key not in known and key not in taken]
                others.update(taken)
                mine += free
                answered += len(known)
                db.executemany(CLAIM, [(key, self.worker.id) for key in free])
                # so that a failure which others find afterwards is one of this time
                db.executemany("DELETE FROM failures WHERE key = ?", [(key,) for key in free])
            return mine, others, answered, end

        mine, others, answered, end = self.store.atomically(take)
        del queue[end:]
        theirs |= others
        progress(answered)
        return mine

    def _claimed(self, keys: Iterator[str]) -> dict[str, str]:
        """Which other living worker has claimed which of the keys. One's own claims may be there from a try whose
        end the store did not confirm."""
        found = dict(self.store.select("SELECT key, worker FROM claims WHERE key IN", keys))
        living = self.worker.living(set(found.values()) - {self.worker.id})
        return {key: worker for key, worker in found.items() if worker in living}

    def _await(self, theirs: set[str], progress: Progress) -> list[str]:
        """Wait until something that others claimed was answered or let go; give what is free now."""
        began, pause, told = time.monotonic(), SHORTEST, False
        while True:
            # claims first: one that ends between the two looks has left an answer
            taken = self._claimed(iter(theirs))
            over = theirs - taken.keys()
            done = self.store.answered(over)
            done |= self.store.failures(over - done).keys()  # tried in vain by another process, just now
            if over:
                theirs -= over
                progress(len(done))
                return sorted(over - done)
            if not told and time.monotonic() - began > PATIENCE:
                names = ", ".join(self.worker.named(set(taken.values())))
                self.say(f"waiting for {len(theirs):,} requests that {names} is asking")
                told = True
            self._wait(pause)
            pause = min(2 * pause, LONGEST)


@contextmanager
def claiming(store: Store, say: Callable[[str], None] = silent) -> Iterator[Claims]:
    """Take part in the work on a shared store."""
    store.atomically(lambda db: db.execute(CLAIMS))
    worker = Worker(store)
    try:
        store.has_claims, store.say = True, say
        claims = Claims(store, worker, say)
        yield claims
        claims.release()
    finally:
        with suppress(StoreError):
            worker.close()


def first_size(model: Model) -> int:
    """A few for each that a server answers at once; more for a model on this machine."""
    concurrency = Parts(model).concurrency
    return LOCAL if concurrency is None else min(MOST, 4 * concurrency)


def next_size(size: int, asked: int, seconds: float) -> int:
    """As many as took SECONDS, but not much more or less than before: 32 in 1 s -> 128 next."""
    fitting = int(asked * SECONDS / max(seconds, 1e-3))
    return max(1, min(MOST, 4 * size, max(size // 2, fitting)))
