from __future__ import annotations

import math
from collections import Counter

import pytest

from unwaver.errors import ModelError, UsageError
from unwaver.models import fake
from unwaver.types import Model, Request

LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("True", "Neither", "False")


def request(*segments, choices=LABELS, words=WORDS, replicate=0):
    return Request("snli", segments, "\n".join(segments), choices, words, "id", replicate)


def answers(model, requests):
    got = [pair for batch in model.answer(requests) for pair in batch]
    assert sorted(i for i, _ in got) == list(range(len(requests)))
    return [a for _, a in sorted(got, key=lambda pair: pair[0])]


def test_constant_says_the_first_choice_or_the_label():
    assert isinstance(fake.open_model("constant"), Model)
    [answer] = answers(fake.open_model("constant"), [request("a")])
    assert answer.text == "True"
    assert [round(math.exp(x), 3) for x in answer.logprobs] == [0.9, 0.05, 0.05]
    assert answers(fake.open_model("constant", label="neutral"), [request("a")])[0].text == "Neither"


def test_an_unknown_label_is_refused():
    with pytest.raises(ModelError, match="maybe is not a label of snli"):
        answers(fake.open_model("constant", label="maybe"), [request("a")])


def test_an_unknown_kind_is_refused():
    with pytest.raises(UsageError) as e:
        fake.open_model("constent")
    assert e.value.hint == "did you mean constant?"


def test_keyword_without_words_is_refused():
    with pytest.raises(UsageError, match="no words given"):
        fake.open_model("keyword", words=" ,")


def test_random_depends_on_the_question_not_on_the_order():
    requests = [request(str(i)) for i in range(600)]
    model = fake.open_model("random", seed=1)
    there = answers(model, requests)
    back = answers(model, requests[::-1])[::-1]
    assert there == back
    assert there != answers(fake.open_model("random", seed=2), requests)
    assert all(150 < n < 250 for n in Counter(a.text for a in there).values())
    assert all(abs(sum(map(math.exp, a.logprobs)) - 1) < 1e-9 for a in there)
    assert all(WORDS[a.logprobs.index(max(a.logprobs))] == a.text for a in there)
    assert not model.deterministic


def test_random_replicates_differ():
    given = answers(fake.open_model("random"), [request("a", replicate=r) for r in range(20)])
    assert len({a.text for a in given}) == 3


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("She is not here", "False"),
        ("He isn't", "False"),
        ("NEVER", "False"),
        ("a note", "True"),
        ("knot", "True"),
    ],
)
def test_keyword_answers_negation_with_the_negative_label(text, word):
    assert answers(fake.open_model("keyword"), [request("p", text)])[0].text == word


def test_keyword_with_words_of_ones_own():
    model = fake.open_model("keyword", words="red, blue", label="neutral")
    assert [a.text for a in answers(model, [request("a Blue car"), request("no car")])] == ["Neither", "True"]
    assert model.settings["words"] == ("red", "blue")


def test_keyword_with_one_choice_and_free_text():
    assert answers(fake.open_model("keyword"), [request("a", choices=("x",), words=())])[0].text == "x"
    assert answers(fake.open_model("keyword"), [request("a", choices=(), words=())])[0].text == "fake"


def test_a_share_of_the_calls_fails():
    given = answers(fake.open_model("constant", fail=0.3), [request(str(i)) for i in range(1000)])
    assert 250 < sum(a.error is not None for a in given) < 350
