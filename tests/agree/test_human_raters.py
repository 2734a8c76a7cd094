"""Several raters in a file of judged pairs: their common label, ties, missing labels, and Fleiss' κ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from unwaver.agree.human_pairs import read_pairs
from unwaver.agree.human_raters import common_label
from unwaver.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("ratings", "label"),
    [
        ((1.0, 1.0, 0.0), 2 / 3),
        ((1.0, None, None), 1.0),
        ((1.0, 0.0), None),
        ((1.0, 1.0, 0.0, 0.0), None),
        ((1.0, 0.0, None), None),
        ((4.0, 5.0, 3.0), 4.0),
        ((0.5, 0.5), 0.5),
        ((None, None), None),
    ],
)
def test_the_common_label(ratings: tuple[float | None, ...], label: float | None) -> None:
    assert common_label(ratings) == label


def csv_of(path: Path, header: str, labels: list[str]) -> Path:
    lines = [f"q{n},a {n},{'a' if n % 2 else 'b'} {n},{given}" for n, given in enumerate(labels)]
    path.write_text("\n".join([f"question,a,b,{header}", *lines]))
    return path


LABELS = ["1,1,1", "0,0,0", "1,1,0", "0,,1", "yes,yes,", ",,", "0,0,1", "1,0,1", "1,1,1", "0,0,0"]


def test_raters_of_a_file(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "p.csv", "ann,bob,cy", LABELS)
    judged = read_pairs(path, raters=["ann", "bob", "cy"])
    assert judged.raters == ("ann", "bob", "cy")
    assert (len(judged.pairs), judged.tied, judged.unlabelled, judged.empty) == (8, 1, 1, 0)
    assert [pair.label for pair in judged.pairs][:4] == pytest.approx([1, 0, 2 / 3, 1])
    assert len(judged.ratings) == 10, "κ is about all pairs, ties as well"


def test_numbered_columns_are_found(tmp_path: Path) -> None:
    assert read_pairs(csv_of(tmp_path / "p.csv", "label1,label2,label3", LABELS)).raters == (
        "label1",
        "label2",
        "label3",
    )
    with_label = csv_of(tmp_path / "q.csv", "label,rater1,rater2", ["1,1,1", "0,0,1"])
    assert read_pairs(with_label).raters == (), "a column of labels comes first"
    assert len(read_pairs(with_label, raters=["rater1", "rater2"]).ratings) == 2


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "p.csv", "ann,bob,cy", LABELS)
    with pytest.raises(UsageError, match="one rater cannot agree"):
        read_pairs(path, raters=["ann"])
    with pytest.raises(UsageError, match="one rater cannot agree"):
        read_pairs(path, raters=["ann", "ann"])
    with pytest.raises(DataError, match='no column "anne"'):
        read_pairs(path, raters=["anne", "bob"])
    with pytest.raises(DataError, match='column "cy": found'):
        read_pairs(csv_of(tmp_path / "w.csv", "ann,bob,cy", ["1,1,maybe"]), raters=["ann", "cy"])
    with pytest.raises(DataError, match="no rater gave a label"):
        read_pairs(csv_of(tmp_path / "e.csv", "ann,bob,cy", [",,", ",,"]), raters=["ann", "bob"])


def test_validate_gives_fleiss_kappa(unwaver: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    ratings = np.where(rng.random((40, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    path = csv_of(tmp_path / "p.csv", "ann,bob,cy", [",".join(map(str, row)) for row in ratings.tolist()])
    people = ("--rater", "ann", "--rater", "bob", "--rater", "cy")
    done = unwaver("agreement", "validate", "--pairs", path, *people, "--agree", "exact", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["raters"]
    assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(aggregate_raters(ratings)[0]))
    assert found["low"] < found["fleiss_kappa"] < found["high"]
    assert (found["names"], found["raters"], found["items"], found["missing"]) == (["ann", "bob", "cy"], 3, 40, 0)
    shown = unwaver("agreement", "validate", "--pairs", path, *people, "--agree", "exact")
    assert f"3 raters of 40 pairs: Fleiss' κ {found['fleiss_kappa']:.2f} [" in shown.stdout


def test_grades_have_a_kappa_at_the_cut_and_one_of_their_own(unwaver: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    grades = np.clip(rng.integers(1, 6, 40)[:, None] + rng.integers(-1, 2, (40, 3)), 1, 5)
    lines = [",".join(map(str, row)) for row in grades.tolist()]
    lines[0] = "5,,"
    path = csv_of(tmp_path / "p.csv", "rater1,rater2,rater3", lines)
    done = unwaver("agreement", "validate", "--pairs", path, "--cut", 4, "--agree", "exact", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["raters"]
    assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(aggregate_raters(grades[1:] >= 4)[0]))
    assert found["of_labels"]["fleiss_kappa"] == pytest.approx(fleiss_kappa(aggregate_raters(grades[1:])[0]))
    assert (found["items"], found["left_out"], found["missing"]) == (39, 1, 2)
