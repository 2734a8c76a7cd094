"""Values from files of others, read into types: what does not fit is an error with the place, what was found
there, and what was expected.

    class Model(msgspec.Struct):
        name: str
        prices: dict[str, Count] = {}

    typed(Model, {"name": "m", "prices": {"in": -1}}, Path("run.json"), hint)
      ->  run.json: "prices.in": found -1, expected a whole number of 0 or more

A type is a msgspec.Struct, a dataclass, or anything that msgspec knows. Texts that cannot be written (half a
character) and numbers that cannot be computed with (not finite, or above 2⁶³) fit no type. Fields that a type does
not have are left out, unless it forbids them.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from unwaver.errors import DataError, near
from unwaver.files import Where, shown

Made = TypeVar("Made")
GREATEST = 2**63

Count = Annotated[int, msgspec.Meta(ge=0)]
AboveZero = Annotated[int, msgspec.Meta(ge=1)]
Filled = Annotated[str, msgspec.Meta(min_length=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Wrong(NamedTuple):
    """What is wrong with a value: where in it, what was found there, and what was expected."""

    at: str
    found: Any
    expected: str
    strange: str = ""  # a key that is not known, where that is what is wrong
    known: Sequence[str] = ()  # the keys that are

    def below(self, name: object) -> Wrong:
        return self._replace(at=f"{name}.{self.at}" if self.at else str(name))


def typed(
    kind: Any,
    value: Any,
    file: Path | str | Where,
    hint: str | Callable[[Wrong], str],
    at: str = "",
    *,
    halves: bool = False,
    infinite: bool = False,
) -> Any:
    """The value as this type, or a DataError; `at` is where the value stands in its file. A hint may depend on
    what is wrong; a text is replaced by what was probably meant where a key is not known. With `halves`, half
    characters are taken: Python holds a file name so that is not UTF-8. With `infinite`, all numbers are."""
    wrong = wrong_with(kind, value, halves, infinite)
    if wrong is None:
        return msgspec.convert(value, kind)
    wrong = wrong.below(at) if at else wrong
    message = f'"{_one_line(wrong.at)}": ' if wrong.at else ""
    is_toml = not isinstance(file, Where) and str(file).endswith(".toml")
    expected = wrong.expected.replace("an object", "a table") if is_toml else wrong.expected
    message += f"found {shown(wrong.found)}, expected {expected}"
    what_to_do = hint if isinstance(hint, str) else hint(wrong)
    if wrong.strange and isinstance(hint, str):
        what_to_do = near(wrong.strange, wrong.known)
    if isinstance(file, Where):
        raise file.error(message, what_to_do)
    raise DataError(message, file=file, hint=what_to_do)


def of_log(kind: Any, value: Any, where: Where, hint: str, at: str = "") -> Any:
    """The same, where texts of models and values of metrics may be anything that JSON can hold."""
    return typed(kind, value, where, hint, at, halves=True, infinite=True)


def wrong_with(kind: Any, value: Any, halves: bool = False, infinite: bool = False) -> Wrong | None:
    if not (halves and infinite) and (wrong := unusable(value, halves, infinite)):
        return wrong
    return None if fits(kind, value) else _wrong(kind, value)


def fits(kind: Any, value: Any) -> bool:
    try:
        msgspec.convert(value, kind)
        return True
    except (msgspec.ValidationError, UnicodeEncodeError):  # half a character in the name of a field
        return False


def unusable(value: Any, halves: bool = False, infinite: bool = False) -> Wrong | None:
    """The first text or number below a value that nothing can be done with."""
    left: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while left:  # nested as deeply as JSON may be, so not by recursion
        at, found = left.pop()
        if isinstance(found, str) and not halves and not is_text(found):
            return Wrong(_joined(at), found, "a text")
        if isinstance(found, int | float) and not (infinite or isinstance(found, bool) or is_number(found)):
            return Wrong(_joined(at), found, "numbers that are finite")
        if isinstance(found, Mapping):
            if not halves and (odd := next((key for key in found if not is_text(key)), None)) is not None:
                return Wrong(_joined(at), odd, "a text")
            left += (((*at, key), child) for key, child in found.items())
        elif isinstance(found, list | tuple):
            left += (((*at, n), child) for n, child in enumerate(found))
    return None


def _joined(at: tuple[Any, ...]) -> str:
    return ".".join(map(str, at))


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:200]


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


# --- where it is wrong --------------------------------------------------------------------------------------


def _wrong(kind: Any, value: Any) -> Wrong:
    for name, inner, child in _parts(kind, value):
        if not fits(inner, child):
            return _wrong(inner, child).below(name)
    try:
        msgspec.convert(value, kind)
    except UnicodeEncodeError:
        return unusable(value, infinite=True) or _wrong_itself(kind, value)
    except msgspec.ValidationError:
        pass
    return _wrong_itself(kind, value)


def _parts(kind: Any, value: Any) -> Iterator[tuple[object, Any, Any]]:
    """(name, type, value) of what a value of this type holds."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _parts(inside[0], value)
    elif alike := _alike(kind, value):
        yield from _parts(alike, value)
    elif isinstance(value, Mapping) and _is_record(kind):
        hints = get_type_hints(kind, include_extras=True)
        named = {f.encode_name: hints[f.name] for f in inspect.type_info(kind).fields}  # type: ignore[attr-defined]
        yield from ((name, named[name], child) for name, child in value.items() if name in named)
    elif isinstance(value, Mapping) and isinstance(origin, type) and issubclass(origin, Mapping):
        yield from ((name, inside[1], child) for name, child in value.items())
    elif isinstance(value, list | tuple) and origin in (list, tuple, Sequence):
        yield from ((n, inside[0], child) for n, child in enumerate(value))


def _alike(kind: Any, value: Any) -> Any:
    """Of several types the only one that is a list or an object, as the value is; None if there is no such."""
    if get_origin(kind) not in (Union, types.UnionType):
        return None
    fitting = [each for each in get_args(kind) if each is not type(None) and _is_form_of(each, value)]
    return fitting[0] if len(fitting) == 1 else None


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind))


def _is_form_of(kind: Any, value: Any) -> bool:
    origin = get_origin(get_args(kind)[0] if get_origin(kind) is Annotated else kind) or kind
    if isinstance(value, Mapping):
        return _is_record(origin) or (isinstance(origin, type) and issubclass(origin, Mapping))
    return isinstance(value, list) and origin in (list, tuple, Sequence)


# --- what was expected --------------------------------------------------------------------------------------


def _wrong_itself(kind: Any, value: Any) -> Wrong:
    """Where all that it holds is right, but a key is missing or not known, or it is of another type altogether."""
    told = inspect.type_info(_alike(kind, value) or kind)
    if isinstance(told, inspect.StructType | inspect.DataclassType) and isinstance(value, Mapping):
        needed = [f.encode_name for f in told.fields if f.required]
        if missing := [name for name in needed if name not in value]:
            return Wrong("", value, f'an object with "{missing[0]}"')
        known = [f.encode_name for f in told.fields]
        if strange := [str(name) for name in value if name not in known]:
            return Wrong("", value, f"an object without {shown(strange[0])}", strange[0], known)
    return Wrong("", value, _said(told))


_SEVERAL = {inspect.StrType: "texts", inspect.FloatType: "numbers", inspect.IntType: "whole numbers"}


def _said(told: inspect.Type) -> str:
    """A type in words: "a whole number of 1 or more"."""
    if isinstance(told, inspect.UnionType):
        several = list(dict.fromkeys(_said(each) for each in told.types if not isinstance(each, inspect.NoneType)))
        return " or ".join(filter(None, (", ".join(several[:-1]), several[-1])))
    if isinstance(told, inspect.LiteralType):
        several = [str(value) for value in told.values]
        return " or ".join(several) if len(several) < 3 else f"one of {', '.join(several)}"
    if isinstance(told, inspect.IntType | inspect.FloatType):
        word = "a whole number" if isinstance(told, inspect.IntType) else "a number"
        return word + _range(told)
    if isinstance(told, inspect.StrType):
        return "a text that is not empty" if told.min_length or told.pattern else "a text"
    if isinstance(told, inspect.ListType | inspect.VarTupleType):
        items, least = _SEVERAL.get(type(told.item_type), ""), told.min_length
        many = "" if not least else str(least) if least == told.max_length else f"{least} or more"
        return " ".join(["a list", *["of"] * bool(many or items), *filter(None, (many, items))])
    if isinstance(told, inspect.DictType) and (items := _SEVERAL.get(type(told.value_type), "")):
        return f"{items} by name"
    words = {inspect.BoolType: "true or false", inspect.NoneType: "null"}
    return words.get(type(told), "an object")


def _range(told: inspect.IntType | inspect.FloatType) -> str:
    low, high = told.ge, told.le
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if told.gt is not None and (high is not None or told.lt is not None):
        return f" above {told.gt:g} and " + (f"below {told.lt:g}" if high is None else f"at most {high:g}")
    if told.gt is not None:
        return f" above {told.gt:g}"
    return f" of {low:g} or more" if low is not None else ""
