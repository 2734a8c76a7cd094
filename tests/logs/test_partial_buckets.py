"""A failed call in a log: its answer is left out, its bucket stays where two wordings are left, and both are counted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import unwaver
from unwaver.cli.main import main
from unwaver.errors import UsageError

WORDINGS = 9


def log(path: Path, failed: dict[int, int], buckets: int = 8) -> Path:
    """A table of 72 answers; of bucket n the first `failed[n]` calls failed."""
    rows = [
        {"bucket": f"b{b}", "variant": f"w{w}", "answer": "x", "gold": "x", "status": "failed" if w < failed.get(b, 0) else "answered"}
        for b in range(buckets)
        for w in range(WORDINGS)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(path)
    return path


def test_buckets_with_a_failed_call_stay(tmp_path: Path) -> None:
    result = unwaver.score(log(tmp_path / "t.csv", {0: 1, 3: 1, 4: 1, 7: 1}))
    score = result.find("P_C")
    assert (score.groups, score.counted, score.failed, score.partial, score.value) == (8, 8, 0, 4, 1.0)
    assert not result.is_complete
    line = "4 failed calls are left out; 4 groups are scored without them. --strict leaves out whole groups"
    assert result.run["notes"]["failed calls"] == [line]
    assert line in " ".join(str(result).split())


def test_strict(tmp_path: Path) -> None:
    path = log(tmp_path / "t.csv", {0: 1, 3: 1, 4: 1, 7: 1})
    score = unwaver.score(path, strict=True).find("P_C")
    assert (score.counted, score.failed, score.partial) == (4, 4, 0)
    run = unwaver.run("sample/snli/semantic", "fake/random", limit=1, out=str(tmp_path / "r"))
    with pytest.raises(UsageError, match="--strict has no effect"):
        unwaver.score(run.folder, strict=True)


@pytest.mark.parametrize(("failed", "counted"), [(7, 1), (8, 0), (9, 0)])
def test_two_wordings_must_be_left(tmp_path: Path, failed: int, counted: int) -> None:
    result = unwaver.score(log(tmp_path / "t.csv", {0: failed}, buckets=1))
    score = result.find("P_C")
    assert (score.counted, score.failed, score.partial) == (counted, 1 - counted, counted)
    assert not result.is_complete


def test_an_original_that_failed_takes_its_group_with_it() -> None:
    rows = [("original", "failed", None), ("variant", "answered", "a"), ("variant", "answered", "a")]
    table = {
        "group": ["g"] * 3, "kind": ["semantic"] * 3, "role": [r for r, _, _ in rows], "item": ["0", "1", "2"],
        "status": [s for _, s, _ in rows], "label": [a for _, _, a in rows],
    }  # fmt: skip
    score = unwaver.score(table).find("tau")
    assert (score.counted, score.failed, score.partial) == (0, 1, 0)
    table["status"], table["label"] = ["answered", "failed", "answered"], ["a", None, "a"]
    score = unwaver.score(table).find("tau")
    assert (score.counted, score.failed, score.partial, score.value) == (1, 0, 1, 0)


def test_no_gate_passes_on_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path / "t.csv", {0: 1}, buckets=80)
    (check,) = unwaver.gate(path, ["P_C>=0.5"]).checks
    assert (check.verdict, check.missing, check.partial) == ("undecided", 1, 1)
    assert check.reason == "1 group was scored without an answer whose call failed: repeat the calls"
    with pytest.raises(SystemExit) as ended:
        main(["score", str(path)])
    assert ended.value.code == 3
    capsys.readouterr()
