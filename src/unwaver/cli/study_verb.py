"""unwaver study."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unwaver.cli.printing import force_option, print_json
from unwaver.cli.run_verb import console


@click.command("study")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Where everything is kept. [the file without .toml]")
@click.option("--data-dir", type=click.Path(), help="The folder above becel/, mnli/ … [UNWAVER_DATA]")
@click.option("--device", help="cpu, cuda, mps. [the best there is]")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Train so many at a time.")
@click.option("--dry-run", is_flag=True, help="Say what would be trained.")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print study.json on stdout and nothing else there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
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
    """Train, evaluate and compare models by the plan in a TOML file.

    Prints mean (s.d.) over seeds of every relation, paired tests between settings, and how many are better or
    worse. What is trained and answered is kept: the same command goes on where it stopped.

    \b
    Examples:
      unwaver study studies/results.toml --dry-run
      unwaver study studies/results.toml
    """
    from unwaver.study.plan import read_plan

    plan = read_plan(file)
    place = out or file.with_suffix("")
    if dry_run:
        jobs = list(plan.jobs(place, data_dir, device))
        for job in jobs:
            click.echo(f"{job.place.relative_to(place)}: {plan.seeds} × {job.rows:,} rows")
        click.echo(f"{len(jobs) * plan.seeds} models")
        return
    from unwaver.outputs import check_folder

    check_folder(place, {"study.json": "study", "tables.md": "study tables"}, inputs=[file], force=force)
    from unwaver.engine.folder import write_whole
    from unwaver.study.findings import findings
    from unwaver.study.tables import markdown, remarks, tables
    from unwaver.study.work import work

    voice = console(quiet or as_json)
    models = work(plan, place, voice, data_dir=data_dir, device=device, workers=workers)
    found = findings(plan, models)
    document = json.dumps(found.document(), ensure_ascii=False, allow_nan=False)
    write_whole(place / "study.json", document + "\n")
    write_whole(place / "tables.md", markdown(found, plan))
    if as_json:
        print_json(found.document())
        return
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    screen = Console(highlight=False, soft_wrap=False)
    for title, table in tables(found, plan):
        screen.print(title, style="bold", markup=False)
        print_rows(table, screen)
    for remark in remarks(found, plan):
        screen.print(remark, style="yellow", markup=False)
    click.echo(f"Written: {place}/tables.md, {place}/study.json")
