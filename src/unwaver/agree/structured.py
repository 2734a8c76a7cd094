"""Answers with fields (JSON, calls of tools), compared field by field.

    {"city": "Rome", "price": 10} and {"city": "Rome", "price": 12}   ->   whole 0, city 1, price 0

One agreement is the whole: 1 if every field that counts agrees. Each field is an agreement of its own beside it
(`json.price`), with the rule that was given for it:

    exact       the same JSON value; the rule if none is given
    0.01, 1%    numbers no further apart than that
    set         lists with the same members, in any order
    NAME        any other agreement, on the texts of the field; also one that asks a model: judge=openai/NAME

A field that one answer lacks differs; one that both lack is not compared. An answer without fields, as it is not
JSON, agrees with nothing, not even with itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unwaver.agree import Agreement, Pair
from unwaver.agree.numeric import parse_tolerance
from unwaver.errors import UsageError
from unwaver.text.amounts import Amount, Tolerance, amount_of, same_amount

MOST = 40  # fields that get a number of their own if none are named
Fields = Mapping[str, Any]
Read = Callable[[str], Fields | None]
Same = Callable[[Any, Any], bool | None]
MISSING = object()
_TOLERANCE = re.compile(r"\d*\.?\d+(?:e-?\d+)?%?")


@dataclass(frozen=True)
class Rule:
    """How one field is compared: by `same`, or by another agreement on its texts."""

    same: Same | None = None
    other: Agreement | None = None


@dataclass(frozen=True)
class Structure:
    """How answers are read and their fields compared. `wanted` are the fields that count, () for all that occur.
    `also` must hold for the whole beyond its fields."""

    name: str
    read: Read
    rules: Mapping[str, Rule]
    wanted: tuple[str, ...] = ()
    also: Callable[[str, str], bool] | None = None

    def rule(self, field: str) -> Rule:
        return self.rules.get(field) or Rule(same=exactly)

    def settled(self, field: str, pair: Pair) -> tuple[float | None] | None:
        """The value of a field that no other agreement has to tell, in a tuple; None if one has to."""
        a, b = self.read(pair.a), self.read(pair.b)
        if a is None or b is None:
            return (0.0,)
        one, other = a.get(field, MISSING), b.get(field, MISSING)
        if one is MISSING or other is MISSING:
            return (None,) if one is other else (0.0,)
        rule = self.rule(field)
        if rule.same is not None:
            same = rule.same(one, other)
            return (None if same is None else float(same),)
        assert rule.other is not None
        return (rule.other.same,) if exactly(one, other) else None


def structured(structure: Structure) -> Agreement:
    """The whole, with its parts."""
    asked = {f: rule.other for f, rule in structure.rules.items() if rule.other and rule.other.model}

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        return _whole(structure, pairs, {})

    return Agreement(
        structure.name,
        True,
        "high",
        same=1.0,
        threshold=0.5,
        compare=compare,
        compares_identical=True,
        needs_texts=bool(asked),  # known when the models have answered: not wave by wave
        parts=lambda texts: [_part(structure, field) for field in _fields(structure, texts) if field not in asked],
        asked=tuple(_part(structure, field) for field in asked),
        unread=lambda text: structure.read(text) is None,
        whole=lambda pairs, told: _whole(structure, pairs, told),
    )


def _fields(structure: Structure, texts: Iterable[str]) -> list[str]:
    """The fields that are named, or those that occur, the most frequent first."""
    if structure.wanted:
        return list(structure.wanted)
    counts: Counter[str] = Counter(field for text in texts for field in structure.read(text) or ())
    return [*(field for field, _ in counts.most_common(MOST)), *(f for f in structure.rules if f not in counts)]


def _part(structure: Structure, field: str) -> Agreement:
    """One field as an agreement of its own."""
    rule, name = structure.rule(field), f"{structure.name}.{field}"
    other = rule.other
    if other is None or not other.model:
        low = other is not None and other.better == "low"
        bar, same = (0.5, 1.0) if other is None else (other.threshold, other.same)
        return Agreement(
            name, other is None or other.symmetric, "low" if low else "high", same, bar,
            compare=lambda pairs: _values(structure, field, pairs), compares_identical=True,
            part_of=structure.name, unread=lambda text: field not in (structure.read(text) or ()),
        )  # fmt: skip
    assert other.request is not None
    request = other.request
    return replace(
        other,
        name=name,
        compares_identical=True,
        part_of=structure.name,
        unread=lambda text: field not in (structure.read(text) or ()),
        request=lambda pair: request(_inside(structure, field, pair)),
        settled=lambda pair: structure.settled(field, pair),
    )


def _inside(structure: Structure, field: str, pair: Pair) -> Pair:
    a, b = ((structure.read(text) or {}).get(field) for text in (pair.a, pair.b))
    return Pair(pair.question, as_text(a), as_text(b))


def _values(structure: Structure, field: str, pairs: Sequence[Pair]) -> list[float | None]:
    settled = [structure.settled(field, pair) for pair in pairs]
    left = [_inside(structure, field, p) for p, known in zip(pairs, settled, strict=True) if known is None]
    other = structure.rule(field).other
    told = iter(other.compare(left) if left and other and other.compare else ())
    return [next(told) if known is None else known[0] for known in settled]


def _whole(
    structure: Structure, pairs: Sequence[Pair], told: Mapping[str, Mapping[Pair, bool | None]]
) -> list[float | None]:
    """1 if all fields agree, 0 if one does not; None if that is not known. `told` is what models say of fields."""
    columns: dict[str, Mapping[Pair, bool | None]] = {}
    for field in _fields(structure, (text for pair in pairs for text in (pair.a, pair.b))):
        part = None if field in told else _part(structure, field)
        if part is None:
            columns[field] = told[field]
        elif part.compare is not None:
            values = zip(pairs, part.compare(pairs), strict=True)
            columns[field] = {pair: None if v is None else agrees(part, v) for pair, v in values}
    return [_of_pair(structure, pair, columns) for pair in pairs]


def _of_pair(structure: Structure, pair: Pair, columns: Mapping[str, Mapping[Pair, bool | None]]) -> float | None:
    a, b = structure.read(pair.a), structure.read(pair.b)
    if a is None or b is None:
        return 0.0
    fields = structure.wanted or tuple(dict.fromkeys((*a, *b)))
    values = [columns[f].get(pair) if f in columns else _exact_field(a, b, f) for f in fields if f in a or f in b]
    if False in values or (structure.also and not structure.also(pair.a, pair.b)):
        return 0.0
    return None if None in values else 1.0


def _exact_field(a: Fields, b: Fields, field: str) -> bool:
    return field in a and field in b and exactly(a[field], b[field])


def agrees(agreement: Agreement, value: float) -> bool:
    return value < agreement.threshold if agreement.better == "low" else value >= agreement.threshold


# --- rules ------------------------------------------------------------------------------------------------------


def parse_rules(given: Mapping[str, str], option: str) -> dict[str, Rule]:
    """{"price": "0.01", "tags": "set", "why": "judge=openai/NAME"} -> a rule for each field."""
    return {field: _rule(field, text.strip(), option) for field, text in given.items()}


def _rule(field: str, text: str, option: str) -> Rule:
    if text == "exact":
        return Rule(same=exactly)
    if text == "set":
        return Rule(same=same_members)
    if _TOLERANCE.fullmatch(text):
        within = parse_tolerance(text)
        return Rule(same=lambda a, b: _close(a, b, within))
    from unwaver.agree.comparison import parse_agreement

    try:
        other = parse_agreement(text)
    except UsageError as e:
        hint = f"{option}{field}=exact, =0.01, =1%, =set, or an agreement: {e.hint}"
        raise UsageError(f"{option}{field}={text}: {e.message}", hint=hint) from None
    if other.parts is not None or other.needs_texts:
        raise UsageError(f"{option}{field}={text}: not possible for a field", hint=f"{option}{field}=exact")
    return Rule(other=other)


def exactly(a: Any, b: Any) -> bool:
    """As JSON: 1 and 1.0 are one number, true is none, and the order of keys does not count."""
    return canonical(a) == canonical(b)


def same_members(a: Any, b: Any) -> bool:
    members = [{canonical(x) for x in (value if isinstance(value, list) else [value])} for value in (a, b)]
    return members[0] == members[1]


def _close(a: Any, b: Any, within: Tolerance) -> bool | None:
    """Numbers, also as texts; what is none of them must be the same."""
    one, other = amount_in(a), amount_in(b)
    if one is None or other is None:
        return exactly(a, b)
    return same_amount(one, other, within)


def amount_in(value: Any) -> Amount | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return amount_of(value if isinstance(value, str) else repr(value))


def canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def names_in(text: str, option: str) -> tuple[str, ...]:
    """ "price+city" -> ("price", "city")."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split("+"))) if text else ()
    if "" in found:
        raise UsageError(f"{option}fields={text}: found an empty name", hint=f"{option}fields=price+city")
    return found
