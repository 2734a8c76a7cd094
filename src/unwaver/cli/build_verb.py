"""unwaver build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import force_option, inputs_of, print_json
from unwaver.cli.run_verb import console, pairs, variant_options

if TYPE_CHECKING:
    from unwaver.config import Config


@click.command("build")
@click.argument("variants", nargs=-1, required=True)
@click.option("--from", "file", required=True, type=click.Path(path_type=Path), help="A table of items.")
@click.option(
    "--task", required=True, help="The task of the items (unwaver list), or a task file of your own (.toml)."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where the groups go: groups.jsonl.")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=NAME", help="Which column is a field, gold or id."
)
@variant_options
@click.option("--limit", type=int, help="The first N groups of each kind.")
@click.option("--sample", type=int, help="N random groups of each kind, under --seed.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--additive",
    type=click.Choice(["disjoint", "all"]),
    default="disjoint",
    show_default=True,
    help="Which pairs of texts additive joins.",
)
@click.option("--additive-cap", type=int, help="At most so many of all pairs.")
@click.option(
    "--map", "label_map", multiple=True, metavar="MODEL=TASK", help="A judge's label in the task's words."
)
@click.option("--device", help="cpu, cuda, cuda:1, mps. [the best there is]")
@click.option("--store", type=click.Path(), help="Where the answers of writer and judges are kept. [beside --out]")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(**options: Any) -> None:
    """Make groups from items of your own.

    VARIANTS are names of `unwaver list variants`; surface stands for all that begin so. What no variant can be
    made of is refused and counted, with the reason. With a writer that is a model, or with --judge, the candidates
    are judged now; audit.jsonl beside the groups says what became of each.

    \b
    Examples:
      unwaver build negate swap --from pairs.csv --task snli --out groups.jsonl
      unwaver build surface --from reviews.jsonl --task my_task.toml --out groups.jsonl
      unwaver build paraphrase --writer rules --judge entail=hf/NLI --from pairs.csv --task snli --out groups.jsonl
      unwaver run groups.jsonl --model hf/PATH
    """
    as_json, quiet = options.pop("as_json"), options.pop("quiet")
    out, force = options.pop("out"), options.pop("force")
    from unwaver.config import Config
    from unwaver.engine.runs import Run

    config = Config(
        suites=(str(options.pop("file")),),
        models=(),
        map=pairs(options.pop("label_map"), "--map"),
        columns=pairs(options.pop("columns"), "--column"),
        variants=tuple(name for text in options.pop("variants") for name in text.split(",") if name),
        writer_args=pairs(options.pop("writer_args"), "--writer-arg"),
        **options,
    )
    _check_output(config, out, force)
    run = Run(config, console(quiet or as_json))
    groups, certification = run.build(out)
    kinds: dict[str, int] = {}
    for group in groups:
        kinds[group.kind] = kinds.get(group.kind, 0) + 1
    if as_json:
        document = {
            "groups": kinds,
            "notes": run.selection.notes,
            "certification": certification,
            "file": str(out),
        }
        print_json({"version": 1, "build": document})
        return
    from unwaver.asking.audit import as_text

    for kind, count in kinds.items():
        click.echo(f"{kind:<22}{count:>8,} groups")
    for line in dict.fromkeys(line for notes in run.selection.notes.values() for line in notes):
        if not quiet:
            click.echo(line)
    for found in certification:
        click.echo(as_text(found))
    click.echo(f"written: {out}")


def _check_output(config: Config, out: Path, force: bool) -> None:
    from unwaver.errors import UsageError
    from unwaver.outputs import check_output, is_stream

    inputs = inputs_of("out", "store")
    check_output(out, "groups", inputs=inputs, force=force)
    asks = config.writer or config.judges or "paraphrase" in config.variants
    if not asks:
        return
    if is_stream(out):
        raise UsageError("--out must be a file: an audit and a store go beside it", hint="--out groups.jsonl")
    store = Path(config.store) if config.store else out.with_suffix(".sqlite")
    if store.resolve() == out.resolve():
        raise UsageError("--out is also the path of the store of answers", file=out, hint="use --out groups.jsonl")
    check_output(out.parent / "audit.jsonl", "audit", inputs=inputs, force=force, option="audit.jsonl")
