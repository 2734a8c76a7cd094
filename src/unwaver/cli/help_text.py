"""The text of `--help`: examples first, options in sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from unwaver.cli.sections import Option


def sections_of(command: click.Command) -> dict[str, list[Option]]:
    """Options by section, sections in the order in which the command names them."""
    found: dict[str, list[Option]] = {}
    for each in command.params:
        if isinstance(each, Option):
            found.setdefault(each.section, []).append(each)
    return found


def write_sections(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """The options by section; `--help` joins the last one."""
    groups = sections_of(command)
    rows = {
        title: [row for each in options if (row := each.get_help_record(ctx))] for title, options in groups.items()
    }
    help_option = command.get_help_option(ctx)
    if help_option and (row := help_option.get_help_record(ctx)):
        rows.setdefault(next(reversed(rows), "Options"), []).append(row)
    for title, lines in rows.items():
        with formatter.section(title):
            formatter.write_dl(lines)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """As they are typed: never wrapped."""
    if examples:
        with formatter.section("Examples"):
            formatter.write("".join(f"{'':>{formatter.current_indent}}{line}\n" for line in examples))


def write_commands(help: Mapping[str, Mapping[str, str]], formatter: click.HelpFormatter) -> None:
    """The commands by section, what each does beside it."""
    widest = max(len(name) for verbs in help.values() for name in verbs)
    for title, verbs in help.items():
        with formatter.section(title):
            formatter.write_dl([(f"{name:<{widest}}", about) for name, about in verbs.items()])
