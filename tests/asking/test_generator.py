"""How a writer goes on: temperatures of the tries, the likeliest texts of several beams, one try."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from unwaver.asking.generator import (
    MOST_TOKENS,
    TEMPERATURES,
    beams_of,
    recorded,
    said,
    temperature_of,
    tries_for,
)
from unwaver.asking.paraphraser import request
from unwaver.config import Config
from unwaver.types import Group, Item


@dataclass
class Writer:
    name: str = "w"
    identity: str = "w"
    method: str = "generate"
    settings: dict[str, Any] = field(default_factory=lambda: {"temperature": 0.6})
    reads: tuple[str, ...] = ("prompt",)
    deterministic: bool = False
    n_best: bool = False
    concurrency: int | None = None


def config(**options: Any) -> Config:
    return Config(("x",), (), **{"writer": "hf/w", "k": 3, **options})


def group(kind: str = "fooling") -> Group:
    item = Item("g/0", "snli", "original", {"premise": "p", "hypothesis": "A dog runs."}, ("a", "b"), ("a",))
    return Group("g", "s", "snli", kind, "same", (item,))


DRAWS, BEAMS = Writer(), Writer(deterministic=True, settings={"temperature": 0}, n_best=True)
ONCE = Writer(deterministic=True)


def test_each_try_has_the_next_temperature() -> None:
    asked = [request(group(), "hypothesis", n, config(), DRAWS) for n in range(6)]
    assert (
        [each.temperature for each in asked]
        == [*TEMPERATURES, *TEMPERATURES[:2]]
        == [0.3, 0.4, 0.5, 0.6, 0.3, 0.4]
    )
    assert {each.limit for each in asked} == {MOST_TOKENS} == {40}
    assert {each.beams for each in asked} == {0}
    assert [each.replicate for each in asked] == list(range(6))


@pytest.mark.parametrize("given", [{"writer_args": {"temperature": "0.9"}}, {"writer": "hf/w,temperature=0.9"}])
def test_the_users_temperature_holds_for_every_try(given: dict[str, Any]) -> None:
    assert {temperature_of(DRAWS, config(**given), "fooling", n) for n in range(5)} == {None}


def test_other_kinds_are_written_as_before() -> None:
    asked = request(group("semantic"), "hypothesis", 1, config(), DRAWS)
    assert (asked.temperature, asked.beams, asked.limit) == (None, 0, 64)


def test_a_server_may_think_first() -> None:
    asked = request(group(), "hypothesis", 1, config(), Writer(concurrency=8))
    assert (asked.temperature, asked.limit) == (0.4, 2048)


def test_the_users_limit() -> None:
    assert request(group(), "hypothesis", 0, config(writer_args={"max_tokens": "9"}), DRAWS).limit is None


@pytest.mark.parametrize(
    ("model", "beams", "tries"), [(DRAWS, 0, 6), (BEAMS, 6, 6), (ONCE, 0, 1), (Writer(method="python"), 0, 1)]
)
def test_how_many(model: Writer, beams: int, tries: int) -> None:
    assert (beams_of(model, config()), tries_for(model, config())) == (beams, tries)


def test_what_is_said_of_it() -> None:
    assert "n-best sampling at temperatures 0.3, 0.4, 0.5, 0.6, in place of diverse beam search" in str(
        said(DRAWS, config(), ["fooling"])
    )
    assert "6 most likely texts of 6 beams" in str(said(BEAMS, config(), ["semantic"]))
    assert "asks it once per item" in str(said(ONCE, config(), ["semantic"]))
    assert said(DRAWS, config(), ["semantic"]) is None
    assert recorded(DRAWS, config(), [group()])["generator"]["temperatures"] == [0.3, 0.4, 0.5, 0.6]
    assert recorded(BEAMS, config(), [group()])["generator"] == {"name": "n-best beams", "beams": 6}
    assert "generator" not in recorded(DRAWS, config(), [group("semantic")])
