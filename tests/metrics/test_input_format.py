"""C_S over a grid of θ that the user chooses, and signs that the user chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import UsageError
from unwaver.metrics.block import block_of
from unwaver.reports.terminal import rows
from unwaver.suites import calm
from unwaver.tasks import built_in
from unwaver.tasks.calm_layout import SIGNS
from unwaver.tasks.t5 import in_t5_form


def signal(passes: list[int], of: int) -> list[dict[str, Any]]:
    """One item for each number: so many of its signs keep the answer."""
    return [
        {"group": n, "kind": "signal", "role": role, "label": label, "gold": "a"}
        for n, kept in enumerate(passes)
        for role, label in [("original", "a"), *(("variant", "a" if i < kept else "b") for i in range(of))]
    ]


def grid(result: unwaver.Result) -> dict[str, float | None]:
    return {s.metric: s.value for s in result if s.metric.startswith("C_S")}


def test_the_grid_of_the_paper_is_the_default() -> None:
    found = grid(unwaver.score(signal([10, 9, 8, 5], 10)))
    assert found == {
        "C_S": 0.25,
        "C_S@0.9": 0.5,
        **dict.fromkeys(("C_S@0.8", "C_S@0.7", "C_S@0.6"), 0.75),
        "C_S@0.5": 1,
    }


def test_another_grid() -> None:
    result = unwaver.score(signal([3, 2, 1, 0], 3), theta=[0.3, 1, 2 / 3])
    assert grid(result) == {"C_S": 0.25, "C_S@0.666667": 0.5, "C_S@0.3": 0.75}
    assert [row[1] for row in rows(result)[1:]] == ["C_S ↑", "C_S@0.666667 ↑", "C_S@0.3 ↑"]


@pytest.mark.parametrize("theta", [0, -0.1, 1.01, float("nan")])
def test_theta_is_a_share(theta: float) -> None:
    with pytest.raises(UsageError, match="--theta"):
        unwaver.score(signal([3], 3), theta=[theta])


def data(place: Path) -> Path:
    (place / "rte").mkdir()
    lines = [
        "premise\thypothesis\tlabel",
        *(f"It rains {n}.\tSentence1 is wet {n}.\tentailment" for n in range(4)),
    ]
    (place / "rte" / "dev.tsv").write_text("\n".join(lines))
    return place


def test_signs_of_a_run(tmp_path: Path) -> None:
    chosen = ["[X]", "X |", "** X **"]
    out = tmp_path / "run"
    result = unwaver.run(
        "calm/rte/signal", "fake/random", data_dir=str(data(tmp_path)), signs=chosen, theta=[0.6], out=str(out)
    )
    assert set(grid(result)) == {"C_S", "C_S@0.6"}
    assert set(grid(unwaver.score(str(out)))) == {"C_S", "C_S@0.6"}, "the run remembers its grid"
    assert set(grid(unwaver.score(str(out), theta=[0.3]))) == {"C_S", "C_S@0.3"}
    assert result.run["notes"]["calm/rte/signal"][1] == "signs: [X]  X |  ** X **"
    first = next(calm.suite(tmp_path, signs=chosen).groups("rte", "signal"))
    assert [item.fields["first"] for item in first.items] == [
        "Sentence1: It rains 0.",
        "[Sentence1] It rains 0.",
        "Sentence1 | It rains 0.",
        "** Sentence1 ** It rains 0.",
    ]


def test_ten_signs_are_the_default(tmp_path: Path) -> None:
    for signs in ((), SIGNS):
        group = next(calm.suite(data(tmp_path) if not signs else tmp_path, signs=signs).groups("rte", "signal"))
        assert len(group.items) == 11
        assert group.items[10].fields["first"] == "Sentence1- It rains 0."


@pytest.mark.parametrize(
    ("signs", "said"),
    [
        (["foo"], "is not a sign"),
        (["XX"], "is not a sign"),
        ([""], "is not a sign"),
        (["X "], "is not a sign"),
        (["far too far X"], "is not a sign"),
        (["X:"], "is the sign of the originals"),
        (["X;", "X;"], "is given twice"),
    ],
)
def test_what_is_not_a_sign(signs: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        calm.suite(tmp_path, signs=signs)


def test_t5_reads_other_signs_too(tmp_path: Path) -> None:
    """Only the indicator changes its name, not a word of the text."""
    group = next(calm.suite(data(tmp_path), signs=["| X |"]).groups("rte", "signal"))
    found = in_t5_form(group.items[1], built_in()["rte"]).fields
    assert found == {"first": "| sentence1 | It rains 0.", "second": "| sentence2 | Sentence1 is wet 0."}


def test_a_table_may_lack_the_grid() -> None:
    frame = unwaver.engine.load.load(signal([3], 3)).frame
    assert block_of(frame).theta == ()
