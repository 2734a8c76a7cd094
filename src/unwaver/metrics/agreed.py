"""Which answers to a question agree: one notion for each run of free text, and everybody asks here.

The first agreement of the table leads. Two answers agree if their value, the mean of both directions, is at least
its threshold; if lower is better (contradict), if it is below. A group is broken if two answers to distinct
wordings do not agree. So the answers a, a, b are broken under `exact`, and a, A, a hold under `normalised`.

Answers to an original that was asked again alone are compared with one another (Cons_<f>_repeat), and with nothing
else. A group with fewer than two answered wordings does not apply. Neither does one where two answers could not be
compared, unless two others disagree: it would be called consistent without being known to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from unwaver.metrics.block import Block, Bools, Codes, Metric
from unwaver.stats import Floats
from unwaver.stats.units import connected

ANSWERS, QUESTIONS = "agree_", "agree_questions_"  # what the names of the columns begin with
_LOW = " low"  # how the names of the columns end where less is better
WITH_FIELDS = ("json", "tool")  # agreements that compare answers field by field
WORDING = ("exact", "normalised")  # agreements that see another wording as another answer


class Notion(NamedTuple):
    """An agreement that the table has values of. `column` is what the names of its columns have in common."""

    name: str
    threshold: float
    low: bool
    column: str

    def agrees(self, value: Floats) -> Bools:
        return np.asarray(value < self.threshold if self.low else value >= self.threshold)


class Pairs(NamedTuple):
    """One entry for each pair of rows of a group whose value is known."""

    i: Codes
    j: Codes
    value: Floats


def column_of(name: str, threshold: float, *, low: bool) -> str:
    """column_of("contradict", 0.5, low=True) -> "contradict@0.5 low"."""
    return f"{name}@{threshold:g}{_LOW if low else ''}"


def notions(block: Block) -> dict[str, Notion]:
    """The agreements that the table has values of, the one that leads first."""
    return notions_of(block.agree)


def notions_of(columns: Iterable[str]) -> dict[str, Notion]:
    """The same by the names of the columns of a table: ["group", "agree_judge@0.5"] has {"judge": …}."""
    return {name: notion for name, notion in _all_of(columns).items() if not is_field(name)}


def field_notions(block: Block) -> dict[str, Notion]:
    """The fields that were compared beside a whole: {"json.price": …}."""
    return {name: notion for name, notion in _all_of(block.agree).items() if is_field(name)}


def is_field(name: str) -> bool:
    """Whether an agreement is that of one field: "json.price"."""
    return name.startswith(tuple(f"{whole}." for whole in WITH_FIELDS))


def _all_of(columns: Iterable[str]) -> dict[str, Notion]:
    found = {}
    for name in columns:
        if name.startswith(ANSWERS) and not name.startswith(QUESTIONS):
            column = name.removeprefix(ANSWERS)
            agreement, _, bar = column.removesuffix(_LOW).rpartition("@")
            found[agreement] = Notion(agreement, float(bar), column.endswith(_LOW), column)
    return found


def decides(block: Block) -> bool:
    """Whether agreement says which groups are broken. A conclusion is right or wrong instead."""
    return bool(block.agree) and block.expect != "implied"


def leading(block: Block) -> Notion:
    return next(iter(notions(block).values()))


@lru_cache(maxsize=4)  # the metrics of one agreement follow one another
def pairs(block: Block, name: str, of: str = ANSWERS) -> Pairs:
    """Ordered pairs."""
    column = block.agree[of + _all_of(block.agree)[name].column]
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    i = np.repeat(np.arange(len(column)), lengths)
    value = column.drop_nulls().list.explode(keep_nulls=True).fill_null(np.nan).to_numpy().astype(np.float64)
    # the nth value of a row belongs to the nth row of its group
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(i)) - starts[i]
    first = _first_row(block)
    order = np.argsort(block.group, kind="stable")
    j = order[first[block.group[i]] + place]
    known = ~np.isnan(value)
    return Pairs(i[known], j[known], value[known])


def _first_row(block: Block) -> Codes:
    """Where the rows of each group begin, when rows are sorted by group."""
    counts = np.bincount(block.group, minlength=block.groups)
    return np.asarray(np.cumsum(counts) - counts, dtype=np.int64)


def of_wordings(block: Block, found: Pairs) -> Bools:
    counted = ~(block.alone[found.i] | block.alone[found.j])
    return np.asarray(counted & (block.wording[found.i] != block.wording[found.j]))


@lru_cache(maxsize=4)
def both_ways(block: Block, name: str) -> Pairs:
    """Pairs i < j whose values are known in both directions, with their mean."""
    found, rows = pairs(block, name), len(block.group)
    up, down = found.i < found.j, found.i > found.j
    i, j = found.i[up], found.j[up]
    _, one, other = np.intersect1d(i * rows + j, found.j[down] * rows + found.i[down], return_indices=True)
    return Pairs(i[one], j[one], (found.value[up][one] + found.value[down][other]) / 2)


def broken(block: Block) -> Floats:
    """Per group: 1 if two answers do not agree, 0 if all do; NaN if that is not known. Where answers must
    differ (negations), 1 if a variant agrees with the original."""
    return broken_by(block, leading(block))


def broken_by(block: Block, notion: Notion) -> Floats:
    """The same by any notion, also that of one field."""
    found = both_ways(block, notion.name)
    rows, group = _deciding(block, found), block.group[found.i]
    breaks = notion.agrees(found.value) == (block.expect == "different")
    is_broken = np.bincount(group[rows & breaks], minlength=block.groups) > 0
    known, wanted = np.bincount(group[rows], minlength=block.groups), _wanted(block)
    return np.where(is_broken, 1.0, np.where((wanted > 0) & (known >= wanted), 0.0, np.nan))


def _deciding(block: Block, found: Pairs) -> Bools:
    """The pairs that can break a group: answers to distinct wordings, or a variant with an original."""
    if block.expect == "different":
        counted = ~(block.alone[found.i] | block.alone[found.j])
        return np.asarray(counted & (block.target[found.i] != block.target[found.j]))
    return of_wordings(block, found)


def _wanted(block: Block) -> Codes:
    """Per group: how many such pairs there are."""
    answered = (block.code >= 0) & ~block.alone

    def count(rows: Bools) -> Codes:
        return np.bincount(block.group[rows], minlength=block.groups)

    if block.expect == "different":
        return count(answered & block.target) * count(answered & ~block.target)
    _, first, repeats = np.unique(block.wording[answered], return_index=True, return_counts=True)
    squares = np.bincount(block.group[answered][first], weights=repeats**2, minlength=block.groups)
    return np.asarray((count(answered) ** 2 - squares.astype(np.int64)) // 2)


def not_compared(block: Block, name: str) -> Bools:
    """Per group: this agreement has no value for two answers that it should compare."""
    found = both_ways(block, name)
    rows = _deciding(block, found)
    return np.asarray(np.bincount(block.group[found.i[rows]], minlength=block.groups) < _wanted(block))


# --- as metrics -----------------------------------------------------------------------------------------------


def metrics(block: Block) -> Iterator[Metric]:
    """The share of broken groups, and that among groups whose original was answered right."""
    several = max(int(block.wordings(block.target).max(initial=0)), 1)
    yield Metric("tau", broken, any_of=several)
    if block.expect != "bucket":
        yield Metric("tau_conditioned", _conditioned, any_of=several)


def _conditioned(block: Block) -> Floats:
    right = np.ones(block.groups, dtype=bool)
    group_of_trial = np.zeros(block.trials, dtype=np.int64)
    group_of_trial[block.trial] = block.group
    right[group_of_trial[~block.originals_right]] = False
    return np.where(right, broken(block), np.nan)


# --- sets of answers that say the same --------------------------------------------------------------------------


@lru_cache(maxsize=1)
def set_sizes(block: Block) -> tuple[Codes, Codes]:
    """For each set of answers that are connected by agreement: its group and how many they are."""
    notion, answered, rows = leading(block), (block.code >= 0) & ~block.alone, len(block.group)
    found = both_ways(block, notion.name)
    same = notion.agrees(found.value) & ~(block.alone[found.i] | block.alone[found.j])
    component = connected(found.i[same], found.j[same], rows)
    _, first, count = np.unique(component[answered], return_index=True, return_counts=True)
    return block.group[answered][first], count


def all_compared(block: Block, values: Floats) -> Floats:
    """Null where fewer than two answers are left, or if it is not known of two of them whether they agree."""
    answers = np.bincount(block.group[(block.code >= 0) & ~block.alone], minlength=block.groups)
    found = both_ways(block, leading(block).name)
    counted = ~(block.alone[found.i] | block.alone[found.j])
    compared = np.bincount(block.group[found.i[counted]], minlength=block.groups)
    return np.where((answers >= 2) & (compared >= answers * (answers - 1) // 2), values, np.nan)
