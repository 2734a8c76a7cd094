"""Help in sections, by click's own means: importing rich would cost more than all of `unwaver --help`.

    SEED = option("--seed", type=int, default=0, help="Random seed.")     declared once, for all verbs that have it

    @verb("run", examples=("unwaver run sample --model fake/random",))
    @section("What to ask", SEED, option("--limit", type=int, help="…"))
    def command(…) -> None: …

Every option is in a section: `verb` refuses others. `--help` joins the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click


@dataclass(frozen=True)
class Spec:
    """An option that is not yet part of a command: names and settings as click.option takes them."""

    names: tuple[str, ...]
    settings: dict[str, Any]

    def but(self, **settings: Any) -> Spec:
        """The same option with another help text or default, for one verb."""
        return replace(self, settings={**self.settings, **settings})


def option(*names: str, **settings: Any) -> Spec:
    return Spec(names, settings)


class Option(click.Option):
    """An option that knows the section of the help it belongs to."""

    def __init__(self, *args: Any, section: str, **settings: Any):
        super().__init__(*args, **settings)
        self.section = section


def section(title: str, *options: Spec) -> Callable[[Any], Any]:
    """These options, under one title."""

    def add(function: Any) -> Any:
        for each in reversed(options):
            function = click.option(*each.names, cls=Option, section=title, **each.settings)(function)
        return function

    return add


def together(*sections: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Sections that several verbs share, as one decorator."""

    def add(function: Any) -> Any:
        for each in reversed(sections):
            function = each(function)
        return function

    return add


class Verb(click.Command):
    """A command whose help shows examples first and options in sections."""

    examples: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but what is there twice or empty is looked at: see unwaver.cli.given."""
        with click.core.augment_usage_errors(ctx):  # so that the hint names this command
            given, _, order = self.make_parser(ctx).parse_args(list(args))
        odd = len(set(order)) < len(order) or any(not text.rstrip("= ") or text.endswith("=") for text in args)
        if odd and not ctx.resilient_parsing:
            from unwaver.cli.given import check_given

            check_given(ctx, given, order)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from unwaver.cli.help_text import write_examples

        super().format_help_text(ctx, formatter)
        write_examples(self.examples, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from unwaver.cli.help_text import write_sections

        write_sections(self, ctx, formatter)


class Verbs(Verb, click.Group):
    """A command with subcommands: its sections, then these."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        Verb.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def verb(name: str, *, examples: Sequence[str], within: click.Group | None = None) -> Callable[[Any], Verb]:
    """The function as a command of this name; of a group with subcommands where `within` names one."""

    def make(function: Any) -> Verb:
        command = click.command(name, cls=Verb)(function)
        if within:
            within.add_command(command)
        return _with(command, examples)

    return make


def verbs(name: str, *, examples: Sequence[str]) -> Callable[[Any], Verbs]:
    """The function as a command with subcommands."""

    def make(function: Any) -> Verbs:
        command = click.group(name, cls=Verbs)(function)
        _with(command, examples)
        return command

    return make


def _with(command: Verb, examples: Sequence[str]) -> Verb:
    loose = [p.name for p in command.params if isinstance(p, click.Option) and not isinstance(p, Option)]
    if loose:
        raise TypeError(f"unwaver {command.name}: options without a section: {', '.join(map(str, loose))}")
    command.examples = tuple(examples)
    return command
