"""All sets that need no parser, built from 10,000 SNLI rows: under 60 s together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from unwaver.files import read_rows
from unwaver.suites.common import gold, task_fields
from unwaver.suites.library import library
from unwaver.tasks import plain_task, task_named
from unwaver.types import Group, Item
from unwaver.variants import surface
from unwaver.variants.compose import additive
from unwaver.variants.render import reverse, signal
from unwaver.variants.source import Build, Source
from unwaver.variants.swap import swap
from unwaver.variants.transitive import transitive

ROWS = 10_000
MOST_SECONDS = 60.0

BUILDERS: Mapping[str, Build] = {
    "swap": swap(),
    "transitive": transitive(),
    "reverse": reverse(),
    "signal": signal(),
    "surface_case": surface.surface_case(),
    "surface_punctuation": surface.surface_punctuation(),
    "surface_space": surface.surface_space(),
    "surface_typo": surface.surface_typo(),
    "surface_contraction": surface.surface_contraction(),
    "surface_number": surface.surface_number(),
    "surface_spelling": surface.surface_spelling(),
    "options": surface.options(),
}
# SNLI has no additive set, so its hypotheses stand in for single texts
OF_ONE_TEXT: Mapping[str, Build] = {"additive": additive(), "additive_all": additive(how="all")}


def pairs() -> Source:
    """The test set and as much of the validation set as makes 10,000."""
    task, files = task_named("snli"), library(Path(os.environ["UNWAVER_DATA"]))
    rows = [row for name in ("test", "validation") for row in read_rows(files.find(f"becel/snli/{name}"))]
    items = (
        Item(str(n), "snli", "original", task_fields(row, task), task.labels, gold(row, "label", task.labels))
        for n, row in enumerate(rows[:ROWS])
    )
    return Source("bench", task, tuple(items))


def hypotheses(source: Source) -> Source:
    task = plain_task("hypotheses", ["text"], source.task.labels)
    items = (
        Item(item.id, task.name, "original", {"text": item.fields["hypothesis"]}, task.labels, item.accepted)
        for item in source.items
    )
    return Source("bench", task, tuple(items))


def timed(build: Build, source: Source) -> tuple[float, int]:
    """Seconds, and how many groups were made."""
    start = time.perf_counter()
    groups = sum(isinstance(made, Group) for made in build(source))
    return time.perf_counter() - start, groups


def main() -> None:
    source = pairs()
    single = hypotheses(source)
    found = {name: timed(build, source) for name, build in BUILDERS.items()}
    found |= {name: timed(build, single) for name, build in OF_ONE_TEXT.items()}
    total = sum(seconds for seconds, _ in found.values())
    line = {
        "bench": f"groups from {len(source.items):,} SNLI rows",
        "seconds": round(total, 2),
        "by_builder": {name: round(seconds, 2) for name, (seconds, _) in found.items()},
        "groups": {name: groups for name, (_, groups) in found.items()},
        "target": f"< {MOST_SECONDS:.0f} s",
        "ok": total < MOST_SECONDS,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
