"""How far a run under way has come, from what it stores: the requests it plans and the answers it has."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unwaver.answers.store import Store
from unwaver.engine.folder import ANSWERS
from unwaver.errors import UnwaverError
from unwaver.reports.opening import duration
from unwaver.web.view_runs import Run

WINDOW = 60.0  # seconds over which the rate is measured
_COUNTS = """
SELECT count(*), count(answers.key), count(failures.key)
FROM (SELECT DISTINCT key FROM asked) AS planned
LEFT JOIN answers ON answers.key = planned.key LEFT JOIN failures ON failures.key = planned.key
"""


@dataclass(frozen=True)
class Progress:
    """`rate` is requests per second, `left` seconds; None while they are not known."""

    state: str
    planned: int = 0
    done: int = 0
    failed: int = 0
    rate: float | None = None
    left: float | None = None

    @property
    def text(self) -> str:
        """ "120 of 470 requests, 2 failed; 11.5 a second, about 30.4 s left" """
        if not self.planned:
            return "Preparing."
        failed = f", {self.failed:,} failed" if self.failed else ""
        rate = "" if self.rate is None else f"; {self.rate:.1f} a second"
        left = "" if self.left is None else f", about {duration(self.left)} left"
        return f"{self.done:,} of {self.planned:,} requests{failed}{rate}{left}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "text": self.text}


class Speed:
    """The counts of each run in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def progress(self, run: Run) -> Progress:
        if run.state != "under way":
            self._seen.pop(run.id, None)
            return Progress(run.state)
        planned, done, failed = counts(run.place)
        seen = self._seen.setdefault(run.id, deque())
        now = self._clock()
        seen.append((now, done + failed))
        while len(seen) > 2 and seen[0][0] < now - WINDOW:
            seen.popleft()
        passed, came = now - seen[0][0], done + failed - seen[0][1]
        rate = came / passed if passed >= 1 and came > 0 else None
        left = None if rate is None else max(0, planned - done - failed) / rate
        return Progress(run.state, planned, done, failed, rate, left)


def counts(place: Path) -> tuple[int, int, int]:
    """Requests that are planned, answered and failed; 0 if that cannot be read at this moment."""
    log, shared = (place / f"{ANSWERS}{end}" for end in ("-wal", "-shm"))
    if log.exists() and not shared.exists():
        return 0, 0, 0  # SQLite would make that file: the run is on another machine, or has just ended
    try:
        with closing(Store(place / ANSWERS, read_only=True)) as store:
            planned, done, failed = store.rows(_COUNTS)[0]
            return planned, done, failed
    except (UnwaverError, OSError):
        return 0, 0, 0
