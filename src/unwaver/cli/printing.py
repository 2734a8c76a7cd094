"""How a command speaks: results as a table for people or one JSON document for machines, and, while it works,
lines and progress bars on stderr."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unwaver.cli.asking_back import choose as _choose
from unwaver.cli.asking_back import confirm as _confirm
from unwaver.cli.documents import inputs_of as inputs_of
from unwaver.cli.documents import print_json as print_json
from unwaver.console import Console
from unwaver.secrets import masked

if TYPE_CHECKING:
    from unwaver.result import Result

SELDOM = 60.0


def emit(result: Result, *, as_json: bool, quiet: bool = False, full: bool = False) -> None:
    """The scores: one document, or tables with notes, what the numbers are, and the verdict in words."""
    if as_json:
        print_json(result.document())
        return
    from rich.console import Console as RichConsole

    from unwaver.reports.terminal import legend, print_result
    from unwaver.reports.verdict import lines
    from unwaver.text.shown import safe

    console = RichConsole(highlight=False, soft_wrap=False)
    print_result(result, console, full=full)
    for line in legend(result) if not quiet else ():
        console.print(line, style="dim", markup=False)
    for word, said in lines(result, full) if not quiet and not result.run.get("until") else ():
        console.print(safe(f"{word}  {said}" if word else said), style="bold" if not word else "", markup=False)
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
