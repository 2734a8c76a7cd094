"""Files that say what people are asked, and the cards made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from unwaver.errors import DataError
from unwaver.groups.clusters import with_clusters
from unwaver.people import outcome
from unwaver.people.cards import cards_of, undecided
from unwaver.people.figures import kept_by
from unwaver.people.job import KINDS, Job, read_job
from unwaver.people.rules import of_one, verdict
from unwaver.people.store import Card, Reply
from unwaver.people.templates import template
from unwaver.types import Group, Item, replace


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
        ('kind = ["rate"]\nfrom = "g.jsonl"', 'kind = ["rate"], expected rate, write'),
        ('kind = "rate"', "from is missing"),
        ('kind = "rate"\nfrom = "g.jsonl"\nratrs = 3', "did you mean raters"),
        ('kind = "rate"\nfrom = "g.jsonl"\nraters = 0', '"raters": found 0, expected a whole number of 1 or more'),
        ('kind = "rate"\nfrom = "g.jsonl"\nraters = true', '"raters": found true'),
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = "mean>4"', "did you mean mean>=4"),
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = "3-of-2"', "is not known"),
        ('kind = "rate"\nfrom = "g.jsonl"\nscale = ["one"]', "expected a list of 2 or more texts"),
        ('kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ answer = "5" }]', "needs texts and an answer"),
        ('kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ original = "a", answer = "6" }]', "expected 1, 2, 3, 4, 5"),
        (
            'kind = "rate"\nfrom = "g.jsonl"\nchecks = [{ original = 3, answer = "5" }]',
            '"checks.0.original": found 3, expected a text',
        ),
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


# --- rules by kind ------------------------------------------------------------------------------------------

NEGATED = replace(
    GROUP,
    id="n",
    kind="negational",
    expect="different",
    items=(item("m", "original", "He rests."), item("x", "variant", "He works.")),
)
TABLE = {  # grades of three people: by BECEL's rules, the second of each kind stays out
    "semantic": [("5", "4", "3"), ("5", "3", "3"), ("4", "4", "4")],
    "negational": [("1", "2", "3"), ("2", "2", "3"), ("1", "1", "1")],
}


def graded(job: Job) -> dict[str, bool]:
    """What the rules of a job keep of the made-up table."""
    cards, replies = [], []
    for kind, rows in TABLE.items():
        expect = "different" if kind == "negational" else "same"
        for n, row in enumerate(rows):
            about = {"kind": f"mine/snli/{kind}", "expect": expect, "cluster": f"{kind}{n}"}
            cards.append(Card(f"{kind}{n}", f"{kind}{n}", {"about": about}))
            replies += [Reply(f"{kind}{n}", r, {"value": v}, n, None, 0.0, 1) for r, v in enumerate(row)]
    names = {n: f"r{n + 1}" for n in range(3)}
    return outcome.verdicts(outcome.Outcome(job, cards, replies, {}, names, frozenset()))


BECEL = {
    "semantic0": True,
    "semantic1": False,
    "semantic2": True,
    "negational0": True,
    "negational1": False,
    "negational2": True,
}


def test_each_kind_has_the_rule_of_becel() -> None:
    assert graded(of("rate")) == BECEL
    assert graded(of("rate", rule={"semantic": "mean>=4", "negational": "mean<=2"})) == BECEL
    assert graded(of("rate", rule={"semantic": "mean>=4"})) == BECEL, "the other kind has its default"
    assert sum(graded(of("rate", rule="mean>=4")).values()) == 2, "one rule for all"
    strict = graded(of("rate", rule={"negational": "mean<=1"}))
    assert [strict[f"negational{n}"] for n in range(3)] == [False, False, True]


def test_what_each_rule_keeps() -> None:
    said = {f"{kind}{n}": list(row) for kind, rows in TABLE.items() for n, row in enumerate(rows)}
    assert kept_by(said, ["mean>=4", "mean<=2"]) == {"mean>=4": (2, 6), "mean<=2": (2, 6)}
    labels = {
        "a": ["yes", "yes", "no"],
        "b": ["yes", "no", "no"],
        "c": ["yes"] * 3,
        "d": ["yes", "no"],
        "e": ["yes"],
    }
    assert kept_by(labels, ["2-of-3", "majority", "all-yes"]) == {
        "2-of-3": (2, 5),
        "majority": (3, 5),
        "all-yes": (2, 5),
    }


def test_a_rule_for_each_part_of_a_kind() -> None:
    job = of("rate", rule={"surface": "mean>=5", "surface_case": "mean>=4"})
    assert job.rule_for({"kind": "mine/snli/surface_case"}) == "mean>=4"
    assert job.rule_for({"kind": "mine/snli/surface_typos"}) == "mean>=5"
    assert job.rule_for({"kind": "mine/snli/semantic"}) == "mean>=4"


def test_a_rule_for_a_kind_that_there_is_not() -> None:
    with pytest.raises(DataError, match='no groups of the kind "negatoinal"') as e:
        cards_of(of("rate", rule={"negatoinal": "mean<=2"}), [GROUP, NEGATED])
    assert "negational" in str(e.value.hint)
    assert cards_of(of("rate", rule={"negational": "mean<=2"}), [GROUP]), "the template names both"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = "all-yes"', "is for yes and no"),
        ('kind = "review"\nfrom = "g.jsonl"\nrule = "mean>=4"', "is for grades"),
        ('kind = "rate"\nfrom = "g.jsonl"\nrule = { semantic = "mean>4" }', "did you mean mean>=4"),
        (
            'kind = "rate"\nfrom = "g.jsonl"\nrule = { semantic = 4 }',
            '"rule.semantic": found 4, expected a text',
        ),
        ('kind = "rate"\nfrom = "g.jsonl"\nscale = ["a", "b", "c"]', "the scale has 3 grades"),
        (
            'kind = "pairs"\nfrom = "p.csv"\ngrades = ["ja", "nein"]',
            "none of these says that two answers say the same",
        ),
        (
            'kind = "pairs"\nfrom = "p.csv"\ngrades = ["yes", "ok"]',
            "all of these say that two answers say the same",
        ),
    ],
)
def test_rules_that_cannot_be(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as found:
        read_job(written(tmp_path, text))
    assert says in f"{found.value} {found.value.hint}"


def test_one_person_alone() -> None:
    assert of_one("2-of-3", "yes") is True
    assert of_one("all-yes", "unsure") is False
    assert of_one("mean>=4", "3") is False


# --- what counts in a job of answers ------------------------------------------------------------------------


def test_variants_that_people_refused_are_not_asked() -> None:
    refused = replace(GROUP.items[1], certified=False)
    spare = item("s", "variant", "He naps.")
    judged = replace(GROUP, items=(GROUP.items[0], refused, replace(spare, certified=True)))
    assert [card.id for card in cards_of(of("answer"), [judged])] == ["o", "s"]
    alone = replace(GROUP, id="a", items=(item("p", "original", "He sits."), replace(refused, id="q")))
    assert [card.id for card in cards_of(of("answer"), [judged, alone])] == ["o", "s"], (
        "nothing is left to compare"
    )
    kept = replace(judged, keep=1, items=(*judged.items, replace(spare, id="t", certified=True)))
    assert [card.id for card in cards_of(of("answer"), [kept])] == ["o", "s"]


def test_variants_that_wait_for_a_model() -> None:
    judge = Item(
        "j1",
        "snli",
        "judge",
        {"premise": "a", "hypothesis": "b"},
        ("yes", "no"),
        ("yes",),
        judge="self",
        about="v",
    )
    waiting = replace(GROUP, items=(*GROUP.items[:2], judge))
    assert [item.id for item in undecided([waiting])] == ["v"]
    assert undecided([GROUP]) == []
