"""Certifiers as one writes them, and the questions they ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import UsageError
from unwaver.groups.certify import Reading, standings
from unwaver.types import Group, Item, replace
from unwaver.variants.certifiers import certifiers_for, parse_certifier, refused_by, with_candidates
from unwaver.variants.source import Rewrite, renamed

NLI = ("entailment", "neutral", "contradiction")
FIELDS = {"premise": "A man naps in the park.", "hypothesis": "A man sleeps outside."}
GROUP = Group("s/snli/fooling/7", "s", "snli", "fooling", "same", (
    Item("s/snli/fooling/7/0", "snli", "original", FIELDS, NLI, ("entailment",)),
))  # fmt: skip


def candidates(*texts, judges=(), encoder=None, group=GROUP):
    parsed = [parse_certifier(j) for j in judges]
    return with_candidates(group, [Rewrite(t) for t in texts], "hypothesis", parsed, encoder)


@pytest.mark.parametrize(
    ("text", "kind", "model", "at_least"),
    [
        ("entail=self", "entail", "self", 0.0),
        ("entail=hf/a/b", "entail", "hf/a/b", 0.0),
        ("entail=self@0.7", "entail", "self", 0.7),
        ("same=embedding/enc@.9", "same", "embedding/enc", 0.9),
        ("distance=0.1:0.9", "distance", "", 0.0),
    ],
)
def test_what_one_writes(text, kind, model, at_least):
    judge = parse_certifier(text)
    assert (judge.kind, judge.model, judge.at_least) == (kind, model, at_least)
    assert (judge.asks is None) == (not model) == (judge.refuses is not None)


@pytest.mark.parametrize(
    ("text", "limits"),
    [("distance=0.1:0.2", "0.1 and 0.2"), ("distance=0.99:", "0.99 and 1"), ("length=:0.01", "0 and 0.01")],
)
def test_limits_may_be_left_out(text, limits):
    assert refused_by(parse_certifier(text), "one two three", "one four").endswith(f"is not within {limits}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("entails=self", "unknown certifier"),
        ("entail", "unknown certifier"),
        ("entail=", "unknown certifier"),
        ("same=hf/x@high", "expected a probability"),
        ("same=hf/x@0", "expected a probability"),
        ("same=hf/x@1.5", "expected a probability"),
        ("distance=0.5", "expected LOW:HIGH"),
        ("distance=0.9:0.1", "expected LOW:HIGH"),
        ("length=-1:2", "expected LOW:HIGH"),
        ("length=a:b", "expected LOW:HIGH"),
    ],
)
def test_what_one_may_not_write(text, said):
    with pytest.raises(UsageError, match=said) as error:
        parse_certifier(text)
    assert "entail=self" in error.value.hint or "did you mean" in error.value.hint


def test_the_protocol_has_a_judge_of_its_own():
    assert [(judge.kind, judge.model) for judge in certifiers_for("fooling", ())] == [("entail", "self")]
    assert certifiers_for("semantic", ()) == []
    assert [judge.kind for judge in certifiers_for("fooling", ("length=0.5:2",))] == ["length"]


def test_both_directions_are_asked():
    group = candidates("Outside, a man sleeps.", judges=["entail=self"])
    _, variant, forward, back = group.items
    assert (variant.id, variant.role) == ("s/snli/fooling/7/1", "variant")
    assert variant.fields == {**FIELDS, "hypothesis": "Outside, a man sleeps."}
    assert variant.accepted == ("entailment",)
    assert forward.fields == {"premise": FIELDS["hypothesis"], "hypothesis": "Outside, a man sleeps."}
    assert back.fields == {"premise": "Outside, a man sleeps.", "hypothesis": FIELDS["hypothesis"]}
    for judge in (forward, back):
        assert (judge.role, judge.judge, judge.about, judge.task) == ("judge", "self", variant.id, "snli")
        assert (judge.accepted, judge.choices) == (("entailment",), NLI)


def test_a_pair_classifier_and_an_encoder():
    group = candidates(
        "Outside, a man sleeps.", judges=["same=hf/pairs@0.8", "same=embedding/enc@0.9"], encoder="e"
    )
    pair, similar, measure = group.items[2:]
    assert (pair.task, pair.at_least, pair.accepted) == ("mrpc", 0.8, ("equivalent",))
    assert (similar.task, similar.at_least, similar.accepted) == ("same_meaning", 0.9, ("same",))
    assert (measure.judge, measure.accepted, measure.at_least) == ("embedding/e", (), 0.0)


def test_two_judges_of_one_kind_do_not_share_an_id():
    group = candidates("Outside, a man sleeps.", judges=["entail=hf/a", "entail=hf/b", "same=hf/c", "same=hf/d"])
    ids = [item.id for item in group.items]
    assert len(set(ids)) == len(ids)


def test_equal_texts_are_no_candidates():
    texts = ["a man sleeps outside", "A man  sleeps outside!", "", "  ", "He naps.", "he naps", "He naps?"]
    group = candidates(*texts)
    assert [i.fields["hypothesis"] for i in group.items[1:]] == ["He naps."]


def test_numbers_go_on_and_what_is_there_is_not_added_again():
    first = candidates("He naps.", judges=["entail=self"])
    second = candidates("He naps!", "He dozes.", judges=["entail=self"], group=first)
    assert [i.id for i in second.items if i.role == "variant"] == [f"{GROUP.id}/1", f"{GROUP.id}/2"]
    assert len({i.id for i in second.items}) == len(second.items)


@pytest.mark.parametrize(
    ("judge", "text", "is_refused"),
    [
        ("distance=0.1:", "A man sleeps outside now.", False),
        ("distance=0.9:", "A man sleeps outside now.", True),
        ("distance=:0.1", "Nobody is here", True),
        ("length=0.5:2", "He naps.", False),
        ("length=1:2", "He naps.", True),
        ("length=:1", "A man who is tired sleeps outside.", True),
        ("entail=self", "anything", False),
    ],
)
def test_bars_speak_at_once(judge, text, is_refused):
    reason = refused_by(parse_certifier(judge), FIELDS["hypothesis"], text)
    assert (reason is not None) == is_refused
    group = candidates(text, judges=[judge])
    assert (group.items[1].certified is False) == is_refused
    if is_refused:
        assert judge.partition("=")[0] in reason
        assert len(group.items) == 2, "nobody else is asked"


@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_text_is_a_candidate_once_or_left_out(texts):
    group = candidates(*texts, judges=["entail=self", "length=0.1:50"])
    variants = [i for i in group.items if i.role == "variant"]
    assert len({i.id for i in group.items}) == len(group.items)
    assert len({i.fields["hypothesis"] for i in variants}) == len(variants) <= len(texts)
    assert all(i.fields["hypothesis"].strip() for i in variants)
    assert {i.about for i in group.items if i.role == "judge"} == {i.id for i in variants if i.certified is None}


def test_a_renamed_group_keeps_its_judges():
    group = renamed(candidates("He naps.", judges=["entail=self"]), "other")
    assert [i.id for i in group.items] == ["other/0", "other/1", "other/1/forward", "other/1/back"]
    answers = {"other/1/forward": Reading("answered", "neutral")}
    assert standings(group, lambda item: answers.get(item.id, Reading())) == {"other/1": "rejected"}
    assert replace(group, id="x").items == group.items
