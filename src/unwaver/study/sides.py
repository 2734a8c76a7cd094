"""What a study compares: settings, bases, sizes, tasks; read from `compare` and `families` of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unwaver.errors import near
from unwaver.study.checker import Checker
from unwaver.train.setup import task_and_form

Families = Mapping[str, Mapping[str, str]]  # family -> size -> base
ALPHA_OF_TASKS = 0.1  # CALM's
_WAYS = ("settings", "bases", "sizes", "tasks")
_KEYS = {
    "settings": ("settings", "paired"),
    "bases": ("bases", "setting", "paired"),
    "sizes": ("sizes", "setting", "paired"),
    "tasks": ("tasks", "setting", "alpha"),
}
_EXAMPLE = '[["single", "multi"]], or [{ bases = ["BASE", "BASE"] }], { sizes = ["base", "large"] }'


@dataclass(frozen=True)
class Condition:
    """How a model was trained: a setting at a fraction of the data."""

    setting: str
    fraction: float


@dataclass(frozen=True)
class Side:
    """The models that a comparison holds against others: all seeds of a base under a condition."""

    base: str
    setting: str
    fraction: float

    @property
    def condition(self) -> Condition:
        return Condition(self.setting, self.fraction)


@dataclass(frozen=True)
class Comparison:
    """`paired`: seeds are paired, since both sides of a seed are trained on the same draw of the data."""

    first: Side
    second: Side
    paired: bool = False


@dataclass(frozen=True)
class TaskComparison:
    """Two tasks under one condition, paired over models: is consistency lower where training data are fewer?"""

    first: str
    second: str
    condition: Condition
    alpha: float


@dataclass(frozen=True)
class SidesReader:
    check: Checker
    bases: Sequence[str]
    tasks: Sequence[str]
    fractions: Mapping[str, tuple[float, ...]]  # of each setting
    families: Families
    paired: bool

    def read(self, found: Sequence[Any]) -> tuple[tuple[Comparison, ...], tuple[TaskComparison, ...]]:
        """Comparisons within a base come base by base, those of bases after them."""
        within: dict[str, list[Comparison]] = {base: [] for base in self.bases}
        across: list[Comparison] = []
        tasks: list[TaskComparison] = []
        for entry in found:
            way, table = self._entry(entry)
            paired = table.get("paired", self.paired)
            first, second = self._two(table[way])
            if way == "settings":
                before, after = self._condition(first), self._condition(second)
                for base in self.bases:
                    within[base].append(Comparison(_side(base, before), _side(base, after), paired))
            elif way == "tasks":
                tasks += self._of_tasks(first, second, table)
            else:
                for one, other in self._of_bases(way, first, second):
                    across += [Comparison(_side(one, c), _side(other, c), paired) for c in self._conditions(table)]
        made = [comparison for some in within.values() for comparison in some]
        return tuple(dict.fromkeys([*made, *across])), tuple(dict.fromkeys(tasks))

    def _entry(self, entry: Any) -> tuple[str, Mapping[str, Any]]:
        if isinstance(entry, list):
            return "settings", {"settings": entry}
        if len(ways := [key for key in _WAYS if key in entry]) != 1:
            told = f"compare: found {entry!r}, expected two settings, bases, sizes or tasks"
            raise self.check.error(told, _EXAMPLE)
        self.check.keys(entry, _KEYS[ways[0]], "compare")
        return ways[0], entry

    def _two(self, value: Sequence[str]) -> tuple[str, str]:
        if value[0] == value[1]:
            raise self.check.error(f"compare: {value[0]} is compared with itself", "name two")
        return value[0], value[1]

    def _condition(self, text: str) -> Condition:
        name, _, fraction = text.partition("@")
        if name not in self.fractions:
            raise self.check.error(f"compare: there is no setting {name}", near(name, self.fractions))
        try:
            share = float(fraction) if fraction else max(self.fractions[name])
        except ValueError:
            share = -1.0
        if share not in self.fractions[name]:
            raise self.check.error(f"compare: {text} is at no fraction of this setting", 'write "single@0.25"')
        return Condition(name, share)

    def _conditions(self, table: Mapping[str, Any]) -> list[Condition]:
        """The one that is named, or all."""
        if "setting" in table:
            return [self._condition(table["setting"])]
        return [Condition(name, f) for name, fractions in self.fractions.items() for f in fractions]

    def _of_bases(self, way: str, first: str, second: str) -> Iterator[tuple[str, str]]:
        known = self.bases if way == "bases" else sizes_of(self.families)
        for name in (first, second):
            if name not in known:
                hint = near(name, known) if known else '[families.NAME] with base = "PATH", large = "PATH"'
                raise self.check.error(f"compare: there is no {way.removesuffix('s')} {name}", hint)
        if way == "bases":
            yield first, second
            return
        both = [family for family in self.families.values() if first in family and second in family]
        if not both:
            hint = "a family needs a base of each of the two sizes"
            raise self.check.error(f"compare: no family has both {first} and {second}", hint)
        yield from ((family[first], family[second]) for family in both)

    def _of_tasks(self, first: str, second: str, table: Mapping[str, Any]) -> Iterator[TaskComparison]:
        for name in (first, second):
            if name not in self.tasks:
                raise self.check.error(f"compare: {name} is not a task of this study", near(name, self.tasks))
        alpha = table.get("alpha", ALPHA_OF_TASKS)
        for condition in self._conditions(table):
            one, other = (task_and_form(name)[0].name for name in (first, second))
            yield TaskComparison(one, other, condition, float(alpha))


def _side(base: str, condition: Condition) -> Side:
    return Side(base, condition.setting, condition.fraction)


def sizes_of(families: Families) -> list[str]:
    """All sizes, in the order of the file."""
    return list(dict.fromkeys(size for family in families.values() for size in family))


def read_families(found: Families, bases: Sequence[str], check: Checker) -> Families:
    """[families.roberta] base = "roberta-base", large = "roberta-large": each base has one size, or none has."""
    families: Families = found
    named = [base for family in families.values() for base in family.values()]
    for base in named:
        if base not in bases:
            raise check.error(f"families: {base} is not among the bases", near(base, bases))
        if named.count(base) > 1:
            raise check.error(f"families: {base} is named twice", "name each base once")
    if named and (left := [base for base in bases if base not in named]):
        hint = f'add it to a family: [families.NAME] with base = "{left[0]}"'
        raise check.error(f"families: {left[0]} has no size", hint)
    return families
