"""What the analyses share: sizes as people write them, results that hold nothing, and how results are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.cli.printing import print_json
from unwaver.errors import DataError, UsageError
from unwaver.text.shown import interval, percent

if TYPE_CHECKING:
    from unwaver.types import Score

_SIZES = {"": 1.0, "%": 0.01, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}


def step_of(given: str) -> tuple[float, str, Path]:
    """ "0.1=runs/a" -> (0.1, "0.1", runs/a); "1M=runs/b" -> (1e6, "1M", runs/b)"""
    size, _, path = given.partition("=")
    found = re.fullmatch(r"([\d.,_]*\d(?:e[+-]?\d+)?)\s*([%a-z]?)", size.strip().lower())
    if path and found and found[2] in _SIZES:
        with suppress(ValueError):
            return float(found[1].replace(",", "")) * _SIZES[found[2]], size.strip(), Path(path)
    raise UsageError(f"{given}: expected SIZE=PATH", hint="such as 0.1=runs/a-tenth 1=runs/all, or 10k=… 1M=…")


def check_once(size: str, path: Path, known: Sequence[Score], more: Sequence[Score]) -> None:
    """A model has one place in a series: of two runs of one size, the second would be lost."""
    before = {(s.suite, s.task, s.kind, s.model) for s in known}
    if twice := next((s for s in more if (s.suite, s.task, s.kind, s.model) in before), None):
        what = f"{size}={path}: {twice.model} is in the series with this size already"
        raise UsageError(what, hint="give each run of a model a size of its own")


def leading(found: Sequence[tuple[str, Score]]) -> list[tuple[str, Score]]:
    """The main metric of each relation, where groups are no buckets of paraphrases."""
    from unwaver.meaning import block_key, leading_of

    blocks: dict[Any, list[Score]] = {}
    for part, s in found:
        blocks.setdefault((part, block_key(s)), []).append(s)
    chosen = [(part, leading_of(block)) for (part, _), block in blocks.items()]
    return [(part, s) for part, s in chosen if s.value is not None]


def check_measured(found: Sequence[object], why: str) -> None:
    """Nothing measured is an error, never an empty table."""
    if not found:
        hint = "unwaver score PATH shows what these answers measure, and --json all metrics"
        raise DataError(f"nothing was measured: {why}", hint=hint)


def with_interval(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    return percent(value), interval(low, high)


def emit(document: Mapping[str, Any], header: Sequence[str], rows: Iterable[Sequence[str]], as_json: bool) -> None:
    if as_json:
        print_json({"version": 1, **document})
        return
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    print_rows([list(header), *map(list, rows)], Console(highlight=False))
