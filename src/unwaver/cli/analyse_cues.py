"""unwaver analyse cues."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unwaver.cli.options import DATA_DIR, JSON, SEED, TASK
from unwaver.cli.printing import print_json
from unwaver.cli.sections import option, section, verb
from unwaver.errors import DataError, UsageError, near

if TYPE_CHECKING:
    from unwaver.analysis.cues import Cue, Row, Share
    from unwaver.tasks import Task


@verb(
    "cues",
    examples=(
        "unwaver analyse cues train --task snli --data-dir DIR",
        "unwaver analyse cues train.csv --task snli --fewest 1 --words no,not",
    ),
)
@click.argument("file")
@section(
    "What to analyse",
    TASK.but(help="Task of the rows: a built-in task, or your own task file (.toml)."),
    DATA_DIR,
    option("--field", metavar="NAME", help="Text to look at. [default: the one that variants change]"),
    option(
        "--words", metavar="LIST", help="Words to look for: no,not,n't or a file of words. [default: negations]"
    ),
    option("--most", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Cues to list."),
    option(
        "--fewest",
        type=click.IntRange(min=1),
        default=20,
        show_default=True,
        metavar="N",
        help="Leave out words that fewer rows have.",
    ),
    SEED,
)
@section(
    "Your own file",
    option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        help="Column of a field or of gold: a name, or a number from 1 if the file has no header. Repeatable.",
    ),
    option(
        "--map",
        "label_map",
        multiple=True,
        metavar="CODE=LABEL",
        help="Label of the task for a code in the file. Repeatable.",
    ),
)
@section("Output", JSON)
def cues_command(
    file: str,
    task: str | None,
    data_dir: str | None,
    field: str | None,
    words: str | None,
    most: int,
    fewest: int,
    seed: int,
    columns: tuple[str, ...],
    label_map: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find words that give a label away, in training data.

    FILE is a file of labelled rows, or the name of a split in the data folder, such as train. The first table has
    the share of each label among the rows with a listed word. The second has the words with the highest PMI.
    """
    from unwaver.analysis.cues import NEGATIONS, shares, strongest
    from unwaver.cli.run_verb import pairs
    from unwaver.tasks import open_task

    if task is None:
        raise UsageError("the task of the rows is not given", hint="add --task snli, or your own task file")
    chosen = open_task(task)
    looked_at = field or chosen.modified
    if looked_at not in chosen.fields:
        raise UsageError(f"{chosen.name} has no field {looked_at!r}", hint=near(looked_at, chosen.fields))
    given = pairs(columns, "--column", "hypothesis=4"), pairs(label_map, "--map", "1=neutral")
    listed = NEGATIONS if words is None else _listed(words)
    rows = _rows(file, chosen, looked_at, data_dir, *given)
    found, cues = shares(rows, listed), strongest(rows, most=most, fewest=fewest, seed=seed)
    with_word = sum(share.rows for share in found)
    document = {
        "task": chosen.name,
        "field": looked_at,
        "rows": len(rows),
        "words": list(listed),
        "rows_with_word": with_word,
        "labels": [asdict(share) for share in found],
        "cues": [asdict(cue) for cue in cues],
    }
    title = f"{with_word:,} of {len(rows):,} rows have one of these words in {looked_at}: {', '.join(listed)}"
    if as_json:
        print_json({"version": 1, **document})
        return
    _print(title, found, cues)


def _print(title: str, found: Sequence[Share], cues: Sequence[Cue]) -> None:
    from rich.console import Console

    from unwaver.reports.terminal import print_rows
    from unwaver.text.shown import interval, percent, safe

    console = Console(highlight=False)
    console.print(safe(title), markup=False)
    rows = [[s.label, f"{s.rows:,}", percent(s.share), interval(s.low, s.high), percent(s.overall)] for s in found]
    print_rows([["label", "rows", "%", "95 % interval", "% of all rows"], *rows], console)
    if cues:
        lines = [
            [
                c.word,
                c.label,
                f"{c.pmi:.2f}",
                interval(c.low, c.high, "{:.2f}".format),
                percent(c.share),
                f"{c.rows:,}",
            ]
            for c in cues
        ]
        print_rows([["word", "label", "PMI", "95 % interval", "%", "rows"], *lines], console)
        console.print("PMI is in bits; % is the share of the label among the rows with the word.", markup=False)


def _listed(given: str) -> tuple[str, ...]:
    from unwaver.files import read_text

    path = Path(given)
    text = read_text(path).replace("\n", ",") if path.is_file() else given
    found = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    if not found:
        raise UsageError("--words lists no word", hint="--words no,not,n't, or a file with one word per line")
    return found


def _rows(
    file: str, task: Task, field: str, data_dir: str | None, columns: Mapping[str, str], labels: Mapping[str, str]
) -> list[Row]:
    from unwaver.analysis.cues import Row, words_of

    for label in labels.values():
        if label not in task.labels:
            raise UsageError(f"--map: {task.name} has no label {label!r}", hint=near(label, task.labels))
    if labels or any(name.isdecimal() for name in columns.values()):
        return [
            Row(words_of(text), label, key) for text, label, key in _by_number(file, field, columns, labels, task)
        ]
    from unwaver.suites.library import library
    from unwaver.train.data import key_of, labelled

    data = labelled(task, file, library(Path(data_dir).expanduser() if data_dir else None), columns or None)
    return [Row(words_of(item.fields[field]), item.accepted[0], key_of(item, task)) for item in data.items]


def _by_number(
    file: str, field: str, columns: Mapping[str, str], labels: Mapping[str, str], task: Task
) -> Iterator[tuple[str, str, object]]:
    """Text, label and cluster of each row of a file without a header. Rows without a label are left out."""
    from unwaver.files import extension, read_text

    path = Path(file).expanduser()
    example = f"--column {field}=4 --column gold=1 --map 1={task.labels[0]}"
    if not path.is_file():
        raise DataError("there is no such file", file=file, hint="columns by number need the path of a file")
    for role in (field, "gold"):
        if not columns.get(role, "").isdecimal() or int(columns[role]) < 1:
            raise UsageError(f"the number of the column with {role} is not given", hint=example)
    places = {role: int(number) - 1 for role, number in columns.items() if number.isdecimal()}
    others = [place for role, place in places.items() if role not in (field, "gold")]
    cells = csv.reader(
        read_text(path).splitlines(keepends=True), delimiter="," if extension(path) == ".csv" else "\t"
    )
    for n, row in enumerate(cells, 1):
        if len(row) <= max(places.values()):
            message = f"found {len(row)} cells, expected {max(places.values()) + 1} or more"
            raise DataError(message, file=file, line=n, hint="count the columns from 1")
        label = labels.get(row[places["gold"]], row[places["gold"]])
        if label in task.labels:
            yield row[places[field]], label, tuple(row[place] for place in others) or n
        elif label not in ("", "-", "-1"):
            message = f"found the label {label!r}, expected one of {', '.join(task.labels)}"
            raise DataError(message, file=file, line=n, hint=f"--map {label}={task.labels[0]}")
