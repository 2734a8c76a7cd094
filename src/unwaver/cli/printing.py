"""How results leave the program: a table for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.secrets import masked_json

if TYPE_CHECKING:
    from unwaver.result import Result

_HALF = re.compile("[\ud800-\udfff]")


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout, in its encoding: what it cannot hold is escaped as JSON does it."""
    in_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "").startswith("utf")
    try:
        text = json.dumps(document, ensure_ascii=not in_utf8, allow_nan=False)
    except ValueError:  # JSON has no word for "not a number"
        text = json.dumps(_finite(document), ensure_ascii=not in_utf8, allow_nan=False)
    print(_HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", masked_json(text)))


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

    from unwaver.outputs import named_files

    return named_files(click.get_current_context().params, outputs=outputs)


def emit(result: Result, *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        print_json(result.document())
        return
    from rich.console import Console

    from unwaver.reports.terminal import legend, print_result
    from unwaver.text.safe import safe

    console = Console(highlight=False, soft_wrap=False)
    print_result(result, console)
    for line in legend(result) if not quiet else ():
        console.print(line, style="dim", markup=False)
    stopped = result.run.get("spent", {}).get("stopped")
    if stopped:
        console.print(safe(f"Stopped early: {stopped}."), markup=False)
    if result.folder and not quiet:
        console.print(f"Run folder: {result.folder}", markup=False, soft_wrap=True)
        console.print(f"Next: unwaver show {result.folder}", markup=False, soft_wrap=True)
