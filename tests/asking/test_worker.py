"""A process on a shared store, as others see it: alive, taken for dead, back again, ended."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from unwaver.answers.store import Store
from unwaver.asking.claims import Claims
from unwaver.asking.ledger import sharing
from unwaver.asking.worker import Worker
from unwaver.models.fake import open_model


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "s.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def worker(store: Store) -> Iterator[Worker]:
    made = Worker(store)
    yield made
    made.close()


def rows(store: Store) -> list[tuple[object, ...]]:
    return list(store.rows("SELECT id, machine, host, pid, started FROM workers"))


def taken_for_dead(store: Store, table: str = "workers") -> None:
    with store.transaction() as db:
        db.execute(f"DELETE FROM {table}")


def test_who_was_taken_for_dead_comes_back(store: Store, worker: Worker) -> None:
    before = rows(store)
    taken_for_dead(store)
    worker._renew_once()
    assert rows(store) == before
    other = Worker(store)
    assert other.everyone() == {worker.id, other.id}
    other.close()


def test_until_then_it_knows_that_it_is_alive(store: Store, worker: Worker) -> None:
    taken_for_dead(store)
    assert worker.everyone() == worker.living([worker.id, "another"]) == {worker.id}
    assert worker.living(["another"]) == set()
    claims = Claims(store, worker)
    assert claims._fair([["a", "b"]], 8, open_model("random")) > 0


def test_who_has_ended_does_not_come_back(store: Store) -> None:
    worker = Worker(store)
    worker.close()
    worker._renew_once()
    assert rows(store) == []


def test_nor_while_it_waits_to_write(store: Store, worker: Worker) -> None:
    """It is about to renew its row when the process ends and deletes it."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=worker._renew_once)
        thread.start()
        worker._end.set()
        db.execute("DELETE FROM workers")
        db.execute("COMMIT")
        thread.join()
    assert rows(store) == []


def test_what_it_has_spent_comes_back_too(store: Store, worker: Worker) -> None:
    with sharing(store, worker) as ledger:
        taken_for_dead(store, "spending")
        ledger.write(2.0, 1.0)
        assert list(store.rows("SELECT worker, spent, reserved FROM spending")) == [(worker.id, 2.0, 1.0)]
