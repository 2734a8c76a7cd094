"""How a wave is cut into parts and what becomes of parts whose replica died; and a replica, without Ray."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from unwaver.errors import ModelError, UsageError
from unwaver.models.fake import open_model
from unwaver.models.on_ray_replica import (
    Handed,
    Recipe,
    Replica,
    Said,
    error_of,
    opened,
    settings_of,
    trouble_of,
)
from unwaver.models.on_ray_work import LEAST, Part, Sizes, Work
from unwaver.types import Answer, Batch, Request

WAIT = 30.0  # seconds; something is there long before


def wave(groups: int, each: int = 2) -> list[Request]:
    return [
        Request("t", (f"{group}-{item}",), "", ("a", "b"), ("a", "b"), item=f"suite/{group}/{item}")
        for group in range(groups)
        for item in range(each)
    ]


def answers(part: Part) -> Batch:
    return [(n, Answer(text=str(index))) for n, index in enumerate(part.indices)]


def whole(work: Work, replicas: int = 2) -> Iterator[Part]:
    while (part := work.take(replicas)) is not None:
        yield part


def test_parts_are_whole_groups_and_all_of_them() -> None:
    work = Work(wave(100, each=3), Sizes(64))
    parts = list(whole(work))
    assert [index for part in parts for index in part.indices] == list(range(300))
    assert all(part.indices[0] % 3 == 0 for part in parts)
    assert len(parts[-1].indices) <= LEAST + 2, "the last ones are small, so that replicas end together"
    assert len({part.number for part in parts}) == len(parts)
    assert not work.is_over
    for part in parts:
        assert work.answered(part, answers(part)) == [(i, Answer(text=str(i))) for i in part.indices]
    assert work.is_over


def test_items_without_a_group_are_cut_anywhere() -> None:
    requests = [Request("t", (str(n),), "", (), (), item="") for n in range(40)]
    assert sum(len(part.indices) for part in whole(Work(requests, Sizes(8)))) == 40
    assert len(next(whole(Work(requests, Sizes(8)))).indices) == 8


def test_the_first_requests_go_alone_where_a_server_was_not_met() -> None:
    work = Work(wave(20), Sizes(64))
    first = work.take(2, most=2)
    assert first is not None
    assert first.indices == (0, 1)
    rest = [index for part in whole(work) for index in part.indices]
    assert sorted(rest) == list(range(2, 40))


def test_what_a_dead_replica_left_is_handed_out_next() -> None:
    work = Work(wave(50), Sizes(64))
    first, second = work.take(2), work.take(2)
    assert first is not None
    assert second is not None
    work.answered(first, answers(first)[:10])
    assert work.give_back(first, died=True) == []
    again = work.take(1)
    assert again is not None
    assert again.indices == first.indices[10:]
    assert again.number not in (first.number, second.number)


def test_an_answer_counts_once() -> None:
    work = Work(wave(4), Sizes(64))
    part = work.take(1)
    assert part is not None
    work.give_back(part, died=False)  # it is silent: another gets the same
    twin = work.take(1)
    assert twin is not None
    assert len(work.answered(twin, answers(twin)[:3])) == 3
    assert [index for index, _ in work.answered(part, answers(part))] == [3, 4, 5, 6, 7]
    assert work.is_over
    assert work.take(1) is None


@pytest.mark.parametrize("seed", range(20))
def test_one_request_that_kills_replicas_is_found_and_all_others_are_answered(seed: int) -> None:
    chosen = random.Random(seed)
    poison = set(chosen.sample(range(64), chosen.choice([1, 1, 2, 3])))
    work, deaths, given = Work(wave(32), Sizes(64)), 0, {}
    while not work.is_over:
        part = work.take(chosen.choice([1, 2, 3]))
        assert part is not None
        done = answers(part)[: next((n for n, i in enumerate(part.indices) if i in poison), None)]
        given.update(work.answered(part, done))
        if len(done) < len(part.indices):
            deaths += 1
            given.update(work.give_back(part, died=True))
        else:
            work.done(part, 1.0)
    assert set(given) == set(range(64))
    assert {index for index, answer in given.items() if answer.error} == poison
    assert all("died 3 times" in str(given[index].error) for index in poison)
    assert deaths <= 10 * len(poison)


def test_a_request_that_a_model_left_out_is_not_waited_for() -> None:
    work = Work(wave(3), Sizes(64))
    part = work.take(1)
    assert part is not None
    work.answered(part, answers(part)[:5])
    work.done(part, 0.1)
    assert work.is_over


def test_sizes_follow_the_time_a_part_takes() -> None:
    sizes = Sizes(64)
    sizes.learn(64, 1.0)
    assert sizes.now == 256
    sizes.learn(256, 1000.0)
    assert sizes.now == 64, "never below the first: batches would get small"
    for _ in range(9):
        sizes.learn(sizes.now, 0.0)
    assert sizes.now == 1024


# --- a replica ----------------------------------------------------------------------------------------------------


def recipe(**changed: Any) -> Recipe:
    model = open_model("constant")
    given: dict[str, Any] = {"identity": model.identity, "settings": settings_of(model)}
    return Recipe(
        **{"provider": "fake", "name": "constant", "options": {}, "method": "fake", **given, **_HERE, **changed}
    )


_HERE: dict[str, Any] = {"folder": ".", "path": ()}


def heard(replica: Replica, until: str) -> list[Said]:
    said: list[Said] = []
    while not any(one.kind == until for one in said):
        new = replica.next(WAIT)
        assert new, f"never: {until}"
        said += new
    return said


def test_a_replica_answers_parts_in_turn() -> None:
    replica = Replica()
    assert replica.open(recipe()) is None
    replica.begin(Handed(1, wave(2)))
    replica.begin(Handed(2, wave(1)))
    first = heard(replica, "done")
    while sum(one.kind == "done" for one in first) < 2:
        first += replica.next(WAIT)
    assert [(one.kind, one.number) for one in first] == [
        ("batch", 1), ("done", 1), ("batch", 2), ("done", 2),
    ]  # fmt: skip
    batch, switches, met = first[0].value
    assert [index for index, _ in batch] == [0, 1, 2, 3]
    assert (switches, met) == (frozenset(), False)
    assert replica.next(0.0) == []


def test_a_replica_leaves_what_nobody_wants() -> None:
    replica = Replica()
    assert replica.open(recipe(name="random", options={"delay": 0.01}, identity="fake/random", settings=settings_of(open_model("random")))) is None  # fmt: skip
    replica.begin(Handed(1, wave(5000)))
    heard(replica, "batch")
    replica.finish(2)
    replica.begin(Handed(2, wave(1)))
    replica.stop(1)
    replica.begin(Handed(3, wave(1)))
    said = heard(replica, "done")
    assert [one.number for one in said if one.kind == "left"] == [2]
    assert said[-1].number == 3


class Billed:
    """A model that tells of a try that failed."""

    name = identity = "billed"
    method, reads, deterministic = "fake", ("prompt",), False
    settings: dict[str, object] = {}  # noqa: RUF012
    meter: Any = None
    tell: Any = None

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.tell("waiting")
        yield [(0, Answer(text="again" if self.meter(10, None, True) else "no money"))]

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("money", "text"), [(True, "again"), (False, "no money")])
def test_money_is_asked_for_through_the_driver(money: bool, text: str) -> None:
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="ray is not installed")
    replica = Replica()
    pickled = cloudpickle.dumps(Billed())
    assert replica.open(recipe(identity="billed", settings=settings_of(Billed()), pickled=pickled)) is None
    replica.begin(Handed(1, wave(1), metered=True))
    said = heard(replica, "meter")
    assert ("tell", "waiting") in [(one.kind, one.value) for one in said]
    assert said[-1].value == (10, None, True)
    replica.allow(said[-1].number, money)
    assert heard(replica, "done")[0].value[0][0][1].text == text


def test_another_model_under_the_same_name_is_refused() -> None:
    trouble = Replica().open(recipe(identity="sha256:other"))
    assert trouble is not None
    error = error_of(trouble)
    assert isinstance(error, ModelError)
    assert "is another model on" in str(error)
    assert "same files" in str(error.hint)
    with pytest.raises(ModelError, match="has unwaver"):
        opened(recipe(version="0.0"))
    with pytest.raises(ModelError, match="UNWAVER_NOT_THERE is not set"):
        opened(recipe(variables=("UNWAVER_NOT_THERE",)))


def test_exceptions_travel_as_values() -> None:
    ours = error_of(trouble_of(UsageError("wrong", hint="right", file="a.csv", line=3)))
    assert isinstance(ours, UsageError)
    assert (ours.message, ours.hint, ours.file, ours.line) == ("wrong", "right", "a.csv", 3)
    assert isinstance(error_of(trouble_of(MemoryError("full"))), MemoryError)
    other = error_of(trouble_of(KeyboardInterrupt("x")))
    assert isinstance(other, RuntimeError)
    assert str(other) == "KeyboardInterrupt: x"
