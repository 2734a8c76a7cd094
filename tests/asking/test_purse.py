"""What is set aside, spent and shared under a cost cap."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest

from unwaver.answers.store import Store
from unwaver.asking import purse as purses
from unwaver.asking import worker as workers
from unwaver.asking.budget import Budget, Spent
from unwaver.asking.ledger import Ledger, sharing
from unwaver.asking.paying import Worst
from unwaver.asking.purse import Purse
from unwaver.asking.worker import Worker, began, process
from unwaver.errors import UsageError
from unwaver.models.limits import LIMITS, most_tokens, token_limit
from unwaver.models.openai import open_model
from unwaver.types import Request

LABELS = Request("t", (), "Is it so?", ("a", "b"), ("yes", "no"))
TEXT = Request("t", (), "What is it?", (), ())


def purse(cap: float, ledger: Ledger | None = None) -> tuple[Purse, Spent]:
    spent = Spent()
    return Purse(Budget(max_cost=cap, price_in=1.0, price_out=1e6), spent, ledger), spent


def test_what_fits_is_set_aside_and_given_back() -> None:
    mine, spent = purse(10.0)
    assert mine.reserve([4.0, 4.0, 4.0]) == 2
    assert mine.reserve([4.0]) == 0
    mine.settle(4.0, 1.0)
    assert mine.reserve([4.0]) == 1
    assert mine.reserve([inf]) == 0
    mine.settled()
    assert (spent.cost, mine.reserve([9.0])) == (1.0, 1)


def test_a_try_that_failed_counts_and_another_needs_room() -> None:
    mine, spent = purse(10.0)
    assert mine.reserve([4.0]) == 1
    assert mine.try_again(0, 4, True)
    assert not mine.try_again(0, 4, False), "it was not to be made again"
    assert spent.stopped is None
    assert not mine.try_again(0, 4, True)
    assert (spent.cost, spent.failed_cost) == (12.0, 12.0)
    assert spent.stopped == "the cost limit of 10 is reached"


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_by_any_name_holds_a_cost_cap(name: str) -> None:
    model = open_model("m", base_url="http://127.0.0.1:9/v1", max_tokens=None, extra={name: 30})
    assert (most_tokens(model, LABELS)[1], most_tokens(model, TEXT)[1]) == (30, 30)
    Budget(max_cost=1.0, price_in=1.0, price_out=1.0).check(model, TEXT)
    model.close()


@pytest.mark.parametrize(("settings", "limit"), [
    ({"max_tokens": 16}, 16),
    ({"max_tokens": None}, None),
    ({}, None),
    ({"max_tokens": None, "max_completion_tokens": 90}, 90),
    ({"max_tokens": 200, "max_completion_tokens": 90}, 200),
    ({"max_tokens": None, "max_output_tokens": 90}, 90),
    ({"max_new_tokens": 90}, 90),
    ({"num_predict": 90, "max_tokens": 16}, 90),
    ({"num_predict": True, "max_new_tokens": None}, None),
    ({"max_tokens": "many"}, None),
    ({"max_tokens": 10, "best_of": 3}, 30),
])  # fmt: skip
def test_limits(settings: dict[str, object], limit: int | None) -> None:
    assert token_limit(settings) == limit


def test_the_most_tokens_of_a_server() -> None:
    def most(request: Request, **options: Any) -> tuple[int, int | None]:
        model = open_model("m", base_url="http://127.0.0.1:9/v1", **options)
        found = most_tokens(model, request)
        model.close()
        return found

    assert most(LABELS) == (9 + 64, 2048)
    assert most(TEXT) == (11 + 64, 2048)
    assert most(TEXT, thinking_budget=500)[1] == 2548
    assert most(TEXT, max_tokens=None) == (11 + 64, None)
    assert most(TEXT, max_tokens=None, extra={"max_completion_tokens": 5}) == (11 + 64, 5)
    assert most(LABELS, system="Ü")[0] == 9 + 2 + 2 * 64
    assert most(LABELS, method="logprob") == (2 * (9 + 64) + len(" yes no"), 2)
    assert most(TEXT, method="logprob") == (11 + 64, 2048), "free text is written"
    assert most(TEXT, extra={"tools": ["x" * 1000]})[0] > 1000


def test_a_model_that_says_nothing_of_limits() -> None:
    class Plain:
        name = method = "m"

        def __init__(self, **settings: object):
            self.settings = settings

    assert most_tokens(Plain(), LABELS) == (9 + 64, 16)  # type: ignore[arg-type]
    assert most_tokens(Plain(), TEXT) == (11 + 64, 64)  # type: ignore[arg-type]
    assert most_tokens(Plain(max_tokens=None), TEXT) == (11 + 64, None)  # type: ignore[arg-type]


def test_no_limit_is_refused_unless_answers_are_free() -> None:
    model = open_model("m", base_url="http://127.0.0.1:9/v1", max_tokens=None)
    for price_out in (None, 2.0):
        with pytest.raises(UsageError, match=r"--max-cost cannot be enforced for .*m: its answers have no limit"):
            Budget(max_cost=1.0, price_in=1.0, price_out=price_out).check(model, TEXT)
    Budget(max_cost=1.0, price_in=1.0, price_out=0.0).check(model, TEXT)
    model.close()


# --- shared


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@contextmanager
def taking_part(path: Path, cap: float = 10.0) -> Iterator[tuple[Purse, Spent]]:
    with ExitStack() as opened:
        store = Store(path)
        opened.callback(store.close)
        worker = Worker(store)
        opened.callback(worker.close)
        yield purse(cap, opened.enter_context(sharing(store, worker)))


def test_two_share_one_cap(path: Path) -> None:
    with taking_part(path) as (one, _), taking_part(path) as (other, spent):
        assert one.reserve([6.0]) == 1
        one.settle(6.0, 5.0)
        one.settled()
        assert other.reserve([3.0, 3.0]) == 1
        other.settle(3.0, 3.0)
        other.settled()
        assert not other.try_again(0, 3, True)
        assert spent.stopped
        assert one.reserve([1.0]) == 0


def test_others_are_named_only_where_there_are_some(path: Path) -> None:
    with taking_part(path) as (one, _):
        assert one.reserve([11.0]) == 0
        assert not one.is_shared
        with taking_part(path) as (other, _):
            assert one.reserve([6.0]) == 1
            one.settle(6.0, 6.0)
            one.settled()
            assert other.reserve([6.0]) == 0
            assert other.is_shared


def test_only_what_may_fit_is_worked_out() -> None:
    class Counted(Budget):
        asked = 0

        def worst(self, model: Any, request: Request) -> float | None:
            Counted.asked += 1
            return 4.0

    budget = Counted(max_cost=10.0)
    mine = Purse(budget, Spent())
    assert mine.reserve(Worst(budget, None, [TEXT] * 1000)) == 2  # type: ignore[arg-type]
    assert Counted.asked == 3


def test_one_waits_for_what_the_other_has_set_aside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purses, "PAUSE", 0.01)
    with taking_part(path) as (one, _), taking_part(path) as (other, _):
        assert one.reserve([9.0]) == 1
        waited = threading.Event()

        def later() -> None:
            waited.set()
            time.sleep(0.05)
            one.settle(9.0, 2.0)
            one.settled()

        thread = threading.Thread(target=later)
        thread.start()
        assert other.reserve([5.0]) == 1
        assert waited.is_set()
        thread.join()


def test_who_wants_nothing_waits_for_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with taking_part(path) as (one, _), taking_part(path) as (other, _):
        assert one.reserve([9.0]) == 1

        def wait(seconds: float) -> None:
            raise AssertionError("it waits")

        monkeypatch.setattr(purses.time, "sleep", wait)
        assert other.reserve([]) == 0
        assert other.reserve([0.5]) == 1
        assert other.reserve([]) == 0


def spent_elsewhere(path: Path, spent: float, reserved: float, at: float) -> None:
    """What a process that has ended, or was killed, has left behind."""
    with taking_part(path):
        store = Store(path)
        store.run("INSERT INTO spending VALUES ('gone', 'another process', ?, ?, ?)", spent, reserved, at)
        store.close()


def test_what_ran_at_the_same_time_counts_also_when_it_is_dead(path: Path) -> None:
    spent_elsewhere(path, 4.0, 3.0, at=began() + 0.5)
    with taking_part(path) as (mine, _):
        assert mine.reserve([4.0]) == 0, "and nobody waits for the dead"
        assert mine.reserve([3.0]) == 1


def test_what_ended_before_does_not_count(path: Path) -> None:
    spent_elsewhere(path, 4.0, 3.0, at=began() - 0.5)
    with taking_part(path) as (mine, _):
        assert mine.reserve([10.0]) == 1


def test_it_counts_as_long_as_one_who_saw_it_is_at_work(path: Path) -> None:
    with taking_part(path):
        store = Store(path)
        store.run("INSERT INTO spending VALUES ('gone', 'another process', 4, 0, ?)", began() - 100)
        store.close()
        with taking_part(path) as (mine, _):
            assert mine.reserve([7.0]) == 0


def test_an_earlier_run_of_the_same_process_does_not_count(path: Path) -> None:
    with taking_part(path) as (mine, _):
        assert mine.reserve([8.0]) == 1
        mine.settle(8.0, 8.0)
        mine.settled()
    with taking_part(path) as (mine, _):
        assert mine.reserve([8.0]) == 1


def test_when_a_process_began() -> None:
    code = "import time; time.sleep(0.3); from unwaver.asking.worker import began; print(time.time() - began())"
    age = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert age >= 0.3
    assert str(workers.started(0)) == "" or process()
