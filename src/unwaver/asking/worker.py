"""Who works on a shared store: a row for each process, renewed while it lives, so that others see when it died.

On the same machine a dead process is known at once, by its number and the time it started. From elsewhere, or if
it hangs, it counts as dead when its row was not renewed for `EXPIRY` seconds.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from unwaver.answers.shared_tables import WORKERS
from unwaver.answers.store import Store
from unwaver.errors import StoreError

EXPIRY = 60.0  # seconds
_IMPORTED = time.time()
ROW = "INSERT INTO workers VALUES (?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen"

WorkerRow = tuple[str, str, str, int, str, float]


class Worker:
    """This process, as others who use the store see it."""

    def __init__(self, store: Store):
        self.id, self._store, self._end = uuid4().hex, store, threading.Event()
        self._row = self.id, machine(), socket.gethostname(), os.getpid(), started(os.getpid())
        store.atomically(self._enter)
        self._thread = threading.Thread(target=self._renew, daemon=True, name="unwaver-worker")
        self._thread.start()

    def _enter(self, db: Any) -> None:
        db.execute(WORKERS)
        everyone = {id for (id,) in db.execute("SELECT id FROM workers")}
        db.executemany("DELETE FROM workers WHERE id = ?", [(id,) for id in everyone - self.living(everyone)])
        db.execute(ROW, (*self._row, self._store.clock()[0]))

    def living(self, ids: Iterable[str], store: Store | None = None) -> set[str]:
        """Those of the workers that are alive, this one included whatever others take it for; seen through another
        connection in a thread."""
        ids, store = set(ids), store or self._store
        rows = self._rows(ids - {self.id}, store)
        clock = store.clock() if rows else (0.0, 0.0)
        return {row[0] for row in rows if _is_alive(row, *clock)} | (ids & {self.id})

    def everyone(self) -> set[str]:
        """All workers that are alive."""
        return self.living({self.id, *(id for (id,) in self._store.rows("SELECT id FROM workers"))})

    def named(self, ids: Iterable[str]) -> list[str]:
        """How a person knows them: process 17 on host."""
        return sorted(f"process {pid} on {host}" for _, _, host, pid, *_ in self._rows(ids, self._store))

    def close(self) -> None:
        self._end.set()
        self._thread.join(timeout=1)
        self._store.atomically(lambda db: db.execute("DELETE FROM workers WHERE id = ?", (self.id,)))

    def _rows(self, ids: Iterable[str], store: Store) -> list[WorkerRow]:
        return store.select("SELECT id, machine, host, pid, started, seen FROM workers WHERE id IN", ids)

    def _renew(self) -> None:
        while not self._end.wait(EXPIRY / 4):
            with suppress(StoreError):  # a full disk, or a store that is busy: the next time may do
                self._renew_once()

    def _renew_once(self) -> None:
        """Others may have taken this worker for dead, on a machine that slept: it comes back."""
        with closing(self._store.another()) as own:

            def renew(db: Any) -> None:
                if not self._end.is_set():  # asked under the lock: it is set before `close` deletes the row
                    db.execute(ROW, (*self._row, own.clock()[0]))

            own.atomically(renew)


def _is_alive(row: WorkerRow, now: float, since: float) -> bool:
    """Whether a worker was seen lately, or since all may write again; on this machine also whether it is there."""
    _, where, _, pid, began, seen = row
    recent = abs(now - max(seen, since)) <= EXPIRY  # a clock may have been set back
    return recent and (where != machine() or started(pid) == began)


@cache
def machine() -> str:
    """This machine since it started, and the numbering of processes here: containers may share a host's name."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def started(pid: int) -> str:
    """When a process started, in the system's own terms; "" if there is none such, or it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]
    except (OSError, ValueError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass  # another user's
    return "" if Path("/proc/self/stat").exists() else "running"


def process() -> str:
    """This process, and no other at any time."""
    return f"{machine()} {os.getpid()} {started(os.getpid())}"


@cache
def began() -> float:
    """When this process was started, as time.time() tells it: long before it gets to work, on a busy machine."""
    try:
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(started(os.getpid())) / os.sysconf("SC_CLK_TCK")
    except (AttributeError, ValueError, OSError):
        return _IMPORTED
    return time.time() - age
