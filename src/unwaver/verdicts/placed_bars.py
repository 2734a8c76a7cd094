"""Bars with the suites, tasks and kinds that they hold for, from a TOML file, texts or Bar objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unwaver.bars import LEADING, Bar, Way, bar_of, fraction, parse_bar
from unwaver.errors import DataError, UsageError, near
from unwaver.files import read_toml

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
    alpha = given.pop("alpha", None)
    bars: list[PlacedBar] = []
    for where, table in given.items():
        if where == _BARS and not isinstance(table, dict):
            bars += bars_at(EVERYWHERE, table, path)
            continue
        if not isinstance(table, dict):
            hint = f'put it below a table: ["{EVERYWHERE}"] is for everything'
            if (meant := near(where, _TOP)).startswith("did"):
                hint = f"{meant} For example {_EXAMPLE}"
            raise DataError(f'"{where}" is outside of a table', file=path, hint=hint)
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


def _bars_in(where: str, table: Mapping[str, Any], path: Path) -> Iterator[PlacedBar]:
    for name in table:
        if name not in (_BARS, *_WAYS):
            raise DataError(f'["{where}"]: "{name}" is not known', file=path, hint=near(name, (_BARS, *_WAYS)))
    if _BARS in table:
        yield from bars_at(where, table[_BARS], path)
    for way in _WAYS:
        if way not in table:
            continue
        given = table[way]
        metrics = {LEADING: given} if way == "max_drop" and not isinstance(given, dict) else given
        if not isinstance(metrics, dict):
            raise DataError(f'["{where}"]: {way} = {given!r}', file=path, hint=f"{way} = {{tau = 0.1}}")
        for metric, value in metrics.items():
            place = f'{path}: ["{where}"] {way} {metric}'
            yield PlacedBar(bar_of(way, metric, value, place, f"{way} = {{tau = 0.1}}"), where)


def bars_at(where: str, given: Any, path: Path) -> Iterator[PlacedBar]:
    """The bars of a list: ["tau<=0.10"] at "becel/snli"."""
    place = _BARS if where == EVERYWHERE else f'["{where}"] {_BARS}'
    if not isinstance(given, list):
        raise DataError(f"{place} = {given!r} is not a list", file=path, hint=f"write {_EXAMPLE}")
    for text in given:
        yield PlacedBar(parse_bar(text, f"{path}: {place}:"), where)
