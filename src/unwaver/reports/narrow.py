"""Tables on a terminal that is too narrow for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unwaver.reports.terminal import COLUMNS, table_of, width_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Lines = Sequence[Sequence[str]]
LEAST = 16  # characters of a name in a line


def fitting(lines: Lines, console: Console) -> list[Table]:
    """Two tables, the second one for the counts of what went wrong; then each relation on a line above its
    metrics; then names that go on in the next line."""
    parts = [lines]
    if len(lines[0]) > COLUMNS:
        counts = list(dict.fromkeys((line[0], *line[COLUMNS:]) for line in lines))
        if len({line[0] for line in counts}) < len(counts):  # the metrics of a relation mostly share them
            counts = [(*line[:2], *line[COLUMNS:]) for line in lines]
        parts = [[line[:COLUMNS] for line in lines], counts]
    return [_fits(part, console) for part in parts]


def _fits(lines: Lines, console: Console) -> Table:
    forms = [table_of(lines), table_of(lines, tight=True)]
    if "metric" in lines[0][:2]:
        forms.append(table_of(stacked(lines), tight=True))
    for table in forms:
        if width_of(table, console) <= console.width:
            return table
    return folded(stacked(lines) if "metric" in lines[0][:2] else lines, console)


def stacked(lines: Lines) -> list[list[str]]:
    """The name of a relation above the lines of its metrics, which begin with two spaces."""
    header, *body = lines
    made = [[header[0], *header[2:]]]
    last = None
    for relation, metric, *rest in body:
        if relation != last:
            made.append([relation, *([""] * len(rest))])
        made.append([f"  {metric}", *rest])
        last = relation
    return made


def folded(lines: Lines, console: Console) -> Table:
    """With a first column that goes on in the next line; rather a line too long than a number cut."""
    table = table_of(lines, tight=True)
    rest = width_of(table_of([line[1:] for line in lines], tight=True), console)
    first = table.columns[0]
    first.no_wrap, first.overflow = False, "fold"
    first.width = first.max_width = max(LEAST, console.width - rest - 1)
    table.width = max(console.width, first.width + rest + 1)
    return table


def fitted(lines: Lines, console: Console) -> Table:
    """With less space between columns where that makes it fit; else rather a line too long than a number cut."""
    table = table_of(lines)
    if width_of(table, console) > console.width:
        table = table_of(lines, tight=True)
        natural = width_of(table, console)
        table.width = natural if natural > console.width else None
    return table
