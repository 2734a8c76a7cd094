"""What a million tokens cost: by the options price_in, price_out and price_cached of a model, else by --price-in
and --price-out, else by `genai-prices` if it is installed.

That package carries its prices with it and asks no server. A model is looked up by the address of its server and
its name: nothing is known of a server of your own, whatever its models are called.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from unwaver.errors import UsageError
from unwaver.models.limits import most_tokens
from unwaver.types import Model, Request

if TYPE_CHECKING:
    from unwaver.asking.budget import Budget
    from unwaver.models.own_price import OwnPrice

EXTRA = "prices"
OPTIONS = "--price-in and --price-out"
OWN = "given with the model"
_SERVED = re.compile(r"openai:(?P<address>\S+) (?P<name>.+)", re.DOTALL)
_OWN = re.compile(r"https?://(localhost|127\.|\[::1\]|0\.0\.0\.0|10\.|192\.168\.)")


@dataclass(frozen=True)
class Price:
    """Money for a million tokens of prompts and of answers, and of prompts that the server had in its cache; None
    is not known, and cached ones then cost as much as others. `tiers` are (above this number of prompt tokens,
    prompt, answer, cached): the highest that a request reaches holds for all its tokens."""

    prompt: float | None
    answer: float | None
    source: str = OPTIONS
    date: str = ""
    tiers: tuple[tuple[int, float, float, float | None], ...] = ()
    cached: float | None = None

    def cost(self, tokens_in: float, tokens_out: float, cached: float = 0) -> float:
        """`cached` of the prompt tokens were in the server's cache."""
        prompt, answer, less = self.prompt or 0.0, self.answer or 0.0, self.cached
        for start, *higher in self.tiers:
            if tokens_in > start:
                prompt, answer, less = (higher[0] or 0.0), (higher[1] or 0.0), higher[2]
        known = 0.0 if less is None else min(max(cached, 0), tokens_in)
        return ((tokens_in - known) * prompt + known * (less or 0.0) + tokens_out * answer) / 1e6

    def most(self, tokens_in: float, tokens_out: float) -> float:
        """The most that they can cost, whether the prompt is in the server's cache or not."""
        return max(self.cost(tokens_in, tokens_out), self.cost(tokens_in, tokens_out, tokens_in))

    def record(self, model: str) -> dict[str, Any]:
        """What run.json and a dry run say of it."""
        return {"model": model, **asdict(self)}

    def __str__(self) -> str:
        """ "0.15 in, 0.6 out per million tokens (genai-prices 0.2.1, looked up 2026-11-17)"."""
        shown = [("?" if price is None else f"{price:g}") for price in (self.prompt, self.answer)]
        less = "" if self.cached is None else f", {self.cached:g} cached"
        more = f", more above {self.tiers[0][0]:,} prompt tokens" if self.tiers else ""
        dated = f", looked up {self.date}" if self.date else ""
        return f"{shown[0]} in{less}, {shown[1]} out per million tokens{more} ({self.source}{dated})"


def price_of(model: Model, own: OwnPrice | None, given: Price | None) -> Price | None:
    """What a model costs; of its own price and the one for all, what is given nearest to it."""
    if own is None:
        return given or known_price(model)
    others = given or Price(None, None)
    prompt = others.prompt if own.prompt is None else own.prompt
    answer = others.answer if own.answer is None else own.answer
    return Price(prompt, answer, OWN, cached=own.cached)


def known_price(model: Model) -> Price | None:
    """The price of a model on a public server; None if it is not known, or genai-prices is not installed."""
    served = _SERVED.fullmatch(model.identity)
    if served is None or _OWN.match(served["address"]):
        return None
    return _looked_up(served["address"], served["name"])


@cache
def _looked_up(address: str, name: str) -> Price | None:
    try:
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    now = datetime.now(UTC)
    try:
        _, found = get_snapshot().find_provider_model(name, None, None, address)
        prices = found.get_prices(now)
    except (LookupError, AttributeError, TypeError, ValueError):  # not known, or another version of the package
        return None
    names = ("input_mtok", "output_mtok", "cache_read_mtok")
    found_prices = prompt, answer, cached = tuple(getattr(prices, name, None) for name in names)
    if prompt is None or answer is None:
        return None
    starts = sorted({tier.start for price in found_prices for tier in getattr(price, "tiers", ())})
    tiers = tuple((start, _from(prompt, start), _from(answer, start), _or_none(cached, start)) for start in starts)
    source = f"genai-prices {genai_prices.__version__}"
    less = _or_none(cached, -1)
    return Price(_from(prompt, -1), _from(answer, -1), source, f"{now:%Y-%m-%d}", tiers, less)


def _or_none(price: Any, start: int) -> float | None:
    return None if price is None else _from(price, start)


def _from(price: Any, start: int) -> float:
    """The price of requests with more prompt tokens than this."""
    reached = [tier.price for tier in getattr(price, "tiers", ()) if tier.start <= start]
    return float(reached[-1] if reached else getattr(price, "base", price))


def is_own_server(model: Model) -> bool | None:
    """Whether a server is on this machine or in this house; None if the model is on no server."""
    if model.identity.startswith("inspect"):
        return _OWN.match(model.identity.removeprefix("inspect:")) is not None
    served = _SERVED.fullmatch(model.identity)
    return None if served is None else _OWN.match(served["address"]) is not None


def is_free(model: Model) -> bool:
    """A model on this machine; a function of one's own may ask a service."""
    room, _, provider = type(model).__module__.rpartition(".")
    return room == "unwaver.models" and provider not in ("openai", "through_inspect", "python")


def needed(name: str = "", what: str = "a cost cap", price: Price | None = None) -> UsageError:
    """What is wrong with a cap, or a pilot, without prices, or with one of the two that a model has."""
    from importlib.util import find_spec

    if price is not None:
        lacking, given = ("price_in", "price_out") if price.prompt is None else ("price_out", "price_in")
        hint = f"add --{lacking.replace('_', '-')}, or {lacking}=… with the model; 0 if these tokens are free"
        return UsageError(f"{what} needs both prices: {name} has {given} and no {lacking}", hint=hint)
    more = "" if find_spec("genai_prices") else f"; or pip install 'unwaver[{EXTRA}]' for those of public services"
    hint = f"add {OPTIONS}, in money per million tokens, or price_in=… and price_out=… with the model{more}"
    return UsageError(f"{what} needs prices" + (f": none is known for {name}" if name else ""), hint=hint)


def check_cap(budget: Budget, model: Model, request: Request) -> None:
    """Refuse a cap that cannot hold, or under which nothing can be asked."""
    most = budget.max_cost or 0.0
    worst = budget.worst(model, request)
    if worst is None:
        raise UsageError(
            f"--max-cost cannot be enforced for {model.name}: its answers have no limit (max_tokens=none)",
            hint="add --model-arg max_tokens=2048",
        )
    if worst > most:
        tokens_in, tokens_out = most_tokens(model, request)
        raise UsageError(
            f"--max-cost {most:g} is too low: one request to {model.name} may cost {worst:.3g} "
            f"({tokens_in:,} prompt tokens and {tokens_out or 0:,} answer tokens at most)",
            hint=f"use --max-cost {_above(worst)} or more, or a lower limit: --model-arg max_tokens=…",
        )


def money(amount: float) -> str:
    """money(1234.5) -> "1,234.5000"; money(0.000123) -> "0.000123": small sums keep three digits."""
    return f"{amount:,.4f}" if amount >= 0.01 or amount == 0 else f"{amount:.3g}"


def _above(amount: float) -> str:
    """A number to paste, a little more than the amount: 0.0123456 -> "0.013"."""
    return f"{amount * 1.05:.2g}" if float(f"{amount * 1.05:.2g}") >= amount else f"{amount * 1.1:.2g}"
