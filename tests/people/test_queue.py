"""Who gets which card: k people a card, nobody twice, nobody their own, claims that expire, known answers between."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people_jobs import groups, job_file, play, written

from unwaver.errors import StoreError
from unwaver.people.job import Job
from unwaver.people.queue import BATCH, Gone, left, next_card, release, save, smallest_gap
from unwaver.people.store import Card, Database

PAGE = {"value": "4"}


def job(**more: Any) -> Job:
    return Job(Path("job.toml"), more.pop("kind", "rate"), "groups.jsonl", **more)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = Database(tmp_path / "job.sqlite")
    yield found
    found.close()


def people(database: Database, count: int) -> list[int]:
    return [database.add_rater(f"rater{n}", f"token{n}").id for n in range(count)]


def cards(database: Database, count: int, places: int = 1, **more: Any) -> None:
    database.add_cards(
        Card(f"{unit}.{place}", f"u{unit}", {"text": f"card {unit}"}, place, **more)
        for unit in range(count)
        for place in range(places)
    )


def work(database: Database, what: Job, rater: int, most: int = 10_000, now: float = 0.0) -> list[str]:
    """Everything that one person gets, answered at once."""
    done: list[str] = []
    while len(done) < most and (card := next_card(database, what, rater, now)) is not None:
        save(database, what, rater, card, PAGE, times=0, seconds=1.0, now=now)
        done.append(card.id)
    return done


def test_each_card_goes_to_k_people_and_to_nobody_twice(database: Database) -> None:
    cards(database, 30)
    seen = {rater: work(database, job(raters=3), rater) for rater in people(database, 5)}
    assert all(len(ids) == len(set(ids)) for ids in seen.values())
    assert set(Counter(id for ids in seen.values() for id in ids).values()) == {3}
    assert sum(map(len, seen.values())) == 90


def taken(database: Database) -> dict[str, int]:
    return {row["id"]: row["taken"] for row in database.rows("SELECT id, taken FROM units")}


def test_a_skipped_card_goes_to_somebody_else(database: Database) -> None:
    """Who skips says nothing of a card: k others do. They do not get it again, and may change their mind."""
    cards(database, 1)
    what = job(raters=2)
    shy, ann, bob, cy = people(database, 4)
    card = next_card(database, what, shy, 0.0)
    assert card is not None
    save(database, what, shy, card, {"skip": "?"}, times=0, seconds=None, now=0.0)
    assert next_card(database, what, shy, 0.0) is None
    assert left(database, what, shy) == 0
    assert work(database, what, ann) == work(database, what, bob) == ["0.0"]
    assert work(database, what, cy) == []
    save(database, what, shy, card, PAGE, times=1, seconds=None, now=0.0)
    assert taken(database) == {"u0": 3}


def test_a_skipped_card_is_counted_in_one_way_whatever_happens_to_the_person(database: Database) -> None:
    cards(database, 1)
    what = job(raters=2)
    shy, ann = people(database, 2)
    card = next_card(database, what, shy, 0.0)
    assert card is not None
    save(database, what, shy, card, {"skip": "?"}, times=0, seconds=None, now=0.0)
    assert work(database, what, ann) == ["0.0"]
    for aside in (True, False):
        database.set_aside(shy, aside)
        assert taken(database) == {"u0": 1}
    database.forget(shy)
    assert taken(database) == {"u0": 1}


def test_a_group_in_which_somebody_skips_a_card_goes_to_somebody_else_as_a_whole(database: Database) -> None:
    cards(database, 1, places=2)
    what = job(kind="answer", raters=1)
    shy, ann = people(database, 2)
    first = next_card(database, what, shy, 0.0)
    assert first is not None
    save(database, what, shy, first, {"skip": "?"}, times=0, seconds=None, now=0.0)
    assert next_card(database, what, ann, 0.0) is None  # shy has the group as long as it is not done
    assert len(work(database, what, shy)) == 1
    assert sorted(work(database, what, ann)) == ["0.0", "0.1"]


def test_a_file_that_was_deleted_while_it_is_open_takes_no_more_replies(tmp_path: Path) -> None:
    """Else they would be lost, with an answer that they are saved."""
    found = Database(tmp_path / "job.sqlite")
    cards(found, 1)
    (tmp_path / "job.sqlite").rename(tmp_path / "moved.sqlite")
    with pytest.raises(StoreError, match=r"job\.sqlite: the file was moved or deleted"):
        people(found, 1)
    found.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=120), st.integers(1, 3))
def test_never_beyond_k_in_any_order(turns: list[int], k: int) -> None:
    """Raters come in any order, and one of three pages is left open."""
    database = Database(Path(":memory:"))
    what = job(raters=k)
    cards(database, 12)
    raters = people(database, 4)
    for n, turn in enumerate(turns):
        card = next_card(database, what, raters[turn], float(n))
        if card is not None and n % 3:
            save(database, what, raters[turn], card, PAGE, times=0, seconds=None, now=float(n))
    held = Counter(row["unit"] for row in database.rows("SELECT unit FROM claims"))
    assert not held or max(held.values()) <= k
    replies = database.replies()
    assert len({(r.card, r.rater) for r in replies}) == len(replies)
    database.close()


def test_the_order_is_drawn_for_each_person(database: Database) -> None:
    cards(database, 40)
    one, other = people(database, 2)
    first, second = (work(database, job(raters=2), rater) for rater in (one, other))
    assert set(first) == set(second)
    assert first != second


def test_what_others_began_comes_first(database: Database) -> None:
    cards(database, 50)
    one, other = people(database, 2)
    begun = work(database, job(raters=2), one, most=8)
    assert set(work(database, job(raters=2), other, most=8)) == set(begun)


def test_nobody_judges_their_own_text(database: Database) -> None:
    one, other = people(database, 2)
    cards(database, 6, author=one)
    assert work(database, job(raters=2), one) == []
    assert len(work(database, job(raters=2), other)) == 6


def test_a_claim_expires_and_the_card_goes_to_somebody_else(database: Database) -> None:
    cards(database, 1)
    one, other = people(database, 2)
    what = job(raters=1, claim_minutes=10)
    card = next_card(database, what, one, now=0)
    assert card is not None
    assert next_card(database, what, other, now=599) is None
    assert next_card(database, what, other, now=601) == card
    with pytest.raises(Gone, match="somebody else"):
        save(database, what, one, card, PAGE, times=0, seconds=None, now=602)
    assert not database.replies()


def test_who_is_late_may_still_save_if_nobody_came(database: Database) -> None:
    cards(database, 1)
    (one,) = people(database, 1)
    what = job(raters=1, claim_minutes=10)
    card = next_card(database, what, one, now=0)
    assert card is not None
    save(database, what, one, card, PAGE, times=0, seconds=None, now=99_999)
    assert len(database.replies()) == 1


def test_what_is_done_never_expires(database: Database) -> None:
    cards(database, 3)
    one, other = people(database, 2)
    work(database, job(raters=1), one)
    assert next_card(database, job(raters=1), other, now=1e9) is None


def test_a_save_gives_new_time(database: Database) -> None:
    cards(database, 3, places=2)
    one, other = people(database, 2)
    what = job(kind="answer", raters=1, claim_minutes=1)
    for now in (0, 50, 100, 150):
        card = next_card(database, what, one, now)
        assert card is not None
        save(database, what, one, card, PAGE, times=0, seconds=None, now=now)
    assert next_card(database, what, other, now=200) is None


def test_a_page_that_was_sent_is_refused(database: Database) -> None:
    cards(database, 2)
    (one,) = people(database, 1)
    what = job()
    card = next_card(database, what, one, 0)
    assert card is not None
    save(database, what, one, card, PAGE, times=0, seconds=2.5, now=1)
    with pytest.raises(Gone, match="sent before"):
        save(database, what, one, card, {"value": "1"}, times=0, seconds=2.5, now=2)
    found = save(database, what, one, card, {"value": "5"}, times=1, seconds=9.0, now=3)  # back, and corrected
    assert (found.value, found.times, found.number, found.seconds) == ({"value": "5"}, 2, 1, 2.5)


def test_somebody_elses_card_cannot_be_saved(database: Database) -> None:
    cards(database, 5)
    one, other = people(database, 2)
    card = next_card(database, job(), one, 0)
    assert card is not None
    with pytest.raises(Gone):
        save(database, job(), other, card, PAGE, times=0, seconds=None, now=0)


@pytest.mark.parametrize("groups", [3, BATCH, BATCH + 1, 2 * BATCH + 5])
def test_cards_of_a_group_stand_far_apart(groups: int, database: Database) -> None:
    cards(database, groups, places=3)
    (one,) = people(database, 1)
    done = work(database, job(kind="answer", raters=1), one)
    assert len(done) == 3 * groups
    gap = smallest_gap(database.replies(), {c.id: c.unit for c in database.cards()})
    # the last batch holds the rest as well, so that it is not a small one
    assert gap == (groups if groups < 2 * BATCH else BATCH) - 1


@pytest.mark.parametrize("sizes", [(7, 6, 6), (4, 2, 2), (3, 3, 2, 1), (5, 1), (2, 2), (9, 3, 3), (1, 1, 4, 4, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_groups_of_several_sizes_stand_as_far_apart_as_can_be(
    sizes: tuple[int, ...], seed: int, database: Database
) -> None:
    """No order of these cards has a larger smallest gap: all orders of small ones are tried."""
    database.add_cards(Card(f"{u}.{n}", f"u{u}", {}, n) for u, size in enumerate(sizes) for n in range(size))
    (one,) = people(database, 1)
    done = work(database, job(kind="answer", raters=1, seed=seed), one)
    assert sorted(done) == sorted(f"{u}.{n}" for u, size in enumerate(sizes) for n in range(size))
    found = smallest_gap(database.replies(), {c.id: c.unit for c in database.cards()})
    assert found == best_gap(sizes)


def best_gap(sizes: tuple[int, ...]) -> int:
    """By trying: the largest gap with which the cards can be laid out."""

    def fits(left: tuple[int, ...], last: tuple[int, ...]) -> bool:
        if not any(left):
            return True
        tried = set()
        for unit, count in enumerate(left):
            if count and unit not in last[-gap:] and (count, unit in last) not in tried:
                tried.add((count, unit in last))
                if fits((*left[:unit], count - 1, *left[unit + 1 :]), (*last, unit)[-max(gap, 1) :]):
                    return True
        return False

    gap = 1
    while fits(sizes, ()):
        gap += 1
    return gap - 1


def test_whoever_gets_a_group_gets_all_its_cards(database: Database) -> None:
    cards(database, 10, places=2)
    seen = [set(work(database, job(kind="answer", raters=2), rater)) for rater in people(database, 4)]
    for ids in seen:
        assert {f"{unit}.{place}" for id in ids for unit in [id.partition(".")[0]] for place in (0, 1)} == ids


def test_half_a_group_that_was_lost_is_taken_up_again(database: Database) -> None:
    cards(database, 1, places=2)
    (one,) = people(database, 1)
    what = job(kind="answer", raters=1, claim_minutes=1)
    card = next_card(database, what, one, 0)
    assert card is not None
    save(database, what, one, card, PAGE, times=0, seconds=None, now=0)
    assert work(database, what, one, now=500) == [{"0.0": "0.1", "0.1": "0.0"}[card.id]]


def test_cards_with_a_known_answer_come_between(database: Database) -> None:
    cards(database, 40)
    database.add_cards(Card(f"check{n}", f"check{n}", {"text": "…"}, known="5") for n in range(3))
    what = job(raters=2, check_every=10)
    for rater in people(database, 2):
        done = work(database, what, rater)
        places = [n for n, id in enumerate(done) if id.startswith("check")]
        assert len(places) == 3
        assert places[0] < 11
        assert all(b - a == 11 for a, b in pairwise(places))


def test_people_who_were_set_aside_do_not_count(database: Database) -> None:
    cards(database, 4)
    one, other = people(database, 2)
    work(database, job(raters=1), one)
    assert next_card(database, job(raters=1), other, 0) is None
    database.set_aside(one, True)
    assert len(work(database, job(raters=1), other)) == 4
    assert len(database.replies()) == 8  # what they did stays


def test_what_was_not_begun_can_be_given_back(database: Database) -> None:
    cards(database, 3)
    one, other = people(database, 2)
    assert next_card(database, job(raters=1), one, 0)
    release(database, one)
    assert len(work(database, job(raters=1), other)) == 3


def test_one_persons_data_can_be_deleted(database: Database) -> None:
    one, other = people(database, 2)
    cards(database, 3, author=one)
    database.add_cards([Card("x", "x", {"text": "of nobody"})])
    work(database, job(raters=2), other)
    work(database, job(raters=2), one)
    database.keep_draft("x", one, {"value": "2"}, 0.0)
    database.forget(one)
    assert [card.id for card in database.cards()] == ["x"]
    assert {reply.rater for reply in database.replies()} == {other}
    assert [rater.name for rater in database.raters()] == ["rater1"]
    for table in ("replies", "claims", "drafts"):
        assert not database.rows(f"SELECT 1 FROM {table} WHERE rater = ?", one)


def test_tokens_are_kept_as_hashes(database: Database, tmp_path: Path) -> None:
    database.add_rater("Ann", "a-very-long-token")
    assert database.rater_with("a-very-long-token").name == "Ann"  # type: ignore[union-attr]
    assert database.rater_with("another") is None
    assert database.new_token("Ann", "the-next-token")
    assert database.rater_with("a-very-long-token") is None
    database.close()
    assert b"token" not in b"".join(p.read_bytes().replace(b"token TEXT", b"") for p in tmp_path.iterdir())


def test_a_late_reply_counts_while_the_card_is_free(database: Database) -> None:
    cards(database, 1)
    one, other = people(database, 2)
    what = job(raters=1, claim_minutes=1)
    card = next_card(database, what, one, 0)
    assert card is not None
    database.set_aside(other, True)
    assert next_card(database, what, other, 100) is not None  # the claim of the first one ends here
    database.set_aside(other, False)
    with pytest.raises(Gone):  # now it is the other's
        save(database, what, one, card, PAGE, times=0, seconds=None, now=101, was_given=True)
    release(database, other)
    save(database, what, one, card, PAGE, times=0, seconds=None, now=102, was_given=True)
    assert [reply.rater for reply in database.replies()] == [one]


def test_the_same_reply_sent_twice_is_one_reply(database: Database) -> None:
    """The answer to the first may have been lost on the way."""
    cards(database, 2)
    (one,) = people(database, 1)
    card = next_card(database, job(), one, 0)
    assert card is not None
    first = save(database, job(), one, card, PAGE, times=0, seconds=1.0, now=1)
    assert save(database, job(), one, card, PAGE, times=0, seconds=9.0, now=9) == first
    with pytest.raises(Gone):
        save(database, job(), one, card, {"value": "1"}, times=0, seconds=1.0, now=9)


def test_known_cards_come_between_those_of_a_batch(database: Database) -> None:
    cards(database, 10, places=3)
    database.add_cards(Card(f"check{n}", f"check{n}", {"text": "…"}, known="5") for n in range(5))
    (one,) = people(database, 1)
    done = work(database, job(kind="answer", raters=1, check_every=10), one)
    places = [n for n, id in enumerate(done) if id.startswith("check")]
    assert len(places) >= 3
    assert all(b - a == 11 for a, b in pairwise(places))


@pytest.mark.parametrize("kind", ["rate", "answer"])
def test_what_is_left_does_not_tell_known_cards_from_others(kind: str, database: Database) -> None:
    cards(database, 25, places=2)
    database.add_cards(Card(f"check{n}", f"check{n}", {"text": "…"}, known="5") for n in range(4))
    (one,) = people(database, 1)
    what, rest = job(kind=kind, raters=1, check_every=10), []
    while (card := next_card(database, what, one, 0)) is not None:
        rest.append(left(database, what, one))
        save(database, what, one, card, PAGE, times=0, seconds=1.0, now=0)
    assert rest == list(range(len(rest), 0, -1))


def test_which_card_of_a_group_comes_first_is_drawn(database: Database) -> None:
    cards(database, 20, places=2)
    (one,) = people(database, 1)
    first = work(database, job(kind="answer", raters=1), one, most=20)
    assert 2 < sum(id.endswith(".0") for id in first) < 18


def test_a_draft_that_comes_late_is_no_draft(database: Database) -> None:
    cards(database, 1)
    (one,) = people(database, 1)
    card = next_card(database, job(), one, 0)
    assert card is not None
    assert database.keep_draft(card.id, one, {"value": "1"}, 0.0)
    save(database, job(), one, card, PAGE, times=0, seconds=1.0, now=1)
    assert not database.keep_draft(card.id, one, {"value": "1"}, 2.0)
    assert database.draft(card.id, one) is None
    assert database.keep_draft(card.id, one, {"value": "1"}, 2.0, times=1)


def test_a_card_with_a_draft_comes_back_to_its_writer(database: Database) -> None:
    cards(database, 30)
    one, other = people(database, 2)
    what = job(raters=1, claim_minutes=1)
    card = next_card(database, what, one, 0)
    assert card is not None
    database.keep_draft(card.id, one, {"texts": ["half"]}, 0.0)
    database.set_aside(other, True)
    next_card(database, what, other, 100)
    assert next_card(database, what, one, 200) == card


def test_what_was_deleted_is_not_in_the_files(database: Database) -> None:
    cards(database, 1)
    (one,) = people(database, 1)
    card = next_card(database, job(), one, 0)
    assert card is not None
    save(database, job(), one, card, {"text": "a secret of mine"}, times=0, seconds=1.0, now=1)
    folder = database.path.parent
    assert any(b"a secret of mine" in path.read_bytes() for path in folder.iterdir())
    database.forget(one)
    assert not any(b"a secret of mine" in path.read_bytes() for path in folder.iterdir())


def test_numbers_of_people_are_not_given_twice(database: Database) -> None:
    one, other = people(database, 2)
    database.forget(other)
    new = database.add_rater("new", "token-new").id
    assert new not in (one, other)
    assert database.pseudonyms() == {one: "r1", new: "r3"}
    database.forget(one)
    assert database.pseudonyms() == {new: "r3"}


def test_a_card_that_joins_a_group_later_is_asked(database: Database) -> None:
    cards(database, 1, places=1)
    (one,) = people(database, 1)
    what = job(kind="answer", raters=1)
    assert work(database, what, one) == ["0.0"]
    cards(database, 1, places=2)
    assert work(database, what, one, now=5) == ["0.1"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("tsadrf")), min_size=1, max_size=60))
def test_how_many_have_a_unit_is_always_known(steps: list[tuple[int, str]]) -> None:
    """The file counts them itself; taken, saved, set aside and back, given back, deleted, expired."""
    database = Database(Path(":memory:"))
    what = job(raters=2, claim_minutes=1)
    cards(database, 5)
    raters = people(database, 4)
    for n, (who, step) in enumerate(steps):
        if database.rater(raters[who]) is None:
            continue
        if step in "ts":
            card = next_card(database, what, raters[who], 20.0 * n)
            if card is not None and step == "s":
                save(database, what, raters[who], card, PAGE, times=0, seconds=None, now=20.0 * n)
        elif step in "ad":
            database.set_aside(raters[who], step == "a")
        elif step == "r":
            release(database, raters[who])
        else:
            database.forget(raters[who])
        counted = (
            "SELECT count(*) FROM claims JOIN raters ON raters.id = rater WHERE unit = units.id AND NOT aside"
        )
        assert not database.rows(f"SELECT 1 FROM units WHERE taken != ({counted})")
    database.close()


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE raters RENAME COLUMN name TO other",
        "UPDATE cards SET shown = '{'",
        "UPDATE replies SET value = 3",
    ],
)
def test_a_damaged_file_of_replies_is_told(tmp_path: Path, damage: str) -> None:
    written(tmp_path / "groups.jsonl", groups(2))
    job = play(job_file(tmp_path / "job.toml", "rate"), lambda *_: {"value": "4"}, ("ann",))
    with closing(sqlite3.connect(job.with_suffix(".sqlite"))) as db, db:
        db.execute(damage)
    replies = Database(job.with_suffix(".sqlite"), read_only=True)
    with closing(replies) as database, pytest.raises(StoreError, match="the replies are damaged"):
        database.raters(), database.cards(), database.replies()
