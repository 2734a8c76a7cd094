"""unwaver gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import ALLOW_DIFFERENT, COMMON, FORCE, JSON, PATH, SEED, answer_options
from unwaver.cli.printing import inputs_of, print_json
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.verdicts.gates import Bar, Check

NOT_MET = 1


@verb(
    "gate",
    examples=(
        "unwaver gate runs/new --max tau=0.10 --min accuracy=0.8",
        "unwaver gate runs/new --baseline runs/old --max-drop 0.02",
        "unwaver gate runs/new --bars bars.toml --junit gate.xml --markdown gate.md",
    ),
)
@click.argument("path", type=PATH)
@section(
    "Bars",
    option("--max", "at_most", multiple=True, metavar="METRIC=X", help="Upper bar: tau=0.10. Repeatable."),
    option("--min", "at_least", multiple=True, metavar="METRIC=X", help="Lower bar: P_C=0.85. Repeatable."),
    option("--bars", type=PATH, metavar="FILE", help="TOML file with bars by suite, task and kind."),
    option("--alpha", type=float, metavar="X", help="Error probability of a pass, and of a fail. [default: 0.05]"),
    option("--allow-undecided", is_flag=True, help="Exit with 0 if more groups are needed to decide."),
    SEED,
)
@section(
    "Baseline",
    option("--baseline", type=PATH, metavar="PATH", help="Run to compare with."),
    option(
        "--max-drop",
        multiple=True,
        metavar="[METRIC=]X",
        help="How much worse than the baseline it may be. Repeatable.",
    ),
    COMMON,
    ALLOW_DIFFERENT,
)
@answer_options
@section(
    "Output",
    option("--junit", type=PATH, metavar="FILE", help="Write JUnit XML to this file."),
    option("--markdown", type=PATH, metavar="FILE", help="Write a Markdown summary to this file."),
    FORCE,
    JSON,
)
def command(
    path: Path,
    at_most: tuple[str, ...],
    at_least: tuple[str, ...],
    bars: Path | None,
    baseline: Path | None,
    max_drop: tuple[str, ...],
    alpha: float | None,
    allow_undecided: bool,
    common: bool,
    allow_different: bool,
    junit: Path | None,
    markdown: Path | None,
    force: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Check a run against bars: pass, fail or undecided. No model is asked.

    PATH is a run folder, a table or a log. A bar passes if the one-sided confidence limit meets it and fails if
    the opposite limit misses it. Otherwise it is undecided, and unwaver estimates how many groups would decide.
    Bars given as options apply to every suite that has the metric.

    Exit codes: 0 pass, 1 fail or undecided, 2 bad input.
    """
    from unwaver.engine.folder import write_whole
    from unwaver.errors import UsageError
    from unwaver.outputs import append, check_output, is_step_summary, is_stream
    from unwaver.verdicts import gates as gate
    from unwaver.verdicts.paired_runs import sides_of

    inputs = inputs_of("junit", "markdown")
    appends = markdown is not None and is_step_summary(markdown)
    if junit:
        check_output(junit, "junit", inputs=inputs, force=force, option="--junit")
    if junit and markdown and junit.resolve() == markdown.resolve() and not is_stream(junit):
        raise UsageError("--junit and --markdown name the same file", file=junit, hint="give each its own file")
    if markdown and not appends:
        check_output(markdown, "gate markdown", inputs=inputs, force=force, option="--markdown")
    chosen: list[Bar] = []
    if bars is not None:
        chosen, of_file = gate.read_bars(bars)
        alpha = of_file if alpha is None else alpha
    chosen += [gate.bar_from(text, "max") for text in at_most]
    chosen += [gate.bar_from(text, "min") for text in at_least]
    chosen += [gate.bar_from(text, "max_drop") for text in max_drop]
    alpha = 0.05 if alpha is None else alpha
    checks = gate.gate(
        sides_of(path, **options),
        chosen,
        baseline=sides_of(baseline, **options) if baseline else (),
        alpha=alpha,
        common=common,
        allow_different=allow_different,
        seed=seed,
    )
    if junit:
        write_whole(junit, gate.junit(checks, allow_undecided))
    if markdown and appends:
        append(markdown, gate.markdown(checks, alpha))
    elif markdown:
        write_whole(markdown, gate.markdown(checks, alpha))
    if as_json:
        print_json(gate.document(checks, alpha, allow_undecided))
    else:
        _print(checks, alpha)
    if not gate.is_met(checks, allow_undecided):
        raise click.exceptions.Exit(NOT_MET)


def _print(checks: list[Check], alpha: float) -> None:
    from rich.console import Console
    from rich.text import Text

    from unwaver.reports.terminal import percent, print_rows
    from unwaver.text.safe import safe
    from unwaver.verdicts.gates import limits, overall

    console = Console(highlight=False)
    several = len({(c.model, c.method) for c in checks}) > 1
    suites = {c.suite for c in checks if c.suite}

    def about(check: Check) -> str:
        return check.case.removeprefix(f"{check.suite}/") if len(suites) == 1 and check.suite else check.case

    header = ["relation", "bar", "%", "limits", "acc.", "groups", "verdict"]
    rows = [
        [about(c), c.bar, percent(c.value), limits(c), percent(c.accuracy), f"{c.counted:,}", c.verdict]
        for c in checks
    ]
    if several:
        header.insert(1, "model")
        for row, check in zip(rows, checks, strict=True):
            row.insert(1, check.model)
    print_rows([header, *rows], console)
    for check in checks:
        if check.verdict == "undecided" or check.value is None or check.missing:
            name = f"{about(check)}{f' ({check.model})' if several else ''}"
            console.print(Text(safe(f"{name}: {check.bar}: {check.reason}"), style="yellow"), soft_wrap=True)
    style = {"pass": "green", "fail": "red", "undecided": "yellow"}[overall(checks)]
    console.print(Text(f"{overall(checks)}", style=f"bold {style}"))
    of_drops = "; of a drop, of how much worse it is" if any(c.bar.startswith("drop") for c in checks) else ""
    console.print(f"Limits are one-sided at {100 * (1 - alpha):g} %{of_drops}.", style="dim", markup=False)
