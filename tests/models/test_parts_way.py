"""Labels are answered by the model, free text by its twin: everything that depends on it agrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from unwaver.asking.ask import key_maker
from unwaver.asking.repeats import repeats_note
from unwaver.models.hf_text import apart
from unwaver.models.limits import most_tokens
from unwaver.models.openai import open_model
from unwaver.models.parts import way_of
from unwaver.types import Answer, Group, Item, Request, replace

LABELS = Request("t", (), "Is it so?", ("yes", "no"), ("yes", "no"))
TEXT = Request("t", (), "What is it?", (), ())


@dataclass
class Model:
    """Says by whom it was answered."""

    method: str
    free_text: Model | None = None
    deterministic: bool = True
    reads: tuple[str, ...] = ("prompt",)

    def __post_init__(self) -> None:
        self.name = self.identity = self.method
        self.settings = {"max_tokens": len(self.method), "temperature": 0.0}

    def answer(self, requests: Any) -> Any:
        yield [(index, Answer(text=self.method)) for index, _ in enumerate(requests)]

    def close(self) -> None:
        pass


WRITER = Model("write")
WITH, ALONE = Model("pick", WRITER), Model("pick")


@pytest.mark.parametrize("asked", [LABELS, Item("i", "t", "original", {"text": "x"}, ("yes", "no"))])
def test_labels(asked: Request | Item) -> None:
    assert way_of(WITH, asked) is WITH
    assert way_of(ALONE, asked) is ALONE


@pytest.mark.parametrize("asked", [TEXT, Item("i", "t", "original", {"text": "x"})])
def test_free_text(asked: Request | Item) -> None:
    assert way_of(WITH, asked) is WRITER
    assert way_of(ALONE, asked) is ALONE


@pytest.mark.parametrize("request_", [LABELS, TEXT])
@pytest.mark.parametrize("model", [WITH, ALONE])
def test_keys_and_limits_are_those_of_who_answers(model: Model, request_: Request) -> None:
    way: Any = replace(way_of(model, request_), free_text=None)
    assert key_maker(model)(request_) == key_maker(way)(request_)
    assert most_tokens(model, request_) == most_tokens(way, request_)


@pytest.mark.parametrize("model", [WITH, ALONE])
def test_a_model_of_two_ways_answers_each_in_its_own(model: Model) -> None:
    requests = [LABELS, TEXT, TEXT, LABELS]
    said = dict(found for batch in apart(model, requests, model.answer) for found in batch)
    assert {i: answer.text for i, answer in said.items()} == {
        i: way_of(model, request).method for i, request in enumerate(requests)
    }


def test_a_server_limits_each_way_by_itself() -> None:
    model = open_model("m", base_url="http://127.0.0.1:9/v1", method="logprob")
    assert way_of(model, TEXT) is model.free_text
    assert [most_tokens(model, request)[1] for request in (LABELS, TEXT)] == [2, 2048]
    model.close()


@pytest.mark.parametrize(
    ("picks", "writes", "said"),
    [(True, False, "choice of labels"), (False, True, "free text"), (False, False, None)],
)
def test_repeats_are_told_by_way(picks: bool, writes: bool, said: str | None) -> None:
    model = Model("pick", Model("write", deterministic=writes), deterministic=picks)
    items = [Item(f"i{n}", "t", "original", {"text": "x"}, c) for n, c in enumerate([("yes", "no"), ()])]
    groups = [Group("g", "s", "t", "semantic", "same", tuple(items))]
    note = repeats_note(groups, model, 3)
    assert note is None if said is None else f"its {said} is deterministic" in str(note)
