"""The texts of core: what a program can check of sentences that were written by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from unwaver.errors import DataError
from unwaver.suites.core.book import Book
from unwaver.suites.core.sizes import every_group
from unwaver.suites.core.suite import all_tables
from unwaver.suites.core.table import Table, read_table, spellings
from unwaver.types import Group
from unwaver.variants.around import around

TABLES = {table.name: table for table in all_tables()}
HAN = re.compile(r"[\u4e00-\u9fff]")
# what may stand in Chinese texts beside Han characters: figures, symbols of elements, marks in full width
BESIDE_HAN = re.compile(r"[\u4e00-\u9fff0-9A-Za-z{}_.，。？！：；、“”‘’（）＋－|]+")


def rows(name: str) -> list[Mapping[str, Any]]:
    return [dict(row) for row in TABLES[name].rows]


def has(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


@pytest.mark.parametrize("row", rows("passages"), ids=lambda row: row["id"])
def test_a_passage_names_everybody_who_may_be_the_answer(row: Mapping[str, Any]) -> None:
    people = [row["who"], *row["others"]]
    assert len(set(people)) == len(people) >= 3
    assert all(has(name, row["passage"]) for name in people)
    assert 35 <= len(row["passage"].split()) <= 90
    if row["edited"]:
        assert row["edited_who"] in row["others"]
        assert all(has(name, row["edited"]) for name in people)
        assert row["edited"] != row["passage"]


@pytest.mark.parametrize("row", rows("passages"), ids=lambda row: row["id"])
def test_the_forms_of_a_deed_name_the_same_things(row: Mapping[str, Any]) -> None:
    """Active and passive share their words but for the verb: "mended the hole", "the hole was mended"."""
    active, base = set(row["did"].split()), set(row["do"].split())
    passive = {*row["object"].split(), *row["done"].split()}
    assert len(active - base) <= 1
    assert len(active - passive) <= 1
    assert (row["be"] == "were") == (row["object"].split()[-1] == "fish" or _plural(row["object"]))


def _plural(noun: str) -> bool:
    head = re.split(r" (?:of|in|about|with) ", noun)[0]
    return head.endswith("s") and not head.endswith("ss")


def test_no_name_is_in_two_stories() -> None:
    stories: dict[str, set[str]] = {}
    for row in rows("passages"):
        for name in (row["who"], *row["others"]):
            stories.setdefault(name, set()).add(row["story"])
    assert [name for name, found in stories.items() if len(found) > 1] == []
    assert len({row["story"] for row in rows("passages")}) >= 60


def test_orders_are_said_both_ways_and_as_often_before_as_after() -> None:
    counts = Counter(row["order"] for row in rows("order"))
    assert abs(counts["before"] - counts["after"]) <= 1
    for row in rows("order"):
        assert {row["order"], row["turned"]} == {"before", "after"}
        assert row["x"] != row["y"]
        assert all(has(row[name], row["passage"]) for name in ("x", "y"))


@pytest.mark.parametrize(("name", "label", "fewest"), [
    ("reviews", "sentiment", 20), ("news", "topic", 10), ("entailment", "label", 15),
])  # fmt: skip
def test_labels_are_balanced_and_no_text_is_there_twice(name: str, label: str, fewest: int) -> None:
    counts = Counter(row[label] for row in rows(name))
    assert min(counts.values()) >= fewest
    assert max(counts.values()) - min(counts.values()) <= 1
    last = {"reviews": "review", "news": "line", "entailment": "hypothesis"}[name]
    texts = [text for row in rows(name) for text in (row[last], *row["reworded"], row.get("flipped", row["id"]))]
    assert len(set(texts)) == len(texts)


def test_an_entailed_sentence_has_a_negation_and_others_have_none() -> None:
    for row in rows("entailment"):
        assert bool(row["negated"]) == (row["label"] == "entailment")
        assert not row["further"] or row["label"] == "entailment"


def test_padding_keeps_the_answer_and_adds_words() -> None:
    for row in rows("preferences"):
        said = row["bad"].rstrip(".").lower()
        assert said in row["padded"].lower(), row["id"]
        assert len(row["padded"]) >= len(row["bad"]) + 60
        answers = [row[name] for name in ("good", "bad", "padded", "equal", "worst") if row[name]]
        assert len(set(answers)) == len(answers)


def test_shared_texts_ask_nothing_and_avoid_tables_that_exist() -> None:
    texts = around()
    for section in ("distractors", "personas", "politeness", "filler"):
        for entry in texts[section]:
            assert "?" not in "".join(entry[side]["en"] for side in ("text", "before", "after") if side in entry)
    named = {name for entries in texts.values() for entry in entries for name in entry.get("avoid", ())}
    assert named <= set(TABLES)
    for name in TABLES:
        assert sum(name not in entry["avoid"] for entry in texts["distractors"]) >= 15, name


def test_a_conversation_ends_with_the_assistant() -> None:
    for entry in around()["conversations"]:
        assert len(entry["turns"]["en"]) in (2, 4)


def _cells(table: Table, ending: str) -> list[str]:
    columns = [name for name in table.columns if name.endswith(ending)]
    return [
        text
        for row in table.rows
        for name in columns
        for cell in (row[name] if isinstance(row[name], list) else [row[name]])
        for text in spellings(cell)
    ]


def test_chinese_is_written_in_chinese_with_full_width_marks() -> None:
    for table in TABLES.values():
        said = [text for q in table.questions for _, lang, text in q.templates() if lang == "zh"]
        for text in [*_cells(table, "_zh"), *said]:
            assert BESIDE_HAN.fullmatch(text), (table.name, text)
            assert HAN.search(text) or text.isdigit(), (table.name, text)


def test_other_languages_have_a_cell_wherever_english_has_one() -> None:
    for table in TABLES.values():
        for name in table.columns:
            stem = name.rsplit("_", 1)[0]
            if name.endswith(("_de", "_zh")) and stem in table.columns:
                for row in table.rows:
                    assert bool(row[name]) == bool(row[stem]), (table.name, table.fact(row), name)
                    if isinstance(row[stem], list):
                        assert len(row[name]) == len(row[stem]), (table.name, table.fact(row), name)


def test_at_least_five_tables_are_asked_in_three_languages() -> None:
    spoken = [t.name for t in TABLES.values() if any({"de", "zh"} <= set(t.languages(q)) for q in t.questions)]
    assert len(spoken) >= 15


def groups_of(name: str) -> dict[tuple[str, str], list[Group]]:
    found: dict[tuple[str, str], list[Group]] = {}
    for group in every_group(Book("core", (TABLES[name],))):
        found.setdefault((group.task, group.kind), []).append(group)
    return found


def test_paraphrases_of_a_review_reword_the_review_too() -> None:
    reworded = {text for row in rows("reviews") for text in row["reworded"]}
    groups = groups_of("reviews")["sentiment", "paraphrase"]
    items = [item for group in groups for item in group.items]
    assert any(text in item.fields["question"] for item in items for text in reworded)
    assert all(len({item.accepted for item in group.items}) == 1 for group in groups)


def test_two_reviews_are_joined_as_two() -> None:
    last = groups_of("reviews")["sentiment", "additive"][0].items[-1].fields["question"]
    assert re.fullmatch(r"Review 1: .+\nReview 2: .+\nAre these two reviews positive or negative\?", last)


def test_a_negated_hypothesis_is_contradicted() -> None:
    groups = groups_of("entailment")["entailment", "negational"]
    golds = {tuple(item.accepted[0] for item in group.items) for group in groups}
    assert golds == {("entailment", "contradiction")}
    assert len(groups) == sum(bool(row["negated"]) for row in rows("entailment"))


def test_an_edited_passage_has_another_answer_and_stories_are_clusters() -> None:
    groups = groups_of("passages")["open", "contrast"]
    assert len(groups) == len({row["story"] for row in rows("passages")}) == len({g.cluster for g in groups})
    for group in groups:
        original, edited = group.items
        assert original.accepted != edited.accepted
        assert original.fields["question"].split("\n")[-1] == edited.fields["question"].split("\n")[-1]


def test_a_typing_error_spares_the_answers() -> None:
    for group in groups_of("animals")["open", "surface"]:
        for item in group.items:
            assert all(choice in item.fields["question"] for choice in item.choices)


def test_a_statement_has_a_head_of_its_own_in_other_formats() -> None:
    texts = [item.fields["question"] for group in groups_of("animals")["yes_no", "format"] for item in group.items]
    assert not [text for text in texts if re.search(r"question\W+statement", text, re.I)]
    assert any('"statement": ' in text for text in texts)


MINE = """
name = "mine"
rule = "r"
columns = ["id", "text", "who", "others", "edited"]
rows = [["one", "Ann sang. Bob and Eve danced.", "Ann", ["Bob", "Eve"], "Bob sang. Ann and Eve danced."]]
"""
WHO = """
[[questions]]
name = "who"
answer = "who"
among = "others"
context = "text"
open.en = ["who sang?", "which person sang?", "name who sang.", "___ sang.", "tell me who sang.", "who was it that sang?"]
"""


@pytest.mark.parametrize(("table", "question", "said"), [
    ('cluster = "story"\n', "", "cluster: there is no column 'story'"),
    ("", 'flipped = "edited"\n', "flipped without flipped_answer"),
    ("", 'reworded = "edited"\n', "row 'one': edited is not a list of texts"),
    ("", "joined = true\n", 'joined": found true, expected a table'),
])  # fmt: skip
def test_a_wrong_key_of_a_text_is_refused_with_the_place(
    tmp_path: Path, table: str, question: str, said: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE + table + WHO + question, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(said)):
        read_table(file)
