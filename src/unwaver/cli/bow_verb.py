"""unwaver bow."""

from __future__ import annotations

from pathlib import Path

import click

from unwaver.cli.printing import force_option, inputs_of


@click.command("bow")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--task", required=True, help="The task of the files: anli, delta-snli, delta-atomic, snli …")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder of the model.")
@click.option("--fields", multiple=True, help="Read only this field, such as update; give it for each. [all]")
@click.option(
    "--share", type=float, default=1.0, show_default=True, help="Train on a random part of the contexts."
)
@click.option("--seed", type=int, default=0, show_default=True)
@force_option
@click.option("--penalty", type=float, default=1.0, show_default=True, help="Weight of the L2 penalty.")
def command(
    files: tuple[Path, ...],
    task: str,
    out: Path,
    fields: tuple[str, ...],
    share: float,
    seed: int,
    force: bool,
    penalty: float,
) -> None:
    """Train a bag-of-words model; bow/FOLDER then names it as a model.

    FILES (.csv, .tsv, .jsonl, plain or .gz) have the fields of the task, or sentence1 and sentence2, and a label.

    \b
    Examples:
      unwaver bow defeasible_nli/atomic_train.csv --task delta-atomic --out bow-atomic
      unwaver bow defeasible_nli/atomic_train.csv --task delta-atomic --fields update --out partial
      unwaver run paranlu/atomic --model bow/bow-atomic
    """
    from unwaver.models.bow import save, train
    from unwaver.outputs import check_folder

    inputs, known = inputs_of("out"), (out / "model.json").exists()
    check_folder(out, {"model.json": "bag of words"}, inputs=inputs, force=force)
    check_folder(out, {} if known else {"weights.npz": "bag of words"}, inputs=inputs, force=force)
    model = train(files, task, fields=fields, share=share, seed=seed, penalty=penalty)
    save(model, out)
    click.echo(f"trained on {model.about['examples']:,} examples of {task}: unwaver run … --model bow/{out}")
