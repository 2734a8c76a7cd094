"""unwaver report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import CUT, FORCE, PATH, QUIET, log_options
from unwaver.cli.printing import inputs_of
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.engine.runs import Outcome
    from unwaver.reports.source import Source
    from unwaver.state import CutMode

TABLES, PICTURES = ("md", "latex", "csv"), ("png", "svg", "pdf")
REPORT = "report.html"


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

    _check_output(paths, out, form, force)
    sources = read_sources(paths, cut=cut, format=log_format, **options)
    if form in TABLES:
        _write_table(sources, form, out)
        return
    if form in PICTURES:
        written = _write_pictures(sources, form, out)
    else:
        written = [_write_page(sources, out or _place(sources), quiet)]
    for path in written if not quiet else ():
        if not is_stream(path):
            click.echo(str(path))


def _check_output(paths: tuple[Path, ...], out: Path | None, form: str, force: bool) -> None:
    from unwaver.outputs import check_output, check_pictures

    inputs = inputs_of("out")
    if form in PICTURES:
        check_pictures(out or Path("figures"), form, inputs=inputs, force=force)
    elif out is not None:
        check_output(out, form, inputs=inputs, force=force)
    elif form == "html":
        of_run = len(paths) == 1 and (paths[0] / "run.json").exists()
        place = paths[0] / REPORT if of_run else Path(REPORT)
        check_output(place, form, inputs=inputs, force=force, option="the report")


def write_report(place: Path, outcome: Outcome, quiet: bool) -> Path:
    """The page of a run that has just ended, in its folder, from what the run has in memory."""
    from unwaver.outputs import check_output
    from unwaver.reports.source import source_of

    check_output(place / REPORT, "html", option="the report")
    source = source_of(str(place), outcome.frame, outcome.result, outcome.groups)
    return _write_page([source], place / REPORT, quiet)


def _place(sources: list[Source]) -> Path:
    folder = sources[0].result.folder
    return folder / REPORT if len(sources) == 1 and folder is not None else Path(REPORT)


def _write_page(sources: list[Source], path: Path, quiet: bool) -> Path:
    from unwaver.cli.printing import console
    from unwaver.engine.folder import write_whole
    from unwaver.reports.page import page

    write_whole(path, page(sources, console(quiet).track))
    return path


def _write_table(sources: list[Source], form: str, out: Path | None) -> None:
    from unwaver.engine.folder import write_whole
    from unwaver.reports.tables import WRITERS

    text = WRITERS[form](sources)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)


def _write_pictures(sources: list[Source], form: Any, out: Path | None) -> list[Path]:
    from unwaver.engine.folder import open_place, write_whole
    from unwaver.reports.page import all_figures
    from unwaver.reports.pictures import bytes_of
    from unwaver.result import Result

    place = open_place(out or Path("figures"))
    figures = all_figures(sources, Result([s for source in sources for s in source.result.scores]))
    written = []
    families = [figure.family for figure in figures]
    for number, figure in enumerate(figures, 1):
        is_only = families.count(figure.family) == 1 or figure.title == figure.family
        told = figure.family if is_only else f"{figure.family} {figure.title}"
        name = re.sub(r"[^a-z0-9]+", "-", told.lower()).strip("-")[: 40 if is_only else 100]
        path = place / f"{number:02d}-{name}.{form}"
        write_whole(path, bytes_of(figure, form))
        written.append(path)
    return written
