"""unwaver list: what there is. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from unwaver import registry
from unwaver.about_names import about_name
from unwaver.catalog import SECTIONS
from unwaver.cli import completion
from unwaver.cli.options import DATA_DIR, JSON, PATH
from unwaver.cli.printing import print_json
from unwaver.cli.sections import section, verb
from unwaver.errors import DataError, UnwaverError, UsageError, near
from unwaver.types import Suite


@verb("list", examples=("unwaver list", "unwaver list suites", "unwaver list agreements --json"))
@click.argument("part", metavar="[SECTION]", required=False, shell_complete=completion.sections)
@section("What to list", DATA_DIR.but(type=PATH))
@section("Output", JSON)
def command(part: str | None, data_dir: Path | None, as_json: bool) -> None:
    """List everything that unwaver and installed packages provide.

    SECTION is suites, tasks, models, variants, judges, agreements, readers, scorers, decodings, metrics or logs.
    `unwaver list suites` counts the groups of each suite/task/kind, or names the file that is missing.
    """
    if part is not None and part not in SECTIONS:
        hint = near(part, SECTIONS)
        known = "" if hint.startswith("known") else f" (known: {', '.join(SECTIONS)})"
        raise UsageError(f"unwaver list has no section {part!r}", hint=hint + known)
    if data_dir and not data_dir.is_dir():
        raise DataError(
            "there is no such folder", file=data_dir, hint="--data-dir is the folder above becel/, mnli/ …"
        )
    if part == "suites":
        _list_cases(data_dir, as_json)
        return
    entries = {name: _described(name) for name in ([part] if part else SECTIONS)}
    if as_json:
        print_json({"version": 1, **entries})
        return
    for name, things in entries.items():
        click.echo(f"{name}:")
        for thing, about in things.items():
            click.echo(f"  {thing:<19} {about}".rstrip())
    if part is None:
        click.echo("unwaver list suites shows every suite/task/kind with its number of groups")


def _described(part: str) -> dict[str, str]:
    """The names of a section with a line about each, those of installed packages last."""
    known = [*SECTIONS[part], *(name for name in registry.names(part) if name not in SECTIONS[part])]
    return {name: about_name(part, name) for name in known}


def _list_cases(data_dir: Path | None, as_json: bool) -> None:
    described = _described("suites")
    if as_json:
        cases = [case for name in described for case in _counted_cases(name, data_dir)]
        print_json({"version": 1, "suites": cases, "about": described})
        return
    for name, about in described.items():
        click.echo(f"{name}: {about}".rstrip(": "))
        for case in _counted_cases(name, data_dir):  # each is shown as soon as it is counted
            count = f"{case['groups']:>7,} groups" if case["missing"] is None else f"      – {case['missing']}"
            click.echo(f"{case['name']:<32}{count}")


def _counted_cases(suite_name: str, data_dir: Path | None) -> Iterator[dict[str, object]]:
    try:
        make = registry.find("suites", suite_name)
        # a suite of paraphrases that are yet to be written has a group for each item
        options = registry.accepted(make, {"data_dir": data_dir, "writer": "fake/nobody"})
        suite = registry.call("suites", suite_name, Suite, **options)
    except UnwaverError as e:  # of an installed package: the others are listed all the same
        yield {"name": suite_name, "groups": 0, "missing": e.message}
        return
    for task, kinds in suite.cases.items():
        for kind in kinds:
            line: dict[str, object] = {"name": f"{suite_name}/{task}/{kind}", "groups": 0, "missing": None}
            try:
                line["groups"] = sum(1 for _ in suite.groups(task, kind))
            except DataError as e:
                line["missing"] = e.message if e.line is None else e.summary
            yield line
