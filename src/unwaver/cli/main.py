"""The command line: one file a verb. This room alone prints and exits.

0 done   1 a gate failed   2 bad usage or bad input   3 finished, but some answers are missing
70 an unforeseen error   130 interrupted
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any, NoReturn

import click

from unwaver import __version__
from unwaver.errors import UnwaverError, near

VERBS = {
    "run": "Ask models about suites and score the answers.",
    "score": "Score a run folder or a table again; no model is asked.",
    "show": "Show the groups of a run that broke a relation, side by side.",
    "list": "List suites, models and metrics.",
}
UNFORESEEN, INTERRUPTED = 70, 130


class Verbs(click.Group):
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
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"unknown command {args[0]!r}; {near(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="unwaver %(version)s")
def cli() -> None:
    """Does this language model give the same answer when the same thing is said differently?

    \b
    Examples:
      unwaver run sample --model demo/smollm2
      unwaver run becel/snli calm/mnli --model hf/PATH-OR-HUB-ID --data-dir DIR
      unwaver run my-questions.csv --model openai/NAME --model-arg base_url=http://127.0.0.1:8000/v1
      unwaver show runs/sample-1a2b3c4d
    """


def main(args: list[str] | None = None) -> NoReturn:
    arguments = sys.argv[1:] if args is None else args
    as_json = "--json" in arguments
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = cli.main(arguments, standalone_mode=False)  # what a verb exits with, it returns
        _exit(code if isinstance(code, int) else 0)
    except UnwaverError as e:
        _fail(e.as_dict(), str(e), e.hint, e.exit_code, as_json)
    except click.ClickException as e:
        usage = f"{e.ctx.command_path} --help shows what is possible" if getattr(e, "ctx", None) else None  # type: ignore[attr-defined]
        message = e.format_message()
        _fail({"message": message, "hint": usage, "file": None, "line": None}, message, usage, 2, as_json)
    except (KeyboardInterrupt, click.Abort):
        hint = "what was answered is saved: the same command goes on where it stopped"
        _fail(
            {"message": "interrupted", "hint": hint, "file": None, "line": None},
            "interrupted",
            hint,
            INTERRUPTED,
            as_json,
        )
    except BrokenPipeError:  # `unwaver … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _exit(0)
    except Exception as e:
        if os.environ.get("UNWAVER_DEBUG"):
            raise
        message = f"unforeseen {type(e).__name__}: {e}"
        hint = "this is a bug in unwaver; UNWAVER_DEBUG=1 shows where"
        _fail({"message": message, "hint": hint, "file": None, "line": None}, message, hint, UNFORESEEN, as_json)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail(error: dict[str, object], shown: str, hint: str | None, code: int, as_json: bool) -> NoReturn:
    if as_json:
        import json

        print(json.dumps({"version": 1, "error": error}, ensure_ascii=False))
    print(f"unwaver: {shown}", file=sys.stderr)
    if hint:
        print(f"         {hint}", file=sys.stderr)
    _exit(code)


def _exit(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
