from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import ModelError, UsageError
from unwaver.models.hf import open_model
from unwaver.models.hf_classifier import joined_labels
from unwaver.models.hf_common import in_threads, length_batches
from unwaver.types import Answer, Request

NLI = ("entailment", "neutral", "contradiction")


def request(*segments: str, choices: tuple[str, ...] = NLI, task: str = "snli") -> Request:
    return Request(task, segments, "", choices, choices)


def answers(model: Any, requests: list[Request]) -> list[Answer]:
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[i] for i in range(len(requests))]


PAIRS = [
    ("A man plays a guitar on a stage in front of a crowd.", "A man makes music."),
    ("A dog.", "There is no dog."),
    ("Two women cook dinner in a small kitchen while it rains.", "The women are sisters."),
    ("", "Nothing at all."),
    ("word " * 700, "Long."),
]


@pytest.fixture(scope="module")
def model(nli_model: Path) -> Any:
    return open_model(str(nli_model))


def test_equals_one_text_at_a_time(model: Any, nli_model: Path) -> None:
    """Batched, sorted and padded, against transformers asked pair by pair in float32."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(nli_model)
    plain = AutoModelForSequenceClassification.from_pretrained(nli_model, dtype=torch.float32).eval()
    found = answers(model, [request(*pair) for pair in PAIRS])
    for pair, answer in zip(PAIRS, found, strict=True):
        inputs = tokenizer(*pair, truncation=True, max_length=512, return_tensors="pt")
        with torch.inference_mode():
            expected = torch.log_softmax(plain(**inputs).logits[0], -1).tolist()
        assert answer.logprobs == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert [a.truncated for a in found] == [False, False, False, False, True]


def test_half_precision_checkpoints_are_asked_in_single(model: Any) -> None:
    model.load()
    assert {str(p.dtype) for p in model._model.parameters()} == {"torch.float32"}
    assert model.settings["dtype"] == "float32"


def test_neighbours_in_a_batch_change_nothing(model: Any) -> None:
    alone = [answers(model, [request(*p)])[0] for p in PAIRS[:4]]
    together = answers(model, [request(*p) for p in PAIRS])[:4]
    for a, b in zip(alone, together, strict=True):
        assert a.logprobs == pytest.approx(b.logprobs, rel=1e-4, abs=1e-4)


@pytest.fixture
def two_threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_batches_at_a_time_say_the_same(model: Any, nli_model: Path, two_threads: None) -> None:
    several = open_model(str(nli_model), batch_tokens=64)
    asked = [request(*p) for p in PAIRS[:4]] * 10
    for a, b in zip(answers(several, asked), answers(model, asked), strict=True):
        assert a.logprobs == pytest.approx(b.logprobs, rel=1e-4, abs=1e-4)


def test_in_threads(two_threads: None) -> None:
    """In order, several at a time, each with its share of the threads; errors come through; it can be left."""
    import torch

    names, seen = set(), []

    def do(part: int) -> int:
        names.add(threading.current_thread().name)
        time.sleep(0.01 * (part % 3))
        seen.append(torch.get_num_threads())
        if part == 50:
            raise ValueError("fifty")
        return part * part

    assert list(in_threads(do, range(20), torch, "cpu")) == [(n, n * n) for n in range(20)]
    assert len(names) == 2
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError, match="fifty"):
        list(in_threads(do, range(45, 60), torch, "cpu"))
    seen.clear()
    left = in_threads(do, range(1000), torch, "cpu")
    next(left)
    left.close()  # type: ignore[attr-defined]
    assert len(seen) < 10, "what is not wanted is not done"


def test_identity_is_the_weights_not_the_place(nli_model: Path, model: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(nli_model, copy)
    for path in copy.iterdir():
        path.chmod(0o644)
    assert open_model(str(copy)).identity == model.identity
    config = (copy / "config.json").read_text()
    (copy / "config.json").write_text(config.replace('"num_hidden_layers": 6', '"num_hidden_layers": 5'))
    assert open_model(str(copy)).identity != model.identity


def test_probabilities_are_summed_by_map(nli_model: Path, model: Any) -> None:
    import math

    mapped = open_model(str(nli_model), map={"neutral": "not_entailment", "contradiction": "not_entailment"})
    two = answers(mapped, [request(*PAIRS[0], choices=("entailment", "not_entailment"), task="rte")])[0]
    three = answers(model, [request(*PAIRS[0])])[0]
    assert two.logprobs[0] == pytest.approx(three.logprobs[0], rel=1e-5, abs=1e-5)
    assert math.exp(two.logprobs[1]) == pytest.approx(sum(map(math.exp, three.logprobs[1:])), rel=1e-5, abs=1e-5)
    assert mapped.settings != model.settings


def test_unmatched_labels_show_both_sides_and_the_way_out(model: Any) -> None:
    with pytest.raises(ModelError) as raised:
        model.check([request("a", "b", choices=("entailment", "not_entailment"), task="rte")])
    assert "entailment, neutral, contradiction" in str(raised.value)
    assert "entailment, not_entailment" in str(raised.value)
    assert raised.value.hint is not None
    assert "--map neutral=not_entailment" in raised.value.hint


@pytest.mark.parametrize(
    ("choices", "labels", "mapping", "expected"),
    [
        (NLI, ["CONTRADICTION", "Neutral", "entailment"], {}, [[2], [1], [0]]),
        (("not_equivalent", "equivalent"), ["Not Equivalent", "equivalent"], {}, [[0], [1]]),
        (
            ("negative", "positive"),
            ["LABEL_0", "LABEL_1"],
            {"LABEL_0": "negative", "LABEL_1": "positive"},
            [[0], [1]],
        ),
        (NLI, list(NLI), {"neutral": "not_entailment"}, [[0], [1], [2]]),  # meant for another task of the run
        (
            ("entailment", "not_entailment"),
            list(NLI),
            {"neutral": "weakener|not_entailment", "contradiction": "weakener|not_entailment"},
            [[0], [1, 2]],
        ),
    ],
)
def test_joined_labels(choices: Any, labels: list[str], mapping: Any, expected: Any) -> None:
    assert joined_labels("t", choices, dict(enumerate(labels)), mapping) == expected


@pytest.mark.parametrize(
    ("labels", "mapping"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], {}),
        (["entailment", "neutral"], {}),
        (["entailment", "neutral", "x"], {}),
    ],
)
def test_ambiguous_labels_are_refused(labels: list[str], mapping: Any) -> None:
    with pytest.raises(ModelError, match="do not match"):
        joined_labels("snli", NLI, dict(enumerate(labels)), mapping)


def test_single_texts_and_a_wrong_method(nli_model: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        id2label={0: "Negative", 1: "Positive"}, label2id={"Negative": 0, "Positive": 1},
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(nli_model).save_pretrained(tmp_path)
    model = open_model(str(tmp_path))
    found = answers(model, [request("a fine film", choices=("negative", "positive"), task="sst2")])
    assert len(found[0].logprobs) == 2
    with pytest.raises(UsageError, match="is a classifier"):
        open_model(str(tmp_path), method="generate")


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 500))
def test_batches_hold_everything_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(length_batches(lengths, budget, most=16))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget
        assert len(batch) <= 16


def test_a_label_may_mean_another_in_another_task() -> None:
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    several = {
        "entailment": "strengthener",
        "neutral": "not_entailment|weakener",
        "contradiction": "not_entailment|weakener",
    }
    assert joined_labels("rte", ("entailment", "not_entailment"), labels, several) == [[0], [1, 2]]
    assert joined_labels("delta-snli", ("weakener", "strengthener"), labels, several) == [[1, 2], [0]]
    assert joined_labels("snli", tuple(labels.values()), labels, several) == [[0], [1], [2]]
