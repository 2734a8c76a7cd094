"""Multiple choice that Inspect shuffled, and answers that were cut or refused (run_inspect_choices.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def logs(made_by: Any) -> Path:
    return made_by("run_inspect_choices")


def scores(done: Any, code: int = 0) -> dict[str, dict[str, Any]]:
    assert done.returncode == code, done.stderr
    return {s["metric"]: s for s in json.loads(done.stdout)["scores"]}


@pytest.mark.parametrize("name", ["plain", "dataset", "solver", "json"])
def test_a_model_that_is_always_right_always_agrees(logs: Path, tool_scores: Any, name: str) -> None:
    found = scores(tool_scores(logs / name if name != "json" else next((logs / name).glob("*.json")),
                               "--bucket", "problem", "--json"))  # fmt: skip
    assert {name: found[name]["value"] for name in ("P_C", "Cons_lex", "tau", "A_bucket")} == {
        "P_C": 1.0, "Cons_lex": 1.0, "tau": 0.0, "A_bucket": 1.0,
    }  # fmt: skip
    assert found["P_C"]["unreadable"] == found["P_C"]["cut"] == 0


def test_another_order_is_another_wording(logs: Path, tool_scores: Any) -> None:
    found = scores(tool_scores(logs / "dataset", logs / "again", "--json"))
    assert (found["Cons_lex"]["value"], found["Cons_lex"]["counted"]) == (1.0, 12)


def test_the_target_is_read_as_the_answer_is(logs: Path, tool_scores: Any) -> None:
    found = scores(tool_scores(logs / "dataset", "--bucket", "problem", "--gold", "target", "--json"))
    assert (found["A_bucket"]["value"], found["Cons_lex"]["value"]) == (1.0, 1.0)


def test_stop_reasons(logs: Path, tool_scores: Any) -> None:
    done = tool_scores(logs / "cut", "--bucket", "problem", "--json")
    found = scores(done, 3)["Cons_lex"]
    assert (found["groups"], found["counted"], found["cut"], found["refused"]) == (3, 1, 1, 1)
    assert (found["cut_read"], found["value"]) == (1, 1.0)
    kept = scores(tool_scores(logs / "cut", "--bucket", "problem", "--cut", "keep", "--json"), 3)["Cons_lex"]
    assert (kept["cut"], kept["refused"]) == (0, 1)
    found = scores(tool_scores(logs / "text", "--bucket", "problem", "--json"), 3)["Cons_lex"]
    assert (found["counted"], found["cut"], found["value"]) == (2, 1, 1.0)
    kept = scores(tool_scores(logs / "text", "--bucket", "problem", "--cut", "keep", "--json"))["Cons_lex"]
    assert (kept["counted"], kept["cut"], kept["cut_read"]) == (3, 0, 1)
