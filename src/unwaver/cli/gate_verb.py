"""unwaver gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import force_option, inputs_of, print_json
from unwaver.cli.score_verb import answer_options

if TYPE_CHECKING:
    from unwaver.verdicts.gates import Bar, Check

NOT_MET = 1
_PATH = click.Path(path_type=Path)


@click.command("gate")
@click.argument("path", type=_PATH)
@click.option("--max", "at_most", multiple=True, metavar="METRIC=X", help="At most this: tau=0.10.")
@click.option("--min", "at_least", multiple=True, metavar="METRIC=X", help="At least this: P_C=0.85.")
@click.option("--bars", type=_PATH, help="A TOML file with bars by suite, task and kind.")
@click.option("--baseline", type=_PATH, help="A run that this one must not be much worse than.")
@click.option("--max-drop", multiple=True, metavar="[METRIC=]X", help="Worse than the baseline by at most this.")
@click.option("--alpha", type=float, help="The chance of a wrong pass, and of a wrong fail. [0.05]")
@click.option("--allow-undecided", is_flag=True, help="Exit with 0 where more groups are needed.")
@click.option("--common", is_flag=True, help="Baseline: the groups that both have, where they have others too.")
@click.option("--allow-different", is_flag=True, help="Baseline: also with other settings.")
@click.option("--junit", type=_PATH, help="Write JUnit XML here.")
@click.option("--markdown", type=_PATH, help="Write a Markdown summary here.")
@force_option
@click.option("--seed", type=int, default=0, show_default=True)
@answer_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document with the verdicts.")
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
    """Does a run meet its bars? PATH is a run folder, a table or a log. No model is asked.

    Pass: the one-sided confidence limit is within the bar. Fail: the other limit is beyond it. Else undecided,
    with the number of groups that would decide. Bars given here hold for everything that has the metric.

    \b
    Exit codes: 0 pass, 1 fail or undecided, 2 bad input.

    \b
    Examples:
      unwaver gate runs/new --max tau=0.10 --min accuracy=0.8
      unwaver gate runs/new --baseline runs/old --max-drop 0.02
      unwaver gate runs/new --bars bars.toml --junit gate.xml --markdown gate.md
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
