"""How far people agree on review sheets, in jobs and on pairs: one set of figures for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from people_jobs import groups, job_file, opened, play, written

from unwaver.agree.human_pairs import read_pairs
from unwaver.errors import DataError, UsageError
from unwaver.people.sheets import agreement_of_sheets
from unwaver.stats.raters import cohen, fleiss, krippendorff

BOTH = [*groups(12), *groups(8, kind="negational")]
VERDICTS = {
    "ann": [True] * 9 + [False] * 3 + [True] * 5 + [False] * 3,
    "bob": [True] * 8 + [False] * 4 + [True] * 6 + [False] * 2,
    "cy": [True] * 10 + [False] * 2 + [True] * 4 + [False] * 4,
}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def unwaver(call: Any) -> Any:
    """The command line without a process of its own."""
    return lambda *words: Done(*call(*map(str, words)))


def sheet(path: Path, verdicts: list[bool], skip: int | None = None) -> Path:
    ids = [group.items[1].id for group in BOTH]
    told = ["" if n == skip else "ok" if v else "wrong" for n, v in enumerate(verdicts)]
    path.write_text("\n".join(["id\tverdict", *(f"{id}\t{v}" for id, v in zip(ids, told, strict=True))]))
    return path


def test_sheets_of_three_people(unwaver: Any, tmp_path: Path) -> None:
    files = [sheet(tmp_path / f"{name}.tsv", verdicts) for name, verdicts in VERDICTS.items()]
    source = written(tmp_path / "groups.jsonl", BOTH)
    done = unwaver("review", source, *files, "--json")
    assert done.returncode == 0, done.stderr
    total, semantic, negational = json.loads(done.stdout)["agreement"]
    table = np.array(list(VERDICTS.values()), dtype=np.float64).T
    expected, alpha = fleiss(table, range(20)), krippendorff(table, range(20))
    assert total["fleiss_kappa"]["value"] == pytest.approx(expected.kappa.value)
    assert total["krippendorff_alpha"]["value"] == pytest.approx(alpha.kappa.value)
    assert total["krippendorff_alpha"]["level"] == "nominal"
    assert total["fleiss_kappa"]["low"] < total["fleiss_kappa"]["value"] < total["fleiss_kappa"]["high"]
    assert total["cohen_kappa"] is None
    assert (semantic["kind"], semantic["items"]) == ("mine/snli/semantic", 12)
    assert (negational["kind"], negational["items"]) == ("mine/snli/negational", 8)
    shown = unwaver("review", *files, source)
    assert shown.returncode == 0, shown.stderr
    assert "3 sheets" in shown.stdout
    assert "Krippendorff's α" in shown.stdout
    assert f"{expected.kappa.value:.2f} [" in shown.stdout


def test_two_people_have_cohens_kappa(unwaver: Any, tmp_path: Path) -> None:
    files = [sheet(tmp_path / "ann.tsv", VERDICTS["ann"], skip=3), sheet(tmp_path / "bob.tsv", VERDICTS["bob"])]
    done = unwaver("review", *files, "--json")
    assert done.returncode == 0, done.stderr
    (total,) = json.loads(done.stdout)["agreement"]
    one, other = (np.array(VERDICTS[name], dtype=np.float64) for name in ("ann", "bob"))
    one[3] = np.nan
    assert total["cohen_kappa"]["value"] == pytest.approx(cohen(one, other, range(20)).kappa.value)
    assert (total["items"], total["missing"], total["left_out"]) == (19, 1, 1)


def test_a_folder_of_sheets(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "sheets").mkdir()
    for name, verdicts in VERDICTS.items():
        sheet(tmp_path / "sheets" / f"{name}.tsv", verdicts)
    done = unwaver("review", tmp_path / "sheets", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["agreement"][0]["raters"] == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ann.tsv"], "one sheet cannot agree"),
        (["groups.jsonl"], "--out is missing"),
        (["none.tsv", "ann.tsv"], "there is no such file"),
        (["groups.jsonl", "other.tsv", "ann.tsv"], "no id of this sheet is in these groups"),
        (["ann.tsv", "bob.tsv", "--sample", "3"], "--sample has no effect without --out"),
        (["groups.jsonl", "ann.tsv", "--out", "new.tsv"], "--out writes a sheet for one file, not 2"),
        (["write.toml"], "this job has the kind write"),
        (["answer.toml"], "has not been started"),
        (["rate.toml"], "has not been started"),
    ],
)
def test_what_is_no_comparison(words: list[str], says: str, unwaver: Any, tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", BOTH)
    sheet(tmp_path / "ann.tsv", VERDICTS["ann"])
    sheet(tmp_path / "bob.tsv", VERDICTS["bob"])
    (tmp_path / "other.tsv").write_text("id\tverdict\nx\tok\n")
    job_file(tmp_path / "answer.toml", "answer")
    job_file(tmp_path / "write.toml", "write", field="hypothesis")
    job_file(tmp_path / "rate.toml", "rate")
    done = unwaver("review", *words)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_sheets_without_a_verdict(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sheet has a verdict"):
        agreement_of_sheets({Path("a.tsv"): {}, Path("b.tsv"): {}})
    with pytest.raises(UsageError, match="one sheet"):
        agreement_of_sheets({Path("a.tsv"): {"x": True}})


# --- jobs ---------------------------------------------------------------------------------------------------


def test_a_job_has_the_same_figures(unwaver: Any, tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", BOTH)
    ids = [group.items[1].id for group in BOTH]
    path = play(
        job_file(tmp_path / "job.toml", "review"),
        lambda card, name: {"value": "ok" if VERDICTS[name][ids.index(card.id)] else "wrong"},
    )
    files = [sheet(tmp_path / f"{name}.tsv", verdicts) for name, verdicts in VERDICTS.items()]
    done = unwaver("review", path, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    expected = unwaver("review", *files, tmp_path / "groups.jsonl", "--json")
    assert document["agreement"] == json.loads(expected.stdout)["agreement"]
    assert document["rules"]["all-yes"] == {"kept": 12, "of": 20}
    shown = unwaver("review", path)
    assert "majority (this job)" in shown.stdout


def test_answers_have_an_agreement_too(unwaver: Any, tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups(6))
    path = job_file(tmp_path / "job.toml", "answer", raters=2)
    play(
        path,
        lambda card, name: {"value": card.shown["choices"][name == "bob" and card.id[9] < "2"]},
        ("ann", "bob"),
    )
    done = unwaver("review", path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["agreement"][0]["agreement"] == pytest.approx(8 / 12)
    assert found["rules"] == {}


def test_two_kinds_of_jobs_as_a_review(unwaver: Any, tmp_path: Path) -> None:
    """--review takes a job in the place of a sheet: the variants that its rule refuses do not count."""
    source = written(tmp_path / "groups.jsonl", groups(6))
    rate = play(
        job_file(tmp_path / "rate.toml", "rate", limit=4),
        lambda card, name: {"value": "5" if card.id < "semantic/2" else "2"},
    )
    done = unwaver("run", source, "--model", "fake/random", "--review", rate, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    (judged, *_) = [json.loads(line) for line in (tmp_path / "run" / "groups.jsonl").read_text().splitlines()]
    found = [json.loads(line) for line in (tmp_path / "run" / "groups.jsonl").read_text().splitlines()]
    verdicts = {item["id"]: item["certified"] for group in found for item in group["items"] if "certified" in item}
    assert len(verdicts) == 4
    assert all(verdict == (id < "semantic/2") for id, verdict in verdicts.items())
    assert 0 < judged["epsilon"] < 1, "a part was judged: the share of wrong ones has a limit"
    again = unwaver("score", tmp_path / "run", "--review", rate, "--json")
    assert again.returncode == 0, again.stderr


def test_jobs_that_are_no_review(unwaver: Any, tmp_path: Path) -> None:
    source = written(tmp_path / "groups.jsonl", groups(2))
    path = job_file(tmp_path / "new.toml", "rate")
    run = ("run", source, "--model", "fake/random", "--out", tmp_path / "run", "--review")
    assert "has not been started" in unwaver(*run, path).stderr
    opened(path, ("ann",)).close()
    assert "nobody has judged a variant" in " ".join(unwaver(*run, path).stderr.split())
    play(job_file(tmp_path / "w.toml", "write", field="hypothesis"), lambda card, name: {"texts": [f"{name} x"]})
    assert "this job has the kind write" in unwaver(*run, tmp_path / "w.toml").stderr
    second = play(
        job_file(tmp_path / "v.toml", "validate", "w.toml", criteria=["meaning"]),
        lambda card, name: {"criteria": {"meaning": "yes"}, "value": "yes"},
        ("di",),
    )
    assert "bank/bank.jsonl" in unwaver(*run, second).stderr


# --- pairs --------------------------------------------------------------------------------------------------


def pairs(path: Path, count: int = 20) -> Path:
    lines = [f"Question {n}?,answer {n},{'answer' if n % 2 else 'other'} {n}" for n in range(count)]
    path.write_text("\n".join(["question,a,b", *lines]))
    return path


def test_a_job_of_pairs_is_validated_directly(unwaver: Any, tmp_path: Path) -> None:
    from unwaver.people.outcome import pair_labels, read_judged

    pairs(tmp_path / "pairs.csv")
    path = play(
        job_file(tmp_path / "job.toml", "pairs", "pairs.csv"),
        lambda card, name: {"value": "yes" if (int(card.id) % 2) ^ (name == "cy" and card.id == "4") else "no"},
    )
    done = unwaver("agreement", "validate", path, "--agree", "exact", "--json")
    assert done.returncode == 0, done.stderr
    direct = json.loads(done.stdout)
    (tmp_path / "labels.jsonl").write_text(pair_labels(read_judged(path, ("pairs",))))
    people = [word for name in ("r1", "r2", "r3") for word in ("--rater", name)]
    exported = unwaver(
        "agreement", "validate", "--pairs", tmp_path / "labels.jsonl", *people, "--agree", "exact", "--json"
    )
    assert json.loads(exported.stdout) == direct
    assert direct["raters"]["krippendorff_alpha"]["value"] == pytest.approx(
        direct["raters"]["fleiss_kappa"], rel=0.05
    )
    shown = unwaver("agreement", "validate", path, "--agree", "exact")
    assert "Krippendorff's α" in shown.stdout


def test_one_person_and_people_who_are_not_sure(tmp_path: Path) -> None:
    pairs(tmp_path / "pairs.csv", 4)
    path = job_file(tmp_path / "job.toml", "pairs", "pairs.csv", grades=["yes", "no", "unsure"], raters=1)
    play(path, lambda card, name: {"value": ("yes", "no", "unsure", "no")[int(card.id) - 1]}, ("ann",))
    found = read_pairs(path)
    assert [pair.label for pair in found.pairs] == [1.0, 0.0, 0.0]
    assert found.raters == ()


def test_jobs_without_pairs(tmp_path: Path) -> None:
    pairs(tmp_path / "pairs.csv", 4)
    path = job_file(tmp_path / "job.toml", "pairs", "pairs.csv")
    with pytest.raises(DataError, match="has not been started"):
        read_pairs(path)
    opened(path, ("ann",)).close()
    with pytest.raises(DataError, match="nobody has judged a pair"):
        read_pairs(path)
    with pytest.raises(DataError, match="this job has the kind rate"):
        read_pairs(job_file(tmp_path / "rate.toml", "rate"))


def test_pairs_by_kind_and_two_people(unwaver: Any, tmp_path: Path) -> None:
    lines = [f"q{n},a {n},b {n},{'long' if n % 2 else 'short'},{n % 3 == 0:d},{n % 4 == 0:d}" for n in range(24)]
    (tmp_path / "p.csv").write_text("\n".join(["question,a,b,kind,rater1,rater2", *lines]))
    done = unwaver("agreement", "validate", tmp_path / "p.csv", "--agree", "exact", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["raters"]
    one, other = (np.array([float(n % k == 0) for n in range(24)]) for k in (3, 4))
    assert found["cohen_kappa"]["value"] == pytest.approx(cohen(one, other, range(24)).kappa.value)
    assert set(found["by_kind"]) == {"short", "long"}
    shown = unwaver("agreement", "validate", tmp_path / "p.csv", "--agree", "exact")
    assert "Cohen's κ" in shown.stdout
    assert "short: 2 raters of 12 pairs" in shown.stdout
    assert (
        "both given" in unwaver("agreement", "validate", tmp_path / "p.csv", "--pairs", tmp_path / "p.csv").stderr
    )
    assert "--pairs is missing" in unwaver("agreement", "validate").stderr
