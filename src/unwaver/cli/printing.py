"""How results leave the program: a table for people, one JSON document for machines."""

from __future__ import annotations

import json

import click

from unwaver.result import Result


def emit(result: Result, *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        click.echo(json.dumps(result.document(), ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    from unwaver.show import legend, print_result

    console = Console(highlight=False, soft_wrap=False)
    print_result(result, console)
    for line in legend(result) if not quiet else ():
        console.print(line, style="dim", markup=False)
    stopped = result.run.get("spent", {}).get("stopped")
    if stopped:
        console.print(f"Stopped early: {stopped}.", markup=False)
    if result.folder and not quiet:
        console.print(f"Run folder: {result.folder}", markup=False, soft_wrap=True)
        console.print(f"Next: unwaver show {result.folder}", markup=False, soft_wrap=True)
