"""What people send: read, or refused with words for them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.people.forms import LONGEST, Invalid, is_right, read_form
from unwaver.people.job import KINDS, Job
from unwaver.people.store import Card

SHOWN: dict[str, dict[str, Any]] = {
    "write": {"text": "The man is sleeping on the bench.", "field": "q", "context": {}},
    "answer": {"prompt": "Is it so?", "choices": ["yes", "no"]},
}


def of(kind: str) -> tuple[Job, Card]:
    job = Job(Path("job.toml"), kind, "groups.jsonl", field="q")
    return job, Card("c", "c", SHOWN.get(kind, {"original": "a", "variant": "b"}))


FORMS: list[tuple[str, dict[str, list[str]], dict[str, Any]]] = [
    ("rate", {"value": ["4"]}, {"value": "4"}),
    ("pairs", {"value": ["no"], "reason": ["left out"]}, {"value": "no"}),
    ("review", {"value": ["wrong"], "reason": [" weaker "]}, {"value": "wrong", "reason": "weaker"}),
    ("rate", {"skip": ["1"], "reason": ["not English"]}, {"skip": "not English"}),
    ("rate", {"skip": ["1"]}, {"skip": "skipped"}),
    ("rate", {"value": ["1"], "flag": ["a typo"], "other": ["x"]}, {"value": "1", "flag": "a typo"}),
    ("answer", {"value": ["no"]}, {"value": "no"}),
    (
        "validate",
        {"criterion-0": ["yes"], "criterion-1": ["unsure"], "criterion-2": ["yes"], "reason": ["vague"]},
        {
            "criteria": {"meaning": "yes", "label": "unsure", "grammar": "yes"},
            "value": "unsure",
            "reason": "vague",
        },
    ),
    (
        "write",
        {"texts": ["A man naps there.", " ", "Someone dozes outdoors.", "He rests in the park."]},
        {"texts": ["A man naps there.", "Someone dozes outdoors.", "He rests in the park."]},
    ),
]


@pytest.mark.parametrize(("kind", "form", "reply"), FORMS)
def test_replies(kind: str, form: dict[str, list[str]], reply: dict[str, Any]) -> None:
    assert read_form(*of(kind), form) == reply


@pytest.mark.parametrize(
    ("kind", "form", "says"),
    [
        ("rate", {}, "Choose one"),
        ("rate", {"value": ["6"]}, "Choose one"),
        ("answer", {"value": ["maybe"]}, "Choose one"),
        ("validate", {"criterion-0": ["yes"]}, "Choose an answer for: label, grammar"),
        (
            "validate",
            {"criterion-0": ["no"], "criterion-1": ["yes"], "criterion-2": ["yes"]},
            "Say in a few words",
        ),
        ("write", {"texts": ["One text."]}, "at least 3 paraphrases; there is 1"),
        ("write", {"texts": [f"text number {n} {'x' * n}" for n in range(11)]}, "at most 10"),
        (
            "write",
            {"texts": ["the man is sleeping on the bench", "Someone dozes.", "He rests."]},
            "Paraphrase 1 has nearly the same words as the original",
        ),
        (
            "write",
            {"texts": ["Someone dozes.", "He rests.", "someone DOZES"]},
            "Paraphrase 3 has nearly the same words as paraphrase 1",
        ),
        ("rate", {"value": ["1"], "flag": ["x" * (LONGEST + 1)]}, "at most 10,000"),
    ],
)
def test_what_is_no_reply(kind: str, form: dict[str, list[str]], says: str) -> None:
    with pytest.raises(Invalid, match=says):
        read_form(*of(kind), form)


def test_free_text() -> None:
    job, _ = of("answer")
    card = Card("c", "c", {"prompt": "Who?", "choices": []})
    assert read_form(job, card, {"text": [" Shakespeare\r\n"]}) == {"text": "Shakespeare"}
    with pytest.raises(Invalid, match="Write an answer"):
        read_form(job, card, {"text": ["  "]})


@given(
    st.sampled_from(list(KINDS)),
    st.dictionaries(
        st.sampled_from(["value", "skip", "reason", "flag", "texts", "text", "criterion-0", "criterion-1"]),
        st.lists(st.text(max_size=20), max_size=12),
    ),
)
def test_anything_may_be_sent(kind: str, form: dict[str, list[str]]) -> None:
    with suppress(Invalid):
        found = read_form(*of(kind), form)
        assert found.keys() <= {"value", "skip", "reason", "flag", "texts", "text", "criteria"}


def test_attention() -> None:
    card = Card("c", "c", {}, known="Yes")
    assert is_right(card, {"value": "yes"}) is True
    assert is_right(card, {"value": "no"}) is False
    assert is_right(card, {"skip": "?"}) is None
    assert is_right(Card("c", "c", {}), {"value": "yes"}) is None
