"""unwaver score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import emit
from unwaver.errors import UnwaverError

if TYPE_CHECKING:
    from unwaver.result import Result


def _together(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Options that several verbs share, as one decorator."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_LOG_OPTIONS = (
    click.option("--task", help="Logs: all files are this task, such as several prompts of one."),
    click.option(
        "--bucket", metavar="FIELD", help="Logs: the field that says which answers belong together: doc.problem."
    ),
    click.option(
        "--bucket-regex", metavar="REGEX", help="Logs: the bucket in that field, or in the id: '^(.+)-p[0-9]+$'."
    ),
    click.option("--bucket-file", type=click.Path(path_type=Path), help="Logs: a table of ids and their buckets."),
    click.option("--variant", metavar="FIELD", help="Logs: the field that names the wording."),
    click.option("--answer", metavar="FIELD", help="Logs: the field that holds the answer."),
    click.option("--gold", metavar="FIELD", help="Logs: the field that holds the right answer."),
    click.option("--replicate", metavar="FIELD", help="Logs: the field that tells repeats of one wording apart."),
    click.option("--filter", metavar="NAME", help="lm-eval: the filter whose answers are taken. [the first]"),
    click.option(
        "--metric-key", metavar="NAME", help="Logs: the metric, scorer or column that says what is right."
    ),
    click.option(
        "--test", type=click.Path(path_type=Path), help="paranlu: the model's predictions on the full test set."
    ),
)


# how logs are read
log_options = _together(_LOG_OPTIONS)

# how answers that were cut are read: of a run folder and of logs
cut_option = click.option(
    "--cut",
    type=click.Choice(["exclude", "keep"]),
    default=None,
    help="Answers that ended at the token limit: leave their groups out, or count them. [as in the run]",
)

_ANSWER_OPTIONS = (
    click.option(
        "--format",
        default="auto",
        show_default=True,
        help="What the files are: auto, run, table, lm-eval, inspect, promptfoo, helm, paranlu.",
    ),
    *_LOG_OPTIONS,
    click.option(
        "--unreadable",
        type=click.Choice(["violate", "skip"]),
        default=None,
        help="What an answer without a label does to its group. [as in the run]",
    ),
    cut_option,
    click.option(
        "--review", type=click.Path(path_type=Path), help="A run folder: a review sheet that a person filled in."
    ),
    click.option("--agree", multiple=True, metavar="NAME", help="A run of free text: how answers are compared."),
)

# how answers that are already there are read: what score, compare and gate share
answer_options = _together(_ANSWER_OPTIONS)


@click.command("score")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@answer_options
@click.option(
    "--weights",
    type=click.Choice(["renormalised", "published"]),
    default="renormalised",
    show_default=True,
    help="Which corrected values the table shows; --json has both.",
)
@click.option("--json", "as_json", is_flag=True, help="Print scores.json on stdout and nothing else there.")
@click.option("-q", "--quiet", is_flag=True)
def command(paths: tuple[Path, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Score answers that are already there; no model is asked.

    PATHS are a run folder, tables of answers, or logs of other tools. A table (.csv, .jsonl, .parquet) has the
    columns group, kind, role, label and, where known, gold; or any columns, named by options.

    \b
    Examples:
      unwaver score runs/becel-snli-1a2b3c4d
      unwaver score answers.csv --unreadable skip --json
      unwaver score samples_gsm8k_*.jsonl --filter strict-match
      unwaver score logs/2026.eval --bucket problem
      unwaver score answers.parquet --bucket question --answer reply
    """
    from unwaver.engine.load import score

    result = score(list(paths), **options)
    if result.folder is not None:
        _write(result, result.folder)
    emit(result, as_json=as_json, quiet=quiet)
    if not result.is_complete:
        raise click.exceptions.Exit(3)


def _write(result: Result, place: Path) -> None:
    from unwaver.engine import folder

    try:
        folder.write_scores(place, result.document())
    except UnwaverError as e:  # a full disk, a read-only archive: they can still be shown
        click.echo(f"scores.json was not written: {e}", err=True)
