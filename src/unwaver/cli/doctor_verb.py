"""unwaver doctor."""

from __future__ import annotations

from dataclasses import asdict

import click

from unwaver.cli.options import JSON, MODELS
from unwaver.cli.printing import print_json
from unwaver.cli.sections import section, verb

NOT_FIT = 2


@verb("doctor", examples=("unwaver doctor", "unwaver doctor --model openai/NAME,base_url=http://HOST/v1"))
@section(
    "What to look at",
    MODELS.but(help="Model to look at. Repeatable. [default: those of unwaver.toml]"),
)
@section("Output", JSON)
def command(models: tuple[str, ...], as_json: bool) -> None:
    """Check that extras, keys and servers are available. Each model is asked one short question.

    Keys are never shown. Exit codes: 0 all is well, 2 something that is needed is missing.
    """
    from unwaver import __version__
    from unwaver.models_file import find_file
    from unwaver.project.doctor import extras, in_short, look_at, models_of
    from unwaver.project.file import read_project

    path = find_file()
    project = read_project(path) if path is not None else None
    packages = list(extras())
    asked = [each for spec in models_of(project, models) for each in look_at(spec)]
    found = [*packages, *asked]
    if as_json:
        print_json({"version": 1, "unwaver": __version__, "findings": [asdict(each) for each in found]})
    else:
        click.echo(f"unwaver {__version__}, {path or 'no unwaver.toml here: unwaver init writes one'}")
        for each in [*in_short(packages), *asked]:
            click.echo(f"{each.standing:<8} {each.about}: {each.said}{f'  ({each.hint})' if each.hint else ''}")
    if any(each.standing != "ok" and each.needed for each in found):
        raise click.exceptions.Exit(NOT_FIT)
