"""The sample set: every line obeys the rules of its relation, and nothing is said twice."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from itertools import chain

import pytest

from unwaver.errors import UsageError
from unwaver.suites import sample
from unwaver.tasks import built_in, segments_of, task_named
from unwaver.tasks.prompts import prompt_of
from unwaver.types import Group

SUITE = sample.suite()
LINES = sample.lines()
CASES = [(task, kind) for task, kinds in SUITE.cases.items() for kind in kinds]
TASKS = ("boolq", "snli", "rte", "mrpc", "wic", "sst2", "ag_news", "mnli", "qnli", "qqp")
WRITTEN = {
    ("boolq", "semantic"): 8,
    ("boolq", "negational"): 6,
    ("snli", "semantic"): 10,
    ("snli", "negational"): 8,
    ("snli", "symmetric"): 6,
    ("snli", "transitive"): 6,
    ("rte", "semantic"): 5,
    ("rte", "negational"): 5,
    ("rte", "symmetric"): 4,
    ("mrpc", "semantic"): 5,
    ("mrpc", "negational"): 5,
    ("mrpc", "symmetric"): 4,
    ("wic", "semantic"): 5,
    ("wic", "symmetric"): 4,
    ("wic", "transitive"): 4,
    ("sst2", "semantic"): 6,
    ("sst2", "negational"): 4,
    ("sst2", "additive"): 6,
    ("ag_news", "semantic"): 6,
    ("ag_news", "additive"): 4,
    ("mnli", "pair"): 8,
    ("qnli", "pair"): 4,
    ("qqp", "pair"): 4,
    ("facts", "paraphrase"): 12,
}


def lines(kind: str, *tasks: str) -> list[sample.Line]:
    return [line for line in LINES if line["kind"] == kind and (not tasks or line["task"] in tasks)]


def identifier(line: sample.Line) -> str:
    return f"{line['task']}-{LINES.index(line)}"


def each(kind: str, *tasks: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("line", lines(kind, *tasks), ids=identifier)


def all_groups() -> list[Group]:
    return [group for task, kind in CASES for group in SUITE.groups(task, kind)]


def texts(entry: sample.Entry) -> tuple[str, ...]:
    return tuple(entry["fields"].values())


def folded(entry: sample.Entry) -> tuple[str, ...]:
    """What makes two items the same: words, without case and marks."""
    return tuple(" ".join("".join(c if c.isalnum() else " " for c in t.lower()).split()) for t in texts(entry))


# --- the file


def test_counts() -> None:
    assert 280 <= sum(len(line["items"]) for line in LINES if line["task"] != "facts") <= 340
    tested = Counter((line["task"], line["kind"]) for line in LINES if line["kind"] != "example")
    assert tested == WRITTEN


@pytest.mark.parametrize("line", LINES, ids=identifier)
def test_a_line_is_well_formed(line: sample.Line) -> None:
    task = task_named(line["task"])
    assert list(line) == ["task", "kind", "tag", "items"]
    for entry in line["items"]:
        assert list(entry) == ["role", "fields", "accepted"]
        assert tuple(entry["fields"]) == task.fields
        assert entry["accepted"]
        assert set(entry["accepted"]) <= set(task.labels) or not task.labels
        assert all(text == " ".join(text.split()) and text for text in texts(entry))


@pytest.mark.parametrize("line", LINES, ids=identifier)
def test_roles(line: sample.Line) -> None:
    roles = [entry["role"] for entry in line["items"]]
    if line["kind"] in ("transitive", "additive"):
        assert roles == ["original", "original", "conclusion"]
    elif line["kind"] in ("pair", "example"):
        assert roles == ["original"]
    elif line["kind"] == "paraphrase":
        assert roles == ["original", "variant", "variant"]
    else:
        assert roles == ["original", "variant"]


@pytest.mark.parametrize("line", LINES, ids=identifier)
def test_texts_look_right(line: sample.Line) -> None:
    for entry in line["items"]:
        for name, text in entry["fields"].items():
            if name == "word":
                assert text == text.lower()
            elif line["task"] == "boolq" and name == "question":
                assert text[-1].isalnum()  # the template adds the question mark
            else:
                question = name.startswith("question")
                assert text[0].isupper()
                assert text.endswith("?" if question else ".")


def test_the_file_ends_every_line_and_has_no_byte_order_mark() -> None:
    raw = resources.files("unwaver.suites").joinpath("sample.jsonl").read_bytes()
    assert raw.startswith(b'{"task"')
    assert raw.endswith(b"}\n")
    assert all(json.loads(line) for line in raw.splitlines())


@pytest.mark.parametrize("task", TASKS)
def test_every_label_is_tested(task: str) -> None:
    tested = [line for line in LINES if line["task"] == task and line["kind"] != "example"]
    labels = {entry["accepted"][0] for line in tested for entry in line["items"]}
    assert labels == set(task_named(task).labels)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["semantic", "pair"])
def test_labels_are_balanced(task: str, kind: str) -> None:
    found = Counter(line["items"][0]["accepted"][0] for line in lines(kind, task))
    if found:
        assert set(found) == set(task_named(task).labels)
        assert max(found.values()) - min(found.values()) <= 1


def test_no_item_twice() -> None:
    count = Counter((line["task"], folded(entry)) for line in LINES for entry in line["items"])
    assert [item for item, n in count.items() if n > 1] == []


def test_no_text_in_two_lines() -> None:
    seen: dict[str, int] = {}
    for n, line in enumerate(LINES):
        for entry in line["items"]:
            for name, text in zip(entry["fields"], folded(entry), strict=True):
                if name != "word":
                    assert seen.setdefault(text, n) == n, text


def test_no_word_of_two_sense_groups() -> None:
    words = [line["items"][0]["fields"]["word"] for line in LINES if line["task"] == "wic"]
    assert len(words) == len(set(words))


# --- the relations


@each("paraphrase")
def test_an_open_question_has_one_answer_in_all_its_wordings(line: sample.Line) -> None:
    assert len({tuple(entry["accepted"]) for entry in line["items"]}) == 1
    assert len({folded(entry) for entry in line["items"]}) == 3
    answers = [f" {answer.lower()} " for answer in line["items"][0]["accepted"]]
    for entry in line["items"]:  # the question does not give it away
        assert not any(answer in f" {folded(entry)[0]} " for answer in answers)


@each("semantic")
def test_a_paraphrase_changes_the_words_and_keeps_the_label(line: sample.Line) -> None:
    original, variant = line["items"]
    modified = task_named(line["task"]).modified
    assert original["accepted"] == variant["accepted"]
    assert folded(original) != folded(variant)
    assert {k: v for k, v in original["fields"].items() if k != modified} == {
        k: v for k, v in variant["fields"].items() if k != modified
    }


@each("negational")
def test_a_negation_changes_the_label_as_the_task_says(line: sample.Line) -> None:
    original, variant = line["items"]
    task = task_named(line["task"])
    relation = task.relations["negational"]
    before, after = original["accepted"][0], variant["accepted"][0]
    assert before in (relation.labels or task.labels)
    assert after == relation.to or (relation.to is None and after != before)
    changed = [k for k in task.fields if original["fields"][k] != variant["fields"][k]]
    assert changed == [task.modified]
    assert line["tag"] in ("negation", "antonym", "rm_negation")


def test_a_negation_goes_both_ways_where_it_may() -> None:
    assert Counter(line["items"][0]["accepted"][0] for line in lines("negational", "sst2")) == {
        "positive": 2,
        "negative": 2,
    }


@each("symmetric")
def test_a_symmetric_variant_is_the_original_swapped(line: sample.Line) -> None:
    original, variant = line["items"]
    task = task_named(line["task"])
    *fixed, first, second = texts(original)
    assert texts(variant) == (*fixed, second, first)
    assert original["accepted"] == variant["accepted"]
    assert original["accepted"][0] in (task.relations["symmetric"].labels or task.labels)


@pytest.mark.parametrize("task", ["mrpc", "wic"])
def test_symmetric_groups_have_every_label(task: str) -> None:
    assert set(Counter(line["items"][0]["accepted"][0] for line in lines("symmetric", task)).values()) == {2}


@each("additive")
def test_an_addition_joins_two_texts_of_one_label(line: sample.Line) -> None:
    one, two, both = line["items"]
    assert texts(both)[0] == texts(one)[0] + " " + texts(two)[0]
    assert one["accepted"] == two["accepted"] == both["accepted"]


@pytest.mark.parametrize("task", ["sst2", "ag_news"])
def test_additions_are_balanced(task: str) -> None:
    found = Counter(line["items"][0]["accepted"][0] for line in lines("additive", task))
    assert set(found) == set(task_named(task).labels)
    assert len(set(found.values())) == 1


CHAINED = {  # (P, H), (H, Z) => (P, Z)
    ("entailment", "entailment"): ["entailment"],
    ("entailment", "contradiction"): ["contradiction"],
}
FORKED = {("neutral", "contradiction"): ["neutral", "contradiction"]}  # (P, H), (P, Z) => (H, Z)


@each("transitive", "snli")
def test_a_conclusion_about_three_sentences_follows(line: sample.Line) -> None:
    (a, b), (c, d), conclusion = (texts(entry) for entry in line["items"])
    labels = line["items"][0]["accepted"][0], line["items"][1]["accepted"][0]
    if b == c:
        assert conclusion == (a, d)
        assert line["items"][2]["accepted"] == CHAINED[labels]
    else:
        assert a == c
        assert conclusion == (b, d)
        assert line["items"][2]["accepted"] == FORKED[labels]
    assert line["tag"] == "+".join(label[0].upper() for label in labels)


def test_each_rule_has_two_groups() -> None:
    assert Counter(line["tag"] for line in lines("transitive", "snli")) == {"E+E": 2, "E+C": 2, "N+C": 2}
    assert Counter(line["tag"] for line in lines("transitive", "wic")) == {"T+T": 2, "T+F": 1, "F+T": 1}


@each("transitive", "wic")
def test_a_conclusion_about_a_word_follows(line: sample.Line) -> None:
    (word, a, b), (word2, b2, c), conclusion = (texts(entry) for entry in line["items"])
    assert (word2, b2) == (word, b)
    assert conclusion == (word, a, c)
    first, second, third = (entry["accepted"] for entry in line["items"])
    assert [first, second] != [["different"], ["different"]]  # nothing follows from these
    assert third == (["same"] if first == second else ["different"])
    tag = {"same": "T", "different": "F"}
    assert line["tag"] == f"{tag[first[0]]}+{tag[second[0]]}"


@pytest.mark.parametrize("line", [line for line in LINES if line["task"] == "wic"], ids=identifier)
def test_the_word_is_in_both_sentences(line: sample.Line) -> None:
    for entry in line["items"]:
        _, first, second = folded(entry)
        assert entry["fields"]["word"] in first.split()
        assert entry["fields"]["word"] in second.split()


# --- the suite


def test_cases_are_what_exists() -> None:
    assert tuple(SUITE.cases) == (*TASKS, "facts")
    assert SUITE.cases["facts"] == ("paraphrase",)
    assert SUITE.cases["snli"] == ("semantic", "negational", "symmetric", "transitive")
    assert SUITE.cases["mnli"] == SUITE.cases["qnli"] == SUITE.cases["qqp"] == ("reverse", "signal")
    assert all(list(SUITE.groups(task, kind)) for task, kind in CASES)
    for task, kind in CASES:
        task_named(task).check_relation(kind)


def test_every_relation_that_the_tasks_declare_valid_occurs() -> None:
    declared = set(chain.from_iterable(task.relations for task in built_in().values()))
    occurring = {kind for _, kind in CASES}
    ours = {"semantic_negated", "transitive_new", "transitive_swapped"}  # parts of the published WiC files
    assert declared - ours <= occurring


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="merging two pairs breaks entailment"):
        SUITE.groups("snli", "additive")
    with pytest.raises(UsageError, match="sample has no task kornli"):
        SUITE.groups("kornli", "reverse")
    for kind in ("pair", "example"):
        with pytest.raises(UsageError):
            SUITE.groups("mnli", kind)


def test_ids() -> None:
    groups = all_groups()
    assert len({g.id for g in groups}) == len(groups)
    items = [item.id for g in groups for item in g.items]
    items += [item.id for task in SUITE.cases for item in SUITE.examples(task)]
    assert len(set(items)) == len(items)
    for (task, kind), written in WRITTEN.items():
        for made in sample.FORMATS if kind == "pair" else (kind,):
            found = [g.id for g in SUITE.groups(task, made)]
            assert found == [f"sample/{task}/{made}/{n}" for n in range(written)]
    for g in groups:
        assert [item.id for item in g.items] == [f"{g.id}/{i}" for i in range(len(g.items))]


def test_groups_are_labelled() -> None:
    expect = {"negational": "different", "transitive": "implied", "additive": "implied"}
    for g in all_groups():
        assert g.suite == "sample"
        assert g.expect == expect.get(g.kind, "same")
        assert all(item.task == g.task for item in g.items)
        assert all(item.choices == task_named(g.task).labels for item in g.items)
        assert bool(g.cluster) == (g.kind in sample.FORMATS)  # the two share their originals


def test_a_pair_in_the_other_order() -> None:
    group = next(SUITE.groups("qqp", "reverse"))
    original, variant = group.items
    first, second = texts(lines("pair", "qqp")[0]["items"][0])
    assert original.fields == {"first": f"Question1: {first}", "second": f"Question2: {second}"}
    assert variant.fields == {"first": f"Question2: {second}", "second": f"Question1: {first}"}
    assert (original.role, variant.role) == ("original", "variant")
    assert original.accepted == variant.accepted == ("duplicate",)
    assert original.template == variant.template == "calm"


def test_a_pair_with_ten_signs() -> None:
    group = next(SUITE.groups("mnli", "signal"))
    assert [item.role for item in group.items] == ["original"] + ["variant"] * 10
    assert {item.accepted for item in group.items} == {("entailment",)}
    starts = [item.fields["second"].split(" ")[0] for item in group.items]
    assert starts[0] == "Hypothesis:"
    assert starts[1:] == [
        "[Hypothesis]",
        "{Hypothesis}",
        "(Hypothesis)",
        "<Hypothesis>",
        "Hypothesis;",
        "Hypothesis#",
        "Hypothesis!",
        "Hypothesis@",
        "Hypothesis~",
        "Hypothesis-",
    ]
    assert group.cluster == next(SUITE.groups("mnli", "reverse")).cluster


def test_every_item_can_be_put_to_a_model_after_solved_examples() -> None:
    for task in SUITE.cases:
        shots = [(item, item.accepted[0]) for item in SUITE.examples(task)]
        for kind in SUITE.cases[task]:
            for item in chain.from_iterable(g.items for g in SUITE.groups(task, kind)):
                form = task_named(task).form_of(item)
                assert all(segments_of(item, form))
                assert prompt_of(item, form, shots).endswith(":")


@pytest.mark.parametrize("task", TASKS)
def test_examples_hold_every_label_twice(task: str) -> None:
    found = Counter(item.accepted for item in SUITE.examples(task))
    assert found == {(label,): 2 for label in task_named(task).labels}
    assert {item.role for item in SUITE.examples(task)} == {"original"}


def test_examples_share_no_text_with_what_is_tested() -> None:
    shown = {t for line in lines("example") for entry in line["items"] for t in folded(entry)}
    tested = {t for line in LINES if line["kind"] != "example" for e in line["items"] for t in folded(e)}
    assert not shown & tested


def test_notes() -> None:
    assert all(SUITE.notes(task, kind) for task, kind in CASES)
