"""unwaver bow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli import completion
from unwaver.cli.options import FORCE, PATH, SEED
from unwaver.cli.printing import inputs_of
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UsageError

if TYPE_CHECKING:
    from unwaver.models.ngrams import Descent


@verb(
    "bow",
    examples=(
        "unwaver bow train.csv --task snli --out bow-snli",
        "unwaver bow train.csv --task snli --fields hypothesis --out partial",
        "unwaver run sample/snli --model bow/bow-snli",
    ),
)
@click.argument("files", nargs=-1, required=True, type=PATH)
@section(
    "What to train on",
    option(
        "--task",
        required=True,
        metavar="NAME",
        shell_complete=completion.tasks,
        help="Task of the files: anli, delta-snli, snli, …",
    ),
    option(
        "--fields", multiple=True, metavar="NAME", help="Read only this field. Repeatable. [default: all fields]"
    ),
    option(
        "--share",
        type=float,
        default=1.0,
        show_default=True,
        metavar="X",
        help="Random share of the contexts to train on.",
    ),
)
@section(
    "How to train",
    option("--penalty", type=float, default=1.0, show_default=True, metavar="X", help="Weight of the L2 penalty."),
    option(
        "--like",
        type=click.Choice(["fasttext"]),
        default=None,
        help="Train by stochastic gradient descent as fastText does (unwaver's own), instead of exactly.",
    ),
    option("--epochs", type=int, metavar="N", help="--like fasttext: passes over the examples. [default: 5]"),
    option("--rate", type=float, metavar="X", help="--like fasttext: learning rate. [default: 0.1]"),
    option("--dimension", type=int, metavar="N", help="--like fasttext: numbers in a vector. [default: 100]"),
    SEED,
)
@section("Output", option("--out", required=True, type=PATH, metavar="DIR", help="Folder for the model."), FORCE)
def command(
    files: tuple[Path, ...],
    task: str,
    out: Path,
    fields: tuple[str, ...],
    share: float,
    seed: int,
    force: bool,
    penalty: float,
    like: str | None,
    epochs: int | None,
    rate: float | None,
    dimension: int | None,
) -> None:
    """Train a bag-of-words model; use it as bow/FOLDER.

    FILES (.csv, .tsv, .jsonl, plain or .gz) have the fields of the task, or sentence1 and sentence2, and a label.
    """
    from unwaver.models.bow import save, train
    from unwaver.outputs import check_folder

    inputs, known = inputs_of("out"), (out / "model.json").exists()
    check_folder(out, {"model.json": "bag of words"}, inputs=inputs, force=force)
    check_folder(out, {} if known else {"weights.npz": "bag of words"}, inputs=inputs, force=force)
    descent = _descent(like, {"epochs": epochs, "rate": rate, "dimension": dimension})
    model = train(files, task, fields=fields, share=share, seed=seed, penalty=penalty, descent=descent)
    save(model, out)
    click.echo(f"trained on {model.about['examples']:,} examples of {task}: unwaver run … --model bow/{out}")


def _descent(like: str | None, given: Mapping[str, Any]) -> Descent | None:
    from unwaver.models.ngrams import Descent

    known = {name: value for name, value in given.items() if value is not None}
    if like is None and known:
        hint = "add --like fasttext, or omit it"
        raise UsageError(f"--{next(iter(known))} has no effect without --like fasttext", hint=hint)
    return None if like is None else Descent(**known)
