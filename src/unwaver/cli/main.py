"""The command line: one file a verb. This room alone prints and exits.

0 done   1 a gate failed   2 bad usage or bad input   3 finished, but some answers are missing
70 an unforeseen error   130 interrupted
"""

from __future__ import annotations

import gc
import importlib
import signal
import sys
from typing import Any, NoReturn

import click

from unwaver import __version__
from unwaver.cli import sections
from unwaver.cli.failing import fail, shown_without_secrets
from unwaver.cli.help_text import write_commands
from unwaver.cli.streams import guard
from unwaver.cli.verbs import EXAMPLES, HELP, VERBS
from unwaver.errors import UnwaverError, near
from unwaver.secrets import learn_arguments, learn_environment


class Verbs(sections.Verbs):
    """Verbs by name; a verb's file is imported when it is called, so that --help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"unwaver.cli.{cmd_name}_verb").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"unknown command {args[0]!r}; {near(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Verbs from the table above: click would import the file of each."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=about) for name, about in VERBS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as e:  # not of our output, see streams: click would end with 1, "a gate failed"
            hint = "run the same command again"
            raise UnwaverError(f"another process closed the connection: {e.strerror}", hint=hint) from e

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        sections.Verb.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        write_commands(HELP, formatter)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="unwaver %(version)s", cls=sections.Option, section="Options")
def cli() -> None:
    """Measure how consistent a language model is.

    unwaver asks a model variants of one question – paraphrased, negated, swapped, joined – and counts how often
    the answers contradict each other.
    """


cli.examples = EXAMPLES


def main(args: list[str] | None = None) -> NoReturn:
    arguments = sys.argv[1:] if args is None else args
    as_json = "--json" in arguments
    gc.set_threshold(100_000, 20, 100)  # millions of objects without cycles: a fifth of the time of a large run
    for name in ("SIGTERM", "SIGHUP"):  # the second: the terminal was closed; nohup ignores it, and so do we
        if (number := getattr(signal, name, None)) is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    guard()
    learn_environment()
    learn_arguments(arguments)
    sys.excepthook = shown_without_secrets
    try:
        sys.exit(_done(arguments))
    except (Exception, KeyboardInterrupt) as error:
        fail(error, as_json)


def _done(arguments: list[str]) -> int:
    """Do what was asked for; what a verb exits with, it returns."""
    code = cli.main(arguments, prog_name="unwaver", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
