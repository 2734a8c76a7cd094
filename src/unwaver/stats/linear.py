"""A linear classifier: multinomial logistic regression with an L2 penalty, fitted by L-BFGS.

Features are rows of a dense or a sparse (scipy.sparse) matrix; classes are numbered from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unwaver.stats import Floats, Ints


@dataclass(frozen=True)
class Linear:
    weights: Floats  # one column a class
    bias: Floats

    def log_probabilities(self, features: Any) -> Floats:
        return _log_softmax(np.asarray(features @ self.weights) + self.bias)

    def predict(self, features: Any) -> Ints:
        return np.asarray(self.log_probabilities(features).argmax(axis=1), dtype=np.int64)


def fit(features: Any, classes: Ints, count: int, *, penalty: float = 1.0, iterations: int = 100) -> Linear:
    """Minimise the summed log-loss plus penalty/2 · |weights|²; the bias is free."""
    from scipy.optimize import minimize

    rows, width = features.shape
    target = np.zeros((rows, count))
    target[np.arange(rows), classes] = 1.0

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights, bias = flat[: width * count].reshape(width, count), flat[width * count :]
        logs = _log_softmax(np.asarray(features @ weights) + bias)
        wrong = np.exp(logs) - target
        gradient = np.asarray(features.T @ wrong) + penalty * weights
        value = -float(logs[target > 0].sum()) + penalty / 2 * float((weights**2).sum())
        return value / rows, np.concatenate([gradient.ravel(), wrong.sum(axis=0)]) / rows

    found = minimize(
        loss, np.zeros((width + 1) * count), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )
    return Linear(found.x[: width * count].reshape(width, count), found.x[width * count :])


def _log_softmax(scores: Floats) -> Floats:
    top = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(top - np.log(np.exp(top).sum(axis=1, keepdims=True)))
