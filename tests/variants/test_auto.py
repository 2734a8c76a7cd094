"""--variants auto: which groups it makes of an item."""

from __future__ import annotations

from collections import Counter

import pytest

from unwaver.tasks import task_named
from unwaver.text.refused import Refused
from unwaver.types import Group, Item
from unwaver.variants.auto import auto
from unwaver.variants.source import Source

QUESTIONS = (
    "What is the capital of Australia?",
    "Who is it?",
    "谁写了哈姆雷特？",
    "Wie heißt die Hauptstadt von Australien?",
    "7",
)


def source(*texts: str) -> Source:
    items = tuple(Item(str(n), "question", "original", {"question": text}) for n, text in enumerate(texts))
    return Source("q", task_named("question"), items)


def made(*texts: str, **options: object) -> tuple[list[Group], list[Refused]]:
    found = list(auto(**options)(source(*texts)))  # type: ignore[arg-type]
    return [g for g in found if isinstance(g, Group)], [r for r in found if isinstance(r, Refused)]


def test_two_surface_changes_of_every_question() -> None:
    groups, refused = made(*QUESTIONS)
    counts = Counter(group.items[0].fields["question"] for group in groups)
    assert counts == dict.fromkeys(QUESTIONS, 2)
    assert not refused
    assert all(len(group.items) == 2 and group.repeats == 2 for group in groups)
    assert {g.kind for g in groups if g.items[0].fields["question"] == QUESTIONS[0]} == {
        "surface_typo",
        "surface_punctuation",
    }
    assert len({group.id for group in groups}) == len(groups)


def test_changes_depend_on_the_seed_alone() -> None:
    assert made(*QUESTIONS, seed=1) == made(*QUESTIONS, seed=1)
    typos = {made(QUESTIONS[0], seed=seed)[0][0].items[1].fields["question"] for seed in range(8)}
    assert len(typos) > 2


def test_a_change_has_its_tag() -> None:
    groups, _ = made(QUESTIONS[0])
    assert [group.tag for group in groups][1] == "dropped"
    assert groups[1].items[1].fields["question"] == "What is the capital of Australia"


def test_a_model_is_asked_for_three_paraphrases() -> None:
    groups, _ = made(*QUESTIONS[:2], writer="openai/m")
    awaiting = [group for group in groups if group.kind == "semantic"]
    assert [(len(g.items), g.keep, g.repeats) for g in awaiting] == [(1, 3, 2)] * 2
    assert made(QUESTIONS[0], writer="openai/m", k=5)[0][0].keep == 5


@pytest.mark.parametrize("text", ["?", "…"])
def test_what_cannot_be_changed_is_counted(text: str) -> None:
    _, refused = made(text)
    assert all("surface change" in each.reason for each in refused)
