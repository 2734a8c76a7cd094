"""The form of T5: what it reads for each task, in plain items and in CALM's layout, and what it writes."""

from __future__ import annotations

import pytest

from unwaver.tasks import CALM, T5, T5_CALM, built_in, spoken
from unwaver.tasks.calm_layout import SIGNS, calm_fields
from unwaver.tasks.prompts import prompt_of
from unwaver.tasks.t5 import in_t5_form, is_ours
from unwaver.types import Item

# Raffel et al. 2020, appendix D
PUBLISHED = {
    "mnli": ("mnli hypothesis: {hypothesis} premise: {premise}", {"entailment", "neutral", "contradiction"}),
    "qnli": ("qnli question: {question} sentence: {sentence}", {"entailment", "not_entailment"}),
    "rte": ("rte sentence1: {sentence1} sentence2: {sentence2}", {"entailment", "not_entailment"}),
    "qqp": ("qqp question1: {question1} question2: {question2}", {"duplicate", "not_duplicate"}),
    "mrpc": ("mrpc sentence1: {sentence1} sentence2: {sentence2}", {"equivalent", "not_equivalent"}),
    "sst2": ("sst2 sentence: {sentence}", {"negative", "positive"}),
    "boolq": ("boolq passage: {passage} question: {question}", {"True", "False"}),
    "wic": ("wic sentence1: {sentence1} sentence2: {sentence2} word: {word}", {"True", "False"}),
    "kornli": ("kornli premise: {premise} hypothesis: {hypothesis}", {"entailment", "neutral", "contradiction"}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_forms(name: str) -> None:
    form = built_in()[name].form_named(T5)
    assert (form.prompt, set(form.words)) == PUBLISHED[name]
    assert not is_ours(name)


def test_every_task_has_a_form_with_all_its_fields_and_a_word_for_each_label() -> None:
    for task in built_in().values():
        form = task.form_named(T5)
        assert form.prompt.startswith(f"{task.name} ")
        assert all("{" + field + "}" in form.prompt for field in task.fields)
        assert len(form.words) == len(task.labels) == len(set(form.words))
        assert is_ours(task.name) == (task.name not in PUBLISHED)


def item(task: str, template: str = "", **fields: str) -> Item:
    return Item("i", task, "original", fields, built_in()[task].labels, template=template)


def shown(item: Item) -> str:
    task = built_in()[item.task]
    formed = in_t5_form(item, task)
    return prompt_of(formed, task.form_of(formed))


def test_a_plain_item() -> None:
    assert (
        shown(item("rte", sentence1="It Rains.", sentence2="{wet}")) == "rte sentence1: It Rains. sentence2: {wet}"
    )


@pytest.mark.parametrize("sign", ["X:", *SIGNS])
@pytest.mark.parametrize("reverse", [False, True])
def test_in_the_layout_of_calm_only_indicators_change(sign: str, reverse: bool) -> None:
    laid_out = item("rte", CALM, **calm_fields("Sentence1", "It rains.", "Sentence2", "Wet", sign, reverse))
    one, two = f"{sign.replace('X', 'sentence1')} It rains.", f"{sign.replace('X', 'sentence2')} Wet"
    assert shown(laid_out) == (f"rte {two} {one}" if reverse else f"rte {one} {two}")


def test_calm_of_mnli_begins_with_the_hypothesis_as_t5_does() -> None:
    laid_out = item("mnli", CALM, **calm_fields("Premise", "Premise: a", "Hypothesis", "b", "<X>"))
    assert shown(laid_out) == "mnli <hypothesis> b <premise> Premise: a"
    plain = item("mnli", premise="a", hypothesis="b")
    assert shown(plain) == shown(item("mnli", CALM, **calm_fields("Premise", "a", "Hypothesis", "b")))


def test_free_text_and_lists_of_options_stay_as_they_are() -> None:
    question = Item("i", "facts", "original", {"question": "Who?"}, ())
    assert in_t5_form(question, built_in()["facts"]) == question
    listed = item("rte", "options", sentence1="a", sentence2="b")
    assert in_t5_form(listed, built_in()["rte"]) == listed


def test_words_of_a_model_that_reads_this_form() -> None:
    words = {("wic", ""): ("No", "Yes"), ("wic", T5): ("False", "True"), ("own", ""): ("a", "b")}
    said = spoken(words, T5)
    assert said["wic", ""] == ("False", "True")
    assert said["own", ""] == ("a", "b")
    assert spoken(words, CALM) == words
    calm = {("rte", CALM): ("Yes", "No"), ("rte", T5_CALM): ("entailment", "not_entailment")}
    assert spoken(calm, T5)["rte", CALM] == ("entailment", "not_entailment")
