"""Questions to somebody at a terminal, before a command goes on."""

from __future__ import annotations

from collections.abc import Sequence


def choose(question: str, names: Sequence[str]) -> str:
    """One of several names, by its number or itself."""
    import click

    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name}", err=True)
    known = {**{str(number): name for number, name in enumerate(names, 1)}, **{name: name for name in names}}
    return known[click.prompt(question, type=click.Choice(list(known)), show_choices=False, err=True)]


def confirm(question: str) -> bool:
    import click

    return click.confirm(question, err=True)
