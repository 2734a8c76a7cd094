from __future__ import annotations

import gzip
import hashlib
import json
import math

import pytest

from unwaver.errors import DataError
from unwaver.models import predictions
from unwaver.types import Model, Request

LABELS = ("entailment", "neutral", "contradiction")


def request(item, choices=LABELS, replicate=0):
    return Request("snli", ("a", "b"), "a b", choices, (), item, replicate)


def write(tmp_path, content, name="mine.jsonl"):
    path = tmp_path / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def answers(model, requests):
    return {i: a for batch in model.answer(requests) for i, a in batch}


ROWS = [
    {"id": "a", "label": "Neutral"},
    {"id": "b", "label": 2, "probs": [0, 0.25, 0.75]},
    {"id": "c", "text": "I say\u2028True"},
    {"id": "c", "text": "False", "replicate": 1},
    {"id": 7, "label": "0"},
    {"id": "d", "probs": [1, 0, 0]},
    {"id": "unasked", "label": 0},
]
JSONL = "\n".join(json.dumps(r, ensure_ascii=False) for r in ROWS) + "\n"
CSV = """id,label,probs,text,replicate
a,Neutral,,,
b,2,"[0, 0.25, 0.75]",,
c,,,I say\u2028True,
c,,,False,1
7,0,,,
d,,"[1, 0, 0]",,
unasked,0,,,
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.jsonl", JSONL),
        ("mine.jsonl.gz", JSONL),
        ("mine.ndjson", "\ufeff" + JSONL.replace("\n", "\r\n")),
        ("mine.csv", CSV),
        ("mine.csv.gz", "\ufeff" + CSV.replace("\n", "\r\n")),
        ("mine.TSV", CSV.replace(",", "\t").replace("\t 0", ", 0")),
    ],
)
def test_all_formats_give_the_same_answers(tmp_path, name, content):
    path = write(tmp_path, content, name)
    model = predictions.open_model(str(path))
    assert isinstance(model, Model)
    assert model.name == "mine"
    assert model.identity == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    asked = [request("a"), request("b"), request("c"), request("missing"), request("7"), request("c", replicate=1)]
    given = answers(model, asked)
    assert {i: a.text for i, a in given.items()} == {
        0: "neutral", 1: "contradiction", 2: "I say\u2028True", 4: "entailment", 5: "False",
    }  # fmt: skip
    assert given[1].logprobs == (math.log(1e-300), math.log(0.25), math.log(0.75))
    assert model.unused == 2
    only_probs = answers(model, [request("d")])[0]
    assert model.unused == 1
    assert only_probs.text is None
    assert only_probs.logprobs[0] == 0


def test_labels_that_look_like_numbers_are_names_first(tmp_path):
    model = predictions.open_model(str(write(tmp_path, '{"id": "a", "label": 1}\n{"id": "b", "label": 1.0}\n')))
    assert answers(model, [request("a", ("1", "0"))])[0].text == "1"
    assert answers(model, [request("b", ("x", "y"))])[0].text == "y"


def test_json_truth_values_are_names(tmp_path):
    model = predictions.open_model(str(write(tmp_path, '{"id": "a", "label": true}\n')))
    assert answers(model, [request("a", ("false", "true"))])[0].text == "true"


def test_free_text_takes_any_label(tmp_path):
    model = predictions.open_model(str(write(tmp_path, '{"id": "a", "label": "Paris"}\n')))
    assert answers(model, [request("a", ())])[0].text == "Paris"


def test_quoted_lines_and_blank_lines_keep_the_line_numbers(tmp_path):
    path = write(tmp_path, 'id,text\na,"two\nlines"\n\nb,x\nb,y\n', "p.csv")
    with pytest.raises(DataError) as e:
        predictions.open_model(str(path))
    assert (e.value.line, "in line 5" in str(e.value)) == (6, True)


@pytest.mark.parametrize(
    ("content", "name", "line", "message"),
    [
        ("", "p.jsonl", None, "no predictions"),
        ("", "p.csv", 1, "no column id"),
        ("id,label\n", "p.csv", None, "no predictions"),
        ("name,label\na,1\n", "p.csv", 1, "no column id; columns found: name, label"),
        ("id,label\na\n", "p.csv", 2, "does not have the 2 cells"),
        ("id,label\na,1,2\n", "p.csv", 2, "does not have the 2 cells"),
        ('id,label\na,"1\n', "p.csv", 2, "bad quoting"),
        ("id,probs\na,0.5 0.5\n", "p.csv", 2, "probs must be a JSON list"),
        ("id,label,replicate\na,1,x\n", "p.csv", 2, "replicate a whole number"),
        ("id,label\na,\n", "p.csv", 2, "neither label nor text nor probs"),
        ('{"id": "a", "label": 0}\n{"id": \n', "p.jsonl", 2, "not JSON"),
        ("[1]\n", "p.jsonl", 1, "expected an object"),
        ("[" * 100_000, "p.jsonl", 1, "not JSON"),
        ('{"label": 1}\n', "p.jsonl", 1, 'expected an object with "id"'),
        ('{"id": true, "label": 1}\n', "p.jsonl", 1, '"id": found true, expected a text'),
        ('{"id": "a"}\n', "p.jsonl", 1, "neither label nor text nor probs"),
        ('{"id": "a", "label": [1]}\n', "p.jsonl", 1, '"label": found .1., expected a text'),
        ('{"id": "a", "text": 1}\n', "p.jsonl", 1, '"text": found 1, expected a text'),
        (
            '{"id": "a", "label": 1, "replicate": -1}\n',
            "p.jsonl",
            1,
            '"replicate": found -1, expected a whole number of 0 or more',
        ),
        ('{"id": "a", "label": 1}\n{"id": "a", "label": 1}\n', "p.jsonl", 2, "answered before, in line 1"),
        ('{"id": "a", "probs": [0.5, 0.6]}\n', "p.jsonl", 1, "sum to 1"),
        ('{"id": "a", "probs": [-0.5, 1.5]}\n', "p.jsonl", 1, "between 0 and 1"),
        ('{"id": "a", "probs": [NaN, 1]}\n', "p.jsonl", 1, "between 0 and 1"),
        ('{"id": "a", "probs": ["1", "0"]}\n', "p.jsonl", 1, "must be numbers"),
        ('{"id": "a", "probs": []}\n', "p.jsonl", 1, "must be a list"),
        (b'{"id": "a"}\n{"id": "\xff"}', "p.jsonl", 2, "not UTF-8"),
        ("x", "p.xlsx", None, "predictions in a .xlsx format"),
    ],
)
def test_bad_files(tmp_path, content, name, line, message):
    with pytest.raises(DataError, match=message) as e:
        predictions.open_model(str(write(tmp_path, content, name)))
    assert e.value.file == str(tmp_path / name)
    assert e.value.line == line


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"id": "a", "label": "maybe"}', "unknown label 'maybe'"),
        ('{"id": "a", "label": 3}', "unknown label '3'"),
        ('{"id": "a", "label": -1}', "unknown label '-1'"),
        ('{"id": "a", "label": 1.5}', "unknown label '1.5'"),
        ('{"id": "a", "probs": [0.5, 0.5]}', "2 probs for 3 choices"),
    ],
)
def test_answers_that_do_not_fit_the_item(tmp_path, row, message):
    model = predictions.open_model(str(write(tmp_path, "\n" + row)))
    with pytest.raises(DataError, match=message) as e:
        answers(model, [request("a")])
    assert (e.value.line, e.value.hint) == (2, "choices: 0 entailment, 1 neutral, 2 contradiction")


def test_missing_damaged_and_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        predictions.open_model(str(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        predictions.open_model(str(tmp_path))
    good = gzip.compress(JSONL.encode())
    for name, raw in {"cut": good[:-20], "text": b"no gzip", "flip": good[:30] + b"\0\0\0\0" + good[34:]}.items():
        path = tmp_path / f"{name}.jsonl.gz"
        path.write_bytes(raw)
        with pytest.raises(DataError, match="gzip file is damaged"):
            predictions.open_model(str(path))
