"""How work speaks to a person, without printing itself: the command line gives it a voice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console as Terminal

Progress = Callable[[int], None]
Track = Callable[[str, int], AbstractContextManager[Progress]]


def silent(_: str) -> None:
    pass


def untracked(_what: str, _total: int) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _: None)


@dataclass(frozen=True)
class Console:
    """`say` a line, `track` work of a known size, tell what work is `waiting` for ("": it goes on). Silent by
    default. Where a person listens, `choose` asks for one of several names, and `confirm` for yes or no."""

    say: Callable[[str], None] = silent
    track: Track = untracked
    waiting: Callable[[str], None] = silent
    choose: Callable[[str, Sequence[str]], str] | None = None
    confirm: Callable[[str], bool] | None = None


def captured(printing: Callable[[Terminal], None], width: int = 100) -> str:
    """What a function prints on a terminal of that width, as plain text."""
    from io import StringIO

    from rich.console import Console as Terminal

    out = StringIO()
    # in a notebook, rich would display the lines below the cell instead of writing them
    printing(Terminal(file=out, width=width, color_system=None, force_jupyter=False))
    return out.getvalue()
