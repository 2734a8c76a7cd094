"""The suite of TruthfulQA: which questions are asked in which words, and the references of their answers."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unwaver
from unwaver.errors import DataError, UsageError
from unwaver.suites import truthfulqa
from unwaver.tasks import segments_of, task_named
from unwaver.tasks.prompts import prompt_of

QUESTIONS = [
    ("Is the sea salty? ", "Yes; The sea is salty.", "No; ; The sea is sweet"),
    ("Do stones sleep?", "No; I have no comment", "Yes"),
    ("Is tea a drink?", "Yes", "No"),
]
PARAPHRASES = [
    ("Is the sea salty? ", "Is sea water salty?", 0.9),
    ("Is the sea salty? ", "Is the sea salty?", 0.99),
    ("Is the sea salty? ", " Does the sea taste of salt?\n", 0.95),
    ("Is the sea salty? ", "Is there salt in the sea?", 0.9),
    ("Is the sea salty? ", "Is the sea blue?", 0.3),
    ("Do stones sleep?", "Can a stone be asleep?", 0.8),
    ("Is tea a drink?", "Is tea hot?", 0.79),
]


def table(path: Path, header: list[str], rows: list[tuple[Any, ...]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def written(folder: Path, paraphrases: list[tuple[Any, ...]] = PARAPHRASES) -> Path:  # type: ignore[assignment]
    header = ["Question", "Correct Answers", "Incorrect Answers"]
    table(folder / "truthfulqa" / "TruthfulQA_v1_817.csv", header, list(QUESTIONS))
    header = ["original question", "paraphrased question", "pp_score"]
    return table(folder / "truthfulqa_paraphrases" / "truthfulQA-alldata.csv", header, paraphrases)


def test_a_question_and_its_best_paraphrases(tmp_path: Path) -> None:
    written(tmp_path)
    sea, stones = truthfulqa.suite(tmp_path).groups("v1", "paraphrase")
    assert (sea.id, sea.suite, sea.task) == ("truthfulqa/v1/paraphrase/0", "truthfulqa", "v1")
    assert (sea.kind, sea.expect, sea.cluster) == ("paraphrase", "same", sea.id)
    assert [(i.id, i.role, i.fields["question"]) for i in sea.items] == [
        (f"{sea.id}/0", "original", "Is the sea salty?"),
        (f"{sea.id}/1", "variant", "Does the sea taste of salt?"),
        (f"{sea.id}/2", "variant", "Is sea water salty?"),
        (f"{sea.id}/3", "variant", "Is there salt in the sea?"),
    ]
    assert [i.fields["question"] for i in stones.items] == ["Do stones sleep?", "Can a stone be asleep?"]


def test_free_text_with_references(tmp_path: Path) -> None:
    written(tmp_path)
    sea, stones = truthfulqa.suite(tmp_path).groups("v1", "paraphrase")
    assert {(i.task, i.choices, i.accepted, i.rejected) for i in sea.items} == {
        (
            "truthfulqa",
            (),
            ("Yes.", "The sea is salty.", "I have no comment."),
            ("No.", "The sea is sweet."),
        )
    }
    assert stones.items[0].accepted == ("No.", "I have no comment.")


def test_repeats_of_the_question_count_among_the_top(tmp_path: Path) -> None:
    """First the best ones, then those that repeat the question are dropped, as the published counts have it."""
    written(tmp_path)
    (sea, _) = truthfulqa.suite(tmp_path, k=2).groups("v1", "paraphrase")
    assert [i.fields["question"] for i in sea.items[1:]] == ["Does the sea taste of salt?"]
    (stones,) = truthfulqa.suite(tmp_path, k=1).groups("v1", "paraphrase")
    assert stones.id == "truthfulqa/v1/paraphrase/1"
    assert len(list(truthfulqa.suite(tmp_path, score=0).groups("v1", "paraphrase"))) == 3


@given(st.lists(st.text(alphabet="ab .;", max_size=8), max_size=6))
def test_references_are_distinct_sentences(parts: list[str]) -> None:
    found = truthfulqa.references(";".join(parts))
    assert len(set(found)) == len(found)
    assert all(text.endswith(".") and text == text.strip() and ";" not in text for text in found)
    assert truthfulqa.references("; ".join(found)) == found
    words = {p.strip().rstrip(".") for part in parts for p in part.split(";") if p.strip()}
    assert {text.rstrip(".") for text in found} == words


def test_the_prompt_solves_questions_of_its_own(tmp_path: Path) -> None:
    written(tmp_path)
    suite = truthfulqa.suite(tmp_path)
    item = next(suite.groups("v1", "paraphrase")).items[1]
    form = task_named("truthfulqa").form_of(item)
    prompt = prompt_of(item, form)
    assert prompt.count("\nA: ") == 6
    assert prompt.endswith("\n\nQ: Does the sea taste of salt?\nA:")
    assert segments_of(item, form) == ("Does the sea taste of salt?",)
    assert (task_named("truthfulqa").labels, form.words) == ((), ())
    assert list(suite.examples("v1")) == []


def test_the_prompt_holds_no_question_of_the_set(data: Path) -> None:
    prompt = task_named("truthfulqa").form.prompt
    for task in truthfulqa.CASES:
        for group in truthfulqa.suite(data).groups(task, "paraphrase"):
            assert not any(item.fields["question"] in prompt for item in group.items)


@pytest.mark.parametrize("found", ["", "high", "nan", "1.5", "-0.1"])
def test_bad_scores(tmp_path: Path, found: str) -> None:
    path = written(tmp_path, [("Do stones sleep?", "Can a stone be asleep?", found)])
    with pytest.raises(DataError) as caught:
        truthfulqa.suite(tmp_path).groups("v1", "paraphrase")
    assert caught.value.message == f'column "pp_score": found "{found}", expected a number from 0 to 1'
    assert (caught.value.file, caught.value.line) == (str(path), 2)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"truthfulqa/TruthfulQA_v1_817\.csv"):
        truthfulqa.suite(tmp_path).groups("v1", "paraphrase")
    written(tmp_path).unlink()
    with pytest.raises(DataError, match=r"truthfulqa_paraphrases/truthfulQA-alldata\.csv"):
        truthfulqa.suite(tmp_path).groups("v1", "paraphrase")
    with pytest.raises(DataError, match=r"truthfulqa/TruthfulQA_2025_790\.csv"):
        truthfulqa.suite(tmp_path).notes("2025", "paraphrase")


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for wrong in ({"score": 1.1}, {"score": -1.0}, {"k": 0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            truthfulqa.suite(tmp_path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no task v2"):
        truthfulqa.suite(tmp_path).groups("v2", "paraphrase")
    with pytest.raises(UsageError, match="truthfulqa/v1 has no semantic"):
        truthfulqa.suite(tmp_path).groups("v1", "semantic")


# --- the published files ------------------------------------------------------------------------------------


def test_the_published_counts_of_paraphrases(data: Path) -> None:
    path = data / "truthfulqa_paraphrases" / "truthfulQA-alldata.csv.gz"
    every = truthfulqa.best_paraphrases(path, 0, 6)
    assert (len(every), sum(map(len, every.values()))) == (817, 4812)
    likely = truthfulqa.best_paraphrases(path, 0.8, 6)
    assert (len(likely), sum(map(len, likely.values()))) == (805, 4567)


@pytest.mark.parametrize(("task", "questions", "paraphrases"), [("v1", 803, 4544), ("2025", 775, 4386)])
def test_the_published_questions(data: Path, task: str, questions: int, paraphrases: int) -> None:
    suite = truthfulqa.suite(data)
    groups = list(suite.groups(task, "paraphrase"))
    assert (len(groups), len({group.cluster for group in groups})) == (questions, questions)
    assert sum(len(group.items) - 1 for group in groups) == paraphrases
    for group in groups:
        wordings = [item.fields["question"] for item in group.items]
        assert 2 <= len(wordings) == len(set(wordings)) <= 7
        assert "I have no comment." in group.items[0].accepted
        assert group.items[0].rejected
    assert suite.notes(task, "paraphrase")[0].startswith(f"{questions} of ")


def test_fewer_paraphrases_are_the_first_of_them(data: Path) -> None:
    six = {g.id: g for g in truthfulqa.suite(data).groups("v1", "paraphrase")}
    for group in truthfulqa.suite(data, k=3).groups("v1", "paraphrase"):
        assert group.items == six[group.id].items[: len(group.items)]


def test_a_run_and_its_folder(tmp_path: Path) -> None:
    written(tmp_path)
    out = tmp_path / "run"
    result = unwaver.run("truthfulqa/v1", "fake/constant", data_dir=str(tmp_path), out=str(out))
    assert (result.find("tau").value, result.find("tau").groups) == (0, 2)
    lines = [json.loads(line) for line in (out / "groups.jsonl").read_text().splitlines()]
    assert lines[0]["items"][0]["rejected"] == ["No.", "The sea is sweet."]
    repeated = unwaver.run(str(out / "groups.jsonl"), "fake/constant", out=str(tmp_path / "again"))
    assert repeated.find("tau").groups == 2


def test_the_unfiltered_set_from_the_command_line(tmp_path: Path) -> None:
    """Table 3 of the paper: the best paraphrases regardless of their score."""
    written(tmp_path)
    run = partial(unwaver.run, "truthfulqa/v1", "fake/constant", data_dir=str(tmp_path))
    assert run().find("tau").groups == 2
    result = run(min_score=0.0)
    assert result.find("tau").groups == 3
    assert any("unfiltered" in line for notes in result.run["notes"].values() for line in notes)
    with pytest.raises(UsageError, match="--min-score is 2, expected a score from 0 to 1"):
        run(min_score=2.0)


@pytest.mark.parametrize(("task", "questions", "paraphrases"), [("v1", 815, 4788)])
def test_the_published_unfiltered_questions(data: Path, task: str, questions: int, paraphrases: int) -> None:
    groups = list(truthfulqa.suite(data, min_score=0).groups(task, "paraphrase"))
    assert (len(groups), sum(len(group.items) - 1 for group in groups)) == (questions, paraphrases)
