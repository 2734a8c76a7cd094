"""How a command speaks: results as a table for people or one JSON document for machines, and, while it works,
lines and progress bars on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.console import Console
from unwaver.secrets import masked, masked_json
from unwaver.text.shown import safe_json

if TYPE_CHECKING:
    from unwaver.result import Result

SELDOM = 60.0


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout, in its encoding: what it cannot hold is escaped as JSON does it."""
    in_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "").startswith("utf")
    try:
        text = json.dumps(document, ensure_ascii=not in_utf8, allow_nan=False)
    except ValueError:  # JSON has no word for "not a number"
        text = json.dumps(_finite(document), ensure_ascii=not in_utf8, allow_nan=False)
    print(safe_json(masked_json(text)))


def _finite(value: Any) -> Any:
    """Numbers that JSON cannot hold become null: {"tau": nan} -> {"tau": None}."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def inputs_of(*outputs: str) -> list[Path]:
    """Files that the command line names, but for these options: what an output must not replace."""
    import click

    from unwaver.paths import named_files

    return named_files(click.get_current_context().params, outputs=outputs)


def emit(result: Result, *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        print_json(result.document())
        return
    from rich.console import Console as RichConsole

    from unwaver.reports.terminal import legend, print_result
    from unwaver.text.shown import safe

    console = RichConsole(highlight=False, soft_wrap=False)
    print_result(result, console)
    for line in legend(result) if not quiet else ():
        console.print(line, style="dim", markup=False)
    stopped = result.run.get("spent", {}).get("stopped")
    if stopped:
        console.print(safe(f"Stopped early: {stopped}."), markup=False)
    if result.folder and not quiet:
        console.print(f"Run folder: {result.folder}", markup=False, soft_wrap=True)
        console.print(f"Next: unwaver show {result.folder}", markup=False, soft_wrap=True)


def console(quiet: bool) -> Console:
    if quiet:
        return Console()
    from rich.console import Console as RichConsole

    stderr = RichConsole(stderr=True, highlight=False)
    bar = _Bar(stderr)
    listens = sys.stdin is not None and sys.stdin.isatty() and stderr.is_terminal
    choose, confirm = (_choose, _confirm) if listens else (None, None)
    return Console(lambda line: stderr.print(masked(line), markup=False), bar.track, bar.waiting, choose, confirm)


def _choose(question: str, names: Sequence[str]) -> str:
    """One of several names, by its number or itself."""
    import click

    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name}", err=True)
    known = {**{str(number): name for number, name in enumerate(names, 1)}, **{name: name for name in names}}
    return known[click.prompt(question, type=click.Choice(list(known)), show_choices=False, err=True)]


def _confirm(question: str) -> bool:
    import click

    return click.confirm(question, err=True)


class _Bar:
    """Progress on a terminal; elsewhere only what is waited for, in at most one line in `SELDOM` seconds."""

    def __init__(self, stderr: Any):
        self._stderr, self._told = stderr, -math.inf
        self._describe: Callable[[str], None] | None = None

    @contextmanager
    def track(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._stderr, transient=True, disable=not self._stderr.is_terminal) as bar:
            task = bar.add_task(masked(what), total=total)
            outer, self._describe = self._describe, lambda text: bar.update(task, description=text or masked(what))

            def advance(done: int) -> None:  # a total that was an estimate grows with what is done
                bar.update(task, advance=done, total=max(total, bar.tasks[0].completed + done))

            try:
                yield advance
            finally:
                self._describe = outer

    def waiting(self, text: str) -> None:
        if self._stderr.is_terminal and self._describe is not None:
            self._describe(masked(text))
        elif text and time.monotonic() - self._told >= SELDOM:
            self._told = time.monotonic()
            self._stderr.print(masked(text), markup=False)
