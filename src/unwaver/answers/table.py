"""Answers as a Polars frame, one row an answer, with one written schema.

A table from elsewhere needs only the columns group, kind, role, label and gold; `complete` adds the rest.
What a label is, is decided here and nowhere else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl

from unwaver.answers.columns import (
    NOWHERE,
    Origin,
    as_text,
    frame_of,
    label_sets,
    lists_of_numbers,
    numbers,
    read_parquet,
    texts,
    truths,
    wholes,
)
from unwaver.answers.extract import reader as text_reader
from unwaver.answers.labels import is_settled, read_labels
from unwaver.answers.references import Referenced, accurate_all, contains
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Where, read_rows, shown
from unwaver.groups import KINDS, expect_of
from unwaver.groups.certify import Reading, counted, is_plain, reading_of
from unwaver.state import NO_ANSWER, STATUSES, CutMode, Status, is_cut, status_of
from unwaver.text.rouge import rouge1_of
from unwaver.types import Answer, Expect, Group, Item

SCHEMA: dict[str, Any] = {
    "suite": pl.String,
    "task": pl.String,
    "kind": pl.String,
    "expect": pl.String,  # same, different, implied, bucket
    "model": pl.String,
    "method": pl.String,
    "group": pl.String,
    "cluster": pl.String,
    "item": pl.String,
    "role": pl.String,  # original, variant, conclusion; test: of the full test set, in no group
    "replicate": pl.Int64,
    "label": pl.String,  # null: unreadable, or there is no answer; status says which
    "gold": pl.List(pl.String),  # the accepted labels; null: not known
    "right": pl.Float64,  # 1 or 0 where others have judged the answer: wins over gold; null: gold decides
    "probs": pl.List(pl.Float64),
    "status": pl.String,  # one of unwaver.state.STATUSES
    "truncated": pl.Boolean,
    "weight": pl.Float64,  # of the group, where groups were not drawn evenly; null: none
}
# only where a group needs them
OPTIONAL: dict[str, Any] = {
    "keep": pl.Int64,  # how many certified variants count
    "epsilon": pl.Float64,  # an upper limit of the share of wrong variants
    "text": pl.String,  # what differs between original and variants
    "embedding_distance": pl.Float64,  # of a variant to its original
    "sequential": pl.Boolean,  # true: how many groups were asked follows from what was answered
    "right_by": pl.String,  # how free text was judged: rouge1, contains
    "units": pl.List(pl.String),  # the original items of the group, where several groups share them
}
ROUGE1, CONTAINS = "rouge1", "contains"
REQUIRED = ("group", "kind", "role", "label")
ROLES = ("original", "variant", "conclusion", "test")
_KNOWN_VALUES: Mapping[str, Sequence[str]] = {"role": ROLES, "status": STATUSES, "expect": get_args(Expect)}
BLOCK = ("suite", "task", "kind", "model", "method")


def table_of(
    groups: Sequence[Group],
    answers: Mapping[tuple[str, int], Answer],
    words: Mapping[tuple[str, str], Sequence[str]],
    *,
    model: str,
    method: str,
    writes: str | None = None,
    replicates: int = 1,
    normalise: bool = False,
    read: str = "text",
    cut: CutMode = "exclude",
) -> pl.DataFrame:
    """The answers of one model about these groups: `answers` by (item id, replicate).

    `words` are what a language model writes for the labels, by (task, template). `normalise` divides the
    log-probability of each choice by its number of tokens before the greatest is taken. `writes` is the method by
    which free text came about, where it is another. `cut`: "keep" takes answers that were cut as they are.
    """
    told = reader(answers, words, normalise, read, cut)
    rows = [
        (group, item, replicate, reading)
        for group in groups
        for replicate in range(replicates)
        for item, reading in _counted(group, told, replicate)
    ]
    items = [item for _, item, *_ in rows]
    readings = [reading for *_, reading in rows]
    right, right_by = _right_texts(items, readings)
    columns = {
        **_of_groups([group for group, *_ in rows]),
        **_of_items(items, method, writes or method),
        **_of_readings(readings),
        "model": [model] * len(rows),
        "replicate": [replicate for _, _, replicate, _ in rows],
        "right": right,
        "truncated": [_was_truncated(answers.get((item.id, replicate))) for _, item, replicate, _ in rows],
        "weight": [None] * len(rows),
    }
    table = pl.DataFrame({name: columns[name] for name in SCHEMA}, schema=SCHEMA)
    extra = _extra_columns([(group, item) for group, item, *_ in rows], told)
    if any(right_by):
        extra["right_by"] = pl.Series("right_by", right_by, dtype=pl.String)
    return table.with_columns(**extra)


def _of_groups(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """The columns that a row has from its group."""
    return {
        "suite": [g.suite for g in groups],
        "task": [g.task for g in groups],
        "kind": [g.kind for g in groups],
        "expect": [g.expect for g in groups],
        "group": [g.id for g in groups],
        "cluster": [g.cluster or g.id for g in groups],
    }


def _of_items(items: Sequence[Item], method: str, writes: str) -> dict[str, list[Any]]:
    return {
        "method": [method if i.choices else writes for i in items],
        "item": [i.id for i in items],
        "role": [i.role for i in items],
        "gold": [list(i.accepted) or None for i in items],
    }


def _of_readings(readings: Sequence[Reading]) -> dict[str, list[Any]]:
    return {
        "label": [reading.label for reading in readings],
        "probs": [reading.probs for reading in readings],
        "status": [reading.status for reading in readings],
    }


def _was_truncated(answer: Answer | None) -> bool:
    return answer is not None and answer.truncated


def _right_texts(
    items: Sequence[Item], readings: Sequence[Reading]
) -> tuple[list[float | None], list[str | None]]:
    """Whether free texts are right, and by what: closer to a true reference than to every false one, or, where
    only right answers are known, whether one of them stands in the text. Unreadable is wrong."""
    found: list[float | None] = [None] * len(items)
    ways: list[str | None] = [None] * len(items)
    free = [n for n, item in enumerate(items) if not item.choices and item.accepted]
    held = [Referenced(readings[n].label or "", items[n].accepted, items[n].rejected) for n in free]
    for n, answer, near_true in zip(free, held, accurate_all(held, rouge1_of), strict=True):
        ways[n] = ROUGE1 if items[n].rejected else CONTAINS
        if readings[n].status not in NO_ANSWER:
            found[n] = float(contains(answer.text, answer.true) if near_true is None else near_true)
    return found, ways


def reader(
    answers: Mapping[tuple[str, int], Answer],
    words: Mapping[tuple[str, str], Sequence[str]],
    normalise: bool,
    read: str = "text",
    cut: CutMode = "exclude",
) -> Callable[[Item, int], Reading]:
    """How the answers about items read. A judge is asked once, however many replicates there are.

    `read` says what of a free text is the answer: see unwaver.answers.extract. `cut` is about the models under
    test: what a judge did not finish is never a verdict.
    """
    extract = text_reader(read)

    def told(item: Item, replicate: int) -> Reading:
        answer = answers.get((item.id, 0 if item.role == "judge" else replicate))
        known = words.get((item.task, item.template), ())
        label, probs = _read(item.choices, known, answer, normalise, extract)
        keep: CutMode = "exclude" if item.role == "judge" else cut
        status = reading_status(answer, label, item.choices, known, keep)
        return Reading(status) if status in NO_ANSWER else Reading(status, label, probs)

    return told


def _counted(group: Group, told: Callable[[Item, int], Reading], replicate: int) -> Iterator[tuple[Item, Reading]]:
    """The items of a group that stand in the table, and how they read."""
    if is_plain(group):
        yield from ((item, told(item, replicate)) for item in group.items)
        return

    def read(item: Item) -> Reading:
        return told(item, replicate)

    yield from ((item, reading_of(group, item, read)) for item in counted(group, read))


def _extra_columns(
    rows: Sequence[tuple[Group, Item]], told: Callable[[Item, int], Reading]
) -> dict[str, pl.Series]:
    """The columns of OPTIONAL that some group needs."""
    groups = {id(group): group for group, _ in rows}.values()
    columns: dict[str, Sequence[object]] = {}
    if any(group.units for group in groups):
        columns["units"] = [list(group.units) or None for group, _ in rows]
    if any(group.epsilon is not None for group in groups):
        columns["epsilon"] = [group.epsilon for group, _ in rows]
    if any(group.kind == "fooling" for group in groups):
        distances = _distances(groups, told)
        columns["keep"] = [group.keep for group, _ in rows]
        columns["text"] = [_changed_text(group, item) for group, item in rows]
        columns["embedding_distance"] = [distances.get(item.id) for _, item in rows]
    return {name: pl.Series(name, values, dtype=OPTIONAL[name]) for name, values in columns.items()}


def _distances(groups: Iterable[Group], told: Callable[[Item, int], Reading]) -> dict[str, float]:
    """Of each variant to its original, by the judges that embed."""
    return {
        item.about: 1 - _cosine(told(item, 0))
        for group in groups
        for item in group.items
        if item.role == "judge" and not item.accepted and told(item, 0).probs
    }


def _cosine(reading: Reading) -> float:
    """A model that embeds gives the last choice, "same", the probability (1 + cosine) / 2."""
    return 2 * (reading.probs or [0.5])[-1] - 1


def _changed_text(group: Group, item: Item) -> str:
    """The texts of the fields in which the variants differ from the original."""
    first = group.items[0].fields
    others = [i.fields for i in group.items if i.role == "variant"]
    changed = [name for name in first if any(other.get(name) != first[name] for other in others)]
    return " ".join(item.fields[name] for name in changed)


def reading_status(
    answer: Answer | None,
    label: str | None,
    choices: Sequence[str],
    words: Sequence[str],
    cut: CutMode = "exclude",
) -> Status:
    """The status of an answer that reads as `label`. What was cut counts only where it is a label for certain."""
    text = answer.text if answer is not None and is_cut(answer.finish) else None
    settled = bool(choices) and text is not None and label is not None and is_settled(text, label, choices, words)
    return status_of(answer, label, settled=settled, cut=cut)


def _read(
    choices: Sequence[str],
    words: Sequence[str],
    answer: Answer | None,
    normalise: bool,
    extract: Callable[[str], str | None],
) -> tuple[str | None, list[float] | None]:
    """The label that an answer gives, and the probabilities of the choices."""
    if answer is None or answer.error is not None:
        return None, None
    scores = answer.logprobs
    if normalise and answer.tokens:
        scores = tuple(s / max(n, 1) for s, n in zip(scores, answer.tokens, strict=True))
    probs = softmax(scores) if scores and len(scores) == len(choices) else None
    if answer.text is not None:
        if not choices:  # free text: the words themselves are the answer
            return extract(answer.text), None
        return read_labels([answer.text], choices, words)[0], probs
    if probs is None:
        return None, None
    return choices[max(range(len(probs)), key=probs.__getitem__)], probs


def softmax(logs: Sequence[float]) -> list[float] | None:
    """softmax([0, 0]) -> [0.5, 0.5]; None where no choice is possible or a number is missing."""
    top = max(logs)
    if not math.isfinite(top) or any(math.isnan(x) for x in logs):
        return None
    weights = [math.exp(x - top) for x in logs]
    total = sum(weights)
    return [w / total for w in weights]


def read_table(path: Path) -> pl.DataFrame:
    """The table in a .parquet, .csv, .tsv, .jsonl or .json file, complete (with what was cut); an empty cell is no
    value."""
    if path.suffix == ".parquet":
        return complete(read_parquet(path), cut=None, origin=Origin(str(path)))
    rows = read_rows(path, required=REQUIRED)
    cells = [{name: _cell(name, value, row.where) for name, value in row.cells.items()} for row in rows]
    if any(isinstance(row.get("gold"), list) for row in cells):
        for row in cells:
            gold = row.get("gold")
            row["gold"] = gold if gold is None or isinstance(gold, list) else [as_text(gold)]
    return complete(frame_of(cells), cut=None, origin=Origin(str(path), [row.where.line for row in rows]))


def _cell(name: str, value: Any, where: Where) -> Any:
    """A value of the column `name`: a list where one is meant, None where it is empty, else as it is."""
    if value is None or value == "":
        return None
    if name in ("probs", "gold") and isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if name == "gold" and isinstance(value, list) and not _is_nested(value):
        return [as_text(v) for v in value if v is not None]
    expected = _expected_cell(name, value)
    if expected is None:
        return value
    raise where.error(f'column "{name}": found {shown(value)}, expected {expected}', "correct it")


def _is_nested(value: Any) -> bool:
    inner = value if isinstance(value, list) else ()
    return isinstance(value, dict) or any(isinstance(v, dict | list) for v in inner)


def _expected_cell(name: str, value: Any) -> str | None:
    """What the column expects, where this value is not it."""
    if name == "probs" and not isinstance(value, list):
        return "a list of numbers: [0.9, 0.1]"
    if name == "gold" and _is_nested(value):
        return 'a label, or a list of labels: ["a", "b"]'
    if name in _SCALAR and isinstance(value, dict | list):
        return "text or a number"
    return None


def complete(table: Any, cut: CutMode | None = "exclude", origin: Origin = NOWHERE) -> pl.DataFrame:
    """A table from elsewhere with every column of SCHEMA: a frame of Polars or pandas, or columns, or rows.

    `gold` may be one label or a list of accepted ones; numbers serve as labels. A missing label is
    unreadable unless a `status` column says otherwise. Where that says that there is no answer, a label counts
    for nothing; `cut`: "keep" takes answers that were cut as they are, None leaves that to who comes next.
    Every column gets its type; a value that cannot have it is an error with its row.
    """
    frame = _frame(table)
    missing = [c for c in REQUIRED if c not in frame.columns]
    if missing:
        raise origin.error(
            f"the table has no column {', '.join(missing)}",
            f"it needs group, kind, role, label and gold; found: {', '.join(frame.columns)}",
        )
    if not frame.height:
        raise origin.error("the table is empty", "it needs one row for each answer")
    has_clusters = "cluster" in frame.columns and frame["cluster"].null_count() < frame.height
    frame = frame.drop("units", strict=False)  # a column of that name in a foreign table is another thing
    frame = frame.with_columns(pl.lit(None).alias(n) for n in SCHEMA if n not in frame.columns)
    frame = frame.with_columns(_typed(frame[n], origin) for n in frame.columns if n in _TYPES)
    for name in ("group", "kind", "role"):
        _check_filled(frame[name], origin)
    unreadable = pl.when(pl.col("label").is_null()).then(pl.lit("unreadable")).otherwise(pl.lit("answered"))
    frame = frame.with_columns(
        *(pl.col(n).fill_null(pl.lit(value)) for n, value in _DEFAULTS.items()),
        cluster=_clusters(frame),
        status=pl.coalesce(pl.col("status"), unreadable),
        replicate=_replicates(frame["replicate"], origin),
        expect=_expected(frame, origin),
    )
    for name, known in _KNOWN_VALUES.items():
        _check_known(frame[name], known, origin)
    foreign = [n for n in frame.columns if n.startswith(_MADE) and not _is_made(n, frame.schema[n])]
    frame = frame.drop(foreign)
    return _without_answer(frame if has_clusters else _with_units(frame), cut)


def _without_answer(frame: pl.DataFrame, cut: CutMode | None) -> pl.DataFrame:
    """Rows without an answer have no label and are neither right nor wrong."""
    if cut not in ("exclude", "keep", None):
        raise UsageError(f"cut={cut!r}", hint="known: exclude, keep")
    status = pl.col("status")
    if cut == "keep":
        nothing = pl.col("label").is_null() & pl.col("right").is_null()
        kept = pl.when(nothing).then(pl.lit("unreadable")).otherwise(pl.lit("cut_read"))
        frame = frame.with_columns(status=pl.when(status == "cut").then(kept).otherwise(status))
    lacking = sorted(NO_ANSWER - ({"cut"} if cut is None else set()))
    if not frame["status"].is_in(lacking).any():
        return frame
    is_answer = ~status.is_in(lacking)
    return frame.with_columns(
        pl.when(is_answer).then(pl.col(name)).alias(name) for name in ("label", "right", "probs")
    )


_DEFAULTS: Mapping[str, Any] = {
    "suite": "own",
    "task": "own",
    "model": "table",
    "method": "table",
    "truncated": False,
    "item": "",
}
_TYPES: Mapping[str, Callable[[pl.Series, Origin], pl.Series]] = {
    **dict.fromkeys(
        ("suite", "task", "kind", "expect", "model", "method", "item", "role", "label", "status"), texts
    ),
    **dict.fromkeys(("text", "right_by"), texts),
    **dict.fromkeys(("truncated", "sequential"), truths),
    "gold": label_sets,
    "right": lambda column, origin: truths(column, origin).cast(pl.Float64),
    "probs": lists_of_numbers,
    "weight": partial(numbers, least=0, expected="a number of 0 or more"),
    "epsilon": partial(numbers, least=0, most=1, expected="a share from 0 to 1"),
    "embedding_distance": numbers,
    "replicate": wholes,
    "keep": partial(wholes, least=1),
    # numbers stay numbers: a group is called what it is called elsewhere
    **dict.fromkeys(("group", "cluster"), lambda c, origin: c if c.dtype.is_integer() else texts(c, origin)),
}
_SCALAR = {*SCHEMA, *OPTIONAL} - {"gold", "probs"}
_MADE = ("agree_", "right_")  # what agreements and scorers add to a table of unwaver's own


def _is_made(name: str, dtype: Any) -> bool:
    if name.startswith("agree_"):
        return bool(dtype == pl.List(pl.Float64))
    return name in OPTIONAL or bool(dtype == pl.Float64)


def _typed(column: pl.Series, origin: Origin) -> pl.Series:
    return _TYPES[column.name](column, origin).alias(column.name)


def _check_filled(column: pl.Series, origin: Origin) -> None:
    empty = column.is_null()
    if column.dtype == pl.String:
        empty = empty | (column == "")
    if empty.any():
        message = f'column "{column.name}": found nothing, expected a value'
        raise origin.error(message, "fill the cell or drop the row", int(empty.arg_max() or 0))


def _check_known(column: pl.Series, known: Sequence[str], origin: Origin) -> None:
    strange = ~column.is_in(list(known))
    if strange.any():
        row = int(strange.arg_max() or 0)
        message = f'column "{column.name}": found {shown(column[row])}, expected {", ".join(known)}'
        raise origin.error(message, near(str(column[row]), known), row)


def _clusters(frame: pl.DataFrame) -> pl.Series:
    """A group without a cluster stands alone."""
    group, cluster = frame["group"], frame["cluster"]
    if cluster.null_count() == len(cluster):
        return group
    if cluster.null_count():
        group, cluster = group.cast(pl.String), cluster.cast(pl.String)
    return pl.select(pl.coalesce(cluster, group)).to_series()


def _replicates(column: pl.Series, origin: Origin) -> pl.Series:
    if 0 < column.null_count() < len(column):
        message = 'column "replicate": found nothing, expected a whole number of 0 or more'
        raise origin.error(message, "number the repeats of a wording 0, 1 …", int(column.is_null().arg_max() or 0))
    return column.fill_null(0)


def _expected(frame: pl.DataFrame, origin: Origin) -> pl.Series:
    """What each row says, or else its kind."""
    kinds = {k: expect_of(str(k)) for k in frame["kind"].unique().to_list()}
    usual = frame["kind"].replace_strict(kinds, return_dtype=pl.String)
    expect = pl.select(pl.coalesce(frame["expect"], usual)).to_series()
    if expect.null_count():
        row = int(expect.is_null().arg_max() or 0)
        kind = str(frame["kind"][row])
        message = f'kind "{kind}" is not known, so a column "expect" is needed: {", ".join(get_args(Expect))}'
        raise origin.error(message, near(kind, KINDS), row if "expect" in frame.columns and origin.lines else None)
    return expect


def _with_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Where groups have several originals and name no cluster, what is independent are these items."""
    block = [*BLOCK, "group"]
    of_several = (pl.col("expect") == "implied") & (pl.col("role") == "original") & (pl.col("item") != "")
    originals = frame.filter(of_several)
    found = originals.group_by(block).agg(units=pl.col("item").unique(maintain_order=True))
    if not (found["units"].list.len() > 1).any():
        return frame
    return frame.join(found, on=block, how="left", maintain_order="left")


def _frame(table: Any) -> pl.DataFrame:
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, Mapping) or (isinstance(table, Iterable) and not hasattr(table, "columns")):
        try:
            rows = table if isinstance(table, Mapping) else list(table)
            return pl.DataFrame(rows, infer_schema_length=None)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as e:
            first_line = str(e).split("\n", 1)[0]
            hint = "give each column values of one type, and all columns the same length"
            raise DataError(f"not a table: {first_line}", hint=hint) from None
    if hasattr(table, "columns"):  # pandas, without its PyArrow
        return pl.DataFrame({str(c): table[c].to_list() for c in table.columns}, strict=False)
    raise DataError(f"a {type(table).__name__} is not a table", hint="give a Polars or pandas frame, or rows")
