"""How models stand, from scores.json alone, and their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError
from unwaver.reports.standings import Place, Share, places, read_standings
from unwaver.reports.verdict import headline, verdicts


@pytest.mark.parametrize("model", ["fake/random", "fake/keyword", "fake/constant"])
def test_they_say_what_the_verdict_says(model: str, tmp_path: Path) -> None:
    result = unwaver.run("sample", model, out=str(tmp_path))
    (found,) = read_standings(tmp_path / "scores.json")
    assert found.model == model
    assert found.headline == headline(verdicts(result))
    assert found.level == verdicts(result)[0].level
    assert found.is_constant == (model == "fake/constant")
    assert found.groups == sum(s.groups for s in result.leading() if not s.task.startswith("average"))


def test_one_relation_has_the_interval_of_its_score(tmp_path: Path) -> None:
    result = unwaver.run("sample/snli/semantic", "fake/random", out=str(tmp_path))
    score = result.find("tau", kind="semantic")
    (found,) = read_standings(tmp_path / "scores.json")
    assert score.low is not None
    assert score.high is not None
    assert found.consistency == pytest.approx((1 - (score.value or 0), 1 - score.high, 1 - score.low))
    assert found.accuracy == score.accuracy
    assert (found.counted, found.missing) == (score.counted, score.missing)


def test_the_mean_of_several_has_the_mean_interval(tmp_path: Path) -> None:
    unwaver.run("sample/snli", "fake/random", out=str(tmp_path))
    (found,) = read_standings(tmp_path / "scores.json")
    shares = [r.share for r in found.relations if r.share is not None]
    assert len(shares) > 1
    assert found.consistency is not None
    for part, mean in zip(zip(*shares, strict=True), found.consistency, strict=True):
        assert mean == pytest.approx(sum(part) / len(shares))
    assert any(r.level == "none" and r.share is None for r in found.relations)


def test_places_overlap_where_intervals_do() -> None:
    shares = [Share(0.9, 0.8, 1), Share(0.85, 0.7, 0.95), None, Share(0.2, 0.1, 0.3)]
    assert places(shares) == [Place(1, 2), Place(1, 2), None, Place(3, 3)]
    assert [str(place) for place in places(shares)] == ["1–2", "1–2", "None", "3"]
    assert places([]) == []
    assert places([Share(0.5, 0, 1)]) == [Place(1, 1)]


SCORE = {"suite": "a", "task": "a", "kind": "a", "model": "a", "method": "a", "metric": "tau", "value": 0.5}


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"scores": {}}, {"scores": [3]}, {"scores": [{}]}, {"scores": [SCORE]},
     {"scores": [{**SCORE, "metric": []}]}, {"scores": [{**SCORE, "suite": {}}]}],
)  # fmt: skip
def test_a_file_of_others_is_named(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError) as e:
        read_standings(path)
    assert e.value.file == str(path)
    assert e.value.hint


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    for text in (b"{", b"\xff", b"[" * 100_000, b""):
        path.write_bytes(text)
        with pytest.raises(DataError, match="cannot be read"):
            read_standings(path)
