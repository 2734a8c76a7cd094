"""unwaver report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import CUT, FORCE, PATH, QUIET, log_options
from unwaver.cli.printing import console, inputs_of
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
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
    FORCE,
    QUIET.but(help="Do not print the path."),
)
def command(
    paths: tuple[Path, ...],
    out: Path | None,
    form: str,
    log_format: str,
    cut: CutMode | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a report: one file with the verdict, scores, figures and every group.

    RUN is a run folder, a table or a log of another tool. Several of them go into one report.
    """
    from unwaver.paths import is_stream
    from unwaver.reports.source import read_sources
    from unwaver.reports.written import check_place, write

    check_place(paths, out, form, inputs=inputs_of("out"), force=force)
    sources = read_sources(paths, cut=cut, format=log_format, **options)
    written = write(sources, form, out, console(quiet).track)
    if form in TABLES:
        click.echo("" if written.paths else written.text, nl=False)
        return
    for path in written.paths if not quiet else ():
        if not is_stream(path):
            click.echo(str(path))
