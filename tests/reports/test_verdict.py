"""Scores in words: plain, and no stronger than the numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unwaver
from unwaver.reports.verdict import Verdict, headline, one_in, verdict, verdicts
from unwaver.result import Result
from unwaver.types import Score

HARD = "\u00a0"


def answers(kind: str, pairs: list[tuple[str | None, str | None]], gold: str = "a") -> dict[str, list[Any]]:
    """Groups of an original and a variant, answered so."""
    return {
        "task": ["rte"] * 2 * len(pairs),
        "group": [n for n in range(len(pairs)) for _ in range(2)],
        "kind": [kind] * 2 * len(pairs),
        "role": ["original", "variant"] * len(pairs),
        "label": [label for pair in pairs for label in pair],
        "gold": [gold] * 2 * len(pairs),
    }


def only(result: Result) -> Verdict:
    (found,) = verdicts(result)
    return found


def test_the_sentence_of_the_manual() -> None:
    pairs = [("a", "a")] * 285 + [("a", "b")] * 95 + [("b", "b")] * 20
    found = only(unwaver.score(answers("symmetric", pairs)))
    assert found.subject == "RTE"
    assert found.said == f"1 in 4 reversed pairs flips; accuracy (95.0{HARD}%) would not have told you"
    assert found.level == "bad"
    assert found.basis.startswith(f"23.8{HARD}% [19.7 – 28.2], 400 groups, accuracy 95.0{HARD}%")


def test_accuracy_is_not_blamed_where_it_told_enough() -> None:
    pairs = [("b", "b")] * 300 + [("a", "b")] * 100
    assert "accuracy" not in only(unwaver.score(answers("semantic", pairs))).said


def test_no_better_than_chance() -> None:
    pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")] * 50
    found = only(unwaver.score(answers("semantic", pairs)))
    assert found.said == "1 in 2 paraphrases changes the answer; that is no better than chance"


def test_few_groups_conclude_nothing() -> None:
    found = only(unwaver.score(answers("semantic", [("a", "a")] * 5 + [("b", "b")])))
    assert found.level == "unsure"
    assert (
        found.said
        == f"none of 6 paraphrases changes the answer – too few to be sure: anything from 0.0 to 45.9{HARD}% fits"
    )


def test_many_groups_and_no_break_is_consistent() -> None:
    found = only(unwaver.score(answers("semantic", [("a", "a"), ("b", "b")] * 100)))
    assert found.level == "good"
    assert found.said == "none of 200 paraphrases changes the answer"


def test_a_constant_predictor_is_never_good() -> None:
    table = answers("semantic", [("b", "b")] * 200, gold="a")
    found = only(unwaver.score(table))
    assert found.level == "constant"
    assert "does not show understanding" in found.said
    assert "always one answer" in headline([found])


def test_unreadable_answers_are_told() -> None:
    found = only(unwaver.score(answers("negational", [("a", "b")] * 50 + [("a", None)] * 50)))
    assert "50 of 100 groups hold an answer that cannot be read" in found.said


def test_what_does_not_apply_is_not_measured() -> None:
    rows = {
        "group": [1, 1, 1], "kind": ["transitive"] * 3, "role": ["original", "original", "conclusion"],
        "label": ["a", "b", "a"], "gold": ["b", "b", "a"],
    }  # fmt: skip
    found = only(unwaver.score(rows))
    assert found.level == "none"
    assert found.said == "not measured: tau applies to none of 1 groups"
    assert headline([found]) == "Nothing could be measured."


def test_every_leading_number_has_words_of_its_own() -> None:
    result = unwaver.run("sample", "fake/random")
    said = {v.score.kind: v.said for v in verdicts(result) if v.level != "none"}
    for kind, words in {
        "semantic": "paraphrase", "negational": "negation", "symmetric": "reversed pair", "transitive": "conclusion",
        "additive": "joined text", "reverse": "swap", "signal": "another sign",
    }.items():  # fmt: skip
        assert words in said[kind]
    assert headline(verdicts(result)).startswith("2")


def test_consistency_is_told_as_what_breaks() -> None:
    score = Score("s", "t", "bucket", "P_C", 0.75, 0.7, 0.8, 9, 9, 0, 0, 0, 0, 0, 0.6, "m", "x", better="high")
    found = verdict(score, Result([score]))
    assert found.said.startswith("1 in 4 pairs of paraphrases is right in one wording and wrong in the other")
    assert found.rate == 0.25


@given(st.floats(0.0001, 0.9999))
def test_one_in_is_near(rate: float) -> None:
    hits, of = one_in(rate)
    assert 1 <= hits <= of
    assert abs(hits / of - rate) <= 0.05 + 1e-9


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (0.25, (1, 4)),
        (0.61, (3, 5)),
        (0.287, (3, 10)),
        (0.182, (1, 5)),
        (0.04, (1, 25)),
        (0.013, (1, 77)),
        (0.5, (1, 2)),
        (0.667, (2, 3)),
    ],
)
def test_small_numbers(rate: float, words: tuple[int, int]) -> None:
    assert one_in(rate) == words


def test_kinds_with_one_sentence_are_told_apart() -> None:
    pairs: list[tuple[str | None, str | None]] = [("a", "a")] * 30 + [("a", "b")] * 10 + [("b", "b")] * 10
    kinds = ("surface_typo", "surface_case", "symmetric")
    tables = [answers(kind, pairs) for kind in kinds]
    merged = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    merged["group"] = [f"{kind}/{group}" for kind, group in zip(merged["kind"], merged["group"], strict=True)]
    subjects = {v.score.kind: v.subject for v in verdicts(unwaver.score(merged))}
    assert subjects == {
        "surface_typo": "RTE, typing error",
        "surface_case": "RTE, upper and lower case",
        "symmetric": "RTE",
    }
