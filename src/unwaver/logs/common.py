"""What every reader of logs needs: the options, fields by dotted path, buckets, and rows as a table.

A reader turns each answer into one entry – a dict with the keys of ENTRY – and `table_of_entries` makes the
table. Which wordings and repeats an answer stands beside is known only when all files have been read:
`settle` numbers the replicates and names the kind.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.answers import columns
from unwaver.answers.schema import SCHEMA
from unwaver.console import silent
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, Where, decode, read_rows, read_text, shown, whole
from unwaver.state import NO_ANSWER

HEAD = 1 << 16  # bytes that a format is told by


@dataclass(frozen=True)
class LogOptions:
    """How to read logs. Fields are named by dotted paths into a record: doc.problem, vars.id, metadata.topic."""

    format: str = "auto"
    task: str | None = None  # one name for all files: several prompts of one task
    filter: str | None = None  # lm-eval: whose answers
    metric_key: str | None = None  # the metric, scorer or named score that says what is right
    bucket: str | None = None  # the field that names the bucket
    bucket_regex: str | None = None  # on that field, or else on the id: its first group, or all of the match
    bucket_file: Path | str | None = None  # id -> bucket
    variant: str | None = None  # the field that names the wording
    answer: str | None = None
    gold: str | None = None
    replicate: str | None = None
    strict: bool = False  # a failed call leaves out its whole group
    texts: bool = False  # keep what was asked, for people to read: the column prompt
    test: Any = ()  # the same model's answers on the full test set: [MODEL=]FILE, several, or TestSets
    say: Callable[[str], None] = field(default=silent, compare=False)  # what a reader of the scores must know
    named: bool = False  # whether what is said names the file already

    def __post_init__(self) -> None:
        if self.bucket_file is not None:
            object.__setattr__(self, "bucket_file", Path(self.bucket_file))
        if self.bucket_regex is not None:
            try:
                re.compile(self.bucket_regex)
            except re.error as e:
                raise UsageError(
                    f"--bucket-regex {self.bucket_regex}: {e}",
                    hint="such as '^(.+)-p[0-9]+$': the bucket in brackets",
                ) from None

    def about(self, file: Path, several: bool = True) -> LogOptions:
        """The same, with the name of a file before what is said of it, where there are several."""
        if not several or self.named:
            return self
        say = self.say
        return replace(self, say=lambda line: say(f"{file.name}: {line}"), named=True)

    @property
    def has_buckets(self) -> bool:
        return any(o is not None for o in (self.bucket, self.bucket_regex, self.bucket_file))

    @property
    def names_columns(self) -> bool:
        named = (self.variant, self.answer, self.gold, self.replicate, self.metric_key)
        return self.has_buckets or any(o is not None for o in named)


# --- files --------------------------------------------------------------------------------------------------


def head(path: Path) -> str:
    """The first 64 KB as text, unpacked; of a damaged file what can be read of it."""
    try:
        with path.open("rb") as file:
            data = file.read(HEAD)
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(wbits=31).decompress(data, HEAD)
    except (OSError, zlib.error):
        return ""
    return data.decode("utf-8-sig", "replace")


def files_in(path: Path, *patterns: str) -> list[Path]:
    """The file itself, or those of a folder and its subfolders, by name."""
    if not path.is_dir():
        return [path]
    found = sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})
    if not found:
        raise DataError(
            f"found no {' or '.join(patterns)} in this folder", file=path, hint="give the folder the logs are in"
        )
    return found


def lines_of(text: str, key: str, count: int) -> list[int]:
    """The line of each of `count` records of a JSON document, told by a key that each has once; else all 1."""
    lines, line, counted = [], 1, 0
    for match in re.finditer(rf'"{key}"\s*:', text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        lines.append(line)
    return lines if len(lines) == count else [1] * count


def read_document(path: Path) -> tuple[Mapping[str, Any], str]:
    """The object in a .json file, and its text."""
    text = read_text(path)
    value, end = decode(text, path)
    if text[end:].strip() or not isinstance(value, dict):
        found = shown(text[end:].strip() or value)
        raise DataError(f"found {found}, expected one JSON object", file=path, line=1, hint="copy the file again")
    return value, text


# --- records ------------------------------------------------------------------------------------------------


def lookup(record: Mapping[str, Any], path: str, where: Where) -> Any:
    """lookup({"doc": {"id": 3}}, "doc.id", …) -> 3; a field that has dots in its name is found too."""
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        place = whole(part)
        if isinstance(value, list) and place is not None and place < len(value):
            value = value[place]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            known = [str(k) for k in value] if isinstance(value, Mapping) else []
            hint = near(part, known) if known else f"there is nothing below it: {shown(value)}"
            raise where.error(f'no field "{path}"; found: {", ".join(known) or shown(value)}', hint)
    return value


def field_text(value: Any) -> str | None:
    """ " a " -> "a", 3 and 3.0 -> "3", true -> "true", "", NaN and null -> None, anything else as JSON."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float):
        return columns.as_text(value)
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def as_golds(value: Any) -> list[str] | None:
    """ "a" -> ["a"], ["a", "b"] -> ["a", "b"]; nothing -> None."""
    texts = [field_text(v) for v in (value if isinstance(value, list | tuple) else [value])]
    return [t for t in texts if t is not None] or None


def as_right(value: Any, partial: Callable[[], None]) -> float | None:
    """1, 1.0, true -> 1.0; 0 -> 0.0; 0.4 is not right and `partial` is told; what is no number is not known."""
    if not isinstance(value, bool | int | float) or value != value:
        return None
    if 0 < value < 1:
        partial()
    return 1.0 if value >= 1 else 0.0


def digest(*parts: Any) -> str:
    """A short name for a wording: the same parts give the same name."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


class Partial:
    """Counts answers with partial credit, to be told once."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1

    def tell(self, say: Callable[[str], None], what: str) -> None:
        if self.count:
            answers = "answer has" if self.count == 1 else "answers have"
            say(f"{self.count:,} {answers} partial credit ({what}): counted as wrong")


# --- entries ------------------------------------------------------------------------------------------------

ENTRY: dict[str, Any] = {
    "task": pl.String,
    "model": pl.String,
    "group": pl.String,  # the bucket where no option says otherwise
    "id": pl.String,  # what --bucket-regex and --bucket-file read
    "item": pl.String,  # the wording
    "prompt": pl.String,  # its text
    "role": pl.String,
    "replicate": pl.String,  # any name; null: not told
    "label": pl.String,
    "gold": pl.List(pl.String),
    "right": pl.Float64,
    "status": pl.String,
    "truncated": pl.Boolean,
    "line": pl.Int64,
}


def entry(where: Where, **given: Any) -> dict[str, Any]:
    """An entry with what is not given left open: a variant that was answered."""
    label = given.get("label")
    status = "unreadable" if label is None else "answered"
    usual = {"role": "variant", "status": status, "truncated": False, "line": where.line}
    return {**dict.fromkeys(ENTRY), **usual, **given}


def with_named_fields(
    made: dict[str, Any], record: Mapping[str, Any], options: LogOptions, where: Where
) -> dict[str, Any]:
    """The entry with what --bucket, --variant, --answer, --gold and --replicate name in the record."""
    if options.answer is not None:
        made["label"] = field_text(lookup(record, options.answer, where))
        if made["status"] not in NO_ANSWER:  # what was cut, refused or failed stays so
            read = made["status"] if made["status"] == "cut_read" else "answered"
            made["status"] = "unreadable" if made["label"] is None else read
    if options.gold is not None:
        made["gold"], made["right"] = as_golds(lookup(record, options.gold, where)), None
    if options.variant is not None:
        made["item"] = field_text(lookup(record, options.variant, where)) or ""
    if options.replicate is not None:
        made["replicate"] = field_text(lookup(record, options.replicate, where))
    if options.bucket is not None:
        bucket = field_text(lookup(record, options.bucket, where))
        if bucket is None:
            raise where.error(f'field "{options.bucket}": found nothing, expected a bucket', "drop the record")
        made["group"] = made["id"] = bucket
    return made


def table_of_entries(
    entries: Sequence[Mapping[str, Any]], path: Path, options: LogOptions, *, suite: str
) -> pl.DataFrame:
    """The table of one file: what `settle` completes."""
    if not entries:
        raise DataError("the log holds no answers", file=path, hint="expected one record for each answer")
    frame = pl.DataFrame(entries, schema=ENTRY)
    if options.bucket_regex is not None or options.bucket_file is not None:
        frame = frame.with_columns(group=bucket_names(frame["id"], frame["line"], path, options))
    return as_table(frame.drop("id", "line", *([] if options.texts else ["prompt"])), suite, options)


def as_table(frame: pl.DataFrame, suite: str, options: LogOptions) -> pl.DataFrame:
    task = pl.col("task") if options.task is None else pl.lit(options.task)
    frame = frame.with_columns(
        suite=pl.lit(suite),
        task=task,
        method=pl.lit("log"),
        kind=pl.lit(None, dtype=pl.String),
        expect=pl.lit("bucket"),
        cluster=pl.col("group"),
    )
    return frame.with_columns(pl.lit(None, dtype=t).alias(n) for n, t in SCHEMA.items() if n not in frame.columns)


# --- buckets ------------------------------------------------------------------------------------------------


def bucket_names(ids: pl.Series, lines: pl.Series, path: Path, options: LogOptions) -> pl.Series:
    """The bucket of each id, by --bucket-regex and then --bucket-file; each different id is looked at once."""
    different = ids.unique(maintain_order=True)
    mapping = None if options.bucket_file is None else _bucket_file(Path(options.bucket_file))
    names = {}
    for name in different.to_list():
        try:
            names[name] = _bucket(name, options.bucket_regex, mapping)
        except DataError as e:
            line = int(lines.filter(ids == name if name is not None else ids.is_null())[0])
            raise DataError(e.message, hint=e.hint, file=path, line=line) from None
    places = pl.DataFrame(
        {"id": list(names), "bucket": list(names.values())}, schema={"id": pl.String, "bucket": pl.String}
    )
    return pl.DataFrame({"id": ids}).join(places, on="id", how="left", maintain_order="left")["bucket"]


def _bucket(id: str | None, regex: str | None, mapping: Mapping[str, str] | None) -> str:
    if id is None:
        raise DataError("the record has no id to find its bucket by", hint="name a field: --bucket")
    if regex is not None:
        match = re.search(regex, id)
        if match is None:
            raise DataError(f"id {shown(id)} does not match {regex}", hint="correct --bucket-regex")
        found = match[1] if match.re.groups else match[0]
        if found is None:
            raise DataError(f"id {shown(id)}: the first group of {regex} is empty", hint="correct --bucket-regex")
        id = found
    if mapping is None:
        return id
    if id not in mapping:
        raise DataError(f"id {shown(id)} is not in the bucket file", hint=near(id, list(mapping)[:1000]))
    return mapping[id]


def _bucket_file(path: Path) -> dict[str, str]:
    """Columns id and bucket, or else the first two."""
    rows = read_rows(path)
    mapping: dict[str, str] = {}
    for row in rows:
        id, bucket = _pair(row)
        if mapping.setdefault(id, bucket) != bucket:
            raise row.where.error(
                f"id {shown(id)} is in two buckets: {shown(mapping[id])} and {shown(bucket)}", "keep one of them"
            )
    return mapping


def _pair(row: Row) -> tuple[str, str]:
    names = ["id", "bucket"] if {"id", "bucket"} <= row.cells.keys() else list(row.cells)[:2]
    values = [field_text(row.cells[name]) for name in names]
    if len(values) < 2 or values[0] is None or values[1] is None:
        raise row.where.error(
            f"found {shown(dict(row.cells))}, expected an id and its bucket", "columns: id, bucket"
        )
    return values[0], values[1]


# --- several files ------------------------------------------------------------------------------------------

BUCKET = ("model", "method", "group")  # within a task


def settle(frame: pl.DataFrame) -> pl.DataFrame:
    """Number the replicates and name the kind, over all files of a task.

    The same wording again is a replicate. Buckets of several wordings are of kind `paraphrase`; where a task
    has repeats only, the kind is `repeat`. Rows whose kind is known stay as they are.
    """
    done = frame.filter(pl.col("kind").is_not_null())
    rest = frame.filter(pl.col("kind").is_null())
    if rest.is_empty():
        return frame
    rest = _numbered(rest)
    rest = rest.with_columns(kind=_kinds(rest))
    # repeats of an original without variants are what its bucket is made of
    alone = (pl.col("kind") == "repeat") & (pl.col("role") == "original") & (pl.len().over("task", *BUCKET) > 1)
    rest = rest.with_columns(role=pl.when(alone).then(pl.lit("variant")).otherwise(pl.col("role")))
    kept = [*SCHEMA, *(["prompt"] if "prompt" in frame.columns else [])]
    rest = rest.select(kept).with_columns(pl.col("replicate").cast(pl.Int64))
    done = done.select(kept).with_columns(pl.col("replicate").cast(pl.Int64))
    return pl.concat([done, rest], how="vertical_relaxed") if done.height else rest


def _kinds(frame: pl.DataFrame) -> pl.Expr:
    """`paraphrase` for tasks in which some bucket has several wordings, `repeat` for the others."""
    counts = frame.group_by("task").agg(
        buckets=pl.struct(BUCKET).hash().n_unique(), wordings=pl.struct(*BUCKET, "item").hash().n_unique()
    )
    several = counts.filter(pl.col("wordings") > pl.col("buckets"))["task"].to_list()
    return pl.when(pl.col("task").is_in(several)).then(pl.lit("paraphrase")).otherwise(pl.lit("repeat"))


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """`replicate` as 0, 1, …: the names in the log in order of appearance if they tell all repeats of a wording
    apart, else the repeats of each wording in order."""
    keys = ["task", *BUCKET, "item"]
    if frame["replicate"].null_count() == 0:
        names = frame["replicate"].unique(maintain_order=True).to_list()
        number = pl.col("replicate").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
        if len(names) > 1 and _all_different(frame, [*keys, "replicate"]):
            return frame.with_columns(number)
    if _all_different(frame, keys):
        return frame.with_columns(replicate=pl.lit(0, dtype=pl.Int64))
    return frame.with_columns(replicate=pl.int_range(pl.len(), dtype=pl.Int64).over(keys))


def _all_different(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Rows with different hashes are different; hashes are much faster to compare than texts."""
    return bool(frame.select(pl.struct(keys).hash().n_unique()).item() == frame.height)
