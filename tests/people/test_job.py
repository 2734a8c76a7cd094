"""Files that say what people are asked, and the cards made from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unwaver.errors import DataError
from unwaver.groups.clusters import with_clusters
from unwaver.people.cards import cards_of
from unwaver.people.job import KINDS, Job, read_job
from unwaver.people.rules import verdict
from unwaver.people.templates import template
from unwaver.types import Group, Item


def written(folder: Path, text: str) -> Path:
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_each_template_is_a_job(kind: str, tmp_path: Path) -> None:
    job = read_job(written(tmp_path, template(kind)))
    assert job.kind == kind
    assert job.database == tmp_path / "job.sqlite"
    assert job.instructions.strip()
    if kind != "write":
        assert job.practice[0].because
        assert len(job.checks) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "kind is missing, expected rate, write"),
        ('kind = "rat"\nfrom = "g.jsonl"', "did you mean rate"),
        ('kind = "rate"', "from is missing"),
        ('kind = "rate"\nfrom = "g.jsonl"\nratrs = 3', "did you mean raters"),
        ('kind = "rate"\nfrom = "g.jsonl"\nraters = 0', "raters = 0, expected a whole number of 1 or more"),
        ('kind = "rate"\nfrom = "g.jsonl"\nraters = true', "raters = true"),
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = "mean>4"', "did you mean mean>=4"),
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = "3-of-2"', "is not known"),
        ('kind = "rate"\nfrom = "g.jsonl"\nscale = ["one"]', "expected a list of two texts or more"),
        ('kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ answer = "5" }]', "needs texts and an answer"),
        ('kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ original = "a", answer = "6" }]', "expected 1, 2, 3, 4, 5"),
        ('kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ original = 3, answer = "5" }]', "original is not a text"),
        ('kind = "write"\nfrom = "g.jsonl"', "field is missing"),
        ('kind = "write"\nfrom = "g.jsonl"\nfield = "q"\nleast = 4\nmost = 3', "least = 4 is above most = 3"),
        ("kind = = 3", "no TOML"),
    ],
)
def test_jobs_that_cannot_be(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as found:
        read_job(written(tmp_path, text))
    assert says in f"{found.value} {found.value.hint}"


# --- rules --------------------------------------------------------------------------------------------------

# what three people said of five made-up variants, and what BECEL's rules keep of them
GRADES = [("5", "4", "3"), ("5", "3", "3"), ("2", "2", "2"), ("1", "2", "4"), ("3",)]


def test_the_rules_of_becel() -> None:
    assert [verdict("mean>=4", row) for row in GRADES] == [True, False, False, False, False]
    assert [verdict("mean<=2", row) for row in GRADES] == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("2-of-3", ("yes", "no", "yes"), True),
        ("2-of-3", ("yes", "no", "unsure"), False),
        ("2-of-3", ("yes", "no"), False),
        ("majority", ("yes", "no"), False),
        ("majority", ("ok", "ok", "wrong"), True),
        ("all-yes", ("yes", "yes"), True),
        ("all-yes", ("yes", "unsure"), False),
        ("mean>=4", ("yes", "no"), None),
        ("mean>=4", (), None),
        ("mean>=3.5", ("3", "4"), True),
    ],
)
def test_other_rules(rule: str, values: tuple[str, ...], expected: bool | None) -> None:
    assert verdict(rule, values) is expected


# --- cards --------------------------------------------------------------------------------------------------


def item(id: str, role: str, hypothesis: str) -> Item:
    fields = {"premise": "A man sleeps.", "hypothesis": hypothesis}
    return Item(id, "snli", role, fields, ("entailment", "neutral"), ("entailment",))  # type: ignore[arg-type]


GROUP = Group(
    "g",
    "mine",
    "snli",
    "semantic",
    "same",
    (item("o", "original", "He rests."), item("v", "variant", "He is resting."), item("j", "judge", "?")),
)


def of(kind: str, **more: object) -> Job:
    return Job(Path("job.toml"), kind, "groups.jsonl", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["rate", "validate", "review"])
def test_a_card_for_each_variant(kind: str) -> None:
    (card,) = cards_of(of(kind), [GROUP])
    assert (card.id, card.unit) == ("v", "v")
    assert card.shown["original"] == "He rests."
    assert card.shown["variant"] == "He is resting."
    assert card.shown["context"] == {"premise": "A man sleeps."}
    assert ("label" in card.shown) == (kind == "validate")
    assert ("expected" in card.shown) == (kind == "review")


def test_a_card_for_each_item_of_a_group() -> None:
    first, second = cards_of(of("answer"), [GROUP], prompts={"o": ("Is it so?", ("Yes", "Perhaps"))})
    assert first.unit == second.unit == "g"
    assert [card.place for card in (first, second)] == [0, 1]
    assert first.shown["prompt"] == "Is it so?"
    assert first.shown["choices"] == ["Yes", "Perhaps"], "as the prompt says them"
    assert first.shown["labels"] == ["entailment", "neutral"]
    assert second.shown["choices"] == ["entailment", "neutral"]
    assert "accepted" not in str(first.shown)


def test_items_that_groups_share_are_asked_once() -> None:
    again = replace(GROUP.items[0], id="p")  # another id, the same texts
    other = Group("h", "mine", "snli", "semantic", "same", (again, item("w", "variant", "He dozes.")))
    found = cards_of(of("answer"), with_clusters([GROUP, other]))
    assert [card.id for card in found] == ["o", "v", "w"]
    assert {card.unit for card in found} == {"g"}
    assert [card.place for card in found] == [0, 1, 2]
    assert found[0].shown["items"] == ["o", "p"]


def test_texts_to_paraphrase() -> None:
    (card,) = cards_of(of("write", field="hypothesis"), [GROUP, GROUP])
    assert card.shown == {"text": "He rests.", "field": "hypothesis", "context": {"premise": "A man sleeps."}}
    with pytest.raises(DataError, match='no items with the text "nothing"'):
        cards_of(of("write", field="nothing"), [GROUP])


def test_pairs() -> None:
    (card,) = cards_of(of("pairs"), pairs=[("1", "Where?", "Here.", "There.")])
    assert card.shown["question"] == "Where?"
    assert (card.shown["one"], card.shown["other"]) == ("Here.", "There.")


def test_a_sample_of_cards() -> None:
    pairs = [(str(n), "?", "a", "b") for n in range(50)]
    found = cards_of(of("pairs", limit=7, seed=3), pairs=pairs)
    assert len(found) == 7
    assert found == cards_of(of("pairs", limit=7, seed=3), pairs=pairs)
    assert found != cards_of(of("pairs", limit=7, seed=4), pairs=pairs)


def test_cards_with_a_known_answer(tmp_path: Path) -> None:
    job = read_job(written(tmp_path, template("answer")))
    (check,) = [card for card in cards_of(job, [GROUP]) if card.known is not None]
    assert check.known == "yes"
    assert check.shown == {"prompt": "Is snow white?", "choices": ["yes", "no"]}
