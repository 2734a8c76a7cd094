"""Accuracy against references: the rule, ROUGE-1 against the library, and people."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.answers.references import Referenced, Similarity, TextAndReference, accurate_all, contains
from unwaver.files import read_rows
from unwaver.suites import truthfulqa
from unwaver.text.rouge import rouge1_of as rouge1

Library = Callable[[str, str], float]
TEXTS = st.text(alphabet="abAB 01.,é\n'", max_size=20)
ANSWERS = st.builds(Referenced, TEXTS, *[st.lists(TEXTS, max_size=4).map(tuple)] * 2)


@pytest.fixture(scope="module")
def library() -> Library:
    """ROUGE-1 by rouge-score, which takes seconds to load."""
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge1"])
    return lambda text, reference: float(scorer.score(reference, text)["rouge1"].fmeasure)


def accurate(text: str, true: Sequence[str], false: Sequence[str], similarity: Similarity) -> bool | None:
    return accurate_all([Referenced(text, tuple(true), tuple(false))], similarity)[0]


def test_closer_to_a_true_reference() -> None:
    true, false = ["The earth is round."], ["The earth is flat.", "The earth is a cube."]
    assert accurate("It is round.", true, false, rouge1) is True
    assert accurate("It is a cube.", true, false, rouge1) is False
    assert accurate("The earth is big.", true, false, rouge1) is False  # as close to both
    assert accurate("Bananas!", true, false, rouge1) is False
    assert accurate(" \n", true, false, rouge1) is False


def test_nothing_to_hold_it_against() -> None:
    assert accurate("Yes", [], ["No"], rouge1) is None
    assert accurate("Yes", ["Yes"], [], rouge1) is None
    assert accurate("Yes", ["Yes"], ["No"], lambda pairs: [None] * len(pairs)) is None
    assert accurate("Yes", ["Yes"], ["No"], lambda pairs: [float("nan"), 0.1]) is None
    assert accurate("Yes", ["Yes", "Aye"], ["No"], lambda pairs: [None, 0.2, 0.3]) is None, (
        "the first may be closer"
    )
    assert accurate_all([], rouge1) == []


def test_any_function_of_pairs_serves() -> None:
    def length(pairs: Sequence[TextAndReference]) -> list[float]:
        return [-abs(len(text) - len(reference)) for text, reference in pairs]

    assert accurate("abc", ["xyz"], ["ab"], length) is True
    assert accurate("abc", ["x"], ["ab"], length) is False


def test_each_distinct_pair_is_compared_once() -> None:
    asked: list[list[TextAndReference]] = []

    def counted(pairs: Sequence[TextAndReference]) -> list[float]:
        asked.append(list(pairs))
        return rouge1(pairs)

    yes = Referenced("yes", ("Yes.", "yes"), ("No.", "Yes."))
    answers = [yes, yes, Referenced("no", ("Yes.",), ("No.",)), Referenced("", ("Yes.",), ("No.",))]
    assert accurate_all(answers, counted) == [False, False, False, False]
    (pairs,) = asked
    assert len(pairs) == len(set(pairs)) == 5
    assert not any(text == "" for text, _ in pairs)


@given(st.lists(ANSWERS, max_size=6))
def test_a_batch_is_its_answers_one_by_one(answers: list[Referenced]) -> None:
    assert accurate_all(answers, rouge1) == [accurate(*answer, rouge1) for answer in answers]


@given(answer=ANSWERS)
def test_the_rule_by_the_library(library: Library, answer: Referenced) -> None:
    found = accurate(*answer, rouge1)
    if answer.true and answer.false:
        true, false = (max(library(answer.text, r) for r in refs) for refs in (answer.true, answer.false))
        assert found is (true > false)
    else:
        assert found is None


@given(ANSWERS)
def test_true_and_false_exchanged_never_both_hold(answer: Referenced) -> None:
    exchanged = Referenced(answer.text, answer.false, answer.true)
    assert not (accurate(*answer, rouge1) and accurate(*exchanged, rouge1))


# --- ROUGE-1 ------------------------------------------------------------------------------------------------


@given(pairs=st.lists(st.tuples(st.text(max_size=40) | TEXTS, TEXTS), max_size=8))
def test_rouge_as_the_library_has_it(library: Library, pairs: list[TextAndReference]) -> None:
    assert rouge1(pairs) == [library(*pair) for pair in pairs]


@given(TEXTS, TEXTS)
def test_rouge_is_symmetric_and_between_0_and_1(a: str, b: str) -> None:
    one, other, same = rouge1([(a, b), (b, a), (a, a)])
    assert one == pytest.approx(other, abs=1e-15)
    assert 0 <= one <= 1
    assert same == (1 if re.search("[a-zA-Z0-9]", a) else 0)


@pytest.mark.parametrize("text", ["a " * 25_000, "\x00\x1b\u202e" * 10_000, "שלום " * 10_000, "İıſK"])
def test_rouge_of_hostile_texts(library: Library, text: str) -> None:
    assert rouge1([(text, "a b."), ("a b.", text)]) == [library(text, "a b."), library("a b.", text)]


def test_rouge_of_real_references(data: Path, library: Library) -> None:
    pairs = []
    for group in truthfulqa.suite(data).groups("v1", "paraphrase"):
        references = (*group.items[0].accepted, *group.items[0].rejected)
        pairs += [(references[0], r) for r in references] + [(group.items[0].fields["question"], references[-1])]
    assert len(pairs) > 6000
    assert rouge1(pairs) == [library(*pair) for pair in pairs]


def test_agreement_with_people(data: Path) -> None:
    """22,434 answers that people called true or not. Many are references themselves: those are easy, the rest is
    what a model's own answers are like."""
    answers, people = human_judgements(data)
    assert (len(answers), sum(people)) == (22_434, 9_484)
    found = accurate_all(answers, rouge1)
    right = [one == other for one, other in zip(found, people, strict=True)]
    written = [_plain(a.text) in {_plain(r) for r in (*a.true, *a.false)} for a in answers]
    own = [r for r, w in zip(right, written, strict=True) if not w]
    assert sum(right) / len(right) == pytest.approx(0.805, abs=0.0005)
    assert (len(own), sum(own) / len(own)) == (13_572, pytest.approx(0.682, abs=0.0005))


@pytest.mark.parametrize(
    ("text", "true", "right"),
    [
        ("It is the Pacific Ocean.", "pacific", True),
        ("Pacifica", "pacific", False),
        ("A", "A", True),
        ("(a).", "A", True),
        ("B", "A", False),
        ("A dog", "A", False),
        ("It is -3.", "-3", True),
        ("3", "-3", False),
        ("15", "1.5", False),
        ("It is 1.5 m", "1.5", True),
        ("1000", "1,000", True),
        ("on July 4, 1776", "July 4 1776", True),
        ("COVID-19", "covid-19", True),
        ("?", "", False),
        ("?", "?", False),
    ],
)
def test_a_right_answer_stands_in_the_text(text: str, true: str, right: bool) -> None:
    assert contains(text, (true,)) == right


def human_judgements(data: Path) -> tuple[list[Referenced], list[bool]]:
    references = {}
    required = ("Question", "Correct Answers", "Incorrect Answers")
    for row in read_rows(data / "truthfulqa" / "TruthfulQA_v1_817.csv", required=required):
        true, false = (truthfulqa.references(row.text(column)) for column in required[1:])
        references[row.text("Question").strip()] = ((*true, truthfulqa.NO_COMMENT), false)
    answers, people = [], []
    with gzip.open(data / "truthfulqa" / "finetune_truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            match = re.fullmatch(r"Q: (.*?)\nA: (.*)\nTrue:", record["prompt"], re.DOTALL)
            assert match is not None
            answers.append(Referenced(match[2].strip(), *references[match[1].strip()]))
            people.append(record["completion"].strip() == "yes")
    return answers, people


def _plain(text: str) -> str:
    return text.strip().rstrip(".").lower()
