"""Builders that put items together or lay them out anew: swap, reverse, signal, additive, transitive."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.errors import UsageError
from unwaver.groups import group_to_json
from unwaver.suites import own
from unwaver.tasks import Relation, built_in, plain_task, segments_of
from unwaver.tasks.calm_layout import SIGNS
from unwaver.tasks.prompts import prompt_of
from unwaver.text.refused import Refused
from unwaver.types import Group, Item, replace
from unwaver.variants.compose import additive
from unwaver.variants.render import reverse, signal
from unwaver.variants.source import Source
from unwaver.variants.swap import swap
from unwaver.variants.transitive import transitive

TASKS = built_in()
E, N, C = "entailment", "neutral", "contradiction"


def source(task, *rows):
    """Rows of texts with the label last; None is a label that is not known."""
    task = TASKS[task] if isinstance(task, str) else task
    items = (
        Item(str(n), task.name, "original", dict(zip(task.fields, texts, strict=True)), task.labels, (label,) if label else ())
        for n, (*texts, label) in enumerate(rows)
    )  # fmt: skip
    return Source("mine", task, tuple(items))


def split(made):
    made = list(made)
    return [m for m in made if isinstance(m, Group)], [m for m in made if isinstance(m, Refused)]


# --- swap -----------------------------------------------------------------------------------------------------


def test_swap_obeys_the_labels_of_the_task():
    groups, refused = split(swap()(source("snli", ("a", "b", C), ("a", "b", E), ("a", "b", None))))
    (group,) = groups
    assert group.id == "mine/snli/symmetric/0"
    assert [dict(i.fields) for i in group.items] == [
        {"premise": "a", "hypothesis": "b"},
        {"premise": "b", "hypothesis": "a"},
    ]
    assert [i.accepted for i in group.items] == [(C,), (C,)]
    assert refused == [
        Refused("symmetric holds only where the label is contradiction", "1"),
        Refused("no gold label, and symmetric holds only where it is contradiction", "2"),
    ]


def test_swap_needs_two_texts_and_a_relation_that_holds():
    with pytest.raises(UsageError, match="symmetric does not hold for boolq: the question depends on the passage"):
        list(swap()(source("boolq")))
    with pytest.raises(UsageError, match="symmetric does not hold for mine: an item is one text"):
        list(swap()(source(plain_task("mine", ["text"], ["x", "y"]))))
    with pytest.raises(UsageError, match="symmetric is not known to hold for anli, of type abduction"):
        list(swap()(source("anli")))  # the answer is a place
    assert len(split(swap()(source("qqp", ("a", "b", "duplicate"))))[0]) == 1
    assert len(split(swap()(source(plain_task("mine", ["a", "b"], ["x", "y"]), ("a", "b", "x"))))[0]) == 1


PAIRS = st.lists(
    st.tuples(st.text(max_size=5), st.text(max_size=5), st.sampled_from(TASKS["mrpc"].labels)), max_size=6
)


@given(PAIRS)
def test_swap_twice_is_identity(rows):
    once, _ = split(swap()(source("mrpc", *rows)))
    turned = Source(
        "mine", TASKS["mrpc"], tuple(replace(g.items[1], id=str(n), role="original") for n, g in enumerate(once))
    )
    twice, _ = split(swap()(turned))
    assert [g.items[1].fields for g in twice] == [g.items[0].fields for g in once]
    assert [g.items[0].fields for g in twice] == [g.items[1].fields for g in once]


# --- reverse and signal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [reverse, signal])
def test_formats_keep_texts_and_labels(build):
    groups, refused = split(build()(source("mnli", ("a", "b", E), ("c", "d", None))))
    assert not refused
    assert [g.id for g in groups] == [f"mine/mnli/{build.__name__}/{n}" for n in (0, 1)]
    for group, label in zip(groups, [(E,), ()], strict=True):
        assert len(group.items) == (2 if build is reverse else 1 + len(SIGNS))
        assert {i.accepted for i in group.items} == {label}
        assert {i.template for i in group.items} == {"calm"}
    assert groups[0].items[1].fields == (
        {"first": "Hypothesis: b", "second": "Premise: a"}
        if build is reverse
        else {"first": "[Premise] a", "second": "[Hypothesis] b"}
    )


def test_a_task_without_the_form_gets_one_of_its_field_names():
    (group,), _ = split(reverse()(source("snli", ("a", "b", E))))
    item = group.items[1]
    form = TASKS["snli"].form_of(item)
    assert segments_of(item, form) == ("Hypothesis: b", "Premise: a")
    assert prompt_of(item, form) == (
        "Hypothesis: b Premise: a\nGiven the premise, is the hypothesis True, False or Neither?\nAnswer:"
    )
    mine = plain_task("mine", ["claim", "first_source"], ["no", "yes"])
    (group,), _ = split(signal()(source(mine, ("a", "b", "no"))))
    assert group.items[1].fields == {"first": "[Claim] a", "second": "[First source] b"}
    assert prompt_of(group.items[0], mine.form_of(group.items[0])).startswith(
        "Claim: a First source: b\nAnswer with one of"
    )


def test_a_format_of_a_task_of_ones_own_survives_writing_and_reading(tmp_path):
    mine = plain_task("mine", ["claim", "proof"], ["no", "yes"])
    groups, _ = split(signal()(source(mine, ("a", "b", "no"))))
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(group_to_json(group)) + "\n" for group in groups))
    suite = own.suite(path)
    (read,) = suite.groups("mine", "signal")
    assert read.items == groups[0].items
    item = read.items[1]
    shown = prompt_of(item, suite.tasks["mine"].form_of(item))
    assert (
        shown
        == prompt_of(item, mine.form_of(item))
        == "[Claim] a [Proof] b\nAnswer with one of: no, yes.\nAnswer:"
    )


@pytest.mark.parametrize("task", ["sst2", "wic"])
def test_a_format_needs_two_texts(task):
    with pytest.raises(UsageError, match=f"{task} has no form calm, and none can be made of its prompt"):
        list(reverse()(source(task)))


def test_a_prompt_that_weaves_the_texts_in_is_not_taken_apart():
    task = plain_task("mine", ["a", "b"], ["no", "yes"])
    woven = replace(task, form=replace(task.form, prompt="Does {a} follow from {b} or not?"))
    with pytest.raises(UsageError, match="none can be made of its prompt"):
        list(signal()(source(woven)))


# --- additive -------------------------------------------------------------------------------------------------


def test_additive_joins_texts_of_one_label():
    rows = [("a good film", "positive"), ("a bad film", "negative"), ("a joy ", "positive"), ("?", None)]
    groups, refused = split(additive(limit=5)(source("sst2", *rows)))
    (group,) = groups
    assert group.id == "mine/sst2/additive/0+2"
    assert [i.fields["sentence"] for i in group.items] == ["a good film", "a joy ", "a good film a joy"]
    assert [i.role for i in group.items] == ["original", "original", "conclusion"]
    assert {i.accepted for i in group.items} == {("positive",)}
    assert refused == [
        Refused("no partner of its label left with which it has at most 5 tokens", "1"),
        Refused("no gold label", "3"),
    ]


def test_additive_options():
    rows = [("a b", "positive")] * 6 + [("a b c d e f g h", "positive")] * 3
    assert len(split(additive(how="all")(source("sst2", *rows)))[0]) == 15  # at most 8 tokens, the 75 % quantile
    assert len(split(additive(how="all", cap=4)(source("sst2", *rows)))[0]) == 4
    assert len(split(additive(limit=3)(source("sst2", *rows)))[0]) == 0
    with pytest.raises(UsageError, match="additive: how=some is not known"):
        additive(how="some")
    with pytest.raises(UsageError, match="additive: cap=0 leaves no pairs"):
        additive(cap=0)
    with pytest.raises(UsageError, match="additive does not hold for snli: merging two pairs breaks entailment"):
        list(additive()(source("snli")))
    with pytest.raises(UsageError, match="additive does not hold for mine: an item is 2 texts"):
        list(additive()(source(plain_task("mine", ["a", "b"], ["x", "y"]))))


TEXTS = st.lists(
    st.tuples(st.text("ab ", max_size=9), st.sampled_from(["positive", "negative", None])), max_size=9
)


@given(TEXTS, st.sampled_from(["disjoint", "all"]), st.integers(0, 2))
def test_additive_groups_or_refuses_each_item(rows, how, seed):
    items = source("sst2", *rows)
    groups, refused = split(additive(how=how, seed=seed)(items))
    assert (groups, refused) == split(additive(how=how, seed=seed)(items))
    paired = [name for g in groups for name in g.id.rsplit("/", 1)[1].split("+")]
    assert {*paired, *(r.item for r in refused)} == {i.id for i in items.items}
    assert not set(paired) & {r.item for r in refused}
    assert len({g.id for g in groups}) == len(groups)
    if how == "disjoint":
        assert len(set(paired)) == len(paired)


# --- transitive -----------------------------------------------------------------------------------------------


def conclusions(made):
    return [
        (tuple(g.items[2].fields.values()), g.items[2].accepted, g.tag, g.id.rsplit("/", 1)[1])
        for g in split(made)[0]
    ]


def test_pairs_that_share_a_premise():
    rows = [("p", "e", E), ("p", "n", N), ("p", "c", C), ("q", "e", C)]
    assert conclusions(transitive(how="shared")(source("snli", *rows))) == [
        (("n", "c"), (N, C), "shared_not_entailment", "1+2"),
        (("c", "e"), (C,), "shared_contradiction_candidate", "2+0"),
    ]
    assert conclusions(transitive()(source("snli", *rows))) == conclusions(
        transitive(how="shared")(source("snli", *rows))
    )
    assert conclusions(transitive(how="chained")(source("snli", *rows))) == []


@pytest.mark.parametrize(
    ("first", "second", "accepted", "tag"),
    [
        (E, E, (E,), "chained_entailment"),
        (E, C, (C,), "chained_contradiction"),
        (N, E, (E, N), "chained_not_contradiction"),
        (N, C, (N, C), "chained_not_entailment"),
    ],
)
def test_chains(first, second, accepted, tag):
    rows = [("p", "h", first), ("h", "z", second)]
    assert conclusions(transitive()(source("snli", *rows))) == [(("p", "z"), accepted, tag, "0+1")]
    assert conclusions(transitive(how="chained")(source("snli", *rows, ("p", "z", N)))) == []  # asked already


@pytest.mark.parametrize("labels", [(E, N), (N, N), (C, E), (C, N), (C, C)])
def test_nothing_follows_from_other_chains(labels):
    rows = [("p", "h", labels[0]), ("h", "z", labels[1])]
    groups, refused = split(transitive()(source("snli", *rows)))
    assert not groups
    assert [r.item for r in refused] == ["0", "1"]


def test_chained_rules_are_not_put_to_pairs_that_share_a_premise():
    rows = [("p", "p", E), ("p", "z", C)]
    assert conclusions(transitive(how="chained")(source("snli", *rows))) == []


def test_two_labels():
    rows = [("p", "h", E), ("h", "z", E), ("h", "y", "not_entailment")]
    assert conclusions(transitive()(source("rte", *rows))) == [(("p", "z"), (E,), "chained_entailment", "0+1")]
    with pytest.raises(UsageError, match="how=shared needs the labels entailment, neutral, contradiction"):
        list(transitive(how="shared")(source("rte", *rows)))


def test_meaning_is_shared_whichever_side_it_stands_on():
    yes, no = "equivalent", "not_equivalent"
    rows = [("a", "b", yes), ("a", "c", yes), ("d", "a", no), ("x", "y", no), ("y", "z", no)]
    groups, refused = split(transitive()(source("mrpc", *rows)))
    found = [(tuple(g.items[2].fields.values()), g.items[2].accepted[0]) for g in groups]
    assert found == [(("b", "c"), yes), (("b", "d"), no), (("c", "d"), no)]
    assert [r.item for r in refused] == ["3", "4"]
    disputed = [("a", "b", yes), ("b", "c", yes), ("a", "d", yes), ("d", "c", no)]
    assert split(transitive()(source("mrpc", *disputed)))[0] == []  # both follow: that a is c, and that it is not


def test_senses_stay_with_their_word():
    rows = [("w", "a", "b", "same"), ("w", "b", "c", "different"), ("v", "b", "d", "same")]
    assert conclusions(transitive()(source("wic", *rows))) == [(("w", "a", "c"), ("different",), "new", "0+1")]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("boolq", "transitive does not hold for boolq: two questions about a passage imply no third"),
        ("delta-snli", "no rule is known for delta-snli, of type defeasible with weakener, strengthener"),
        (plain_task("mine", ["text"], [E, N, C]), "transitive does not hold for mine: an item is one text"),
        (replace(TASKS["mrpc"], labels=("a", "b")), "which label of mrpc says that two are alike"),
    ],
)
def test_tasks_without_rules(task, message):
    with pytest.raises(UsageError, match=message):
        list(transitive()(source(task)))


def test_unknown_ways():
    with pytest.raises(UsageError, match="how=chain is not known") as caught:
        transitive(how="chain")
    assert caught.value.hint == "did you mean chained?"
    with pytest.raises(UsageError, match="how=shared is for NLI"):
        list(transitive(how="shared")(source("wic")))


def test_labels_that_the_task_does_not_allow_are_refused():
    task = replace(TASKS["snli"], relations={"transitive": Relation((E,))})
    groups, refused = split(
        transitive()(source(task, ("p", "h", E), ("h", "z", E), ("h", "y", C), ("h", "x", None)))
    )
    assert [g.tag for g in groups] == ["chained_entailment"]
    assert refused == [
        Refused("transitive holds only where the label is entailment", "2"),
        Refused("no gold label", "3"),
    ]


SHORT = st.sampled_from("abcde")
TABLES = {
    "snli": st.lists(st.tuples(SHORT, SHORT, st.sampled_from([E, N, C, None])), max_size=14),
    "rte": st.lists(st.tuples(SHORT, SHORT, st.sampled_from([*TASKS["rte"].labels, None])), max_size=14),
    "mrpc": st.lists(st.tuples(SHORT, SHORT, st.sampled_from([*TASKS["mrpc"].labels, None])), max_size=14),
    "wic": st.lists(
        st.tuples(st.sampled_from("vw"), SHORT, SHORT, st.sampled_from([*TASKS["wic"].labels, None])), max_size=14
    ),
}


@settings(deadline=None)
@given(st.sampled_from(sorted(TABLES)).flatmap(lambda name: st.tuples(st.just(name), TABLES[name])))
def test_conclusions_are_new_and_each_item_is_used_or_refused(table):
    task, rows = table
    items = source(task, *rows)
    groups, refused = split(transitive()(items))
    assert (groups, refused) == split(transitive()(items))
    ids = [i.id for g in groups for i in g.items]
    assert len(set(ids)) == len(ids)
    used = {name for g in groups for name in g.id.rsplit("/", 1)[1].split("+")}
    assert used | {r.item for r in refused} == {i.id for i in items.items}
    assert not used & {r.item for r in refused}
    labelled = {(*i.fields.values(), i.accepted) for i in items.items if i.accepted}
    for group in groups:
        *premises, conclusion = group.items
        assert all(p.accepted and p.role == "original" for p in premises)
        assert (*conclusion.fields.values(), conclusion.accepted) not in labelled
        assert conclusion.fields not in [p.fields for p in premises]
        assert set(conclusion.accepted) < set(conclusion.choices)


WORLDS = st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=2, max_size=6)


@settings(deadline=None)
@given(WORLDS, st.randoms())
def test_what_follows_is_true_of_sets(worlds, random):
    """A text is the set of worlds in which it holds: every conclusion that is not a mere candidate is true there."""
    texts = {f"t{n}": world for n, world in enumerate(worlds)}

    def label(a, b):
        return E if texts[a] <= texts[b] else N if texts[a] & texts[b] else C

    rows = [(a, b, label(a, b)) for a in texts for b in texts if random.random() < 0.6]
    for group in split(transitive()(source("snli", *rows)))[0]:
        conclusion = group.items[2]
        if not group.tag.endswith("candidate"):
            assert label(*conclusion.fields.values()) in conclusion.accepted, group.tag
