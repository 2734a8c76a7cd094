"""Calls of tools, compared function by function and argument by argument: see unwaver.agree.structured.

    get_weather({"city": "Rome"}) and get_weather({"city": "Oslo"})   ->   whole 0, functions 1, get_weather.city 0

`functions` are the names of what is called. Two answers without a call agree: neither calls anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations
from typing import Any

from unwaver.agree import Agreement
from unwaver.agree.structured import Fields, Rule, Structure, canonical, exactly, names_in, parse_rules, structured
from unwaver.answers.calls import Call, calls_in

_OPTION = "--agree tool,"
FUNCTIONS = "functions"
_MOST = 6  # calls of one function that are matched in every order


def tool(*, order: bool = False, fields: str = "", **rules: str) -> Agreement:
    """`order`: the order of calls counts. `fields` are the arguments that count, "get_weather.city+book.day"; the
    functions always do. Any other option is the rule for an argument: book.price=0.01."""
    named = names_in(fields, _OPTION)
    wanted = (FUNCTIONS, *named) if named else ()
    read = _in_order if order else _in_any_order
    told = parse_rules(rules, _OPTION)

    def also(a: str, b: str) -> bool:
        return order or _matches(calls_in(a), calls_in(b), told, named)

    return structured(Structure("tool", read, told, wanted, also))


@lru_cache(maxsize=4096)
def _in_order(text: str) -> Fields:
    return _fields(calls_in(text))


@lru_cache(maxsize=4096)
def _in_any_order(text: str) -> Fields:
    return _fields(sorted(calls_in(text), key=lambda call: (call.name, canonical(call.arguments))))


def _fields(calls: list[Call]) -> dict[str, Any]:
    """By argument: its value, or a list of values if a function is called several times."""
    found: dict[str, Any] = {FUNCTIONS: [call.name for call in calls]}
    names = found[FUNCTIONS]
    for call in calls:
        for argument, value in call.arguments.items():
            place = f"{call.name}.{argument}"
            if names.count(call.name) == 1:
                found[place] = value
            else:
                found.setdefault(place, []).append(value)
    return found


def _matches(a: list[Call], b: list[Call], rules: Mapping[str, Rule], named: tuple[str, ...]) -> bool:
    """Whether calls of a function that is called several times can be paired so that their arguments agree."""
    for name in {call.name for call in a}:
        one, other = ([c.arguments for c in calls if c.name == name] for calls in (a, b))
        if 1 < len(one) == len(other) <= _MOST:
            paired = (zip(one, some, strict=True) for some in permutations(other))
            if not any(all(_same(name, x, y, rules, named) for x, y in pairs) for pairs in paired):
                return False
    return True


def _same(
    name: str, a: Mapping[str, Any], b: Mapping[str, Any], rules: Mapping[str, Rule], named: tuple[str, ...]
) -> bool:
    for argument in {*a, *b}:
        place = f"{name}.{argument}"
        if named and place not in named:
            continue
        if argument not in a or argument not in b:
            return False
        same = (rules[place].same if place in rules else None) or exactly
        if place in rules and rules[place].other:
            continue  # another agreement tells
        if not same(a[argument], b[argument]):
            return False
    return True
