"""People write, others validate: nobody their own text, by name over both jobs; then a bank and its audit."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from people_jobs import Card, groups, job_file, opened, play, written

from unwaver.errors import DataError
from unwaver.people import chain, outcome
from unwaver.people.job import read_job
from unwaver.people.queue import next_card, save
from unwaver.people.store import Database
from unwaver.tasks import built_in
from unwaver.variants.bank import read_bank

YES = {"criteria": {"meaning": "yes", "label": "yes", "grammar": "yes"}, "value": "yes"}
NO = {"criteria": {"meaning": "no", "label": "yes", "grammar": "yes"}, "value": "no", "reason": "another meaning"}


def write(card: Card, name: str) -> dict[str, Any]:
    return {"texts": [f"{name} says it first", f"in the words of {name}", "what both say"]}


@pytest.fixture
def jobs(tmp_path: Path) -> tuple[Path, Path]:
    """Two people wrote three texts on each of two originals, one of them the same."""
    written(tmp_path / "groups.jsonl", groups(2))
    first = job_file(tmp_path / "write.toml", "write", field="hypothesis", raters=2)
    play(first, write, ("Ann", "Bob"))
    return first, job_file(tmp_path / "validate.toml", "validate", "write.toml", raters=2)


def found_in(path: Path) -> outcome.Outcome:
    job = read_job(path)
    database = Database(job.database, read_only=True)
    try:
        return outcome.outcome_of(job, database)
    finally:
        database.close()


def given_to(path: Path, name: str) -> list[Card]:
    """All cards that a person gets, who says yes to all."""
    seen: list[Card] = []

    def say(card: Card, _: str) -> dict[str, Any]:
        seen.append(card)
        return YES

    play(path, say, (name,))
    return seen


def test_nobody_validates_their_own_text(jobs: tuple[Path, Path]) -> None:
    _, second = jobs
    texts = {name: {card.shown["variant"] for card in given_to(second, name)} for name in ("ann", "BOB ", "Cy")}
    assert texts["ann"] == {"Bob says it first", "in the words of Bob"}, "what both wrote is for neither of them"
    assert texts["BOB "] == {"Ann says it first", "in the words of Ann"}, (
        "case and spaces do not make another person"
    )
    assert len(texts["Cy"]) == 5


def test_a_card_of_a_text(jobs: tuple[Path, Path]) -> None:
    cards = given_to(jobs[1], "Cy")
    card = next(card for card in cards if card.shown["variant"] == "what both say")
    assert card.shown["original"] == "He rests."
    assert card.shown["context"]["premise"].startswith("Man ")
    assert card.shown["label"] == "entailment"
    assert card.shown["about"]["by"] == ["r1", "r2"]
    assert "Ann" not in json.dumps(card.shown)


def test_the_bank_has_what_the_rule_keeps(jobs: tuple[Path, Path], tmp_path: Path) -> None:
    _, second = jobs
    play(second, lambda card, name: NO if card.shown["variant"].startswith("in the words") else YES, ("Cy", "Di"))
    found = found_in(second)
    (tmp_path / "bank.jsonl").write_text(chain.validated_bank(found))
    bank = read_bank(tmp_path / "bank.jsonl", built_in()["snli"])
    for group in groups(2):
        assert sorted(bank.of(group.items[0])) == ["Ann says it first", "Bob says it first", "what both say"]
    audit = [json.loads(line) for line in chain.validated_audit(found).splitlines()]
    assert len(audit) == 10
    assert all(line["validated"] and line["rule"] == "all-yes" and len(line["judged"]) == 2 for line in audit)
    assert [line["kept"] for line in audit].count(True) == 6
    assert "Cy" not in json.dumps(audit)


def test_texts_that_nobody_judged_are_not_in_the_bank(jobs: tuple[Path, Path]) -> None:
    opened(jobs[1], ("Cy",)).close()
    found = found_in(jobs[1])
    assert chain.validated_bank(found) == ""
    audit = [json.loads(line) for line in chain.validated_audit(found).splitlines()]
    assert {(line["validated"], line["kept"]) for line in audit} == {(False, None)}


def test_what_was_only_written_is_marked_so(jobs: tuple[Path, Path]) -> None:
    found = found_in(jobs[0])
    assert {json.loads(line)["validated"] for line in outcome.audit(found).splitlines()} == {False}
    assert [len(json.loads(line)["variants"]) for line in outcome.bank(found).splitlines()] == [5, 5]


def aside(path: Path, name: str, is_aside: bool = True) -> None:
    database = Database(read_job(path).database)
    (rater,) = [rater for rater in database.raters() if rater.name == name]
    database.set_aside(rater.id, is_aside)
    database.close()


def test_texts_of_people_who_were_set_aside(jobs: tuple[Path, Path]) -> None:
    first, second = jobs
    play(second, lambda card, name: YES, ("Cy",))
    aside(first, "Bob")
    later = given_to(second, "Di")
    assert {card.shown["variant"] for card in later} == {
        "Ann says it first",
        "in the words of Ann",
        "what both say",
    }
    assert "Bob" not in chain.validated_bank(found_in(second))
    gone = [
        line for line in map(json.loads, chain.validated_audit(found_in(second)).splitlines()) if line["withdrawn"]
    ]
    assert len(gone) == 4
    aside(first, "Bob", is_aside=False)
    assert len(given_to(second, "Ed")) == 4, "what Bob wrote is shown again"
    assert "Bob" in chain.validated_bank(found_in(second))


def test_texts_of_people_who_were_deleted(jobs: tuple[Path, Path]) -> None:
    first, second = jobs
    play(second, lambda card, name: YES, ("Cy",))
    database = Database(read_job(first).database)
    database.forget(database.raters()[1].id)
    database.close()
    opened(second, ()).close()
    texts = {card.shown["variant"] for card in found_in(second).cards}
    assert texts == {"Ann says it first", "in the words of Ann", "what both say"}
    database = Database(read_job(second).database)
    assert database.authors() == {"ann"}
    assert len(database.replies()) == 6
    database.close()


def test_new_texts_are_added(jobs: tuple[Path, Path]) -> None:
    first, second = jobs
    assert len(given_to(second, "Cy")) == 10
    database = opened(first, ("Eve",))
    job = read_job(first)
    database.set_aside(1, True)  # so that there is room for another writer
    while (card := next_card(database, job, 3, 0.0)) is not None:
        save(database, job, 3, card, write(card, "Eve"), times=0, seconds=1.0, now=0.0)
    database.set_aside(1, False)
    database.close()
    assert {card.shown["variant"] for card in given_to(second, "Cy")} == {
        "Eve says it first",
        "in the words of Eve",
    }


def test_a_text_that_was_changed(jobs: tuple[Path, Path]) -> None:
    first, second = jobs
    play(second, lambda card, name: YES, ("Cy",))
    database, job = Database(read_job(first).database), read_job(first)
    reply = database.replies(1)[0]
    card = database.card(reply.card)
    assert card is not None
    save(database, job, 1, card, {"texts": ["another way", "what both say"]}, times=1, seconds=1.0, now=0.0)
    database.close()
    assert [card.shown["variant"] for card in given_to(second, "Cy")] == ["another way"]
    shown = [c.shown["variant"] for c in found_in(second).cards if not c.withdrawn and c.id.startswith(card.id)]
    assert sorted(shown) == ["Bob says it first", "another way", "in the words of Bob", "what both say"]


def test_who_writes_the_same_text_later_does_not_count(jobs: tuple[Path, Path]) -> None:
    """Cy validates a text, then writes it too: what Cy said of it counts no more."""
    first, second = jobs
    play(second, lambda card, name: YES, ("Cy",))
    database, job = opened(first, ("Cy",)), read_job(first)
    database.set_aside(1, True)
    card = next_card(database, job, 3, 0.0)
    assert card is not None
    save(database, job, 3, card, {"texts": ["Bob  says it FIRST"]}, times=0, seconds=1.0, now=0.0)
    database.set_aside(1, False)
    database.close()
    opened(second, ()).close()
    said = [reply for reply in found_in(second).counted if reply.card.startswith(card.id)]
    assert len(said) == 4


def test_a_limit_draws_texts(jobs: tuple[Path, Path], tmp_path: Path) -> None:
    second = job_file(tmp_path / "few.toml", "validate", "write.toml", limit=4)
    assert len(given_to(second, "Cy")) == 4
    assert given_to(second, "Cy") == [], "opened again, it has the same four"


class Schedule:
    """People write, validate, are set aside and come back in any order; the second job is opened now and then."""

    def __init__(self, folder: Path, seed: int):
        folder.mkdir()
        self.rng = Random(seed)
        self.people = [f"p{n}" for n in range(self.rng.randint(2, 4))]
        written(folder / "groups.jsonl", groups(self.rng.randint(1, 2)))
        raters = [self.rng.randint(1, 3) for _ in range(2)]
        self.first = read_job(job_file(folder / "w.toml", "write", field="hypothesis", raters=raters[0]))
        second = job_file(folder / "v.toml", "validate", "w.toml", raters=raters[1], criteria=["meaning"])
        self.second = read_job(second)
        self.writing = opened(self.first.path, self.people)
        self.validating: Database | None = None
        self.texts: set[tuple[str, str, str]] = set()  # name, original, text
        self.when_opened: set[tuple[str, str, str]] = set()
        self.judged = 0

    def step(self) -> None:
        name = self.rng.choice(self.people)
        rater = next(r for r in self.writing.raters() if r.name == name)
        action = self.rng.choice(("write", "write", "open", *["validate"] * 4, "aside"))
        if action == "write" and (card := next_card(self.writing, self.first, rater.id, 0.0)) is not None:
            texts = self.rng.sample(("one", "two", "three", "four"), 2)
            self.texts |= {(name, card.id, text) for text in texts}
            save(self.writing, self.first, rater.id, card, {"texts": texts}, times=0, seconds=1.0, now=0.0)
        elif action == "aside":
            self.writing.set_aside(rater.id, not rater.aside)
        elif action == "open" and self.texts:
            self.open()
        elif action == "validate" and self.validating is not None:
            self.validate(self.validating, name)

    def open(self) -> None:
        self.close()
        try:
            self.validating = opened(self.second.path, self.rng.sample(self.people, 2))
            self.when_opened = set(self.texts)
        except DataError:  # all who wrote are set aside
            self.validating = None

    def validate(self, database: Database, name: str) -> None:
        known = {rater.name: rater.id for rater in database.raters()}
        if name in known and (card := next_card(database, self.second, known[name], 0.0)) is not None:
            original = card.shown["about"]["cluster"]
            assert (name, original, card.shown["variant"]) not in self.when_opened, f"{name} wrote this"
            save(database, self.second, known[name], card, YES, times=0, seconds=1.0, now=0.0)
            self.judged += 1

    def close(self) -> None:
        if self.validating is not None:
            self.validating.close()
            for reply in found_in(self.second.path).counted:
                assert reply.value == YES


@pytest.mark.slow
def test_random_schedules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In 200 of them, nobody ever gets their own text."""
    prepare, judged = Database._prepare, 0

    def without_waiting_for_the_disk(database: Database) -> None:
        database.db.execute("PRAGMA synchronous=OFF")
        prepare(database)

    monkeypatch.setattr(Database, "_prepare", without_waiting_for_the_disk)
    for seed in range(200):
        schedule = Schedule(tmp_path / str(seed), seed)
        for _ in range(20):
            schedule.step()
        schedule.close()
        schedule.writing.close()
        judged += schedule.judged
    assert judged > 200
