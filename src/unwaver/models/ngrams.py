"""A bag of n-grams trained as fastText trains one (Joulin et al. 2017): unwaver's own, not the package.

Each n-gram (hashed) has a vector; a text is the mean of the vectors of its n-grams, and a linear layer tells its
class. Both are trained by stochastic gradient descent, with a rate that falls to 0 along a straight line. There is
nothing nonlinear between the two, so what is kept is their product: one weight for each n-gram and class.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unwaver.errors import UsageError
from unwaver.stats import Floats, Ints
from unwaver.stats.linear import Linear

MEAN = "mean"  # how n-grams are weighted: by their share of the text


def words_of(text: str) -> list[str]:
    """words_of("A dog runs.") -> ["a", "dog", "runs", "."]: lower case, signs apart from words."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


@dataclass(frozen=True)
class Descent:
    """The defaults are those of ParaNLU: 5 epochs, rate .1; vectors have fastText's 100 numbers."""

    epochs: int = 5
    rate: float = 0.1
    dimension: int = 100

    def __post_init__(self) -> None:
        for name, value in (("epochs", self.epochs), ("rate", self.rate), ("dimension", self.dimension)):
            if not 0 < value < float("inf"):
                raise UsageError(f"--{name} is {value:g}, expected more than 0", hint="leave it out")


def fit_ngrams(
    shares: Any,
    classes: Ints,
    count: int,
    how: Descent,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Linear:
    """`shares` has a row for each text (scipy.sparse, CSR): the share of each n-gram; rows sum to 1. `progress`
    hears of each epoch."""
    random = np.random.default_rng(seed)
    width = shares.shape[1]
    vectors = random.uniform(-1 / how.dimension, 1 / how.dimension, (width, how.dimension))
    layer = np.zeros((count, how.dimension))
    steps, done = how.epochs * shares.shape[0], 0
    for _ in range(how.epochs):
        for row in random.permutation(shares.shape[0]):
            rate = how.rate * (1 - done / steps)
            done += 1
            start, end = shares.indptr[row], shares.indptr[row + 1]
            if start != end:
                _step(vectors, layer, shares.indices[start:end], shares.data[start:end], classes[row], rate)
        progress(1)
    return Linear(vectors @ layer.T, np.zeros(count))


def _step(vectors: Floats, layer: Floats, grams: Ints, share: Floats, right: int, rate: float) -> None:
    """One text: both are changed in place. As in fastText, every n-gram gets its share of the gradient."""
    hidden = share @ vectors[grams]
    scores = layer @ hidden
    odds = np.exp(scores - scores.max())
    error = -odds / odds.sum()
    error[right] += 1
    back = rate * (error @ layer)
    layer += rate * np.outer(error, hidden)
    vectors[grams] += share[:, None] * back
