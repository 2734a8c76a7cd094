"""Which text each letter of a prompt stands for."""

from __future__ import annotations

from itertools import permutations

import pytest

from unwaver.logs.choices import choices_shown


def prompt(choices: list[str] | tuple[str, ...], mark: str = "({}) ") -> str:
    return "\n".join(["Which?", *(mark.format(chr(65 + n)) + c for n, c in enumerate(choices)), "Answer:"])


@pytest.mark.parametrize("mark", ["({}) ", "{}. ", "{}: ", "{})"])
@pytest.mark.parametrize(
    "choices",
    [
        ["1", "1.5", "1.5.2"],
        ["Paris", "Paris, France", "Rome"],
        ["C", "C++", "C++ (17)"],
        ["a|b", "a", "(a)*", "a|b?"],
        ["$5", "$5.00", "5"],
        ["no", "no, never", "no, never."],
        ["Paris", "Plan B: Paris", "Plan A. Rome"],
        ["é", "é, è"],
    ],
)
def test_a_choice_that_begins_or_holds_another(choices: list[str], mark: str) -> None:
    """In any order of the document, and in any order of the letters."""
    for listed in permutations(choices):
        for shown in permutations(choices):
            assert choices_shown({"choices": list(listed)}, prompt(shown, mark)) == list(shown)


def test_on_one_line() -> None:
    assert choices_shown({"choices": ["1.5", "1"]}, "(A) 1 (B) 1.5") == ["1", "1.5"]


def test_the_last_mark_of_a_letter_counts() -> None:
    """Solved examples come first; they may show the same choices in another order, or quote one."""
    solved = prompt(["Paris, France", "Paris"]) + " (B) Paris\n\n"
    assert choices_shown({"choices": ["Paris", "Paris, France"]}, solved + prompt(["Paris", "Paris, France"])) == [
        "Paris",
        "Paris, France",
    ]


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (["Rome", "Rome"], prompt(["Rome", "Rome"])),
        (["Rome", " Rome"], prompt(["Rome", "Rome"])),
        (["Rome", "Paris"], prompt(["Rome"])),
        (["Rome", "Paris"], "(A) Rome (C) Paris"),
        (["Rome", "Paris"], "(A) Rome (B) Paris?\nSay it again: (A) Paris"),
        (["Rome", "Paris"], "(A) Romeo (B) Paris"),
        (["Rome", "Paris"], None),
    ],
)
def test_letters_that_are_not_clear(choices: list[str], text: str | None) -> None:
    assert choices_shown({"choices": choices}, text) == []
