"""unwaver compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import ALLOW_DIFFERENT, COMMON, JSON, PATH, SEED, answer_options
from unwaver.cli.printing import print_json
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from rich.console import Console

    from unwaver.verdicts.paired_runs import ComparedScore, Comparison


@verb(
    "compare",
    examples=(
        "unwaver compare runs/old runs/new",
        "unwaver compare runs/base runs/large --metric tau --metric accuracy",
        "unwaver compare old.csv new.csv --common",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=PATH)
@section(
    "What to compare",
    option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="Metric to compare. Repeatable. [default: the main metric of each relation]",
    ),
    COMMON,
    ALLOW_DIFFERENT,
    option(
        "--alpha",
        type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        metavar="X",
        help="Significance level for corrected p values.",
    ),
    SEED,
)
@answer_options
@section(
    "Output",
    option(
        "--limit",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        metavar="N",
        help="Name at most N groups that broke and N that were fixed.",
    ),
    JSON.but(help="Print one JSON document with all changed groups on stdout."),
)
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
    """Compare runs on the same groups, each one with the first. No model is asked.

    PATHS are run folders, tables or logs, as for `unwaver score`. A single path with several models compares
    these. If each path has the same several models, unwaver compares model by model. Tests are McNemar's exact
    test or a permutation test by cluster, with Holm's correction over the whole table.
    """
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.logs.test_sets import shared_test_sets
    from unwaver.verdicts.paired_runs import compare, document, pairs_of, sides_of

    check_answer_options(paths, **options)
    with shared_test_sets(options.pop("test")) as sets:
        pairs = pairs_of([sides_of(path, test=sets, **options) for path in paths])
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
    from unwaver.text.shown import safe
    from unwaver.verdicts.differing import heading
    from unwaver.verdicts.paired_runs import summary

    first, second = comparison.first, comparison.second
    if first.path == second.path:
        title = f"{second.model} ({second.method}) against {first.model} ({first.method})"
    else:
        title = f"{second.name} against {first.name}"
    console.print(Text(safe(title), style="bold"))
    for line in heading(comparison.differs):
        console.print(Text(safe(line)), soft_wrap=True)
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


def _numbers(row: ComparedScore) -> list[str]:
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


def _counts(rows: Sequence[ComparedScore]) -> list[list[str]]:
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


def _changed(rows: Sequence[ComparedScore], limit: int) -> list[str]:
    lines = []
    for way in ("broken", "fixed"):
        names = list(dict.fromkeys(name for row in rows for name in getattr(row, way)))
        if names and limit:
            more = f" and {len(names) - limit:,} more (--limit, --json)" if len(names) > limit else ""
            lines.append(f"newly {way}: {', '.join(names[:limit])}{more}")
    return lines
