"""Labelled items to train on, through the loaders of the suites: files of the data folder, or one of your own.

A split is looked for by name in the folders of the task: "train" is becel/mrpc/train.tsv or sst2/…_train.tsv, of
MNLI also …_nondev_….tsv; a path is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unwaver.errors import DataError, UsageError
from unwaver.files import EXTENSIONS, Row, extension, read_rows, read_text
from unwaver.stats.sampling import training_shares
from unwaver.suites import calm
from unwaver.suites.common import read_label
from unwaver.suites.from_table import read_source
from unwaver.suites.library import Library
from unwaver.tasks import Task
from unwaver.train.paws import OTHER_SETS, read_paws
from unwaver.train.without_header import layout_of, read_without_header
from unwaver.types import Item, replace

HELD_OUT = 0.1
_FOLDERS = {
    **calm.FOLDERS,
    "anli": ("abductive_nli_art",),
    "delta-snli": ("defeasible_nli",),
    "delta-atomic": ("defeasible_nli",),
    "delta-social": ("defeasible_nli",),
    "paws": ("paws", "paws/final"),
}
_SAME_SPLIT = {"train": "train|nondev", "validation": "validation|dev", "dev": "validation|dev"}
_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Labelled:
    """Items of one task, each with one right label, and the file they came from."""

    task: Task
    items: tuple[Item, ...]
    file: str


def labelled(
    task: Task, split: str, files: Library, columns: Mapping[str, str | Sequence[str]] | None = None
) -> Labelled:
    """The labelled items of a split, by its name or as a path."""
    path = Path(split).expanduser()
    if path.is_file():
        return _some(task, _read(task, path, columns, own=True), path)
    if extension(path) in EXTENSIONS or "/" in split:
        raise DataError("there is no such file", file=split, hint="check the path, or name a split: train")
    named = _named(task, split, files)
    problem = None
    for path in named:
        try:
            return _some(task, _read(task, path, columns), path)
        except DataError as e:
            problem = problem or e
    if problem is not None:
        raise problem
    others = [name for name in _SPLITS if name != split and _named(task, name, files)]
    folders = _folders(task)
    if others:
        hint = f"--train-split {others[0]}, or the path of a file; here is {', '.join(others)}"
        message = f"{task.name} has no file of the split {split} in {' or '.join(folders)}"
        raise DataError(message, hint=hint)
    looked_for = f'a file with "{split}" in its name in {" or ".join(folders)}'
    raise files.missing(f"{folders[0]}/{split}.tsv", looked_for, how="get")


def _folders(task: Task) -> tuple[str, ...]:
    return _FOLDERS.get(task.name, (f"becel/{task.name}", task.name))


def _named(task: Task, split: str, files: Library) -> list[Path]:
    """Files of the task with the split in their name, the plainest name first."""
    folders = _folders(task)
    word = re.compile(rf"(?<![a-z])({_SAME_SPLIT.get(split, re.escape(split))})(?![a-z])")
    prefix = f"{task.name.removeprefix('delta-')}_" if task.name.startswith("delta-") else ""
    others = OTHER_SETS if task.name == "paws" else ()
    found = [
        path
        for path in files.files_in(folders)
        if extension(path) in EXTENSIONS
        and word.search(path.name.lower())
        and path.name.startswith(prefix)
        and not any(other in path.name.lower() for other in others)
    ]
    return sorted(found, key=lambda p: (_rank(p, folders), "mismatched" in p.name, len(p.name), p.name))


def _rank(path: Path, folders: Sequence[str]) -> int:
    return next((n for n, folder in enumerate(folders) if str(path.parent).endswith(folder)), len(folders))


def _read(
    task: Task, path: Path, columns: Mapping[str, str | Sequence[str]] | None, *, own: bool = False
) -> list[Item]:
    if task.type in ("defeasible", "abduction") and not columns:
        return _reasoning(task, path)
    if task.name == "paws" and not columns:
        return read_paws(task, path)
    if (layout := layout_of(task, path)) is not None and not columns:
        return read_without_header(task, path, layout)
    if task.name in calm.CASES and not columns and not own:
        return calm.read_pairs(task, path)
    return list(read_source(path, task, columns=columns).items)


def _reasoning(task: Task, path: Path) -> list[Item]:
    """α-NLI and δ-NLI: fields by their names, or sentence1 (all before the target) and sentence2 (the target).

    Labels may stand in a file of their own, one a line: train.jsonl and train-labels.lst.
    """
    rows = read_rows(path)
    beside = path.with_name(f"{path.name.partition('.')[0]}-labels.lst")
    labels = read_text(beside).split() if beside.exists() and "label" not in rows[0].cells else None
    if labels is not None and len(labels) != len(rows):
        message = f"found {len(labels)} labels, expected one for each of the {len(rows)} rows of {path.name}"
        raise DataError(message, hint="take both files from one release", file=beside)
    items = []
    for n, row in enumerate(rows):
        cells = {name.lower(): value for name, value in row.cells.items()}
        if cells.get("updatetypeimpossible"):
            continue
        label = labels[n] if labels else cells.get("label", cells.get("updatetype"))
        accepted = read_label(row, "label", label, task.labels)
        fields = _reasoning_fields(cells, task, row)
        items.append(Item(str(n), task.name, "original", fields, task.labels, accepted))
    return items


def _reasoning_fields(cells: Mapping[str, object], task: Task, row: Row) -> dict[str, str]:
    if all(name in cells for name in task.fields):
        return {name: str(cells[name] or "") for name in task.fields}
    if task.type == "defeasible" and "sentence1" in cells and "sentence2" in cells:
        first, *others = task.fields[:-1]
        empty = dict.fromkeys(others, "")
        before, target = str(cells["sentence1"]).strip(), str(cells["sentence2"]).strip()
        return {first: before, **empty, task.fields[-1]: target}
    raise row.where.error(
        f"found columns {', '.join(row.cells)}, expected {', '.join(task.fields)}", "or --column FIELD=NAME"
    )


def _some(task: Task, items: Sequence[Item], path: Path) -> Labelled:
    """Only what has one right label can be learnt from."""
    known = tuple(item for item in items if len(item.accepted) == 1)
    if len({item.accepted for item in known}) < 2:
        hint = "give a file with a label column and several labels; --column gold=NAME says which it is"
        raise DataError(f"found {len(known):,} labelled rows, with fewer than two labels", hint=hint, file=path)
    return Labelled(task, known, str(path))


# --- drawing ------------------------------------------------------------------------------------------------


def key_of(item: Item, task: Task) -> Hashable:
    """What stays together in a draw: a premise of NLI, premise and hypothesis of δ-NLI, else the row."""
    texts = [item.fields[name] for name in task.fields]
    if task.type == "nli":
        return texts[0]
    return tuple(texts[:-1]) if task.type == "defeasible" else tuple(texts)


def _kept_apart(item: Item, task: Task) -> Hashable:
    """What the hold-out shares with no row that is trained on: as in a draw, and the passage of a question."""
    return item.fields[task.fields[0]] if task.type == "reading" else key_of(item, task)


def drawn(data: Labelled, *, fraction: float = 1.0, rows: int | None = None, seed: int = 0) -> Labelled:
    """A share of the items, or about this many rows; a smaller draw is part of a larger one."""
    if not 0 < fraction <= 1:
        raise UsageError(f"--fraction is {fraction}, expected more than 0 and at most 1", hint="0.1 is a tenth")
    if rows is not None and rows < 1:
        raise UsageError(f"--rows is {rows}, expected 1 or more", hint="leave it out for all")
    share = fraction * min(1.0, (rows or len(data.items)) / len(data.items))
    if share == 1:
        return data
    keys = [key_of(item, data.task) for item in data.items]
    chosen = training_shares(keys, [share], seed=seed)[share]
    return replace(data, items=tuple(data.items[n] for n in chosen))


def held_out(data: Labelled, seed: int = 0) -> tuple[list[Item], list[Item]]:
    """The items to train on, and a tenth to stop by: no premise or passage is in both."""
    keys = [_kept_apart(item, data.task) for item in data.items]
    apart = set(training_shares(keys, [HELD_OUT], seed=seed + 1)[HELD_OUT].tolist())
    train = [item for n, item in enumerate(data.items) if n not in apart]
    held = [item for n, item in enumerate(data.items) if n in apart]
    if len(train) < 2 or len({item.accepted for item in train}) < 2:
        hint = "give more rows, or a larger --fraction"
        raise DataError(f"{len(data.items)} rows of {data.task.name} are too few", hint=hint, file=data.file)
    return train, held
