"""unwaver study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unwaver.cli.options import DATA_DIR, DEVICE, FORCE, JSON, PATH, QUIET
from unwaver.cli.printing import console, print_json
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.study.findings import Findings
    from unwaver.study.plan import StudyPlan


@verb(
    "study",
    examples=(
        "unwaver study studies/results.toml --dry-run",
        "unwaver study studies/results.toml --workers 2",
    ),
)
@click.argument("file", type=PATH)
@section("What to train", DATA_DIR, option("--dry-run", is_flag=True, help="Show what would be trained."))
@section(
    "How to train",
    DEVICE,
    option(
        "--workers",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        metavar="N",
        help="Train N models at once.",
    ),
)
@section(
    "Output",
    option("--out", type=PATH, metavar="DIR", help="Folder for everything. [default: the file without .toml]"),
    FORCE,
    JSON.but(help="Print study.json on stdout and nothing else."),
    QUIET,
)
def command(
    file: Path,
    out: Path | None,
    data_dir: str | None,
    device: str | None,
    workers: int,
    dry_run: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train, evaluate and compare models as planned in a TOML file.

    Prints the mean and standard deviation over seeds for each relation, tests between settings, bases and sizes
    over seeds and over groups, and the number of relations that are better or worse. To continue an interrupted
    study, run the same command again.
    """
    from unwaver.study.plan import read_plan

    plan = read_plan(file)
    place = out or file.with_suffix("")
    if dry_run:
        jobs = list(plan.jobs(place, data_dir, device))
        for job in jobs:
            click.echo(f"{job.place.relative_to(place)}: {job.seeds} × {job.rows:,} rows")
        click.echo(f"{sum(job.seeds for job in jobs)} models")
        return
    from unwaver.outputs import check_folder

    forms = {"study.json": "study", "tables.md": "study tables", "shares.svg": "svg"}
    check_folder(place, forms, inputs=[file], force=force)
    from unwaver.engine.folder import write_whole
    from unwaver.study.findings import findings
    from unwaver.study.tables import study_markdown, study_remarks, study_tables
    from unwaver.study.work import work

    voice = console(quiet or as_json)
    models = work(plan, place, voice, data_dir=data_dir, device=device, workers=workers)
    found = findings(plan, models)
    document = json.dumps(found.document(), ensure_ascii=False, allow_nan=False)
    write_whole(place / "study.json", document + "\n")
    write_whole(place / "tables.md", study_markdown(found, plan))
    written = ["tables.md", "study.json", *_draw(place, found, plan)]
    if as_json:
        print_json(found.document())
        return
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    screen = Console(highlight=False, soft_wrap=False)
    for title, table in study_tables(found, plan):
        screen.print(title, style="bold", markup=False)
        print_rows(table, screen)
    for remark in study_remarks(found, plan):
        screen.print(remark, style="yellow", markup=False)
    click.echo("Written: " + ", ".join(f"{place}/{name}" for name in written))


def _draw(place: Path, found: Findings, plan: StudyPlan) -> list[str]:
    """The picture of the verdicts, where there are some and pictures can be drawn."""
    from unwaver.engine.folder import write_whole
    from unwaver.reports.pictures import bytes_of, installed
    from unwaver.study.picture import shares_figure

    if not found.shares or not installed():
        return []
    write_whole(place / "shares.svg", bytes_of(shares_figure(found, plan), "svg"))
    return ["shares.svg"]
