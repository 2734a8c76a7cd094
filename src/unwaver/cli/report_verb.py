"""unwaver report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import CUT, FORCE, PATH, QUIET, WITHOUT_TEXTS, log_options
from unwaver.cli.printing import console, inputs_of
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UnwaverError

if TYPE_CHECKING:
    from unwaver.engine.runs import Outcome
    from unwaver.state import CutMode

TABLES, PICTURES = ("md", "latex", "csv"), ("png", "svg", "pdf")


@verb(
    "report",
    examples=(
        "unwaver report runs/sample-1a2b3c4d",
        "unwaver report runs/small runs/large --out both.html",
        "unwaver report runs/sample-1a2b3c4d --format latex > table.tex",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="RUN…")
@section(
    "How to read the answers",
    option(
        "--log-format", default="auto", show_default=True, metavar="NAME", help="Format of the files, as in score."
    ),
    CUT,
)
@log_options
@section(
    "Output",
    option(
        "--format",
        "form",
        type=click.Choice(["html", *TABLES, *PICTURES]),
        default="html",
        show_default=True,
        help="html: one page; md, latex, csv: the table of scores; png, svg, pdf: the figures.",
    ),
    option(
        "--out",
        type=PATH,
        metavar="PATH",
        help="File to write; for figures, a folder. [default: report.html in the run folder; tables are printed; "
        "figures/]",
    ),
    WITHOUT_TEXTS,
    FORCE,
    QUIET.but(help="Do not print the path."),
)
def command(
    paths: tuple[Path, ...],
    out: Path | None,
    form: str,
    log_format: str,
    cut: CutMode | None,
    without_texts: bool,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a report: one file with the verdict, scores, figures and every group.

    RUN is a run folder, a table, a log of another tool, or a job that people answer (JOB.toml). Several of them go
    into one report.
    """
    from unwaver.paths import is_stream
    from unwaver.reports.source import read_sources
    from unwaver.reports.written import check_place, write

    check_place(paths, out, form, inputs=inputs_of("out"), force=force)
    sources = read_sources(paths, cut=cut, format=log_format, **options)
    if without_texts:
        from unwaver.reports import private

        sources = [private.without_texts(source) for source in sources]
    written = write(sources, form, out, console(quiet).track)
    if form in TABLES:
        click.echo("" if written.paths else written.text, nl=False)
        return
    for path in written.paths if not quiet else ():
        if not is_stream(path):
            click.echo(str(path))


def after_run(outcome: Outcome, quiet: bool, without_texts: bool) -> None:
    """Write the report of a run. Whatever comes of it, the run itself is done."""
    from unwaver.reports.pictures import EXTRA, installed

    place = outcome.result.folder
    if not installed():
        line = f"No report was written. For one: pip install 'unwaver[{EXTRA}]', then unwaver report {place}"
    else:
        from unwaver.reports.written import write_page_of_run

        assert place is not None
        try:
            line = f"Report: {write_page_of_run(place, outcome, console(quiet).track, without_texts)}"
        except UnwaverError as e:
            click.echo(f"The report was not written: {e.summary}", err=True)
            return
    if not quiet:
        click.echo(line)
