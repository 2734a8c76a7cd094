"""The fastText-like bag of n-grams: against plain Python, on examples that can be learnt, and from the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

from unwaver.cli.bow_verb import command as bow
from unwaver.errors import UsageError
from unwaver.models.bow import features, open_model
from unwaver.models.ngrams import MEAN, Descent, fit_ngrams
from unwaver.types import Request


def plain(rows: list[list[float]], classes: list[int], count: int, how: Descent, seed: int) -> list[list[float]]:
    """The same descent, number by number."""
    random = np.random.default_rng(seed)
    width, size = len(rows[0]), how.dimension
    vectors = random.uniform(-1 / size, 1 / size, (width, size)).tolist()
    layer = [[0.0] * size for _ in range(count)]
    done, steps = 0, how.epochs * len(rows)
    for _ in range(how.epochs):
        for n in random.permutation(len(rows)):
            rate = how.rate * (1 - done / steps)
            done += 1
            hidden = [sum(rows[n][g] * vectors[g][d] for g in range(width)) for d in range(size)]
            scores = [sum(w * h for w, h in zip(layer[k], hidden, strict=True)) for k in range(count)]
            total = sum(map(math.exp, scores))
            error = [(k == classes[n]) - math.exp(scores[k]) / total for k in range(count)]
            back = [sum(error[k] * layer[k][d] for k in range(count)) for d in range(size)]
            for k in range(count):
                for d in range(size):
                    layer[k][d] += rate * error[k] * hidden[d]
            for g in range(width):
                for d in range(size):
                    vectors[g][d] += rate * rows[n][g] * back[d]
    return [
        [sum(v * w for v, w in zip(vectors[g], layer[k], strict=True)) for k in range(count)] for g in range(width)
    ]


def test_it_descends_as_plain_python_does() -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 3, (12, 6)).astype(float)
    rows[:, 0] += 1
    rows /= rows.sum(axis=1, keepdims=True)
    classes = random.integers(0, 3, 12)
    how = Descent(epochs=3, rate=0.7, dimension=4)
    found = fit_ngrams(csr_matrix(rows), classes, 3, how, seed=5)
    expected = plain(rows.tolist(), classes.tolist(), 3, how, 5)
    assert np.allclose(found.weights, expected, rtol=1e-9, atol=1e-12)


def test_shares_of_a_text_sum_to_one() -> None:
    matrix = features(["a dog runs", "a a", ""], MEAN)
    assert np.allclose(matrix.sum(axis=1).ravel(), [[1, 1, 0]])


def test_the_command_trains_a_model_that_can_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    lines = [f"It is day {n}.,{'good' if n % 2 else 'bad'} and {n},{n % 2}" for n in range(40)]
    path.write_text("\n".join(["sentence1,sentence2,label", *lines]))
    options = ["--task", "delta-snli", "--like", "fasttext", "--epochs", "60", "--rate", "1"]
    for out in ("one", "two"):
        done = CliRunner().invoke(bow, [str(path), *options, "--out", str(tmp_path / out)])
        assert done.exit_code == 0, done.exception
    about = json.loads((tmp_path / "one" / "model.json").read_text())
    assert (about["like"], about["features"], about["epochs"]) == ("fasttext", "mean", 60)
    model = open_model(str(tmp_path / "one"))
    assert model.identity == open_model(str(tmp_path / "two")).identity  # the seed decides
    labels = ("weakener", "strengthener")
    asked = [Request("delta-snli", ("It is day.", f"{word} and"), "", labels, labels) for word in ("bad", "good")]
    (batch,) = model.answer(asked)
    model.check([Request("delta-social", ("You lie.", "bad"), "", labels, labels)])  # one model for all of δ-NLI
    assert [max((0, 1), key=answer.logprobs.__getitem__) for _, answer in batch] == [0, 1]


def test_what_it_refuses(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--rate is 0"):
        Descent(rate=0)
    done = CliRunner().invoke(bow, ["x.csv", "--task", "snli", "--rate", "1", "--out", str(tmp_path / "m")])
    assert "--rate has no effect without --like fasttext" in str(done.exception)
