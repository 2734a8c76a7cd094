"""Agreement, progress and disputes of a made-up job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwaver.people.agreement import as_json
from unwaver.people.figures import agreements, disputed, kept_by, progress, said_of
from unwaver.people.job import Job
from unwaver.people.queue import next_card, save
from unwaver.people.store import Card, Database, Reply
from unwaver.stats.raters import cohen, fleiss, krippendorff

JOB = Job(Path("job.toml"), "rate", "groups.jsonl", raters=3)
TABLE = [("5", "4", "5"), ("1", "2", "1"), ("4", "4", "2"), ("3", "3", "3"), ("5", "5", "4"), ("2", "1", "1")]


def cards(count: int) -> list[Card]:
    return [
        Card(f"c{n}", f"c{n}", {"about": {"kind": "semantic" if n % 2 else "negational", "cluster": f"c{n}"}})
        for n in range(count)
    ]


def replies(table: list[tuple[str, ...]]) -> list[Reply]:
    return [
        Reply(f"c{n}", rater, {"value": value} if value else {"skip": "?"}, n + 1, 2.0 + rater, 0.0, 1)
        for n, row in enumerate(table)
        for rater, value in enumerate(row)
    ]


def test_agreement_in_total_and_by_kind() -> None:
    total, *by_kind = agreements(JOB, cards(6), replies(TABLE))
    numbers = np.array(TABLE, dtype=np.float64)
    assert total.fleiss == fleiss(numbers, range(6))
    assert total.alpha == krippendorff(numbers, range(6), "ordinal")
    assert total.cohen is None
    assert [found.kind for found in by_kind] == ["negational", "semantic"]
    assert all(found.fleiss.items == 3 for found in by_kind)


def test_two_people_and_those_who_were_set_aside() -> None:
    (total, *_) = agreements(JOB, cards(6), replies(TABLE), aside=[2])
    one, other, _ = np.array(TABLE, dtype=np.float64).T
    assert total.cohen == cohen(one, other, range(6))


def test_skipped_cards_are_missing() -> None:
    table = [("5", "", "5"), ("1", "2", "")]
    (total, *_) = agreements(JOB, cards(2), replies(table))
    assert total.fleiss.missing == 2


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([("5", "5"), ("5", "5")], "all labels are the same"),
        ([("5", ""), ("", "1"), ("2", "")], "nothing has labels of two people"),
        ([("5",), ("1",)], "nothing has labels of two people"),
    ],
)
def test_figures_that_do_not_exist_say_why(table: list[tuple[str, ...]], why: str) -> None:
    (total, *_) = agreements(JOB, cards(len(table)), replies(table))
    told = as_json(total)
    assert told["undefined"] == why
    assert told["fleiss_kappa"]["value"] is told["krippendorff_alpha"]["value"] is None
    assert told["cohen_kappa"] is None or told["cohen_kappa"]["value"] is None


def test_figures_that_exist_need_no_reason() -> None:
    assert as_json(agreements(JOB, cards(6), replies(TABLE))[0])["undefined"] is None


def test_criteria_are_told_apart() -> None:
    job = Job(Path("job.toml"), "validate", "groups.jsonl")
    said = [
        Reply(f"c{n}", rater, {"criteria": {"meaning": "yes", "label": "no" if n else "yes"}}, n, None, 0.0, 1)
        for n in range(3)
        for rater in range(2)
    ]
    found = [(a.criterion, a.kind) for a in agreements(job, cards(1) + cards(3)[1:], said) if not a.kind]
    assert found == [("meaning", ""), ("label", "")]


def test_rules_and_disputes() -> None:
    said = said_of(cards(6), replies(TABLE))
    assert kept_by(said)["mean>=4"] == (2, 6)
    assert kept_by(said)["mean<=2"] == (2, 6)
    assert disputed({"a": ["yes", "no"], "b": ["yes", "yes"], "c": ["1", "2", "3"], "d": []}) == ["c", "a"]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "job.sqlite")


def test_progress(database: Database) -> None:
    database.add_cards([*cards(3), Card("check/1", "check/1", {}, known="5")])
    rater = database.add_rater("Ann", "token").id
    database.add_rater("Bob", "other")
    database.add_rater("owner", "owner", owner=True)
    seconds = iter((4.0, 1.0, 9.0, 2.0))
    while (card := next_card(database, JOB, rater, 0.0)) is not None:
        value = {"value": "5" if card.known else "3", **({"flag": "?"} if card.id == "c1" else {})}
        save(database, JOB, rater, card, value, times=0, seconds=next(seconds), now=0.0)
        if len(database.replies()) == 4:
            break
    ann, bob = progress(database)
    assert (ann.done, ann.flagged, ann.checks, ann.right) == (3, 1, 1, 1)
    assert ann.seconds is not None
    assert (bob.done, bob.seconds) == (0, None)
    database.close()
