from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from unwaver.errors import ModelError, UsageError
from unwaver.models import python
from unwaver.types import Model, Request

MODULE = """
import functools
seen = []

def first(requests):
    seen.append(len(requests))
    return [r["choices"][0] for r in requests]

def as_dicts(requests):
    return [{"label": 1, "probs": [0.25, 0.75]}, {"text": "hm"}, {"label": "NOT_entailment"}, None][: len(requests)]

def echo(requests):
    return (f"{r['task']}|{r['segments']}|{r['prompt']}|{r['replicate']}" for r in requests)

def broken(requests):
    return [1 / 0]

def short(requests):
    return []

def text(requests):
    return "entailment"

def numbers(requests):
    return [3.5 for _ in requests]

def bad_label(requests):
    return [{"label": "maybe"} for _ in requests]

def bad_probs(requests):
    return [{"probs": [0.9, 0.9]} for _ in requests]

async def later(requests):
    return []

class Box:
    @staticmethod
    def inner(requests):
        return ["x" for _ in requests]

part = functools.partial(first)
number = 3
exec("def made(requests): return ['entailment' for _ in requests]")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    (tmp_path / "my_classifier.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("my_classifier", None)


def requests(n):
    return [
        Request("rte", ("a", "b"), f"a b {i}", ("entailment", "not_entailment"), (), f"id{i}") for i in range(n)
    ]


def answers(model, asked):
    return [a for batch in model.answer(asked) for _, a in batch]


def test_labels_in_batches(folder):
    model = python.open_model("my_classifier:first", batch=4)
    assert isinstance(model, Model)
    assert [a.text for a in answers(model, requests(10))] == ["entailment"] * 10
    assert sys.modules["my_classifier"].seen == [4, 4, 2]
    assert [[i for i, _ in b] for b in model.answer(requests(5))] == [[0, 1, 2, 3], [4]]


def test_dicts_with_probabilities(folder):
    given = answers(python.open_model("my_classifier:as_dicts"), requests(4))
    assert given[0].text == "not_entailment"
    assert [round(math.exp(x), 4) for x in given[0].logprobs] == [0.25, 0.75]
    assert (given[1].text, given[2].text) == ("hm", "not_entailment")
    assert given[3].error == "the function gave None"


def test_what_the_function_is_given_and_generators_are_lists(folder):
    [answer] = answers(python.open_model("my_classifier:echo"), requests(1))
    assert answer.text == "rte|['a', 'b']|a b 0|0"


def test_nested_names_and_partials(folder):
    assert answers(python.open_model("my_classifier:Box.inner"), requests(1))[0].text == "x"
    assert answers(python.open_model("my_classifier:part"), requests(1))[0].text == "entailment"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("broken", r"my_classifier:broken failed: ZeroDivisionError: division by zero"),
        ("short", "gave 0 results for 2 requests"),
        ("text", "a list of results was expected, not str"),
        ("numbers", "item 'id0': a result must be text or a dict, found float"),
        ("bad_label", "unknown label 'maybe'; choices: entailment, not_entailment"),
        ("bad_probs", "probs must sum to 1"),
    ],
)
def test_bad_functions(folder, function, message):
    with pytest.raises(ModelError, match=message):
        answers(python.open_model(f"my_classifier:{function}"), requests(2))


def test_the_place_of_an_exception_is_told(folder):
    with pytest.raises(ModelError) as e:
        answers(python.open_model("my_classifier:broken"), requests(1))
    assert e.value.hint == "raised in my_classifier.py:16"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("my_classifier", UsageError, "names no function"),
        ("my_classifier:fist", ModelError, "my_classifier has no fist"),
        ("my_classifier:number", ModelError, "is not a function but int"),
        ("no_such_module_here:f", ModelError, "there is no module no_such_module_here"),
        ("syntax_error:f", ModelError, "syntax_error cannot be imported: SyntaxError"),
        ("needs_other:f", ModelError, "needs_other cannot be imported: No module named 'not_installed'"),
    ],
)
def test_bad_names(folder, name, error, message):
    (folder / "syntax_error.py").write_text("def f(:\n")
    (folder / "needs_other.py").write_text("import not_installed\n")
    with pytest.raises(error, match=message):
        python.open_model(name)


def test_identity_is_the_source_or_nothing(folder):
    before = python.open_model("my_classifier:first").identity
    assert before.startswith("python:my_classifier:first sha256:")
    assert before == python.open_model("my_classifier:first").identity
    assert before != python.open_model("my_classifier:broken").identity
    (folder / "my_classifier.py").write_text(MODULE + "\n# changed\n")
    assert before != python.open_model("my_classifier:first").identity
    assert python.open_model("my_classifier:made").identity == ""
    assert python.open_model("my_classifier:first", cache=False).identity == ""
    assert python.open_model("builtins:sorted").identity == ""


def test_functions_get_the_id_of_the_item(tmp_path, monkeypatch):
    """Items that ask the same are asked once; the id is no part of what is asked."""
    import unwaver

    monkeypatch.chdir(tmp_path)
    rows = "question,paraphrase\nIs it late?,Is it late now?\nIs it late?,Is it so late?\n"
    (tmp_path / "q.csv").write_text(rows)
    (tmp_path / "seen.py").write_text(
        "asked = []\n\ndef f(requests):\n    asked.extend(requests)\n    return ['yes'] * len(requests)\n"
    )
    unwaver.run("q.csv", "python/seen:f", labels=("yes", "no"), out="r")
    import seen

    groups = [json.loads(line) for line in (tmp_path / "r" / "groups.jsonl").read_text().splitlines()]
    known = {item["id"]: list(item["fields"].values()) for group in groups for item in group["items"]}
    assert [set(request) for request in seen.asked] == [
        {"id", "task", "segments", "prompt", "choices", "replicate", "messages"}
    ] * 3
    assert all(request["segments"] == known[request["id"]] for request in seen.asked)
    assert len({request["id"] for request in seen.asked}) == 3
    del sys.modules["seen"]


def test_a_function_that_runs_out_of_memory():
    def greedy(requests):
        raise MemoryError("no more")

    with pytest.raises(ModelError, match="greedy ran out of memory with 1 requests") as raised:
        list(python.PythonModel("greedy", greedy, "", 64).answer([Request("t", ("a",), "a", ("x",), ("x",))]))
    assert "batch=8" in raised.value.hint


def test_a_function_of_one_prompt_is_told_by_its_annotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_one.py").write_text("def answer(prompt: str) -> str:\n    return prompt.upper()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    model = python.open_model("of_one:answer")
    request = Request("t", ("a",), "who?", (), ())
    ((_, answer),) = next(model.answer([request]))
    assert answer.text == "WHO?"
