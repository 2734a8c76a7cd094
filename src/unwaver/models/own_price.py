"""The price that is given with a model: openai/small,price_in=0.15,price_out=0.6 (or in [models.NAME])."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unwaver.errors import UsageError


@dataclass(frozen=True)
class OwnPrice:
    """Money for a million tokens of prompts and of answers, and of prompts that the server had in its cache; None
    where nothing is said."""

    prompt: float | None = None
    answer: float | None = None
    cached: float | None = None


def own_price(price_in: float | None, price_out: float | None, price_cached: float | None) -> OwnPrice | None:
    """own_price(0.15, 0.6, None) -> OwnPrice(0.15, 0.6, None); None if no price is given."""
    given = {"price_in": price_in, "price_out": price_out, "price_cached": price_cached}
    for name, value in given.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            hint = f"{name} is the money for a million tokens; leave it out if it is not known"
            raise UsageError(f"{name} is {value:g}, expected 0 or more", hint=hint)
    return None if all(value is None for value in given.values()) else OwnPrice(price_in, price_out, price_cached)
