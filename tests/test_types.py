"""The nouns: frozen, quickly made, and copied with other values."""

from __future__ import annotations

import gc
from dataclasses import dataclass

import msgspec
import pytest

from unwaver.types import Answer, Beside, Group, Item, Message, Noun, Request, replace

NOUNS = (Message, Item, Group, Request, Beside, Answer)
ITEM = Item("i", "t", "original", {"text": "a"}, ("x", "y"), ("x",))


@pytest.mark.parametrize("kind", NOUNS)
def test_a_copy_with_another_value_keeps_the_rest(kind: type[Noun]) -> None:
    names = kind.__struct_fields__
    values = {name: f"{name}!" for name in names}
    made = kind(**values)
    for name in names:
        assert msgspec.structs.asdict(replace(made, **{name: "other"})) == values | {name: "other"}
    assert msgspec.structs.asdict(made) == values, "the one before stays as it was"


@pytest.mark.parametrize("kind", NOUNS)
def test_nouns_cannot_be_changed(kind: type[Noun]) -> None:
    made = kind(**dict.fromkeys(kind.__struct_fields__, ""))
    with pytest.raises(AttributeError):
        setattr(made, kind.__struct_fields__[0], "other")


def test_the_garbage_collector_does_not_look_at_them() -> None:
    assert not gc.is_tracked(ITEM)
    assert not gc.is_tracked(Group("g", "s", "t", "k", "same", (ITEM,)))


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(TypeError, match="choises"):
        replace(ITEM, choises=())


def test_dataclasses_are_copied_too() -> None:
    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int = 2

    assert replace(Pair(1), b=3) == Pair(1, 3)
