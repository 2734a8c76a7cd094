"""Lettered options: the order is in the choices, the marks are in the form, and answers are compared as labels."""

import json

import pytest

import unwaver
from unwaver.answers.labels import read_label
from unwaver.errors import UsageError
from unwaver.files import read_rows
from unwaver.groups import group_to_json
from unwaver.groups.from_json import group_from_json
from unwaver.suites import own
from unwaver.tasks import OPTIONS, built_in, plain_task, segments_of
from unwaver.tasks.forms import options_form
from unwaver.tasks.prompts import prompt_of
from unwaver.tasks.templates import with_template
from unwaver.types import Group, Item
from unwaver.variants.source import Source
from unwaver.variants.surface import options as options_of

SNLI = built_in()["snli"]


def source(task, *rows):
    items = (
        Item(str(n), task.name, "original", dict(zip(task.fields, texts, strict=True)), task.labels, (label,))
        for n, (*texts, label) in enumerate(rows)
    )
    return Source("mine", task, tuple(items))


def built(task, *rows, **options) -> list[Group]:
    return [made for made in options_of(**options)(source(task, *rows)) if isinstance(made, Group)]


NAP = ("A cat sleeps.", "An animal rests.", "entailment")


def test_prompt_lists_the_options_in_the_order_of_the_choices():
    (group,) = built(SNLI, NAP)
    assert prompt_of(group.items[0], SNLI.form_of(group.items[0])) == (
        "Premise: A cat sleeps.\n"
        "Hypothesis: An animal rests.\n"
        "Given the premise, is the hypothesis True, False or Neither?\n"
        "A. True\nB. Neither\nC. False\n"
        "Answer with the letter of the right option.\n"
        "Answer:"
    )
    shown = {"entailment": "True", "neutral": "Neither", "contradiction": "False"}
    for item in group.items:
        form = SNLI.form_of(item)
        listed = [f"{mark}. {shown[c]}" for mark, c in zip(form.words, item.choices, strict=True)]
        assert "\n".join(listed) in prompt_of(item, form)
        assert segments_of(item, form) == ("A cat sleeps.", "An animal rests.")
    assert [i.template for i in group.items] == ["options"] * 3 + ["options_small", "options_number"]
    assert prompt_of(group.items[4], SNLI.form_of(group.items[4])).endswith(
        "Answer with the number of the right option.\nAnswer:"
    )


def test_two_labels_have_one_other_order():
    (group,) = built(built_in()["boolq"], ("Cats sleep.", "do cats sleep", "true"))
    assert [i.choices for i in group.items] == [
        ("false", "true"),
        ("true", "false"),
        ("false", "true"),
        ("false", "true"),
    ]
    prompt = prompt_of(group.items[1], built_in()["boolq"].form_of(group.items[1]))
    assert prompt.endswith(
        "Question: do cats sleep\nA. Yes\nB. No\nAnswer with the letter of the right option.\nAnswer:"
    )


def test_the_letter_is_read_as_the_label_at_its_place():
    (group,) = built(SNLI, NAP)
    for item in group.items:
        words = SNLI.form_of(item).words
        for mark, label in zip(words, item.choices, strict=True):
            for answer in (
                mark,
                f"{mark}.",
                f"({mark})",
                f"{mark}) because",
                f"The answer is {mark}",
                f"{mark}. True",
            ):
                assert read_label(answer, item.choices, words) == label


def test_korean_is_asked_in_korean():
    (group,) = built(built_in()["klue-nli"], ("고양이가 잔다.", "동물이 쉰다.", "entailment"))
    item = group.items[0]
    prompt = prompt_of(item, built_in()["klue-nli"].form_of(item))
    assert prompt.endswith("\nA. 참\nB. 모름\nC. 거짓\n알맞은 보기의 기호로 답하세요.\n답:")


@pytest.mark.parametrize("task", built_in().values(), ids=lambda t: t.name)
def test_every_task_has_the_forms(task):
    if not task.labels:
        pytest.skip("free text has no options")
    for name, marks in OPTIONS.items():
        form = task.form_named(name)
        assert form.words == marks[: len(task.labels)]
        assert form.segments == task.form.segments
        assert "{option_list}" in form.prompt
        assert "{mark}" not in form.prompt


def test_marks_that_are_answers_are_not_used():
    row = ("a", "b", "c", "d", "1")
    (group,) = built(built_in()["anli"], row)
    assert {i.template for i in group.items} == {"options", "options_small"}
    lettered = plain_task("quiz", ["text"], ["A", "B"])
    with pytest.raises(UsageError, match="the answers of quiz are letters already: A, B"):
        built(lettered, ("which one?", "A"))


def test_labels_must_be_few_and_permutations_some():
    with pytest.raises(UsageError, match="options need 2 to 26 labels, free has 0"):
        list(options_of()(Source("mine", plain_task("free", ["text"], []), ())))
    with pytest.raises(UsageError, match="permutations=0"):
        options_of(permutations=0)


def test_a_template_of_the_users_keeps_the_marks():
    (group,) = built(SNLI, NAP)
    item = group.items[1]
    template = {"snli": {"prompt": "{premise} => {hypothesis}?\nSay:", "words": ["yes", "maybe", "no"]}}
    form = with_template(SNLI.form_of(item), SNLI, template)
    assert form.words == ("A", "B", "C")
    words = dict(zip(SNLI.labels, ("yes", "maybe", "no"), strict=True))
    listed = "\n".join(f"{mark}. {words[c]}" for mark, c in zip("ABC", item.choices, strict=True))
    assert prompt_of(item, form) == (
        f"A cat sleeps. => An animal rests.?\n{listed}\nAnswer with the letter of the right option.\nSay:"
    )


def test_solved_examples_are_answered_by_letter():
    (group,) = built(SNLI, NAP)
    shown = prompt_of(group.items[0], options_form(SNLI, SNLI.form, "ABC"), [(group.items[1], "entailment")])
    place = group.items[1].choices.index("entailment")
    assert f"Answer: {'ABC'[place]}\n\nPremise:" in shown


@pytest.fixture(params=["snli", "pets"])
def written(request, tmp_path):
    """groups.jsonl of a built-in task, and of one that is not."""
    task = built_in().get(request.param) or plain_task("pets", ["one", "two"], SNLI.labels)
    rows = [(f"Cat {n} sleeps.", "It rests.", SNLI.labels[n % 3]) for n in range(30)]
    groups = built(task, *rows)
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(group_to_json(group)) + "\n" for group in groups))
    return path, task, groups


def test_groups_survive_writing_and_reading(written):
    path, task, groups = written
    assert [group_from_json(row.cells, row.where) for row in read_rows(path)] == groups
    suite = own.suite(path)
    read = list(suite.groups(task.name, "options"))
    assert [g.items for g in read] == [g.items for g in groups]
    if task.name == "pets":
        assert suite.tasks["pets"].labels == SNLI.labels


def test_choices_of_another_set_are_refused(tmp_path):
    (group,) = built(SNLI, NAP)
    record = group_to_json(group)
    record["items"][1]["choices"] = ["neutral", "entailment", "other"]
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(
        unwaver.UnwaverError, match='"choices": found neutral, entailment, other, expected those of snli'
    ):
        own.suite(path)


def tau(path, tmp_path, name, **model_args):
    """Of a run, and of its folder when it is scored again."""
    place = str(tmp_path / "run")
    results = [unwaver.run(str(path), name, model_args=model_args, out=place), unwaver.score(place)]
    values = [[s.value for s in r.scores if s.metric == "tau" and s.given is None] for r in results]
    assert values[0] == values[1]
    return values[0][0]


def test_a_model_that_knows_the_label_is_consistent(written, tmp_path):
    assert tau(written[0], tmp_path, "fake/constant", label="neutral") == 0


def test_a_model_that_always_takes_the_first_letter_is_not(written, tmp_path):
    path, _, groups = written
    first = [[item.choices[0] != group.items[0].choices[0] for item in group.items[1:]] for group in groups]
    expected = sum(sum(moved) / len(moved) for moved in first) / len(first)
    assert expected > 0.2
    assert tau(path, tmp_path, "fake/constant") == pytest.approx(expected)
