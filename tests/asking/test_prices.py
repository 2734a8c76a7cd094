"""Prices: given, looked up in genai-prices, or not known."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from unwaver.asking import prices
from unwaver.asking.budget import Budget
from unwaver.asking.prices import OWN, Price, is_free, known_price
from unwaver.errors import UsageError
from unwaver.models import fake
from unwaver.models.openai import open_model
from unwaver.types import Request

TEXT = Request("facts", (), "Who?", (), ())


@dataclass
class Tiered:
    base: float
    tiers: list[Any] = field(default_factory=list)


class Snapshot:
    def find_provider_model(self, name: str, _: None, __: None, address: str) -> tuple[str, Any]:
        known = {
            "small": SimpleNamespace(input_mtok=0.5, output_mtok=2.0, cache_read_mtok=0.05),
            "long": SimpleNamespace(
                input_mtok=Tiered(1.0, [SimpleNamespace(start=100, price=3.0)]), output_mtok=4.0
            ),
            "images": SimpleNamespace(requests_kcount=1.0),
        }
        if not address.startswith("https://api.openai.com") or name not in known:
            raise LookupError(name)
        return "openai", SimpleNamespace(get_prices=lambda _: known[name])


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of prices of our own."""
    package, data = ModuleType("genai_prices"), ModuleType("genai_prices.data_snapshot")
    package.__version__ = "9.9"  # type: ignore[attr-defined]
    data.get_snapshot = Snapshot  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "genai_prices", package)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", data)
    prices._looked_up.cache_clear()
    yield
    prices._looked_up.cache_clear()


def served(name: str, address: str = "https://api.openai.com/v1") -> Any:
    return open_model(name, base_url=address)


def test_prices_are_looked_up_by_server_and_name(listed: None) -> None:
    found = known_price(served("small"))
    assert found is not None
    assert (found.prompt, found.answer, found.source) == (0.5, 2.0, "genai-prices 9.9")
    assert found.date[:2] == "20"
    assert "genai-prices 9.9, looked up 20" in str(found)
    for name in ("other", "images"):
        assert known_price(served(name)) is None
    for address in ("http://127.0.0.1:8000/v1", "http://localhost/v1", "https://example.org/v1"):
        assert known_price(served("small", address)) is None, "nothing is known of a server of one's own"


def test_the_highest_tier_that_a_request_reaches_holds(listed: None) -> None:
    found = known_price(served("long"))
    assert found is not None
    assert found.cost(100, 10) == pytest.approx((100 * 1 + 10 * 4) / 1e6)
    assert found.cost(101, 10) == pytest.approx((101 * 3 + 10 * 4) / 1e6)


def test_cached_tokens_have_a_price_where_one_is_known(listed: None) -> None:
    assert Price(2.0, 8.0, cached=0.5).cost(100, 10, 60) == pytest.approx((40 * 2 + 60 * 0.5 + 10 * 8) / 1e6)
    assert Price(2.0, 8.0, cached=0.5).cost(100, 10, 900) == pytest.approx((100 * 0.5 + 10 * 8) / 1e6)
    assert Price(2.0, 8.0).cost(100, 10, 60) == Price(2.0, 8.0).cost(100, 10)
    assert Price(2.0, 8.0, cached=0.5).most(100, 10) == Price(2.0, 8.0).cost(100, 10)
    assert Price(2.0, 8.0, cached=3.0).most(100, 10) == pytest.approx((100 * 3 + 10 * 8) / 1e6), (
        "dearer than others"
    )
    tiers = ((50, 4.0, 9.0, None),)
    assert Price(2.0, 8.0, tiers=tiers, cached=0.5).cost(100, 10, 60) == pytest.approx((100 * 4 + 10 * 9) / 1e6)
    found = known_price(served("small"))
    assert found is not None
    assert found.cached == 0.05
    assert str(found).startswith("0.5 in, 0.05 cached, 2 out per million tokens")


def test_the_price_of_a_model_goes_before_that_of_all(listed: None) -> None:
    own = open_model("small", base_url="http://127.0.0.1:9/v1", price_in=3.0, price_cached=1.0)
    assert Budget().price(own) == Price(3.0, None, OWN, cached=1.0)
    assert Budget(price_in=7.0, price_out=9.0).price(own) == Price(3.0, 9.0, OWN, cached=1.0)
    with pytest.raises(UsageError, match="price_out is -1, expected 0 or more"):
        open_model("small", base_url="http://127.0.0.1:9/v1", price_out=-1.0)


def test_given_prices_win(listed: None) -> None:
    budget = Budget(price_in=7.0)
    found = budget.price(served("small"))
    assert found == Price(7.0, None)
    assert budget.price(fake.open_model("random")) == found
    assert Budget().price(fake.open_model("random")) is None
    looked_up = Budget(max_cost=1.0).price(served("small"))
    assert looked_up is not None
    assert looked_up.prompt == 0.5
    assert Budget(max_cost=1.0).worst(served("small"), TEXT) == pytest.approx(
        looked_up.cost(*served("small").most_tokens(TEXT))
    )


def test_without_the_package_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    prices._looked_up.cache_clear()
    assert known_price(served("gpt-4o")) is None
    prices._looked_up.cache_clear()


def test_models_on_this_machine_are_free() -> None:
    assert is_free(fake.open_model("random"))
    assert not is_free(served("small"))
    assert not is_free(SimpleNamespace())


def test_the_package_itself() -> None:
    pytest.importorskip("genai_prices")
    prices._looked_up.cache_clear()
    found = known_price(served("gpt-4o"))
    assert found is not None
    assert found.prompt is not None
    assert found.answer is not None
    assert 0 < found.prompt < found.answer
    assert known_price(served("no-such-model-at-all")) is None
