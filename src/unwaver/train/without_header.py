"""Published training parts without a line of names: which column is what, and what their codes mean.

snli/snli_train_part_18k_cat.tsv     label, label, premise, hypothesis; 1 neutral, 2 contradiction, 3 entailment
ag_news/agnews_train_part_alps_dev   text, label
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unwaver.errors import DataError
from unwaver.files import Row, Where, read_text
from unwaver.suites.common import read_label
from unwaver.tasks import Task
from unwaver.types import Item


@dataclass(frozen=True)
class Layout:
    """`columns` are the names of the cells in order; "" is a cell that is not read."""

    columns: Sequence[str]
    codes: Mapping[str, str] = field(default_factory=dict)


_CODES = {"1": "neutral", "2": "contradiction", "3": "entailment"}
_LAYOUTS = {
    ("snli", "snli_train_part_18k_cat"): Layout(("label", "", "premise", "hypothesis"), _CODES),
    ("ag_news", "agnews_train_part_alps_dev"): Layout(("text", "label")),
}


def layout_of(task: Task, path: Path) -> Layout | None:
    """None for files that are not among these."""
    return _LAYOUTS.get((task.name, path.name.partition(".")[0]))


def read_without_header(task: Task, path: Path, layout: Layout) -> list[Item]:
    items = []
    for n, cells in enumerate(csv.reader(read_text(path).splitlines(keepends=True), delimiter="\t"), 1):
        if len(cells) != len(layout.columns):
            message = f"found {len(cells)} cells, expected {len(layout.columns)}"
            raise DataError(message, file=path, line=n, hint="take the published file, or name columns: --column")
        row = Row(dict(zip(layout.columns, cells, strict=True)), Where(str(path), n))
        label = layout.codes.get(row.text("label"), row.text("label"))
        fields = {name: row.text(name) for name in task.fields}
        accepted = read_label(row, "label", label, task.labels)
        items.append(Item(str(n - 1), task.name, "original", fields, task.labels, accepted))
    return items
