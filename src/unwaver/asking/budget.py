"""What a run may take, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unwaver.models.parts import Parts
from unwaver.types import Model, Request

if TYPE_CHECKING:
    from unwaver.asking.prices import Price


@dataclass(frozen=True)
class Budget:
    """At most this many calls, or this much money; prices are per million tokens."""

    max_calls: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def price(self, model: Model) -> Price | None:
        """As named with the model; else as given for all alike; else by a list, where that knows it."""
        own, given = Parts(model).price, self.price_in is not None or self.price_out is not None
        if own is None and not given and not model.identity.startswith("openai:"):
            return None
        from unwaver.asking.prices import price_of

        return price_of(model, own, self.given if given else None)

    @property
    def given(self) -> Price:
        from unwaver.asking.prices import Price

        return Price(self.price_in, self.price_out)

    def worst(self, model: Model, request: Request) -> float | None:
        """The most that a request can cost; None if nothing limits it. A model without a price costs nothing:
        `engine.forecast` has refused a cap where that is not so."""
        price = self.price(model)
        if price is None:
            return 0.0
        from unwaver.models.limits import most_tokens

        tokens_in, tokens_out = most_tokens(model, request)
        if tokens_out is None and price.answer != 0:  # a price that was not given is not known to be 0
            return None
        return price.most(tokens_in, tokens_out or 0)

    def check(self, model: Model, request: Request) -> None:
        """Refuse a cap that cannot hold, or under which nothing can be asked."""
        if self.max_cost is None:
            return
        from unwaver.asking.prices import check_cap

        check_cap(self, model, request)


@dataclass
class Spent:
    """What asking took: calls made, tokens, money, and why it stopped early if it did."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    failed_cost: float = 0.0  # of the cost, what tries that failed may have cost
    stopped: str | None = None
