"""run --corrected: a live model's test set is asked, stored, scored, and exported; the values are those of --test."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import unwaver
from unwaver.cli.score_verb import command as score
from unwaver.errors import DataError, UsageError
from unwaver.models.bow import save, train
from unwaver.suites import paranlu

CORRECTED = ("A_test", "A_corrected", "P_C_corrected", "A_corrected_published", "P_C_corrected_published")
WORDS = [
    "rain",
    "wet",
    "dry",
    "sun",
    "coat",
    "hat",
    "dog",
    "run",
    "walk",
    "home",
    "late",
    "happy",
    "sad",
    "eat",
    "cook",
]


def sentence(random_: random.Random) -> str:
    return " ".join(random_.choice(WORDS) for _ in range(5)).capitalize() + "."


def made_up(place: Path) -> Path:
    """A data folder with problems and a test set of δ-SNLI, and a file to train on."""
    random_ = random.Random(0)
    for name in ("paranlu", "defeasible_nli"):
        (place / name).mkdir(parents=True)

    def problem(n: int) -> list[dict[str, Any]]:
        original = {name: sentence(random_) for name in ("premise", "hypothesis", "update")}
        return [
            {"original_example": {**original, "label": n % 2}, "update_paraphrase": sentence(random_)}
            for _ in range(4)
        ]

    problems = {f"snli.train.{n}": problem(n) for n in range(40)}
    (place / "paranlu" / "snli_paraphrases_human.json").write_text(json.dumps(problems))
    tests = [
        {
            "Premise": sentence(random_), "Hypothesis": sentence(random_), "Update": sentence(random_),
            "UpdateType": ("weakener", "strengthener")[n % 2], "UpdateTypeImpossible": n == 3,
        }
        for n in range(80)
    ]  # fmt: skip
    (place / "defeasible_nli" / "snli_test.jsonl").write_text("\n".join(map(json.dumps, tests)))
    rows = [f"{sentence(random_)},{sentence(random_)},{n % 2}" for n in range(60)]
    path = place / "defeasible_nli" / "snli_train.csv"
    path.write_text("\n".join(["sentence1,sentence2,label", *rows]))
    return path


@pytest.fixture(params=["made up", "real"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bag of words of δ-SNLI, trained on made-up or real data; UNWAVER_DATA is where its problems are."""
    if request.param == "real":
        data = request.getfixturevalue("data")
        rows = data / "defeasible_nli" / "snli_train_tenth_paranlu.csv.gz"
        if not rows.is_file():
            pytest.skip(f"there is no {rows}")
    else:
        rows = made_up(tmp_path / "data")
        monkeypatch.setenv("UNWAVER_DATA", str(tmp_path / "data"))
    save(train([rows], "delta-snli"), tmp_path / "lexical")
    return tmp_path / "lexical"


def test_corrected_values_of_a_run_are_those_of_its_exported_predictions(model: Path, tmp_path: Path) -> None:
    run = unwaver.run("paranlu/snli", f"bow/{model}", corrected=True, out=str(tmp_path / "run"))
    done = CliRunner().invoke(score, [str(tmp_path / "run"), "--predictions", str(tmp_path / "files"), "--json"])
    assert done.exit_code == 0, done.exception
    human, test = (tmp_path / "files" / f"snli_{part}_lexical.json" for part in ("human", "test_set"))
    again = unwaver.score(human, test=test)
    for metric in CORRECTED:
        first, second = run.find(metric), again.find(metric)
        assert first.value is not None
        assert abs(first.value - second.value) <= 1e-12, metric
        assert first.counted == second.counted, metric
    rescored = {s["metric"]: s["value"] for s in json.loads(done.stdout)["scores"]}
    assert {m: rescored[m] for m in CORRECTED} == {m: run.find(m).value for m in CORRECTED}
    assert run.find("A_test").counted == len(json.loads(test.read_text()))

    # the same from a run without the test set, and that of the file
    unwaver.run("paranlu/snli", f"bow/{model}", out=str(tmp_path / "plain"))
    assert not [s for s in unwaver.score(tmp_path / "plain") if s.metric in CORRECTED]
    with_file = unwaver.score(tmp_path / "plain", test=test)
    for metric in CORRECTED:
        assert abs(with_file.find(metric).value - run.find(metric).value) <= 1e-12, metric


def test_the_test_set_is_asked_whole_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(train([made_up(tmp_path / "data")], "delta-snli"), tmp_path / "lexical")
    options = {"data_dir": str(tmp_path / "data"), "out": str(tmp_path / "run")}
    first = unwaver.run("paranlu/snli", f"bow/{tmp_path / 'lexical'}", limit=5, **options)
    second = unwaver.run("paranlu/snli", f"bow/{tmp_path / 'lexical'}", limit=5, corrected=True, **options)
    assert first.find("P_C").groups == second.find("P_C").groups == 5
    assert second.find("A_test").groups == 79  # one row says that there is no such update
    assert second.run["spent"]["calls"] == 79  # the buckets are in the store already
    groups = [json.loads(line) for line in (tmp_path / "run" / "groups.jsonl").read_text().splitlines()]
    roles = [item["role"] for group in groups for item in group["items"]]
    assert roles.count("test") == 79
    assert groups[-1]["id"] == "paranlu/snli/test/79"  # the number of the row, as in the published files


def test_groups_with_a_test_set_can_be_run_again(tmp_path: Path) -> None:
    """Buckets and a test set of one's own, as a file."""
    made_up(tmp_path / "data")
    options = {"data_dir": str(tmp_path / "data"), "corrected": True, "limit": 4}
    first = unwaver.run("paranlu/snli", "fake/random", out=str(tmp_path / "run"), **options)
    copy = tmp_path / "mine.jsonl"
    copy.write_bytes((tmp_path / "run" / "groups.jsonl").read_bytes())
    again = unwaver.run(str(copy), "fake/random", out=str(tmp_path / "again"))
    assert again.find("A_test").value == first.find("A_test").value
    assert again.find("A_test").groups == 79


@pytest.mark.parametrize(
    ("suites", "options", "message"),
    [
        ("sample/snli", {}, "sample/snli has no test set"),
        ("paranlu/snli", {"until": "P_C>=0.5"}, "--corrected and --until cannot be combined"),
    ],
)
def test_refusals(tmp_path: Path, suites: str, options: dict[str, Any], message: str) -> None:
    made_up(tmp_path / "data")
    with pytest.raises(UsageError, match=message):
        unwaver.run(
            suites,
            "fake/random",
            data_dir=str(tmp_path / "data"),
            corrected=True,
            out=str(tmp_path / "r"),
            **options,
        )


def test_a_missing_test_set_is_named(tmp_path: Path) -> None:
    made_up(tmp_path / "data")
    (tmp_path / "data" / "defeasible_nli" / "snli_test.jsonl").unlink()
    with pytest.raises(DataError, match=r"defeasible_nli/snli_test\.jsonl"):
        list(paranlu.full_test_set("snli", tmp_path / "data"))


@pytest.mark.parametrize(("task", "items"), [("anli", 3059), ("snli", 1837), ("atomic", 4138)])
def test_the_published_test_sets(data: Path, task: str, items: int) -> None:
    found = list(paranlu.full_test_set(task, data))
    assert len(found) == items
    assert {item.role for item in found} == {"test"}


def test_only_labels_with_probabilities_can_be_exported(tmp_path: Path) -> None:
    rows = [
        {"group": "g", "kind": "bucket", "role": role, "label": "a", "gold": "a"}
        for role in ("original", "variant")
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = CliRunner().invoke(score, [str(tmp_path / "t.jsonl"), "--predictions", str(tmp_path / "out")])
    assert "is for answers of the suite paranlu" in str(done.exception)
    rows = [{**row, "suite": "paranlu", "task": "snli", "label": "weakener", "gold": "weakener"} for row in rows]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = CliRunner().invoke(score, [str(tmp_path / "t.jsonl"), "--predictions", str(tmp_path / "out")])
    assert "2 answers have no label or no probabilities" in str(done.exception)
