"""People's answers in every command that reads answers: the majority and each person are models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from people_jobs import CHOICES, Card, groups, job_file, opened, play, written

import unwaver
from unwaver.engine.load import load
from unwaver.engine.people_answers import JobName, job_named
from unwaver.errors import DataError, UsageError
from unwaver.models.human import open_model
from unwaver.people.job import read_job
from unwaver.people.queue import next_card, save
from unwaver.types import replace


def label_of(card: Card, label: str) -> dict[str, Any]:
    """The reply that stands for a label, in the words of the prompt."""
    return {"value": card.shown["choices"][card.shown["labels"].index(label)]}


def say(card: Card, name: str) -> dict[str, Any]:
    """Ann wavers on group 0; of the variant of group 1 everybody says something else."""
    if card.id == "semantic/0/variant" and name == "ann":
        return label_of(card, "neutral")
    if card.id == "semantic/1/variant":
        return label_of(card, CHOICES[("ann", "bob", "cy").index(name)])
    return label_of(card, "entailment")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    written(tmp_path / "groups.jsonl", groups())
    return play(job_file(tmp_path / "job.toml", "answer", raters=3), say)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("human/job.toml", JobName(Path("job.toml"))),
        ("job.toml,rater=r1", JobName(Path("job.toml"), "r1")),
        ("human/a/job.toml,rater=people", JobName(Path("a/job.toml"), "people")),
        ("runs/old", None),
        ("answers.csv", None),
        ("job.toml.bak", None),
    ],
)
def test_names_of_jobs(given: str, name: JobName | None) -> None:
    assert job_named(given) == name


def test_an_option_that_a_job_does_not_have() -> None:
    with pytest.raises(UsageError, match="a job has no option person"):
        job_named("job.toml,person=r1")


def test_everybody_is_a_model(job: Path) -> None:
    result = unwaver.score(job)
    found = {score.model: score for score in result.leading()}
    assert list(found) == ["people", "r1", "r2", "r3"]
    assert {name: score.value for name, score in found.items()} == {
        "people": 0.25,  # group 1 has a tie
        "r1": 0.25,
        "r2": 0.25,
        "r3": 0.25,
    }
    assert found["people"].unreadable == 1
    assert found["people"].method == "majority"
    assert found["r1"].low is not None
    assert result.find("accuracy", model="r1", method="person").value == 1.0
    (notes,) = result.run["notes"].values()
    assert any("1 item without a majority" in line for line in notes)


def test_one_person(job: Path) -> None:
    (score,) = unwaver.score(f"{job},rater=r2").leading()
    assert score.model == "r2"
    (score,) = unwaver.score(f"human/{job},rater=people").leading()
    assert score.model == "people"
    with pytest.raises(UsageError, match="there is no rater r9"):
        unwaver.score(f"{job},rater=r9")


def test_a_run_and_a_job_give_the_same_numbers(job: Path, tmp_path: Path) -> None:
    run = unwaver.run(str(tmp_path / "groups.jsonl"), [f"human/{job}"], out=str(tmp_path / "run"))
    here = unwaver.score(f"{job},rater=people")
    assert [(s.metric, s.value, s.low, s.high, s.unreadable) for s in run] == [
        (s.metric, s.value, s.low, s.high, s.unreadable) for s in here
    ]


@pytest.mark.parametrize("choices", [("yes", "no"), ("no", "tie"), ("1", "2")])
def test_a_tie_is_no_label(choices: tuple[str, ...], tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups(2, choices))
    path = job_file(tmp_path / "job.toml", "answer", raters=2)
    play(path, lambda card, name: {"value": card.shown["choices"][name == "bob"]}, ("ann", "bob"))
    (people, *_) = unwaver.score(path).leading()
    assert (people.model, people.unreadable, people.value) == ("people", 2, 1.0)


def test_the_owner_settles_a_tie(job: Path) -> None:
    database = opened(job, ())
    card = database.card("semantic/1/variant")
    assert card is not None
    database.decide(card.id, label_of(card, "entailment"), 0.0)
    database.close()
    result = unwaver.score(f"{job},rater=people")
    assert result.leading()[0].value == 0.0
    assert any("1 item decided by the owner" in line for line in next(iter(result.run["notes"].values())))


def test_free_text_has_results_of_each_person(tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups(3, ()))
    path = job_file(tmp_path / "job.toml", "answer")
    play(path, lambda card, name: {"text": "He sleeps." if name == "ann" else card.id})
    result = unwaver.score(path)
    assert {score.model for score in result} == {"r1", "r2", "r3"}
    values = {score.model: score.value for score in result if score.metric == "Cons_normalised"}
    assert values == {"r1": 1.0, "r2": 0.0, "r3": 0.0}
    assert {score.model for score in unwaver.score(path, agree=["rouge1"])} == {"r1", "r2", "r3"}
    with pytest.raises(UsageError, match="asks no model"):
        unwaver.score(path, agree=["entail=fake/random"])


def test_what_is_not_answered_is_missing(tmp_path: Path) -> None:
    """The first person stops after five cards, the second skips one."""
    written(tmp_path / "groups.jsonl", groups())
    path = job_file(tmp_path / "job.toml", "answer", raters=2)
    play(path, lambda card, name: label_of(card, "entailment"), ("ann",), most=5)
    play(
        path,
        lambda card, name: {"skip": "?"} if card.id == "semantic/2/original" else label_of(card, "entailment"),
        ("bob",),
    )
    result = unwaver.score(path)
    found = {score.model: score for score in result.leading()}
    assert (found["r1"].missing, found["r1"].value) == (3, 0.0)
    assert (found["r2"].missing, found["r2"].value) == (1, 0.0)
    (notes,) = result.run["notes"].values()
    assert "r1: 3 of 8 items not answered; groups with one are missing" in notes
    assert "r2: 1 of 8 items not answered (1 skipped); groups with one are missing" in notes


def test_people_who_were_set_aside_do_not_count(job: Path) -> None:
    database = opened(job, ())
    database.set_aside(database.raters()[0].id, True)
    database.close()
    result = unwaver.score(job)
    assert [score.model for score in result.leading()] == ["people", "r2", "r3"]
    assert any("1 set aside" in line for line in next(iter(result.run["notes"].values())))


def test_it_is_read_while_people_answer(job: Path, tmp_path: Path) -> None:
    path = job_file(tmp_path / "other.toml", "answer", raters=1)
    database = opened(path, ("ann",))
    try:
        card = next_card(database, read_job(path), 1, 0.0)
        assert card is not None
        save(database, read_job(path), 1, card, label_of(card, "entailment"), times=0, seconds=1.0, now=0.0)
        with database.transaction():  # somebody saves at this moment
            result = unwaver.score(path)
    finally:
        database.close()
    assert result.leading()[0].missing == 4


# --- other groups -------------------------------------------------------------------------------------------


def test_a_file_that_has_changed(job: Path, tmp_path: Path) -> None:
    first, *others = groups()
    changed = replace(
        first, items=(replace(first.items[0], fields={"premise": "x", "hypothesis": "y"}), first.items[1])
    )
    written(tmp_path / "groups.jsonl", [changed, *others])
    with pytest.raises(DataError, match=r"groups\.jsonl has changed since the cards were made: 1 of 8") as e:
        unwaver.score(job)
    assert "restore the file" in str(e.value.hint)
    written(tmp_path / "groups.jsonl", others)
    with pytest.raises(DataError, match="has changed since the cards were made: 2 of 8"):
        unwaver.score(job)


def test_groups_that_were_added(job: Path, tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups(6))
    result = unwaver.score(job)
    assert result.leading()[0].counted == 4
    (notes,) = result.run["notes"].values()
    assert any("2 groups of groups.jsonl are not in the job yet" in line for line in notes)


def test_a_part_of_a_source(tmp_path: Path) -> None:
    path = job_file(tmp_path / "job.toml", "answer", "sample/snli/semantic", limit=3, raters=1)
    play(path, lambda card, name: {"value": card.shown["choices"][0]}, ("ann",))
    found = load(path)
    assert found.frame["group"].n_unique() == 3
    assert not any("not in the job" in line for line in next(iter(found.run["notes"].values())))


def test_other_groups_than_those_of_the_job(job: Path) -> None:
    with pytest.raises(DataError, match="people answered other items") as e:
        unwaver.run("sample/snli/semantic", [f"human/{job}"])
    assert "groups.jsonl" in str(e.value.hint)


# --- what is refused ----------------------------------------------------------------------------------------


def test_jobs_without_answers(tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups())
    path = job_file(tmp_path / "new.toml", "answer")
    with pytest.raises(DataError, match="has not been started"):
        unwaver.score(path)
    opened(path, ("ann",)).close()
    with pytest.raises(DataError, match="nobody has answered yet"):
        unwaver.score(path)
    with pytest.raises(DataError, match="nobody has answered yet"):
        open_model(str(path))
    rate = play(job_file(tmp_path / "rate.toml", "rate"), lambda card, name: {"value": "5"})
    with pytest.raises(DataError, match='kind = "answer", this is "rate"'):
        unwaver.score(rate)


def test_options_without_effect(job: Path) -> None:
    for option in ({"bucket": "id"}, {"review": "sheet.tsv"}, {"strict": True}):
        with pytest.raises(UsageError, match="is a job"):
            unwaver.score(job, **option)
    with pytest.raises(UsageError, match="no answer of this job is free text"):
        unwaver.score(job, agree=["rouge1"])
    assert unwaver.score(job.with_suffix(".sqlite")).scores == unwaver.score(job).scores
    with pytest.raises(UsageError, match="is a job of people, which is scored by itself"):
        unwaver.score([job, job])


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def command(call: Any) -> Any:
    """The command line without a process of its own."""
    return lambda *words: Done(*call(*map(str, words)))


# --- beside a model -----------------------------------------------------------------------------------------


def test_people_beside_a_model(job: Path, tmp_path: Path, command: Any) -> None:
    """In one command, each way."""
    suite, run = tmp_path / "groups.jsonl", tmp_path / "run"
    done = command(
        "run", suite, "--model", "fake/random", "--model", f"human/{job}", "--out", tmp_path / "both", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert {s["model"] for s in json.loads(done.stdout)["scores"]} == {"fake/random", "people"}
    assert command("run", suite, "--model", "fake/random", "--out", run, "--no-report", "-q").returncode == 0
    done = command("compare", f"human/{job}", run, "--json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)["comparisons"]
    assert [c["second"]["model"] for c in compared] == ["r1", "r2", "r3", "fake/random"]
    assert {c["first"]["model"] for c in compared} == {"people"}
    done = command("report", job, run, "--format", "csv")
    assert done.returncode == 0, done.stderr
    for model in ("people", "r1", "r2", "r3", "fake/random"):
        assert f",{model}" in done.stdout
    assert command("report", job, run, "--out", tmp_path / "both.html").returncode == 0
    assert "fake/random" in (page := (tmp_path / "both.html").read_text())
    assert "people" in page


def test_score_show_and_gate(job: Path, command: Any) -> None:
    done = command("score", job, "--json")
    assert done.returncode == 0, done.stderr
    assert {s["model"] for s in json.loads(done.stdout)["scores"]} == {"people", "r1", "r2", "r3"}
    done = command("show", job, "--model", "r1")
    assert done.returncode == 0, done.stderr
    assert "semantic/0" in done.stdout
    done = command("gate", f"{job},rater=r2", "--bar", "tau<=0.9", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert [check["model"] for check in json.loads(done.stdout)["checks"]] == ["r2"]
