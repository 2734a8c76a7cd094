"""A bank: variants written before, by whoever, in a file.

{"id": "17", "variants": ["Nobody is awake.", …]}          by the id of the item
{"hypothesis": "All sleep.", "variants": ["…"]}            by its text, or all of its fields
premise  hypothesis  hypothesis_paraphrase                 a table in the layout of BECEL
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unwaver.errors import DataError
from unwaver.files import Row, read_rows
from unwaver.tasks import Task
from unwaver.typed import typed
from unwaver.types import Item

Key = tuple[str, ...]


@dataclass(frozen=True)
class Bank:
    """Variants by id, and by the texts of some fields of the task."""

    by_id: Mapping[str, list[str]]
    by_fields: Mapping[Key, Mapping[Key, list[str]]]  # names of fields -> their texts -> variants
    hash: str

    def of(self, item: Item) -> list[str]:
        """The variants of an item, each once."""
        found = list(self.by_id.get(item.id, ()))
        for names, entries in self.by_fields.items():
            found += entries.get(tuple(_plain(item.fields[name]) for name in names), ())
        return list(dict.fromkeys(found))


def read_bank(path: Path, task: Task) -> Bank:
    """The variants in a file: .jsonl, .json, .tsv or .csv, plain or .gz."""
    by_id: dict[str, list[str]] = {}
    by_fields: dict[Key, dict[Key, list[str]]] = {}
    for row in read_rows(path):
        variants = _variants(row, task)
        names = tuple(name for name in task.fields if isinstance(row.cells.get(name), str))
        if task.modified in names:
            texts = tuple(_plain(row.cells[name]) for name in names)
            by_fields.setdefault(names, {}).setdefault(texts, []).extend(variants)
        elif row.cells.get("id") is not None:
            by_id.setdefault(str(row.cells["id"]), []).extend(variants)
        else:
            raise row.where.error(
                f'neither "id" nor "{task.modified}": the variants belong to nothing',
                f'write {{"{task.modified}": "the original", "variants": ["…"]}}',
            )
    return Bank(by_id, by_fields, bank_hash(by_id, by_fields))


def bank_hash(by_id: Mapping[str, Sequence[str]], by_fields: Mapping[Key, Mapping[Key, Sequence[str]]]) -> str:
    """A hash of what the bank holds, whatever the order of its rows."""
    entries = [[["id"], [id], sorted(set(texts))] for id, texts in by_id.items()]
    entries += [
        [list(names), list(key), sorted(set(texts))]
        for names, found in by_fields.items()
        for key, texts in found.items()
    ]
    text = json.dumps(sorted(entries), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _variants(row: Row, task: Task) -> list[str]:
    column = next(
        (c for c in ("variants", "variant", f"{task.modified}_paraphrase", "paraphrase") if c in row.cells), None
    )
    if column is None:
        raise row.where.error(
            f'no column "variants" or "{task.modified}_paraphrase"; found: ' + ", ".join(row.cells),
            'write "variants": ["…", "…"]',
        )
    value = row.cells[column]
    found: list[str] | str | None = typed(
        list[str] | str | None, value, row.where, "write a list of texts", column
    )
    return [v for v in ([found] if isinstance(found, str) else found or []) if v.strip()]


def _plain(text: str) -> str:
    return " ".join(text.split())


def open_bank(name: str, task: Task) -> Bank:
    path = Path(name)
    if not path.is_file():
        raise DataError("there is no such bank", file=path, hint="write --writer bank/FILE with the file's path")
    return read_bank(path, task)
