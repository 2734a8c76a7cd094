"""Answers that come in batches, hours after their requests were sent, and what these may cost until then."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.asking.ask import Asker, Plan
from unwaver.asking.paying import Worst
from unwaver.console import Progress
from unwaver.types import Answer, Model


def deliver(
    asker: Asker, model: Model, plan: Plan, answers: Sequence[tuple[str, Answer]], progress: Progress
) -> None:
    """Store answers that came in a batch, and count what they took."""
    asker.spent.calls += len(answers)
    if any(answer.error is None for _, answer in answers):
        asker.arrived()
    asker.store.put(answers)
    price = asker.budget.price(model)
    for key, answer in answers:
        if answer.error is None:  # a request that failed in a batch is not billed
            asker.pay(model, price, plan.requests[key], answer)
    progress(len(answers))


def worst(asker: Asker, model: Model, plan: Plan, keys: Sequence[str]) -> float:
    """The most that these requests can cost; 0 without a cap."""
    if asker.budget.max_cost is None:
        return 0.0
    return sum(Worst(asker.budget, model, [plan.requests[key] for key in keys]))
