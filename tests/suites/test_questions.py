"""Which column of a file holds the questions, and what becomes of its rows."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from unwaver.errors import DataError, UsageError
from unwaver.suites.questions import Unclear, holds_questions, read_questions

ASKED = ["Who wrote Hamlet?", "Where is the city of Oslo?"]


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def texts(path: Path, **options: object) -> list[str]:
    return [item.fields["question"] for item in read_questions(path, **options).source.items]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "header",
    [
        "question,topic",
        "Question , topic",
        "QUESTIONS,topic",
        "prompt,topic",
        "Input,topic",
        "text,topic",
        "Frage,Thema",
    ],
)
def test_the_column_of_the_questions(tmp_path: Path, header: str) -> None:
    path = put(tmp_path / "q.csv", f"{header}\nWho wrote Hamlet?,books\nWhere is the city of Oslo?,places\n")
    assert holds_questions(path, {})
    assert texts(path) == ASKED


@pytest.mark.parametrize("header", ["text,question", "input,question", "prompt,question"])
def test_of_several_names_question_wins(tmp_path: Path, header: str) -> None:
    path = put(tmp_path / "q.csv", f"{header}\nA long story of a prince in Denmark.,Who wrote Hamlet?\n")
    assert texts(path) == ASKED[:1]


def test_the_only_text_column(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "nr,q,date,url\n7,Who wrote Hamlet?,2024-01-02,https://a.b/c\n")
    (item,) = read_questions(path).source.items
    assert (item.id, item.fields, item.choices, item.task) == ("2", {"question": ASKED[0]}, (), "question")


def test_unclear_columns_are_listed(tmp_path: Path) -> None:
    path = put(
        tmp_path / "q.csv", "one,two two,n\nWho wrote Hamlet?,A play of five acts,1\nWhere is Oslo?,A big city,2\n"
    )
    with pytest.raises(Unclear) as raised:
        read_questions(path)
    assert raised.value.candidates == ("one", "two two")
    assert 'may hold the question: "one" ("Who wrote Hamlet?"), "two two" ("A play of five acts")' in str(
        raised.value
    )
    assert raised.value.hint == "choose one: --column question=one"
    assert texts(path, columns={"question": "two two"}) == ["A play of five acts", "A big city"]
    assert texts(path, columns={"original": "one"})[0] == "Who wrote Hamlet?"


def test_no_text_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='no column holds texts; found: "a", "b"') as raised:
        read_questions(put(tmp_path / "q.csv", "a,b\n1,2\n3,4\n"))
    assert "--column question=NAME" in str(raised.value.hint)


def test_wrong_columns(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "question\nWho?\n")
    with pytest.raises(DataError, match='no column "qestion"') as raised:
        read_questions(path, columns={"question": "qestion"})
    assert raised.value.hint == "did you mean question?"
    with pytest.raises(UsageError, match="no column can be the premise"):
        read_questions(path, columns={"premise": "question"})


def test_rows_without_a_question_and_rows_twice(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "id,question\na,Who?\nb,\nc, Who? \na,Where?\n")
    found = read_questions(path)
    assert [(item.id, item.fields["question"]) for item in found.source.items] == [
        ("a", "Who?"),
        ("a.2", "Where?"),
    ]
    assert "1 row has a question of an earlier row: each question is asked once" in found.notes
    assert "1 row has no question and was left out" in found.notes


def test_right_answers(tmp_path: Path) -> None:
    path = put(
        tmp_path / "q.csv", "question,Expected Answer,note\nWho wrote Hamlet?,Shakespeare,x\nWhere is Oslo?,,y\n"
    )
    found = read_questions(path)
    assert [item.accepted for item in found.source.items] == [("Shakespeare",), ()]
    assert found.notes[0].endswith('the right answers in "Expected Answer"; not used: note')
    by_label = put(tmp_path / "l.csv", "question,gold\nIs it late?,yes\nIs it cold?,no\n")
    labelled = read_questions(by_label, labels=("no", "yes")).source
    assert [(item.choices, item.accepted) for item in labelled.items] == [
        (("no", "yes"), (a,)) for a in ("yes", "no")
    ]
    assert labelled.task.form.prompt.endswith("Answer with one of: no, yes.\nAnswer:")


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.parquet"])
def test_other_formats_follow_the_same_rule(tmp_path: Path, name: str) -> None:
    rows = [{"nr": 1, "Prompt": "Who wrote Hamlet?"}, {"nr": 2, "Prompt": "Where is the city of Oslo?"}]
    path = tmp_path / name
    if name.endswith("parquet"):
        pl.DataFrame(rows).write_parquet(path)
    else:
        text = "\n".join(map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows)
        path.write_text(text)
    assert holds_questions(path, {})
    assert texts(path) == ASKED


def test_a_long_question_stays_whole(tmp_path: Path) -> None:
    long = "Why? " * 20_000
    assert texts(put(tmp_path / "q.csv", f'question\n"{long}"\n')) == [long.strip()]


@pytest.mark.parametrize(
    "text",
    [
        "question,paraphrase\nIs it late?,Has it got late?\n",
        "question,Variant 1,note\nIs it late?,Has it got late?,x\n",
        "q,q2\nIs it late now?,Is it late at this hour?\n",  # two columns that say the same
        "Is it late now?,Is it late at this hour?\nIs it cold?,Is it a cold day?\n",
        '{"items": [{"text": "a"}, {"text": "b"}]}',
    ],
)
def test_variants_that_are_there_are_used(tmp_path: Path, text: str) -> None:
    assert not holds_questions(put(tmp_path / f"q.{'jsonl' if text.startswith('{') else 'csv'}", text), {})


@pytest.mark.parametrize("header", ["question,topic", "question,response", "q,a"])
def test_two_columns_that_say_different_things(tmp_path: Path, header: str) -> None:
    path = put(
        tmp_path / "q.csv",
        f"{header}\nWho wrote Hamlet?,It was Shakespeare who wrote it.\nWhere is Oslo?,Norway\n",
    )
    assert holds_questions(path, {})


def test_a_column_that_is_named_as_a_variant(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "question,other\nWho wrote Hamlet?,Name an author.\n")
    assert holds_questions(path, {})
    assert not holds_questions(path, {"variant": "other"})
