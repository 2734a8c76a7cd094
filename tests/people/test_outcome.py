"""What comes out of a job: certified groups, sheets, banks, labels; people as a model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.agree.human_pairs import read_pairs
from unwaver.errors import DataError, UsageError
from unwaver.groups import group_to_json
from unwaver.groups.review import read_sheet
from unwaver.models.human import open_model, people_of
from unwaver.people import outcome
from unwaver.people.cards import cards_of
from unwaver.people.job import Job, read_job
from unwaver.people.queue import next_card, save
from unwaver.people.store import Card, Database
from unwaver.tasks import built_in
from unwaver.types import Group, Item
from unwaver.variants.bank import read_bank

CHOICES = ("entailment", "neutral", "contradiction")


def groups(count: int = 4, choices: tuple[str, ...] = CHOICES) -> list[Group]:
    def item(n: int, role: str, text: str) -> Item:
        fields = {"premise": f"Man {n} sleeps.", "hypothesis": text}
        return Item(f"{n}/{role}", "snli", role, fields, choices, choices[:1])  # type: ignore[arg-type]

    return [
        Group(
            f"g{n}",
            "mine",
            "snli",
            "semantic",
            "same",
            (item(n, "original", "He rests."), item(n, "variant", "He is resting.")),
            cluster=f"g{n}",
        )
        for n in range(count)
    ]


Say = Callable[[Card, int], dict[str, Any]]


def played(
    folder: Path, kind: str, say: Say, people: int = 3, given: list[Group] | None = None, **more: Any
) -> Path:
    """A job that `people` have done; the path of its file."""
    path = folder / "job.toml"
    lines = [f'kind = "{kind}"', 'from = "groups.jsonl"', f"raters = {people}"]
    path.write_text("\n".join([*lines, *(f"{name} = {json.dumps(value)}" for name, value in more.items())]))
    job, database = read_job(path), Database(path.with_suffix(".sqlite"))
    pairs = [(str(n), f"Question {n}?", "=1+1", "two") for n in range(3)]
    database.add_cards(cards_of(job, given or groups(), pairs))
    raters = [database.add_rater(f"Person {n}", f"token{n}").id for n in range(people)]
    for n, rater in enumerate(raters):
        while (card := next_card(database, job, rater, 0.0)) is not None:
            save(database, job, rater, card, say(card, n), times=0, seconds=3.0, now=0.0)
    database.close()
    return path


def result_of(path: Path) -> outcome.Outcome:
    job = read_job(path)
    database = Database(job.database)
    found = outcome.outcome_of(job, database)
    database.close()
    return found


def test_graded_variants_become_certified_groups(tmp_path: Path) -> None:
    path = played(tmp_path, "rate", lambda card, n: {"value": "5" if card.id[0] != "2" else str(n + 1)})
    found = result_of(path)
    assert outcome.verdicts(found) == {"0/variant": True, "1/variant": True, "2/variant": False, "3/variant": True}
    made = [json.loads(line) for line in outcome.certified_groups(found, groups()).splitlines()]
    assert [group["id"] for group in made] == ["g0", "g1", "g3"], "nothing is left of the third"
    assert all(group["items"][1]["certified"] for group in made)
    assert all(group["epsilon"] == 0 for group in made)


def test_what_the_owner_decides_stands(tmp_path: Path) -> None:
    path = played(tmp_path, "review", lambda card, n: {"value": "ok" if n else "wrong"}, people=2)
    database = Database(path.with_suffix(".sqlite"))
    assert set(outcome.verdicts(result_of(path)).values()) == {False}  # a tie
    database.decide("1/variant", {"value": "ok"}, 0.0)
    database.close()
    assert outcome.verdicts(result_of(path))["1/variant"] is True


def test_sheets_for_review(tmp_path: Path) -> None:
    say: Say = lambda card, n: {"value": "wrong" if card.id[0] == "0" else "ok", "reason": "=cmd()"}  # noqa: E731
    found = result_of(played(tmp_path, "review", say, people=1))
    sheet = outcome.review_sheet(found, 1)
    (tmp_path / "sheet.tsv").write_text(sheet)
    assert read_sheet(tmp_path / "sheet.tsv") == {
        "0/variant": False,
        "1/variant": True,
        "2/variant": True,
        "3/variant": True,
    }
    assert "'=cmd()" in sheet


def test_a_bank_of_paraphrases(tmp_path: Path) -> None:
    say: Say = lambda card, n: {"texts": [f"text {n}", f"other {n}", f"third {n}"]}  # noqa: E731
    found = result_of(played(tmp_path, "write", say, people=2, field="hypothesis"))
    (tmp_path / "bank.jsonl").write_text(outcome.bank(found))
    bank = read_bank(tmp_path / "bank.jsonl", built_in()["snli"])
    assert len(bank.of(groups()[0].items[0])) == 6
    audit = [json.loads(line) for line in outcome.audit(found).splitlines()]
    assert len(audit) == 24
    assert {line["by"] for line in audit} == {"r1", "r2"}


def test_labels_of_pairs(tmp_path: Path) -> None:
    say: Say = lambda card, n: {"value": "yes"} if n or card.id != "1" else {"skip": "?"}  # noqa: E731
    found = result_of(played(tmp_path, "pairs", say, people=3))
    (tmp_path / "pairs.jsonl").write_text(outcome.pair_labels(found))
    judged = read_pairs(tmp_path / "pairs.jsonl", raters=("r1", "r2", "r3"))
    assert [pair.a for pair in judged.pairs] == ["=1+1"] * 3
    assert [row for _, row in judged.ratings] == [(1, 1, 1), (None, 1, 1), (1, 1, 1)]


def test_no_name_leaves_and_no_formula_runs(tmp_path: Path) -> None:
    found = result_of(played(tmp_path, "rate", lambda card, n: {"value": "5", "flag": "+1"}))
    text = outcome.all_replies(found)
    assert "Person" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 12
    assert {row["flag"] for row in rows} == {"'+1"}
    assert {row["rater"] for row in rows} == {"r1", "r2", "r3"}


def test_variants_that_people_answer_right(tmp_path: Path) -> None:
    """BECEL, transitive sets of SNLI: two of three labels obey the rule."""
    right = {"0": 3, "1": 2, "2": 1, "3": 0}

    def say(card: Card, n: int) -> dict[str, Any]:
        return {"value": CHOICES[0] if card.id.endswith("original") or n < right[card.id[0]] else CHOICES[1]}

    found = result_of(played(tmp_path, "answer", say, rule="2-of-3"))
    assert outcome.label_verdicts(found, groups()) == {
        "0/variant": True,
        "1/variant": True,
        "2/variant": False,
        "3/variant": False,
    }
    made = [json.loads(line) for line in outcome.certified_groups(found, groups()).splitlines()]
    assert [group["id"] for group in made] == ["g0", "g1"]


# --- people as a model --------------------------------------------------------------------------------------


def written(folder: Path, given: list[Group]) -> str:
    path = folder / "groups.jsonl"
    path.write_text("".join(json.dumps(group_to_json(group)) + "\n" for group in given))
    return str(path)


def answer(card: Card, n: int) -> dict[str, Any]:
    """The first person wavers on group 0; on group 1 all differ on the variant."""
    if card.id == "0/variant" and n == 0:
        return {"value": "neutral"}
    return {"value": CHOICES[n] if card.id == "1/variant" else "entailment"}


def test_people_are_scored_like_a_model(tmp_path: Path) -> None:
    path = played(tmp_path, "answer", answer)
    suite = written(tmp_path, groups())
    names = people_of(path)
    assert [name.rpartition("/")[2] for name in names] == [
        "job.toml",
        "job.toml,rater=r1",
        "job.toml,rater=r2",
        "job.toml,rater=r3",
    ]
    result = unwaver.run(suite, names, out=str(tmp_path / "run"))
    values = {score.model: score for score in result.leading()}
    assert values["people"].value == 0.25  # a tie breaks group 1
    assert values["people"].unreadable == 1
    assert {name: values[name].value for name in ("r1", "r2", "r3")} == {"r1": 0.25, "r2": 0.25, "r3": 0.25}
    assert (values["people"].method, values["r1"].method) == ("majority", "person")


def test_people_who_wavered(tmp_path: Path) -> None:
    path = played(tmp_path, "answer", answer)
    suite = written(tmp_path, groups())
    result = unwaver.run(suite, [f"human/{path},rater=r1"], out=str(tmp_path / "run"))
    assert [score.value for score in result if score.metric == "tau"] == [
        0.25
    ]  # group 0; group 1 is entailment twice


def test_free_text_has_no_majority(tmp_path: Path) -> None:
    path = played(tmp_path, "answer", lambda card, n: {"text": f"answer {n}"}, given=groups(2, ()))
    with pytest.raises(DataError, match="free text has no majority") as e:
        open_model(str(path))
    assert "rater=r1" in str(e.value.hint)
    assert open_model(str(path), rater="r2").name == "r2"
    assert len(people_of(path)) == 3


def test_what_is_no_model(tmp_path: Path) -> None:
    rate = played(tmp_path, "rate", lambda card, n: {"value": "5"})
    with pytest.raises(DataError, match='kind = "answer"'):
        open_model(str(rate))
    (tmp_path / "new.toml").write_text('kind = "answer"\nfrom = "groups.jsonl"')
    with pytest.raises(DataError, match="has not been started"):
        open_model(str(tmp_path / "new.toml"))
    (tmp_path / "a").mkdir()
    path = played(tmp_path / "a", "answer", answer)
    with pytest.raises(UsageError, match="there is no rater r9"):
        open_model(str(path), rater="r9")
    assert isinstance(read_job(path), Job)
