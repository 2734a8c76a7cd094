"""Bars with the suites, tasks and kinds that they hold for, from a TOML file, texts or Bar objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from unwaver.bars import LEADING, Bar, Way, bar_of, fraction, parse_bar
from unwaver.errors import DataError, UsageError, near
from unwaver.files import read_toml
from unwaver.typed import Wrong, typed

EVERYWHERE = "*"
_WAYS: tuple[Way, ...] = ("max", "min", "max_drop")
_BARS = "bars"
_TOP = (_BARS, "alpha")  # what may stand outside of a table
_EXAMPLE = 'bars = ["tau<=0.10"]'


@dataclass(frozen=True)
class PlacedBar:
    """A bar on everything that `where` names: "*", "becel/snli", "*/*/symmetric"."""

    bar: Bar
    where: str = EVERYWHERE

    def matches(self, case: tuple[str, str, str]) -> int | None:
        """How closely: the number of parts that are named; None if it is about something else."""
        parts = self.where.split("/")
        if any(part not in (EVERYWHERE, name) for part, name in zip(parts, case, strict=False)):
            return None
        return sum(part != EVERYWHERE for part in parts)

    def limits_the_same(self, other: PlacedBar) -> bool:
        return _limited(self.bar) == _limited(other.bar)


def _limited(bar: Bar) -> tuple[str, str]:
    return bar.subject, bar.sign


def bars_for(case: tuple[str, str, str], bars: Sequence[PlacedBar]) -> list[PlacedBar]:
    """The bars that apply. If several limit the same metric, the one that names most parts; of two alike, the
    later."""
    chosen: dict[tuple[str, str], tuple[int, PlacedBar]] = {}
    for placed in bars:
        closeness = placed.matches(case)
        key = _limited(placed.bar)
        if closeness is not None and (key not in chosen or closeness >= chosen[key][0]):
            chosen[key] = closeness, placed
    return [placed for _, placed in chosen.values()]


# --- reading ------------------------------------------------------------------------------------------------

Given = str | Bar | PlacedBar | Path  # a path is a bars file


def bars_from(given: Given | Sequence[Given]) -> tuple[list[PlacedBar], float | None]:
    """Bars as Python gives them, and the alpha of a bars file: a list of "tau<=0.10", Bar objects and paths of
    bars files, or one of them. Outside of a list "bars.toml" is a path, too."""
    if isinstance(given, str) and (given.lower().endswith(".toml") or not set(given) & set("<>≤≥=")):
        given = Path(given)
    several = [given] if isinstance(given, str | Bar | PlacedBar | Path) else given
    if not isinstance(several, Sequence):
        raise UsageError(f"bars={given!r} is not a list of bars", hint='write bars=["tau<=0.10", "P_C>=0.85"]')
    bars: list[PlacedBar] = []
    alpha: float | None = None
    for one in several:
        if isinstance(one, Path):
            of_file, stated = read_bars(one)
            bars, alpha = bars + of_file, alpha if stated is None else stated
        else:
            bars.append(one if isinstance(one, PlacedBar) else PlacedBar(parse_bar(one, "bars:")))
    return bars, alpha


def read_bars(path: Path) -> tuple[list[PlacedBar], float | None]:
    """The bars of a TOML file, and its alpha if it has one: a list for everything, and a table for each
    suite/task/kind, or "*"."""
    given = read_toml(path, "file", f'{_EXAMPLE}, or ["becel/snli"] and below it {_EXAMPLE}')
    alpha = typed(Number | None, given.pop("alpha", None), path, "leave it out for 0.05", "alpha")
    bars: list[PlacedBar] = []
    for where, table in given.items():
        if where == _BARS and not isinstance(table, dict):
            bars += bars_at(EVERYWHERE, table, path)
            continue
        hint = f'put it below a table: ["{EVERYWHERE}"] is for everything'
        if (meant := near(where, _TOP)).startswith("did"):
            hint = f"{meant} For example {_EXAMPLE}"
        typed(dict[str, Any], table, path, hint, where)
        if where.count("/") > 2:
            raise DataError(f'["{where}"] is more than suite/task/kind', file=path, hint="leave the rest out")
        bars += _bars_in(where, table, path)
    if not bars:
        raise DataError("it has no bars", file=path, hint=_EXAMPLE)
    if alpha is not None:
        alpha = fraction(alpha, f"{path}: alpha")
        if not 0 < alpha < 0.5:
            what = f"alpha is {alpha:g}, expected a share between 0 and 0.5"
            raise DataError(what, file=path, hint="leave it out for 0.05")
    return bars, alpha


Number = float | str  # 0.1, "10 %"


class BarsTable(msgspec.Struct, forbid_unknown_fields=True):
    """["becel/snli"] of a bars file."""

    bars: list[str] = []
    max: dict[str, Number] = {}
    min: dict[str, Number] = {}
    max_drop: Number | dict[str, Number] = {}


def _hint_of_table(wrong: Wrong) -> str:
    if wrong.strange:
        return near(wrong.strange, wrong.known)
    way = next((way for way in reversed(_WAYS) if f".{way}" in wrong.at), "")
    return f"{way} = {{tau = 0.1}}" if way else f"write {_EXAMPLE}"


def _bars_in(where: str, table: Mapping[str, Any], path: Path) -> Iterator[PlacedBar]:
    typed(BarsTable, table, path, _hint_of_table, where)
    if _BARS in table:
        yield from bars_at(where, table[_BARS], path)
    for way in _WAYS:
        if way not in table:
            continue
        given = table[way]
        metrics = given if isinstance(given, dict) else {LEADING: given}
        for metric, value in metrics.items():
            place = f'{path}: ["{where}"] {way} {metric}'
            yield PlacedBar(bar_of(way, metric, value, place, f"{way} = {{tau = 0.1}}"), where)


def bars_at(where: str, given: Any, path: Path) -> Iterator[PlacedBar]:
    """The bars of a list: ["tau<=0.10"] at "becel/snli"."""
    place = _BARS if where == EVERYWHERE else f'["{where}"] {_BARS}'
    for text in typed(list[str], given, path, f"write {_EXAMPLE}", place):
        yield PlacedBar(parse_bar(text, f"{path}: {place}:"), where)
