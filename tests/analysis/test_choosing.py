"""Choosing examples: AFLite, round-robin over confidence, shares of a training set; and the linear model below."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unwaver.analysis.aflite import aflite
from unwaver.errors import UsageError
from unwaver.stats.linear import fit
from unwaver.stats.sampling import round_robin, training_shares
from unwaver.stats.weights import confidence_bins, published_weights


def half_easy(rng: np.random.Generator, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """The first half can be told by one number, the second by none."""
    labels = rng.integers(0, 2, n)
    embeddings = rng.normal(size=(n, 3))
    embeddings[: n // 2, 0] += 6 * (2 * labels[: n // 2] - 1)
    embeddings[n // 2 :, 0] = 0
    return embeddings, labels


def test_aflite_moves_what_is_easy() -> None:
    embeddings, labels = half_easy(np.random.default_rng(0))
    sides = aflite(embeddings, labels, models=8, train=200, most=60)
    assert sorted([*sides.easy, *sides.difficult]) == list(range(600))
    assert all(moved == 60 for moved in sides.moved[:-1])
    assert len(sides.easy) == sum(sides.moved)
    assert (sides.easy < 300).mean() > 0.7
    first = aflite(embeddings, labels, models=8, train=200, most=100, threshold=0.99)
    assert (first.easy < 300).mean() > 0.6


def test_aflite_stops_when_few_move() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    sides = aflite(rng.normal(size=(300, 2)), labels, models=4, train=100, most=290)
    assert len(sides.moved) == 1
    assert sides.moved[0] < 290


def test_aflite_refuses_what_it_cannot_do() -> None:
    with pytest.raises(UsageError, match="none is held out"):
        aflite(np.zeros((10, 2)), np.zeros(10, dtype=np.int64))
    with pytest.raises(UsageError, match="10 embeddings for 9 labels"):
        aflite(np.zeros((10, 2)), np.zeros(9, dtype=np.int64), train=5)


def test_round_robin_takes_every_decile_in_turn() -> None:
    confidence = np.concatenate([np.full(50, 0.95), np.full(3, 0.05), [0.5]])
    drawn = round_robin(confidence, 10)
    assert len(set(drawn)) == 10
    assert np.bincount(confidence_bins(confidence[drawn]), minlength=10)[[0, 5, 9]].tolist() == [3, 1, 6]
    assert confidence_bins(confidence[drawn[:3]]).tolist() == [0, 5, 9]
    assert len(round_robin(confidence, 1000)) == 54
    assert round_robin(confidence, 10, seed=1).tolist() != drawn.tolist()


def test_round_robin_is_even_where_there_is_enough() -> None:
    confidence = np.random.default_rng(2).random(5000)
    assert set(np.bincount(confidence_bins(confidence[round_robin(confidence, 125)]))) == {12, 13}


def test_training_shares_keep_contexts_together_and_are_nested() -> None:
    keys = [n // 3 for n in range(300)]
    shares = training_shares(keys)
    assert [len(rows) for rows in shares.values()] == [3, 15, 30, 150, 300]
    for small, large in zip(list(shares.values())[:-1], list(shares.values())[1:], strict=True):
        assert set(small) <= set(large)
    assert all(len({keys[r] for r in rows}) * 3 == len(rows) for rows in shares.values())


def test_weights_by_hand() -> None:
    weights = published_weights(np.array([0.1, 0.95, 1.0]), np.array([0.1, 0.5, 0.9, 0.99]))
    assert weights.tolist() == [0.25, 0.25, 0.25]


def test_the_linear_model_is_at_its_optimum() -> None:
    """At the optimum the gradient is 0: predicted and true shares agree, and weights follow from the residuals."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 4))
    classes = (x[:, 0] + rng.normal(size=200) > 0).astype(np.int64) + (x[:, 1] > 1)
    found = fit(x, classes, 3, penalty=0.5, iterations=500)
    residual = np.exp(found.log_probabilities(x)) - np.eye(3)[classes]
    assert np.abs(residual.sum(axis=0)).max() < 0.01
    assert np.abs(x.T @ residual + 0.5 * found.weights).max() < 0.02
    from scipy.sparse import csr_matrix

    sparse = fit(csr_matrix(x), classes, 3, penalty=0.5, iterations=500)
    assert np.allclose(sparse.weights, found.weights, atol=1e-3)


def test_commands(unwaver: Any, tmp_path: Path) -> None:
    embeddings, labels = half_easy(np.random.default_rng(0), 200)
    np.savez(tmp_path / "e.npz", embeddings=embeddings, labels=labels)
    done = unwaver("analyse", "aflite", tmp_path / "e.npz", "--models", 4, "--train", 80, "--most", 30, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["easy"]) + len(found["difficult"]) == 200
    (tmp_path / "c.csv").write_text("id,confidence\na,0.1\nb,0.9\nc,0.95\n")
    done = unwaver("analyse", "draw", tmp_path / "c.csv", "--count", 2, "--json")
    assert {d["id"] for d in json.loads(done.stdout)["drawn"]} in ({"a", "b"}, {"a", "c"})
    (tmp_path / "c.csv").write_text("id,confidence\na,0.1\nb,much\n")
    assert "c.csv:3" in unwaver("analyse", "draw", tmp_path / "c.csv").stderr
    assert "expected embeddings and labels" in unwaver("analyse", "aflite", tmp_path / "c.csv").stderr
