"""unwaver list: what there is. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from unwaver import catalog, registry
from unwaver.cli.options import DATA_DIR, JSON, PATH
from unwaver.cli.printing import print_json
from unwaver.cli.sections import section, verb
from unwaver.errors import DataError

ROOMS = ("suites", "models", "variants", "metrics", "logs")


@verb("list", examples=("unwaver list", "unwaver list suites", "unwaver list metrics --json"))
@click.argument("room", required=False, type=click.Choice(ROOMS))
@section("What to list", DATA_DIR.but(type=PATH))
@section("Output", JSON)
def command(room: str | None, data_dir: Path | None, as_json: bool) -> None:
    """List suites, models, variants, metrics and log formats.

    `unwaver list suites` counts the groups of each suite/task/kind, or names the file that is missing.
    """
    if data_dir and not data_dir.is_dir():
        raise DataError(
            "there is no such folder", file=data_dir, hint="--data-dir is the folder above becel/, mnli/ …"
        )
    if room == "suites":
        cases = (case for name in registry.names("suites") for case in _cases(name, data_dir))
        if as_json:
            print_json({"version": 1, "suites": list(cases)})
            return
        for case in cases:  # each is shown as soon as it is counted
            count = f"{case['groups']:>7,} groups" if case["missing"] is None else f"      – {case['missing']}"
            click.echo(f"{case['name']:<32}{count}")
    else:
        rooms = [room] if room else list(ROOMS)
        entries = {r: {n: catalog.ABOUT.get(n, "") for n in registry.names(r)} for r in rooms}
        if as_json:
            print_json({"version": 1, **entries})
            return
        for name, things in entries.items():
            click.echo(f"{name}:")
            for thing, about in things.items():
                click.echo(f"  {thing:<19} {about}")
        if room is None:
            click.echo("unwaver list suites shows every suite/task/kind with its number of groups")


def _cases(suite_name: str, data_dir: Path | None) -> Iterator[dict[str, object]]:
    make = registry.find("suites", suite_name)
    # a suite of paraphrases that are yet to be written has a group for each item
    suite = make(**registry.accepted(make, {"data_dir": data_dir, "writer": "fake/nobody"}))
    for task, kinds in suite.cases.items():
        for kind in kinds:
            line: dict[str, object] = {"name": f"{suite_name}/{task}/{kind}", "groups": 0, "missing": None}
            try:
                line["groups"] = sum(1 for _ in suite.groups(task, kind))
            except DataError as e:
                line["missing"] = e.message if e.line is None else str(e)
            yield line
