"""The authors' own predictions and the paper's own example, through unwaver.score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver


def rows(kind: str, *columns: list[Any], gold: list[Any] | None = None) -> list[dict[str, Any]]:
    roles = ["original", "original", "conclusion"] if len(columns) == 3 else ["original", "variant"]
    return [
        {"group": i, "kind": kind, "role": role, "label": column[i], "gold": None if gold is None else gold[i]}
        for i in range(len(columns[0]))
        for role, column in zip(roles, columns, strict=True)
    ]


def example(data: Path, name: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads((data / "becel" / "examples" / f"{name}.json").read_text())
    return found


def test_mrpc_semantic(data: Path) -> None:
    e = example(data, "mrpc-semantic")
    found = unwaver.score(rows("semantic", e["original_preds"], e["paraphrase_preds"])).find("tau")
    assert found.value == pytest.approx(0.05)
    assert (found.groups, found.counted, found.accuracy) == (100, 100, None)


def test_mrpc_negational(data: Path) -> None:
    e = example(data, "mrpc-negational")
    assert unwaver.score(rows("negational", e["original_preds"], e["negation_preds"])).find("tau").value == 0.86


def test_snli_symmetric_and_given_answer_2(data: Path) -> None:
    e = example(data, "snli-symmetric")
    result = unwaver.score(rows("symmetric", e["original_preds"], e["symmetric_preds"]))
    assert result.find("tau").value == 0.04
    given = result.find("tau_conditioned", given="2")
    assert given.value == pytest.approx(1 / 96)
    assert (given.counted, given.not_applicable) == (96, 4)


def test_class_0_is_a_class(data: Path) -> None:
    """The authors' script returns the unconditioned value for class 0 (`if condition:`)."""
    e = example(data, "mrpc-negational")
    result = unwaver.score(rows("negational", e["original_preds"], e["negation_preds"]))
    zeros = [(a, b) for a, b in zip(e["original_preds"], e["negation_preds"], strict=True) if a == 0]
    expected = sum(a == b for a, b in zeros) / len(zeros)
    given = result.find("tau_conditioned", given="0")
    assert given.value == pytest.approx(expected)
    assert given.counted == len(zeros)
    assert given.value != result.find("tau").value


def test_ag_news_additive(data: Path) -> None:
    e = example(data, "ag_news-additive")
    table = rows("additive", e["first_preds"], e["second_preds"], e["merged_preds"], gold=e["labels"])
    found = unwaver.score(table).find("tau")
    assert found.value == pytest.approx(5 / 94)
    assert (found.counted, found.not_applicable) == (94, 6)


@pytest.mark.parametrize("kind", ["symmetric", "negational"])
def test_figure_2(kind: str) -> None:
    """80 % accuracy, and yet 40 % of the pairs break either relation."""
    original, variant = list("TTTTTTTTFF"), {"symmetric": "FFTTTTTTTT", "negational": "FFFFTTFFFF"}[kind]
    result = unwaver.score(rows(kind, original, list(variant), gold=["T"] * 10))
    found = result.find("tau")
    assert found.value == pytest.approx(0.4)
    assert found.accuracy == pytest.approx(0.8)
