"""unwaver compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import print_json
from unwaver.cli.score_verb import answer_options

if TYPE_CHECKING:
    from rich.console import Console

    from unwaver.verdicts.paired_runs import Comparison, Row


@click.command("compare")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--metric", "metrics", multiple=True, help="Compare this metric; may be given often. [the leading one of each]"
)
@click.option("--common", is_flag=True, help="Compare the groups that both have, where they have others too.")
@click.option("--allow-different", is_flag=True, help="Compare runs with other settings, and name these.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Below this corrected p there is a difference.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Show so many changed groups of each.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@answer_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document, with all changed groups.")
def command(
    paths: tuple[Path, ...],
    metrics: tuple[str, ...],
    common: bool,
    allow_different: bool,
    alpha: float,
    limit: int,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare runs on the same groups: each of PATHS against the first. No model is asked.

    PATHS are run folders, tables or logs (what unwaver score takes). One path with several models compares these;
    paths with the same several models are compared model by model. McNemar's exact test, or a permutation by
    cluster; Holm's correction over the table.

    \b
    Examples:
      unwaver compare runs/old runs/new
      unwaver compare runs/base runs/large runs/huge --metric tau --metric accuracy
      unwaver compare old.csv new.csv --common
    """
    from unwaver.verdicts.paired_runs import compare, document, pairs_of, sides_of

    pairs = pairs_of([sides_of(path, **options) for path in paths])
    found = compare(pairs, metrics=metrics, common=common, allow_different=allow_different, alpha=alpha, seed=seed)
    if as_json:
        print_json(document(found, alpha))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for comparison in found:
        _print(comparison, limit, console)
    tests = sum(row.p is not None for c in found for row in c.rows)
    console.print(
        f"p is corrected for {tests} test{'s' * (tests != 1)} (Holm): below {alpha:g} it is better or worse.",
        style="dim",
        markup=False,
    )


def _print(comparison: Comparison, limit: int, console: Console) -> None:
    from rich.text import Text

    from unwaver.reports.terminal import print_rows
    from unwaver.text.safe import safe
    from unwaver.verdicts.paired_runs import summary

    first, second = comparison.first, comparison.second
    if first.path == second.path:
        title = f"{second.model} ({second.method}) against {first.model} ({first.method})"
    else:
        title = f"{second.name} against {first.name}"
    console.print(Text(safe(title), style="bold"))
    print_rows([_NUMBERS, *map(_numbers, comparison.rows)], console)
    print_rows(_counts(comparison.rows), console)
    counts = summary(comparison.rows)
    if len(comparison.rows) > 1:
        ways = list(dict.fromkeys(way for of_kind in counts.values() for way in of_kind))
        body = [[kind, *(str(of_kind.get(way, 0)) for way in ways)] for kind, of_kind in counts.items()]
        total = [str(sum(of_kind.get(way, 0) for of_kind in counts.values())) for way in ways]
        print_rows([["relation", *ways], *body, ["all", *total]], console)
    for line in [*_changed(comparison.rows, limit), *comparison.remarks]:
        console.print(Text(safe(line), style="yellow"), soft_wrap=True)


_NUMBERS = ["relation", "metric", "first", "second", "diff.", "95 % interval", "p", "is"]


def _numbers(row: Row) -> list[str]:
    from unwaver.reports.terminal import ARROW, p_value, percent

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


def _counts(rows: Sequence[Row]) -> list[list[str]]:
    """What the numbers rest on; missing and unreadable answers only where there are any."""
    from unwaver.reports.terminal import percent

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


def _changed(rows: Sequence[Row], limit: int) -> list[str]:
    lines = []
    for way in ("broken", "fixed"):
        names = list(dict.fromkeys(name for row in rows for name in getattr(row, way)))
        if names and limit:
            more = f" and {len(names) - limit:,} more (--limit, --json)" if len(names) > limit else ""
            lines.append(f"newly {way}: {', '.join(names[:limit])}{more}")
    return lines
