"""unwaver score."""

from __future__ import annotations

from pathlib import Path

import click

from unwaver.cli.printing import emit
from unwaver.errors import DataError, UnwaverError


@click.command("score")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--unreadable",
    type=click.Choice(["violate", "skip"]),
    default=None,
    help="What an answer without a label does to its group. [as in the run]",
)
@click.option("--json", "as_json", is_flag=True, help="Print scores.json on stdout and nothing else there.")
@click.option("-q", "--quiet", is_flag=True)
def command(path: Path, unreadable: str | None, as_json: bool, quiet: bool) -> None:
    """Score a run folder again, or a table of answers; no model is asked.

    A table (.csv, .jsonl, .parquet) has the columns group, kind, role, label and, where known, gold.

    \b
    Examples:
      unwaver score runs/becel-snli-1a2b3c4d
      unwaver score answers.csv --unreadable skip --json
    """
    from unwaver import engine, folder

    if not path.exists():
        raise DataError("there is no such file or folder", file=path, hint="give a run folder or a table")
    if path.is_dir():
        result = engine.score_folder(path, unreadable=unreadable)  # type: ignore[arg-type]
        try:
            folder.write_scores(path, result.document())
        except UnwaverError as e:  # a full disk, a read-only archive: they can still be shown
            click.echo(f"scores.json was not written: {e}", err=True)
    else:
        result = engine.score(path, unreadable=unreadable or "violate")  # type: ignore[arg-type]
    emit(result, as_json=as_json, quiet=quiet)
    if result.missing:
        raise click.exceptions.Exit(3)
