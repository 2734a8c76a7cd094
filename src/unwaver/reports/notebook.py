"""Progress in a notebook: one line below the cell that is updated in place and gone when the work is done.

It appears only if the work takes a while, and leaves nothing behind in a notebook that is executed as a whole.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from unwaver.console import Console
from unwaver.text.shown import escaped

PATIENCE = 0.7  # seconds before anything is shown
SELDOM = 0.25  # seconds between two updates


def in_notebook() -> bool:
    """Whether the cells of a notebook are running; a terminal with IPython shows no HTML."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def notebook_console() -> Console:
    bar = _Bar()
    return Console(bar.say, bar.track, bar.waiting)


class _Bar:
    """All bars of one call share one place in the cell."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._began = self._shown = time.monotonic()
        self._what, self._done, self._total, self._waits = "", 0, 0, ""

    def say(self, line: str) -> None:
        from unwaver.secrets import masked

        print(masked(line))

    def waiting(self, text: str) -> None:
        self._waits = text
        self._show()

    @contextmanager
    def track(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        outer = self._what, self._done, self._total
        self._what, self._done, self._total = what, 0, total

        def advance(done: int) -> None:
            self._done += done
            self._show()

        try:
            yield advance
        finally:
            self._what, self._done, self._total = outer
            if not self._what:
                self._end()

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._began < PATIENCE or (self._handle is not None and now - self._shown < SELDOM):
            return
        self._shown = now
        self._display(self._bundle())

    def _end(self) -> None:
        if self._handle is not None:
            self._display({"text/plain": "", "text/html": ""})

    def _bundle(self) -> dict[str, str]:
        from unwaver.secrets import masked

        what, share = masked(self._waits or self._what), min(1.0, self._done / max(1, self._total))
        count = f"{self._done:,} / {self._total:,}"
        outer = "display:inline-block;width:16em;height:.6em;border-radius:.3em;background:rgba(127,127,127,.3)"
        inner = f"display:block;width:{100 * share:.1f}%;height:100%;border-radius:.3em;background:#2f7fd6"
        bar = f'<span style="{outer}"><span style="{inner}"></span></span>'
        html = f'<div style="font-size:13px">{escaped(what)} {bar} {count}</div>'
        return {"text/plain": f"{what}: {count}", "text/html": html}

    def _display(self, bundle: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
