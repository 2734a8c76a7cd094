"""How a command ends that failed: what is wrong, what to do next, and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from unwaver.cli.memory import out_of_memory
from unwaver.cli.streams import to_nowhere
from unwaver.errors import UnwaverError
from unwaver.secrets import masked

UNFORESEEN, INTERRUPTED = 70, 130


def fail(error: BaseException, as_json: bool) -> NoReturn:
    """Print the error and exit; with UNWAVER_DEBUG set, raise one that nobody foresaw."""
    if isinstance(error, UnwaverError):
        _end(error, error.exit_code, as_json)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    if isinstance(error, click.ClickException):
        command = getattr(getattr(error, "ctx", None), "command_path", "unwaver")
        _end(UnwaverError(error.format_message(), hint=f"{command} --help lists the options"), 2, as_json)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        hint = "finished work is saved: run the same command again to continue"
        _end(UnwaverError("interrupted", hint=hint), INTERRUPTED, as_json)
    if os.environ.get("UNWAVER_DEBUG"):
        raise error
    _unforeseen(error, as_json)


def _unforeseen(error: BaseException, as_json: bool) -> NoReturn:
    if told := out_of_memory(error):
        _end(told, 2, as_json)
    if isinstance(error, OSError) and error.strerror:  # a disk, a folder, a pipe: not of our making
        hint = "check the disk and the permissions; UNWAVER_DEBUG=1 shows where it happened"
        _end(UnwaverError(f"system error: {error.strerror}", file=error.filename, hint=hint), 2, as_json)
    hint = "this is a bug in unwaver; UNWAVER_DEBUG=1 shows where"
    _end(UnwaverError(f"unexpected {type(error).__name__}: {error}", hint=hint), UNFORESEEN, as_json)


def _end(error: UnwaverError, code: int, as_json: bool) -> NoReturn:
    from unwaver.text.shown import safe  # a message may quote what a file or a server says

    try:
        if as_json:
            from unwaver.cli.printing import print_json

            print_json({"version": 1, "error": error.as_dict()})
        sys.stdout.flush()  # what a full disk did not take is still held
    except OSError:
        to_nowhere(sys.stdout.fileno())
    print(f"unwaver: {safe(error.summary)}", file=sys.stderr)
    if error.hint:
        print(f"         {safe(error.hint)}", file=sys.stderr)
    sys.exit(code)


def shown_without_secrets(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    import traceback

    print(masked("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)
