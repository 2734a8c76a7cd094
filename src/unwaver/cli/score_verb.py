"""unwaver score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import DOMAIN, FORCE, FULL, JSON, PATH, QUIET, THETA, UNREADABLE_OUT, answer_options
from unwaver.cli.printing import console, emit
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UnwaverError

if TYPE_CHECKING:
    import polars as pl

    from unwaver.result import Result


@verb(
    "score",
    examples=(
        "unwaver score runs/sample-1a2b3c4d",
        "unwaver score samples_gsm8k_*.jsonl --filter strict-match",
        "unwaver score answers.csv --bucket question --answer reply",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=PATH)
@answer_options
@section("Fooling rates", DOMAIN)
@section("Which numbers", THETA)
@section(
    "Output",
    option(
        "--weights",
        type=click.Choice(["renormalised", "published"]),
        default="renormalised",
        show_default=True,
        help="Corrected values that the table shows; --json has both.",
    ),
    option(
        "--predictions",
        type=PATH,
        metavar="DIR",
        help="ParaNLU: also write the predictions to files in the published form.",
    ),
    FORCE,
    UNREADABLE_OUT,
    option(
        "--stream",
        is_flag=True,
        help="Score a .parquet table of any size in bounded memory; intervals are from Poisson weights.",
    ),
    FULL,
    JSON.but(help="Print scores.json on stdout and nothing else."),
    QUIET,
)
def command(
    paths: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    full: bool,
    predictions: Path | None,
    force: bool,
    unreadable_out: Path | None,
    stream: bool,
    **options: Any,
) -> None:
    """Score answers that you already have. No model is asked.

    PATHS are a run folder, tables of answers, logs of other tools, or a job that people answer (JOB.toml). A table
    (.csv, .jsonl, .parquet) has the columns group, kind, role, label and, if known, gold. Options name the columns
    of other tables. Of a job, the majority and each person have scores; JOB.toml,rater=r1 is one person.
    """
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.engine.large_table import scored_in_parts
    from unwaver.engine.load import load, score_loaded

    if domain := options.pop("domain"):
        from unwaver.answers.domains import read_domains

        domain = read_domains(domain)
    weights, unreadable, theta = options.pop("weights"), options.pop("unreadable"), options.pop("theta")
    check_answer_options(paths, **options)
    others = {**options, "domain": domain, "theta": theta, "weights": weights == "published", "cut": None}
    others["out"] = unreadable_out or predictions
    how = {"cut": options["cut"], "unreadable": unreadable, "stream": stream, "console": console(quiet)}
    if (result := scored_in_parts(paths, others, **how)) is not None:
        _show(result, as_json, quiet, full)
        return
    found = load(list(paths), domain=domain or None, **options).with_theta(theta)
    if unreadable_out is not None:
        from unwaver.cli.unreadable_answers import write

        write(unreadable_out, found.frames)
    if predictions is not None:
        _write_predictions(found.frame, predictions, force)
    result = score_loaded(found, weights, unreadable)
    if result.folder is not None:
        _write(result, result.folder)
    if weights == "published" and not any("corrected" in score.metric for score in result):
        click.echo("--weights has no effect: there are no corrected values, which need --test FILE", err=True)
    if theta and not any(score.metric == "C_S" for score in result):
        click.echo("--theta has no effect: none of these groups is of the kind signal", err=True)
    _show(result, as_json, quiet, full)


def _show(result: Result, as_json: bool, quiet: bool, full: bool) -> None:
    emit(result, as_json=as_json, quiet=quiet, full=full)
    if not result.is_complete and "people" not in result.run:  # nobody has to answer everything
        raise click.exceptions.Exit(3)


def _write_predictions(frame: pl.DataFrame, place: Path, force: bool) -> None:
    from unwaver.cli.printing import inputs_of
    from unwaver.engine import folder
    from unwaver.logs.paranlu_export import prediction_files
    from unwaver.outputs import check_folder

    files = prediction_files(frame)
    forms = dict.fromkeys(files, "predictions")
    check_folder(place, forms, inputs=inputs_of("predictions"), force=force, option="--predictions")
    folder.open_place(place)
    for name, text in files.items():
        folder.write_whole(place / name, text)


def _write(result: Result, place: Path) -> None:
    from unwaver.engine import folder

    try:
        folder.write_scores(place, result.document())
    except UnwaverError as e:  # a full disk, a read-only archive: they can still be shown
        click.echo(f"scores.json was not written: {e.summary}", err=True)
