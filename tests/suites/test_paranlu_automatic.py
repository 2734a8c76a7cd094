"""run paranlu --source automatic --bank FILE: whose paraphrases are asked, and how hypotheses are paired."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError, UsageError
from unwaver.suites import paranlu
from unwaver.suites.paranlu_automatic import paired

DELTA = {"premise": "It rains.", "hypothesis": "Ann is wet.", "update": "She has an umbrella.", "label": 0}
ALPHA = {"obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D.", "label": 2}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "paranlu"
    folder.mkdir(parents=True)
    delta = {f"snli.train.{n}": [{"original_example": DELTA, "update_paraphrase": "By people."}] for n in (1, 2)}
    alpha = {"original_example": ALPHA, "hyp1_paraphrase": "E.", "hyp2_paraphrase": "F."}
    (folder / "snli_paraphrases_human.json").write_text(json.dumps(delta))
    (folder / "anli_paraphrases_human.json").write_text(json.dumps({"anli.train.1": [alpha]}))
    return tmp_path


def bank(place: Path, *rows: object) -> str:
    path = place / "bank.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def groups(place: Path, task: str, file: str, **options: Any) -> list[unwaver.Group]:
    made = paranlu.suite(place / "data", source="automatic", bank=file, **options)
    return list(made.groups(task, "paraphrase"))


def test_paraphrases_of_a_bank_take_the_place_of_those_by_people(place: Path) -> None:
    file = bank(place, {"id": "snli.train.2", "variants": ["One.", "Two.", "One.", DELTA["update"], " "]})
    (group,) = groups(place, "snli", file)
    assert group.id == "paranlu/snli/paraphrase/snli.train.2"  # as the human one: the two can be compared
    assert [i.fields["update"] for i in group.items] == [DELTA["update"], "One.", "Two."]
    assert group.items[1].id.endswith("/automatic/1")
    suite = paranlu.suite(place / "data", source="automatic", bank=file)
    assert "1 of 2 problems have none" in suite.notes("snli", "paraphrase")[1]
    by_text = groups(place, "snli", bank(place, {"update": "She has  an umbrella.", "variants": ["One."]}))
    assert len(by_text) == 2
    any_text = groups(place, "snli", bank(place, {"text": "She has an umbrella.", "paraphrase": "One."}))
    assert len(any_text) == 2


def test_both_hypotheses_of_abduction_change(place: Path) -> None:
    file = bank(
        place,
        {"id": "anli.train.1", "field": "hyp1", "variants": ["C1.", "C2.", "C3."]},
        {"hyp2": "D.", "variants": ["D1.", "D2."]},
    )
    (group,) = groups(place, "anli", file, seed=3)
    found = [(i.fields["hyp1"], i.fields["hyp2"]) for i in group.items[1:]]
    assert sorted(a for a, _ in found) == ["C1.", "C2.", "C3."]
    assert {b for _, b in found} == {"D1.", "D2."}  # with one of them drawn again
    assert found == [
        (i.fields["hyp1"], i.fields["hyp2"]) for i in groups(place, "anli", file, seed=3)[0].items[1:]
    ]
    with pytest.raises(DataError, match="no paraphrase in this bank"):  # the second hypothesis has none
        groups(place, "anli", bank(place, {"id": "anli.train.1", "field": "hyp1", "variants": ["C1."]}))


def test_pairs_are_as_many_as_the_longest_list() -> None:
    assert paired([["a", "b"]], Random(0)) == [("a",), ("b",)]
    for seed in range(20):
        found = paired([list("abcde"), ["x", "y"]], Random(seed))
        assert sorted(a for a, _ in found) == list("abcde")
        assert {b for _, b in found} == {"x", "y"}


def test_the_published_layout(place: Path) -> None:
    path = place / "data" / "paranlu" / "snli_paraphrases_automatic.json"
    path.write_text(json.dumps({"snli.train.1": [{"update_paraphrase": "By a machine."}]}))
    (group,) = paranlu.suite(place / "data", source="automatic").groups("snli", "paraphrase")
    assert group.items[1].fields["update"] == "By a machine."
    path.write_text(json.dumps({"snli.train.9": [{"update_paraphrase": "By a machine."}]}))
    with pytest.raises(DataError, match=r"snli\.train\.9: is not a problem"):
        groups(place, "snli", str(path))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "anli.train.1", "variants": ["x"]}, '"field": found'),
        ({"variants": ["x"]}, "belong to nothing"),
        ({"id": "anli.train.1", "field": "hyp1", "variants": [1]}, "expected texts"),
        ({"id": "anli.train.1", "field": "hyp1"}, "expected texts"),
    ],
)
def test_bad_banks(place: Path, row: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        groups(place, "anli", bank(place, row))


def test_a_run_and_where_the_options_have_no_effect(place: Path) -> None:
    file = bank(place, {"update": DELTA["update"], "variants": ["One.", "Two."]})
    options = {"data_dir": str(place / "data"), "out": str(place / "run")}
    result = unwaver.run("paranlu/snli", "fake/random", source="automatic", bank=file, **options)
    assert result.find("P_C").groups == 2
    with pytest.raises(UsageError, match="--bank is for automatic paraphrases"):
        unwaver.run("paranlu/snli", "fake/random", bank=file, data_dir=str(place / "data"), out=str(place / "r"))
    with pytest.raises(UsageError, match="which is not run"):
        unwaver.run("sample/snli", "fake/random", source="human", out=str(place / "r"))
    with pytest.raises(DataError, match="there is no such bank"):
        groups(place, "snli", str(place / "absent.jsonl"))
