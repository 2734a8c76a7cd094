"""Models without knowledge, and one that knows everything, on every kind of core."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from pathlib import Path

import pytest

import unwaver
from unwaver.groups.families import FAMILIES
from unwaver.suites.core.suite import core
from unwaver.types import Group, Item


@cache
def groups() -> tuple[Group, ...]:
    suite = core()
    return tuple(g for task, kinds in suite.cases.items() for kind in kinds for g in suite.groups(task, kind))


def cases() -> dict[tuple[str, str], list[Group]]:
    found: dict[tuple[str, str], list[Group]] = {}
    for group in groups():
        found.setdefault((group.task, group.kind), []).append(group)
    return found


def share_broken(of: Sequence[Group], says: Callable[[Item], str]) -> float | None:
    """tau, worked out group by group from what the model says: a second implementation."""
    shares = []
    for group in of:
        first, *others = group.items
        if group.expect == "implied":
            *premises, last = group.items
            if all(says(p) in p.accepted for p in premises):
                shares.append(float(says(last) not in last.accepted))
            continue
        wanted = group.expect == "different"
        shares.append(sum((says(o) == says(first)) == wanted for o in others) / len(others))
    return sum(shares) / len(shares) if shares else None


def run(model: str, place: Path) -> unwaver.Result:
    return unwaver.run("core", model, out=place / "run")


@pytest.mark.slow
def test_the_oracle_holds_every_relation_and_knows_every_answer(tmp_path: Path) -> None:
    result = run("fake/oracle", tmp_path)
    found = {(s.task, s.kind): s for s in result.scores if s.metric == "tau"}
    assert set(found) == set(cases())
    assert {(s.value, s.accuracy) for s in found.values()} == {(0.0, 1.0)}
    assert all(s.counted == s.groups for s in found.values())
    held = {s.kind: s.value for s in result.scores if s.metric == "held"}
    assert held == dict.fromkeys([*FAMILIES, "all families"], 1.0)


def first_choice(item: Item) -> str:
    return item.choices[0]


def says_not(item: Item) -> str:
    """The last label where "not" occurs, else the first: by default the negative one is the last here."""
    texts = "\n\n".join(m.text for m in item.messages) or item.fields["question"]
    negative = next((n for n in ("contradiction", "negative", "no") if n in item.choices), item.choices[-1])
    if re.search(r"\bnot\b|n['’]t\b", texts, re.I):
        return negative
    return next(c for c in item.choices if c != negative)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "says"), [("fake/constant", first_choice), ("fake/keyword,words=not", says_not)]
)
def test_a_model_without_knowledge_gets_what_follows_from_its_answers(
    model: str, says: Callable[[Item], str], tmp_path: Path
) -> None:
    found = {(s.task, s.kind): s.value for s in run(model, tmp_path).scores if s.metric == "tau"}
    expected = {
        case: share_broken(of, says) for case, of in cases().items() if case[1] != "doubt" or "constant" in model
    }
    assert {case: found[case] for case in expected} == pytest.approx(expected)


@pytest.mark.slow
def test_a_file_of_answers_by_id_answers_second_turns_too(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    items = {item.id: item for group in groups() for item in group.items}
    lines = [json.dumps({"id": item.id, "label": item.accepted[0]}) for item in items.values()]
    file.write_text("\n".join(lines), encoding="utf-8")
    result = run(f"predictions/{file}", tmp_path)
    assert {s.value for s in result.scores if s.metric == "tau"} == {0.0}
    assert {s.counted for s in result.scores if s.metric == "tau" and s.kind == "doubt"} == {
        len(of) for (_, kind), of in cases().items() if kind == "doubt"
    }


@pytest.mark.slow
def test_random_answers_get_what_probability_says(tmp_path: Path) -> None:
    found = {(s.task, s.kind): s.value for s in run("fake/random", tmp_path).scores if s.metric == "tau"}
    for case, of in cases().items():
        if of[0].expect not in ("same", "different") or case[1] == "doubt":
            continue
        same = [1 / len(group.items[0].choices) for group in of]
        expected = [p if of[0].expect == "different" else 1 - p for p in same]
        mean = sum(expected) / len(expected)
        spread = sqrt(sum(p * (1 - p) for p in same)) / len(same)
        assert abs(found[case] - mean) <= 4.5 * spread, case
