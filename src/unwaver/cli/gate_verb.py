"""unwaver gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import ALLOW_DIFFERENT, COMMON, FORCE, JSON, PATH, SEED, answer_options
from unwaver.cli.printing import inputs_of, print_json
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.verdicts.checks import GateOutcome
    from unwaver.verdicts.placed_bars import Given

NOT_MET = 1


@verb(
    "gate",
    examples=(
        "unwaver gate runs/new --bar 'tau<=0.10' --bar 'accuracy>=0.80'",
        "unwaver gate runs/new --baseline runs/old --bar 'drop(tau)<=0.02'",
        "unwaver gate runs/new --bars bars.toml --junit gate.xml --markdown gate.md",
    ),
)
@click.argument("path", type=PATH)
@section(
    "Bars",
    option(
        "--bar", "texts", multiple=True, metavar="BAR", help="Bar to meet: 'tau<=0.10', 'P_C>=0.85'. Repeatable."
    ),
    option("--max", "at_most", multiple=True, metavar="METRIC=X", help="Short for --bar 'METRIC<=X'. Repeatable."),
    option(
        "--min", "at_least", multiple=True, metavar="METRIC=X", help="Short for --bar 'METRIC>=X'. Repeatable."
    ),
    option("--bars", type=PATH, metavar="FILE", help="TOML file with bars by suite, task and kind."),
    option("--alpha", type=float, metavar="X", help="Error probability of a pass, and of a fail. [default: 0.05]"),
    option("--allow-undecided", is_flag=True, help="Exit with 0 if more groups are needed to decide."),
    SEED,
)
@section(
    "Baseline",
    option("--baseline", type=PATH, metavar="PATH", help="Run to compare with, for --bar 'drop(tau)<=0.02'."),
    option(
        "--max-drop",
        multiple=True,
        metavar="[METRIC=]X",
        help="Short for --bar 'drop(METRIC)<=X'. Repeatable.",
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
    texts: tuple[str, ...],
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

    PATH is a run folder, a table, a log or a job of people. A bar passes if the one-sided confidence limit meets
    it and fails if the opposite limit misses it. Otherwise it is undecided, and unwaver estimates how many groups
    would decide. Bars given as options apply to every suite that has the metric.

    Exit codes: 0 pass, 1 fail or undecided, 2 invalid input.
    """
    from unwaver.bars import parse_bar, short_bar
    from unwaver.engine.folder import write_whole
    from unwaver.errors import UsageError
    from unwaver.outputs import append, check_output, is_step_summary
    from unwaver.paths import is_stream
    from unwaver.verdicts import gate_files
    from unwaver.verdicts.gates import gate

    inputs = inputs_of("junit", "markdown")
    appends = markdown is not None and is_step_summary(markdown)
    if junit:
        check_output(junit, "junit", inputs=inputs, force=force, option="--junit")
    if junit and markdown and junit.resolve() == markdown.resolve() and not is_stream(junit):
        raise UsageError("--junit and --markdown name the same file", file=junit, hint="give each its own file")
    if markdown and not appends:
        check_output(markdown, "gate markdown", inputs=inputs, force=force, option="--markdown")
    given: list[Given] = [
        *([] if bars is None else [bars]),
        *(parse_bar(text) for text in texts),
        *(short_bar(text, "max") for text in at_most),
        *(short_bar(text, "min") for text in at_least),
        *(short_bar(text, "max_drop") for text in max_drop),
    ]
    outcome = gate(
        path,
        given,
        baseline=baseline,
        alpha=alpha,
        allow_undecided=allow_undecided,
        common=common,
        allow_different=allow_different,
        seed=seed,
        **options,
    )
    if junit:
        write_whole(junit, gate_files.junit(outcome))
    if markdown and appends:
        append(markdown, gate_files.markdown(outcome))
    elif markdown:
        write_whole(markdown, gate_files.markdown(outcome))
    if as_json:
        print_json(outcome.document())
    else:
        _print(outcome)
    if not outcome.is_met:
        raise click.exceptions.Exit(NOT_MET)


def _print(outcome: GateOutcome) -> None:
    from rich.console import Console
    from rich.text import Text

    from unwaver.reports.terminal import print_rows
    from unwaver.text.shown import safe

    console = Console(highlight=False)
    for line in outcome.heading:
        console.print(Text(safe(line)), soft_wrap=True)
    print_rows(outcome.rows(), console)
    for line in outcome.remarks():
        console.print(Text(safe(line), style="yellow"), soft_wrap=True)
    style = {"pass": "green", "fail": "red", "undecided": "yellow"}[outcome.verdict]
    console.print(Text(outcome.verdict, style=f"bold {style}"))
    console.print(outcome.note, style="dim", markup=False)
