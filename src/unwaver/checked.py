"""What a JSON file of ours must hold, checked before it is used: a wrong type is an error with the place in it.

RUN = fields({"name": text}, {"words": dict_of(list_of(text))})
check({"name": 3}, RUN, Path("run.json"), hint)  ->  run.json: "name": found 3, expected a text
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from unwaver.errors import DataError
from unwaver.files import shown

Made = TypeVar("Made")
GREATEST = 2**63


class Wrong(NamedTuple):
    """What is wrong with a value: where in it, what was found there, and what was expected."""

    at: str
    found: Any
    expected: str

    def below(self, name: object) -> Wrong:
        return Wrong(f"{name}.{self.at}" if self.at else str(name), self.found, self.expected)


Shape = Callable[[Any], Wrong | None]


def check(value: Any, shape: Shape, file: Path | str, hint: str) -> None:
    if wrong := shape(value):
        at = f'"{wrong.at}": ' if wrong.at else ""
        raise DataError(f"{at}found {shown(wrong.found)}, expected {wrong.expected}", file=file, hint=hint)


def _of(expected: str, fits: Callable[[Any], bool]) -> Shape:
    return lambda value: None if fits(value) else Wrong("", value, expected)


def is_text(value: object) -> bool:
    """A text that can be written: half a character cannot."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < GREATEST


def is_number(value: object) -> bool:
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def is_finite(value: object) -> bool:
    """Whether all numbers below can be written as JSON and computed with."""
    left = [value]
    while left:  # nested as deeply as JSON may be, so not by recursion
        found = left.pop()
        if isinstance(found, dict | list):
            left += found.values() if isinstance(found, dict) else found
        elif isinstance(found, int | float) and not isinstance(found, bool) and not is_number(found):
            return False
    return True


text = _of("a text", is_text)
name = _of("a text", lambda v: isinstance(v, str))  # a path may hold bytes that are not text
whole = _of("a whole number", is_whole)
count = _of("a whole number of 0 or more", lambda v: is_whole(v) and v >= 0)
number = _of("a number", is_number)
truth = _of("true or false", lambda v: isinstance(v, bool))
plain = _of("numbers that are finite", is_finite)


def maybe(shape: Shape) -> Shape:
    return lambda value: None if value is None else shape(value)


def one_of(*known: str) -> Shape:
    return _of(f"one of {', '.join(known)}", lambda v: isinstance(v, str) and v in known)


def list_of(shape: Shape) -> Shape:
    def wrong(value: Any) -> Wrong | None:
        if not isinstance(value, list):
            return Wrong("", value, "a list")
        found = ((n, shape(v)) for n, v in enumerate(value))
        return next((w.below(n) for n, w in found if w), None)

    return wrong


def some(shape: Shape) -> Shape:
    return lambda value: shape(value) or (None if value else Wrong("", value, "one or more"))


def dict_of(shape: Shape) -> Shape:
    def wrong(value: Any) -> Wrong | None:
        if not isinstance(value, dict):
            return Wrong("", value, "an object")
        found = ((k, text(k) or shape(v)) for k, v in value.items())
        return next((w.below(json.dumps(k)[1:-1]) for k, w in found if w), None)

    return wrong


def fields(needed: Mapping[str, Shape], known: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields; `known` ones may be missing, and others are not looked at."""

    def wrong(value: Any) -> Wrong | None:
        if not isinstance(value, dict):
            return Wrong("", value, "an object")
        for field, shape in {**needed, **(known or {})}.items():
            if field in value:
                if found := shape(value[field]):
                    return found.below(field)
            elif field in needed:
                return Wrong("", value, f'an object with "{field}"')
        return None

    return wrong


# what a field of a dataclass may hold in JSON, by its annotation
BY_TYPE: Mapping[str, Shape] = {
    "str": text,
    "int": whole,
    "float": number,
    "bool": truth,
    "str | None": maybe(text),
    "int | None": maybe(whole),
    "float | None": maybe(number),
    "tuple[str, ...]": list_of(text),
    "Literal['low', 'high', '']": one_of("low", "high", ""),
    "Literal['violation', 'skipped']": one_of("violation", "skipped"),
}


def made(of: type[Made], value: Any, file: Path | str, at: str, hint: str) -> Made:
    """A dataclass from its JSON, in which tuples are lists; a field of the future is left out."""
    types = {f.name: f for f in dataclasses.fields(of)}  # type: ignore[arg-type]
    shapes = {n: BY_TYPE[str(f.type).replace('"', "'")] for n, f in types.items()}
    missing = dataclasses.MISSING
    needed = {n for n, f in types.items() if f.default is missing and f.default_factory is missing}
    shape = fields({n: shapes[n] for n in needed}, {n: s for n, s in shapes.items() if n not in needed})
    check(value, lambda v: wrong.below(at) if (wrong := shape(v)) else None, file, hint)
    return of(**{n: tuple(v) if isinstance(v, list) else v for n, v in value.items() if n in types})
