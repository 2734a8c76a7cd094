"""unwaver build."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli import completion
from unwaver.cli.options import (
    ADDITIVE,
    ADDITIVE_CAP,
    DEVICE,
    ENGINE,
    FORCE,
    JSON,
    LIMIT,
    MAX_CALLS,
    MAX_COST,
    PATH,
    PRICE_IN,
    PRICE_OUT,
    QUIET,
    SAMPLE,
    SEED,
    SIGN,
    STORE,
    TASK,
    variant_options,
)
from unwaver.cli.printing import console, inputs_of, print_json
from unwaver.cli.run_verb import pairs
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.config import Config


@verb(
    "build",
    examples=(
        "unwaver build negate swap --from pairs.csv --task snli --out groups.jsonl",
        "unwaver build surface --from pairs.csv --task snli --out surface.jsonl",
        "unwaver run groups.jsonl --model fake/random",
    ),
)
@click.argument("variants", nargs=-1, required=True, shell_complete=partial(completion.names, "variants"))
@section(
    "Your own file",
    option("--from", "file", required=True, type=PATH, metavar="FILE", help="Table of items."),
    TASK,
    option(
        "--column",
        "columns",
        multiple=True,
        metavar="FIELD=NAME",
        help="Name of the column with a field, gold or id. Repeatable.",
    ),
)
@variant_options
@section(
    "What to make",
    LIMIT.but(help="Keep the first N groups of each relation."),
    SAMPLE.but(help="Keep N random groups of each relation (--seed)."),
    SEED,
    ADDITIVE,
    ADDITIVE_CAP,
    SIGN,
)
@section(
    "Whom to ask",
    option(
        "--map",
        "label_map",
        multiple=True,
        metavar="MODEL=TASK",
        help="Translate a certifier's label into a label of the task. Repeatable.",
    ),
    DEVICE,
)
@section(
    "Money and time",
    option("--dry-run", is_flag=True, help="Show what writer and certifiers would be asked."),
    MAX_CALLS,
    MAX_COST,
    PRICE_IN,
    PRICE_OUT,
)
@ENGINE
@section(
    "Output",
    option("--out", required=True, type=PATH, metavar="FILE", help="File for the groups, such as groups.jsonl."),
    STORE.but(help="Answer store of writer and certifiers. [default: next to --out]"),
    FORCE,
    JSON,
    QUIET,
)
def command(**options: Any) -> None:
    """Make groups from items of your own.

    VARIANTS are names from `unwaver list variants`; surface means every variant whose name starts with it. unwaver
    counts the items it cannot make a variant of, with the reason. If --writer is a model, or with --judge, unwaver
    certifies the candidates now and records each decision in audit.jsonl next to the groups.
    """
    as_json, quiet = options.pop("as_json"), options.pop("quiet")
    out, force, dry_run = options.pop("out"), options.pop("force"), options.pop("dry_run")
    from unwaver.config import Config
    from unwaver.engine.build_groups import build, check_output

    config = Config(
        suites=(str(options.pop("file")),),
        models=(),
        map=pairs(options.pop("label_map"), "--map"),
        columns=pairs(options.pop("columns"), "--column"),
        variants=tuple(name for text in options.pop("variants") for name in text.split(",") if name),
        writer_args=pairs(options.pop("writer_args"), "--writer-arg"),
        **options,
    )
    check_output(config, out, inputs_of("out", "store"), force)
    if dry_run:
        _dry_run(config, out, as_json, quiet)
        return
    built = build(config, out, console(quiet or as_json))
    if as_json:
        document = {
            "groups": built.kinds,
            "notes": built.notes,
            "certification": built.certification,
            "file": str(out),
        }
        print_json({"version": 1, "build": document})
        return
    for line in built.lines(notes=not quiet):
        click.echo(line)


def _dry_run(config: Config, out: Path, as_json: bool, quiet: bool) -> None:
    from dataclasses import replace

    from unwaver.cli.dry_run import print_plan
    from unwaver.engine.forecast import dry_build

    store = config.store or str(out.with_suffix(".sqlite"))
    plan = dry_build(replace(config, store=store), console(quiet or as_json))
    print_plan(plan, as_json)
    if not plan and not as_json:
        click.echo("No model is asked.")
