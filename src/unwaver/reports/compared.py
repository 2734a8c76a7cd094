"""Compared runs, for people: on a terminal, in a notebook, and as a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from unwaver.console import captured
from unwaver.reports.terminal import ARROW, LEFT, p_value, percent, print_rows
from unwaver.text import displayed
from unwaver.text.shown import safe
from unwaver.verdicts.differing import heading
from unwaver.verdicts.paired_runs import ComparedScore, Comparison, document, summary

if TYPE_CHECKING:
    from rich.console import Console

    from unwaver.frames import Frame

NAMED = 3  # groups that broke or were fixed, by name
IN_PYTHON = ".broken, .fixed"


@dataclass(frozen=True, repr=False)
class Comparisons(Sequence[Comparison]):
    """What `unwaver.compare` found: one comparison for each later run or model with the first."""

    found: Sequence[Comparison]
    alpha: float = 0.05

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | Sequence[Comparison]:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    @property
    def rows(self) -> list[ComparedScore]:
        """Every compared metric of every comparison."""
        return [row for comparison in self.found for row in comparison.rows]

    @property
    def broken(self) -> list[str]:
        """The ids of the groups that held in the first and are broken in a later one."""
        return list(dict.fromkeys(name for row in self.rows for name in row.broken))

    @property
    def fixed(self) -> list[str]:
        """The ids of the groups that were broken in the first and hold in a later one."""
        return list(dict.fromkeys(name for row in self.rows for name in row.fixed))

    def frame(self) -> Frame:
        """One row for each compared metric, as a Polars frame."""
        import polars as pl

        from unwaver.frames import Frame, frame_of

        parts = [
            frame_of(c.rows, ComparedScore).select(
                pl.lit(c.first.name).alias("first_run"), pl.lit(c.second.name).alias("second_run"), pl.all()
            )
            for c in self.found
        ]
        return Frame(pl.concat(parts)) if parts else frame_of([], ComparedScore)

    def document(self) -> dict[str, Any]:
        """What `unwaver compare --json` prints."""
        return document(self.found, self.alpha)

    def __str__(self) -> str:
        return captured(lambda console: print_comparisons(self.found, self.alpha, NAMED, console, IN_PYTHON))

    def __repr__(self) -> str:
        return str(self).rstrip()

    def _repr_html_(self) -> str:
        parts = []
        for comparison in self.found:
            parts += [displayed.headline(title(comparison), _level(comparison))]
            parts += [displayed.soft(line) for line in heading(comparison.differs)]
            for rows in tables(comparison):
                parts.append(displayed.table(rows, LEFT))
            lines = [*_changed(comparison.rows, NAMED, IN_PYTHON), *comparison.remarks]
            parts.append(displayed.notes(list(lines)))
        return displayed.framed(*parts, displayed.soft(about_p(self.found, self.alpha)))


def _level(comparison: Comparison) -> str:
    found = {row.verdict for row in comparison.rows}
    return "bad" if "worse" in found else "good" if "better" in found else "unsure"


def title(comparison: Comparison) -> str:
    first, second = comparison.first, comparison.second
    if first.path == second.path:
        return safe(f"{second.model} ({second.method}) against {first.model} ({first.method})")
    return safe(f"{second.name} against {first.name}")


def print_comparisons(
    found: Sequence[Comparison], alpha: float, limit: int, console: Console, where: str = "--limit, --json"
) -> None:
    """The tables of each comparison; `where` says where the names of all changed groups are."""
    for comparison in found:
        _print(comparison, limit, where, console)
    console.print(about_p(found, alpha), style="dim", markup=False)


def about_p(found: Sequence[Comparison], alpha: float) -> str:
    tests = sum(row.p is not None for c in found for row in c.rows)
    return f"p is corrected for {tests} test{'s' * (tests != 1)} (Holm): below {alpha:g} it is better or worse."


def _print(comparison: Comparison, limit: int, where: str, console: Console) -> None:
    from rich.text import Text

    console.print(Text(title(comparison), style="bold"))
    for line in heading(comparison.differs):
        console.print(Text(safe(line)), soft_wrap=True)
    for rows in tables(comparison):
        print_rows(rows, console)
    counts = summary(comparison.rows)
    if len(comparison.rows) > 1:
        ways = list(dict.fromkeys(way for of_kind in counts.values() for way in of_kind))
        body = [[kind, *(str(of_kind.get(way, 0)) for way in ways)] for kind, of_kind in counts.items()]
        total = [str(sum(of_kind.get(way, 0) for of_kind in counts.values())) for way in ways]
        print_rows([["relation", *ways], *body, ["all", *total]], console)
    for line in [*_changed(comparison.rows, limit, where), *comparison.remarks]:
        console.print(Text(safe(line), style="yellow"), soft_wrap=True)


_NUMBERS = ["relation", "metric", "first", "second", "diff.", "95 % interval", "p", "is"]


def tables(comparison: Comparison) -> tuple[list[list[str]], list[list[str]]]:
    """The numbers, and what they rest on; the first row of each has the titles."""
    return [_NUMBERS, *map(_numbers, comparison.rows)], _counts(comparison.rows)


def _numbers(row: ComparedScore) -> list[str]:
    given = f" ({row.given})" if row.given is not None else ""
    return [
        f"{row.task}/{row.kind}",
        f"{row.metric}{given}{ARROW[row.better]}",
        percent(row.first),
        percent(row.second),
        signed(row.difference),
        "–" if row.low is None else f"{signed(row.low)}, {signed(row.high)}",
        p_value(row.p_holm),
        "–" if row.verdict in (None, "no difference") else str(row.verdict),
    ]


def _counts(rows: Sequence[ComparedScore]) -> list[list[str]]:
    """What the numbers rest on; missing and unreadable answers only where there are any."""
    columns: dict[str, list[str]] = {
        "relation": [f"{row.task}/{row.kind}" for row in rows],
        "groups": [f"{row.counted:,}" for row in rows],
        "n/a": [f"{row.not_applicable:,}" for row in rows],
    }
    if any(row.missing for row in rows):
        columns["missing"] = [f"{row.missing:,}" for row in rows]
    if any(any(row.unreadable) for row in rows):
        columns["unreadable"] = [f"{row.unreadable[0]:,}, {row.unreadable[1]:,}" for row in rows]
    columns["acc. first"] = [percent(row.accuracy[0]) for row in rows]
    columns["second"] = [percent(row.accuracy[1]) for row in rows]
    columns["broken"] = [f"{len(row.broken):,}" for row in rows]
    columns["fixed"] = [f"{len(row.fixed):,}" for row in rows]
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def signed(value: float | None) -> str:
    """0.05 -> +5.0"""
    return "–" if value is None else f"{100 * value:+.1f}".replace("-0.0", "0.0").replace("+0.0", "0.0")


def _changed(rows: Sequence[ComparedScore], limit: int, where: str) -> list[str]:
    lines = []
    for way in ("broken", "fixed"):
        names = list(dict.fromkeys(name for row in rows for name in getattr(row, way)))
        if names and limit:
            more = f" and {len(names) - limit:,} more ({where})" if len(names) > limit else ""
            lines.append(f"newly {way}: {', '.join(names[:limit])}{more}")
    return lines
