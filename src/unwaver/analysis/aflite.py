"""AFLite (Sakaguchi et al. 2021): which examples are easy for linear models on given embeddings?

Each round trains linear models on random examples; an example's score is the share of models that get it right
while it is held out. The best examples above the threshold move to the easy side, until few move in a round. What
stays is difficult. (The ParaNLU paper prints the two sides the other way round.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unwaver.errors import UsageError
from unwaver.stats import Floats, Ints
from unwaver.stats.linear import fit


@dataclass(frozen=True)
class Sides:
    """Row numbers, in order; `moved` is how many became easy in each round."""

    easy: Ints
    difficult: Ints
    moved: tuple[int, ...]


def aflite(
    embeddings: Floats,
    labels: Ints,
    *,
    models: int = 64,
    train: int = 5000,
    most: int = 500,
    threshold: float = 0.75,
    seed: int = 0,
) -> Sides:
    """The defaults are those of the ParaNLU paper: n = 64, m = 5000, k = 500, τ = 0.75."""
    if len(embeddings) != len(labels) or embeddings.ndim != 2:
        raise UsageError(
            f"{len(embeddings)} embeddings for {len(labels)} labels", hint="give one row and one label per example"
        )
    if train >= len(labels):
        raise UsageError(
            f"{train} of {len(labels)} examples are to be trained on: none is held out",
            hint="take fewer (--train), such as half of them",
        )
    names, classes = np.unique(labels, return_inverse=True)
    rng = np.random.default_rng(seed)
    left = np.arange(len(labels))
    easy: list[Ints] = []
    while train < len(left):
        scores = _held_out_scores(embeddings[left], classes[left], len(names), models, train, rng)
        above = np.flatnonzero(scores > threshold)
        chosen = above[np.argsort(-scores[above], kind="stable")][:most]
        easy.append(left[chosen])
        left = np.delete(left, chosen)
        if len(chosen) < most:
            break
    moved = tuple(len(e) for e in easy)
    return Sides(np.sort(np.concatenate(easy)), left, moved)


def _held_out_scores(
    embeddings: Floats, classes: Ints, count: int, models: int, train: int, rng: np.random.Generator
) -> Floats:
    right, held_out = np.zeros(len(classes)), np.zeros(len(classes))
    for _ in range(models):
        order = rng.permutation(len(classes))
        seen, rest = order[:train], order[train:]
        predicted = fit(embeddings[seen], classes[seen], count).predict(embeddings[rest])
        right[rest] += predicted == classes[rest]
        held_out[rest] += 1
    return np.divide(right, held_out, out=np.zeros(len(classes)), where=held_out > 0)
