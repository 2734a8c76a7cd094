"""Several processes on one store: each request is asked once, and a dead process holds nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unwaver.answers.store import Store
from unwaver.asking import worker as workers
from unwaver.asking.ask import Asker, Plan
from unwaver.asking.claims import Claims, claiming, first_size, next_size
from unwaver.asking.worker import Worker, machine, started
from unwaver.types import Answer, Request

TORTURE = Path(__file__).parents[2] / "torture" / "claims.py"


class Model:
    """Answers `concurrency` at a time, and counts."""

    name = identity = method = "m"
    reads, settings, deterministic = ("prompt",), {}, True  # type: ignore[var-annotated]

    def __init__(self, concurrency: int = 1, fails: tuple[str, ...] = (), stops_after: int = 10**9):
        self.concurrency, self.fails, self.stops_after = concurrency, fails, stops_after
        self.asked: Counter[str] = Counter()

    def answer(self, requests: Any) -> Iterator[list[tuple[int, Answer]]]:
        for index, request in enumerate(requests):
            if sum(self.asked.values()) >= self.stops_after:
                return
            self.asked[request.prompt] += 1
            time.sleep(0.001)
            error = "no" if request.prompt in self.fails else None
            yield [(index, Answer(text=None if error else "a", error=error))]

    def close(self) -> None:
        pass


def plan_of(groups: int, size: int = 2) -> Plan:
    keys = [[f"g{g:03}-{i}" for i in range(size)] for g in range(groups)]
    requests = {key: Request("t", (), key, (), ()) for group in keys for key in group}
    return Plan({(key, 0): key for key in requests}, requests, keys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


def left(path: Path, table: str = "claims") -> int:
    store = Store(path)
    with store.transaction() as db:
        count = int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    store.close()
    return count


def test_threads_share_the_work(path: Path) -> None:
    plan, models = plan_of(60), [Model() for _ in range(4)]
    reports: list[int] = [0] * 4

    def work(number: int) -> None:
        own = Store(path)
        with claiming(own) as claims:
            asker = Asker(own, claims=claims)

            def progress(count: int) -> None:
                reports[number] += count

            assert asker.ask(models[number], plan, progress=progress)  # type: ignore[arg-type]
        own.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = sum((model.asked for model in models), Counter[str]())
    assert asked == Counter(plan.requests.keys())
    assert reports == [120] * 4, "each has seen all of it answered"
    assert left(path) == left(path, "workers") == 0


def test_groups_stay_whole(store: Store) -> None:
    plan = plan_of(5, size=3)
    with claiming(store) as claims:
        waves = []
        for wave in claims.waves(plan.groups, Model(), lambda _: None):  # type: ignore[arg-type]
            waves.append(wave)
            store.put([(key, Answer(text="a")) for key in wave])
        assert [len(wave) % 3 for wave in waves] == [0] * len(waves)
        assert [key for wave in waves for key in wave] == list(plan.requests)


def other_claims(path: Path, keys: list[str], alive: bool = True, elsewhere: bool = False, seen: float = 0) -> str:
    """What another process has written: one that lives (this one), or one that has ended."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    pid, since = (os.getpid(), started(os.getpid())) if alive else (gone.pid, started(gone.pid))
    gone.wait()
    store = Store(path)
    with claiming(store), store.transaction() as db:
        place = "another machine" if elsewhere else machine()
        row = ("other", place, "elsewhere", pid, since, time.time() - seen)
        db.execute("INSERT OR REPLACE INTO workers VALUES (?,?,?,?,?,?)", row)
        db.executemany("INSERT OR REPLACE INTO claims VALUES (?,?)", [(key, "other") for key in keys])
    store.close()
    return "other"


@pytest.mark.parametrize(
    ("alive", "elsewhere", "seen", "living"),
    [
        (True, False, 0, True),
        (False, False, 0, False),  # at once, on the same machine
        (False, True, 0, True),  # its number says nothing here
        (True, True, workers.EXPIRY + 1, False),
        (True, False, workers.EXPIRY + 1, False),
        (True, False, -workers.EXPIRY - 1, False),
    ],
)
def test_who_lives(path: Path, store: Store, alive: bool, elsewhere: bool, seen: float, living: bool) -> None:
    plan = plan_of(3)
    with claiming(store) as claims:
        other_claims(path, plan.groups[0], alive, elsewhere, seen)
        waves = claims.waves(plan.groups, Model(concurrency=8), lambda _: None)  # type: ignore[arg-type]
        mine = next(waves)
        waves.close()  # type: ignore[attr-defined]
        assert mine == [key for group in plan.groups[1 if living else 0 :] for key in group]


def waiting(store: Store, then: Any) -> Claims:
    """Claims that, instead of sleeping, let something happen."""
    happened: list[float] = []

    def wait(seconds: float) -> None:
        happened.append(seconds)
        then(len(happened))

    return Claims(store, Worker(store), lambda line: None, wait)


def test_what_others_answer_is_waited_for_and_what_they_leave_is_taken_over(path: Path, store: Store) -> None:
    plan = plan_of(3)
    with claiming(store):
        other_claims(path, [key for group in plan.groups[:2] for key in group])
        other = Store(path)
        other.has_claims = True

        def then(times: int) -> None:
            if times == 1:
                other.put([(plan.groups[0][0], Answer(text="a")), (plan.groups[0][1], Answer(error="no"))])
            elif times == 2:
                with other.transaction() as db:
                    db.execute("DELETE FROM workers WHERE id = 'other'")
            assert times < 9

        claims, model = waiting(store, then), Model()
        assert Asker(store, claims=claims).ask(model, plan)  # type: ignore[arg-type]
        claims.worker.close()
        other.close()
    assert model.asked == Counter([*plan.groups[2], *plan.groups[1]]), "a failure of the other is not tried again"
    assert store.failures(plan.requests) == {plan.groups[0][1]: "no"}


def test_what_is_not_asked_is_given_back(path: Path, store: Store) -> None:
    """A model that stops early, one that raises, a budget."""
    plan = plan_of(4)
    with claiming(store) as claims:
        model = Model(stops_after=3)
        Asker(store, claims=claims).ask(model, plan)  # type: ignore[arg-type]
        assert left(path) == 0

        class Broken(Model):
            def answer(self, requests: Any) -> Any:
                raise RuntimeError("broken")

        with pytest.raises(RuntimeError):
            Asker(store, claims=claims).ask(Broken(), plan)  # type: ignore[arg-type]
        assert left(path) == 0


def test_failures_are_said_and_an_old_one_is_tried_again(store: Store) -> None:
    plan = plan_of(2)
    store.put([("g000-0", Answer(error="earlier"))])
    with claiming(store) as claims:
        model = Model(fails=("g000-0",))
        Asker(store, claims=claims).ask(model, plan)  # type: ignore[arg-type]
    assert store.failures(plan.requests) == {"g000-0": "no"}
    assert sum(model.asked.values()) == 4


def test_dead_workers_are_cleared_away(path: Path, store: Store) -> None:
    other_claims(path, ["a"], alive=False)
    with claiming(store):
        assert left(path, "workers") == 1


def test_sizes() -> None:
    assert first_size(Model(concurrency=8)) == 32  # type: ignore[arg-type]
    assert first_size(object()) == 256  # type: ignore[arg-type]
    assert next_size(32, 32, 1.0) == 128, "not much more than before"
    assert next_size(128, 128, 10.0) == 128
    assert next_size(128, 128, 40.0) == 64
    assert next_size(1, 1, 1000.0) == 1
    assert next_size(4096, 4096, 0.0) == 4096


def test_a_store_of_before_is_shared_too(path: Path) -> None:
    Store(path).close()
    store = Store(path)
    with store.transaction() as db:
        assert not db.execute("SELECT name FROM sqlite_master WHERE name = 'claims'").fetchall()
    with claiming(store) as claims:
        assert Asker(store, claims=claims).ask(Model(), plan_of(1))  # type: ignore[arg-type]
    store.close()


def test_three_processes_and_a_kill() -> None:
    done = subprocess.run([sys.executable, str(TORTURE), "--short"], capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found, done.stderr
    assert all(line["ok"] for line in found), found
