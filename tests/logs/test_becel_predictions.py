"""The authors' own prediction files, read as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError


def put(place: Path, name: str = "snli-transitive.json", **lists: Any) -> Path:
    path = place / name
    path.write_text(json.dumps(lists))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "value", "counted"),
    [
        ("mrpc-semantic", "semantic", 0.05, 100),
        ("mrpc-negational", "negational", 0.86, 100),
        ("snli-symmetric", "symmetric", 0.04, 100),
        ("ag_news-additive", "additive", 5 / 94, 94),
    ],
)
def test_the_published_examples(data: Path, name: str, kind: str, value: float, counted: int) -> None:
    result = unwaver.score(data / "becel" / "examples" / f"{name}.json")
    found = result.find("tau")
    assert found.value == pytest.approx(value)
    assert (found.suite, found.task, found.kind, found.counted) == ("becel", name.partition("-")[0], kind, counted)
    if kind == "symmetric":
        assert result.find("tau_conditioned", given="2").value == pytest.approx(1 / 96)


def test_transitive(tmp_path: Path) -> None:
    """Two groups apply: both originals are right; label 3 accepts 1 and 2."""
    lists = {
        "first_preds": [1, 0, 1], "second_preds": [2, 2, 0], "transitive_preds": [1, 0, 2],
        "first_labels": [1, 0, 1], "second_labels": [2, 2, 2], "labels": [3, 2, 3],
    }  # fmt: skip
    found = unwaver.score(put(tmp_path, **lists)).find("tau")
    assert (found.value, found.counted, found.not_applicable) == (0.5, 2, 1)
    del lists["first_preds"], lists["second_preds"]
    paired = {**lists, "original_preds": [[1, 2], [0, 2], [1, 0]]}
    assert unwaver.score(put(tmp_path, **paired)).find("tau").value == 0.5


def test_gold_gives_accuracy(tmp_path: Path) -> None:
    path = put(tmp_path, "mine.json", original_preds=[1, 0], paraphrase_preds=[1, None], labels=[1, 1])
    found = unwaver.score(path).find("tau")
    assert (found.task, found.value, found.accuracy, found.unreadable) == ("own", 0.5, 0.5, 1)


@pytest.mark.parametrize(
    ("lists", "says"),
    [
        ({"original_preds": [1]}, "expected one of paraphrase_preds"),
        ({"original_preds": [1], "paraphrase_preds": [1, 2]}, "lists of 1, 2 entries"),
        ({"original_preds": [1], "transitive_preds": [1]}, "both originals are missing"),
        ({"first_preds": [1], "second_preds": [1], "transitive_preds": [1]}, "right labels are missing"),
        ({"original_preds": [], "paraphrase_preds": []}, "empty"),
        (
            {"original_preds": [{}], "paraphrase_preds": [1]},
            '"original_preds.0": found {}, expected a text or a number',
        ),
        (
            {"original_preds": [1], "paraphrase_preds": [[1, 2]]},
            r'"paraphrase_preds.0": found \[1, 2\], expected a text or a number',
        ),
        (
            {"original_preds": [1], "paraphrase_preds": [1], "symmetric_preds": [1]},
            "give one file|expected one of",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, lists: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        unwaver.score(put(tmp_path, **lists))
