"""What answers cost, where prices are known, and what happens when a cost cap cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from unwaver.asking.budget import Budget, Spent
from unwaver.asking.prices import Price
from unwaver.asking.purse import Purse
from unwaver.models.parts import Parts
from unwaver.types import Answer, Model, Request


def pay(
    price: Price, budget: Budget, spent: Spent, purse: Purse, model: Model, request: Request, answer: Answer
) -> bool:
    """Count what an answer took; without usage, all that it can have cost. Is it more than was set aside?"""
    tokens_in, tokens_out = answer.usage or (0, 0)
    most = budget.worst(model, request) or 0.0
    cost = reported(price, answer)
    if cost is None:
        # tries that a server may bill have been counted one by one, where the model tells of them
        cost = 0.0 if answer.error is not None and Parts(model).meter is not None else most
    purse.settle(most, cost)
    if budget.max_cost is None or cost <= most * (1 + 1e-9):
        return False
    spent.stopped = spent.stopped or (
        f"a reply of {model.name} cost {cost:.3g}, more than the {most:.3g} that its limits allow "
        f"({tokens_in:,} prompt tokens, {tokens_out:,} answer tokens): --max-cost cannot be enforced"
    )
    return True


def reported(price: Price, answer: Answer) -> float | None:
    """The cost of what the server says that it took; None if it says nothing."""
    if answer.usage is None:
        return None
    cached = answer.beside.cached_tokens if answer.beside else None
    return price.cost(*answer.usage, cached or 0)


class Worst(Sequence[float]):
    """The most that each request may cost, worked out when it is looked at: under a cap, few may fit at a time."""

    def __init__(self, budget: Budget, model: Model, requests: Sequence[Request]):
        self._budget, self._model, self._requests = budget, model, requests

    def __len__(self) -> int:
        return len(self._requests)

    def __getitem__(self, place: Any) -> Any:
        most = self._budget.worst(self._model, self._requests[place])
        return inf if most is None else most


def finishing(model: Model) -> bool:
    """Let a model end what is in flight and send nothing more, if it can."""
    finish = Parts(model).finish
    if finish is not None:
        finish()
    return finish is not None
