"""JSON on stdout, for machines, and the files that no output may replace."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unwaver.secrets import masked_json
from unwaver.text.shown import safe_json


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
