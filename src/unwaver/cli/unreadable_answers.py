"""The texts of unreadable answers: a table of the most frequent ones, and a file of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unwaver.cli.printing import inputs_of, print_json

if TYPE_CHECKING:
    import polars as pl


def check(path: Path) -> None:
    """An error, before anything is asked, if the file may not be written."""
    from unwaver.outputs import check_output

    check_output(path, "unreadable", inputs=inputs_of("unreadable_out"), option="--unreadable-out")


def write(path: Path, frames: Sequence[pl.DataFrame]) -> None:
    from unwaver.answers.unreadable import as_jsonl
    from unwaver.engine.folder import write_whole

    check(path)
    write_whole(path, as_jsonl(frames))


def show(frames: Sequence[pl.DataFrame], limit: int, as_json: bool) -> None:
    """The most frequent texts of each model about each relation."""
    from unwaver.answers.unreadable import frequent, shortened
    from unwaver.state import UNREADABLE

    found = sorted((each for frame in frames for each in frequent(frame)), key=lambda each: -each.answers)
    total = sum(int(frame["status"].is_in(UNREADABLE).sum()) for frame in frames)
    if as_json:
        print_json({"version": 1, "unreadable": total, "texts": [each._asdict() for each in found[:limit]]})
        return
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    console = Console(highlight=False)
    if found:
        header = ["answers", "of", "relation", "model", "text"]
        rows = [[f"{e.answers:,}", f"{e.of:,}", e.relation, e.model, shortened(e.text, 60)] for e in found[:limit]]
        print_rows([header, *rows], console)
    texts = f"{len(found):,} different text{'' if len(found) == 1 else 's'}"
    more = f" – the first {limit} are shown; --limit N shows more" if len(found) > limit else ""
    what = f"{total:,} unreadable answer{'' if total == 1 else 's'}"
    console.print(f"{what}, {texts}{more}" if found else what, markup=False)
