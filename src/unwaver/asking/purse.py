"""A cost cap that holds: before a request is sent its greatest possible cost is set aside.

Afterwards the tokens that the server reported count. Where it reported none, or a call failed after the server had
it, the greatest possible cost counts. Processes that share a store share the cap: each writes down there what it
has spent and set aside.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from unwaver.asking.budget import Budget, Spent
from unwaver.asking.ledger import Ledger, fit, put_down

if TYPE_CHECKING:
    from unwaver.asking.prices import Price

PAUSE = 0.2  # seconds between two looks at what other processes have set aside


class Purse:
    """What is spent and what is set aside, in this process and in those that share the store; for any thread."""

    def __init__(self, budget: Budget, spent: Spent, ledger: Ledger | None = None):
        self._budget, self._spent, self._ledger = budget, spent, ledger
        self._reserved = 0.0
        self._lock = threading.Lock()
        self.is_shared = False  # others have spent or set aside a part of the cap

    def reserve(self, costs: Sequence[float]) -> int:
        """Set aside as many of the costs, from the first, as fit; say how many. Waits while others may give back
        some of what they have set aside."""
        cap = self._budget.max_cost
        assert cap is not None
        while True:
            with self._lock:
                fitting, self.is_shared = fit(self._ledger, costs, cap, self._spent.cost, self._reserved)
                if fitting is not None:
                    self._reserved += sum(fitting[-1:])
                    return len(fitting)
            time.sleep(PAUSE)

    def hold(self, cost: float) -> None:
        """Set aside at least this much: batches are under way."""
        with self._lock:
            self._reserved = max(self._reserved, cost)

    def settle(self, reserved: float, cost: float) -> None:
        """A reply has come: what was set aside for it is free, its cost is spent."""
        with self._lock:
            self._reserved = max(0.0, self._reserved - reserved)
            self._spent.cost += cost

    def settled(self) -> None:
        """A part of the work is done: others may have what is left of what was set aside for it."""
        with self._lock:
            self._reserved = 0.0
            put_down(self._ledger, self._spent.cost, 0.0)

    def try_again(self, tokens_in: int, tokens_out: int | None, wanted: bool, price: Price | None = None) -> bool:
        """A try that the server may bill has failed: it counts. May the call be made again?"""
        cost = (price or self._budget.given).most(tokens_in, tokens_out or 0)
        cap = self._budget.max_cost
        with self._lock:
            self._spent.cost += cost
            self._spent.failed_cost += cost
            others = put_down(self._ledger, self._spent.cost, self._reserved)
            fits = cap is None or self._spent.cost + self._reserved + others <= cap
            if wanted and not fits:
                self._spent.stopped = self._spent.stopped or f"the cost limit of {cap:g} is reached"
            return wanted and fits
