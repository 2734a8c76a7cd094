"""Answers made elsewhere: `predictions/FILE`, a jsonl, csv or tsv file, plain or .gz.

    {"id": "snli-17", "label": "neutral"}                          label by name
    {"id": "snli-18", "label": 2, "probs": [0.1, 0.2, 0.7]}        or by its number, with probabilities
    {"id": "snli-19", "text": "I would say: True", "replicate": 1} or as text, to be read later
    {"id": "trip-1", "tool_calls": [{"function": {"name": "book", "arguments": "{}"}}]}  calls of tools

A csv has the same columns, `probs` as a JSON list in one cell. Ids are those of groups.jsonl
(`unwaver run … --dry-run --out DIR`). An id that is missing here is not answered, hence counted as not asked.
A file of results of a batch (unwaver.models.batch_predictions) is known by its custom_id.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from unwaver.answers.calls import with_calls
from unwaver.answers.labels import match_label
from unwaver.errors import DataError, about_json
from unwaver.files import Where
from unwaver.models.absolute import absolute_hint
from unwaver.typed import Count, Filled, of_log
from unwaver.types import Answer, Batch, Request
from unwaver.unpack import TooMuch, gunzipped

if TYPE_CHECKING:
    from unwaver.models.batch_predictions import BatchPredictions

BATCH = 1024
SUM_TOLERANCE = 1e-3
SMALLEST = 1e-300  # a probability of 0 stays finite as a logarithm: -690.8
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_ONE_LINE = 'one row for each answer: the item\'s id, and its label or text: {"id": "…", "label": "…"}'
_NUMBER = re.compile(r"\d{1,6}(\.0)?")


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    label: str | None
    text: str | None
    probs: tuple[float, ...]
    calls: object = None


class Predictions:
    method = "predictions"
    reads = ("item", "choices")
    takes = ("tools", "response_format")  # whoever answered has had them

    def __init__(self, path: Path, identity: str, rows: Mapping[tuple[str, int], Row]):
        self.name = path.name.split(".")[0] or path.name
        self.identity = identity
        self.settings: Mapping[str, object] = {}
        self._path = path
        self._rows = rows
        self.deterministic = not any(replicate for _, replicate in rows)
        self._asked: set[str] = set()

    @property
    def unused(self) -> int:
        """How many ids of the file no request has asked for so far."""
        return len({id for id, _ in self._rows} - self._asked)

    def check(self, requests: Sequence[Request]) -> None:
        """Raise before anything is written: a label that is none, or a file about other items."""
        known = {id for id, _ in self._rows}
        asked = [r for r in requests if r.item in known]
        if requests and not asked:
            raise DataError(
                f"none of its {len(known):,} ids is in this run: found {_short(min(known))}, expected such as "
                f"{_short(requests[0].item)}",
                hint="`unwaver run … --dry-run --out DIR` writes groups.jsonl with the ids to answer",
                file=self._path,
            )
        for request in asked:
            if row := self._rows.get((request.item, request.replicate)):
                _answer(row, request, self._path)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        batch: Batch = []
        for index, request in enumerate(requests):
            self._asked.add(request.item)
            row = self._rows.get((request.item, request.replicate))
            if row is not None:
                batch.append((index, _answer(row, request, self._path)))
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def close(self) -> None:
        pass


def open_model(name: str) -> Predictions | BatchPredictions:
    """The answers in the file `name`."""
    path = Path(name).expanduser()
    raw = _bytes_of(path)
    text = _text_of(raw, path)
    identity = "sha256:" + hashlib.sha256(raw).hexdigest()
    rows: dict[tuple[str, int], Row] = {}
    for line, record in _records(text, path):
        if line == 1 and "custom_id" in record:
            from unwaver.models.batch_lines import results_of
            from unwaver.models.batch_predictions import BatchPredictions

            return BatchPredictions(path, identity, results_of(_records(text, path), path))
        key, row = _parse(record, line, path)
        if key in rows:
            raise DataError(
                f"id {key[0]!r}, replicate {key[1]} was answered before, in line {rows[key].line}",
                hint="one row for each id and replicate",
                file=path,
                line=line,
            )
        rows[key] = row
    if not rows:
        raise DataError("the file has no predictions in it", file=path, hint=_ONE_LINE)
    return Predictions(path, identity, rows)


def log_probabilities(probs: object, count: int | None = None) -> tuple[float, ...]:
    """[0.5, 0.5, 0] -> (-0.693, -0.693, -690.8); ValueError says what is wrong with a list that is not one."""
    if not isinstance(probs, list | tuple) or not probs:
        raise ValueError(f"probs must be a list of numbers, found {_short(probs)}")
    if any(isinstance(p, bool) or not isinstance(p, int | float) for p in probs):
        raise ValueError(f"probs must be numbers, found {_short(probs)}")
    if not all(0 <= p <= 1 + SUM_TOLERANCE for p in probs):  # NaN fails here, too
        raise ValueError(f"probs must lie between 0 and 1, found {_short(probs)}")
    if abs(math.fsum(probs) - 1) > SUM_TOLERANCE:
        raise ValueError(f"probs must sum to 1 (±{SUM_TOLERANCE}), found {math.fsum(probs):.4g}")
    if count is not None and len(probs) != count:
        raise ValueError(f"{len(probs)} probs for {count} choices")
    return tuple(math.log(max(p, SMALLEST)) for p in probs)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = absolute_hint("predictions", str(path), "predictions/FILE takes the path of a file")
        raise DataError("no such file", hint=hint, file=path) from None
    except OSError as e:
        raise DataError(f"the file cannot be read: {e.strerror}", file=path) from None


def _text_of(raw: bytes, path: Path) -> str:
    try:
        if path.suffix == ".gz":
            raw = bytes(gunzipped(raw))
        return raw.decode("utf-8-sig")
    except TooMuch as e:
        raise DataError(str(e), file=path, hint="unpack it yourself if you trust it, or split it") from None
    except (EOFError, zlib.error) as e:
        hint = "copy or download the file again; `gzip -t` tests it"
        raise DataError(f"the gzip file is damaged: {e}", file=path, hint=hint) from None
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise DataError("the file is not UTF-8", file=path, line=line) from None


def _records(text: str, path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in _JSON_LINES:
        return _json_records(text, path)
    if suffix in _DELIMITERS:
        return _csv_records(text, path, _DELIMITERS[suffix])
    known = ", ".join((*_JSON_LINES, *_DELIMITERS))
    raise DataError(
        f"predictions in a {suffix or 'nameless'} format", hint=f"known: {known}, each also .gz", file=path
    )


def _json_records(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    # not splitlines: U+2028 and its like are legal inside a JSON string
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as e:
            what = about_json(e) if isinstance(e, json.JSONDecodeError) else e
            raise DataError(f"not JSON: {what}", hint="one JSON object per line", file=path, line=line) from None
        if not isinstance(record, dict):
            raise DataError(f"expected an object, found {_short(record)}", file=path, line=line, hint=_ONE_LINE)
        yield line, record


def _csv_records(text: str, path: Path, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = list(reader.fieldnames or ())
        if "id" not in header:
            found = ", ".join(header)[:200] or "none"
            raise DataError(f"no column id; columns found: {found}", file=path, line=1, hint=_ONE_LINE)
        for row in reader:
            if None in row or None in row.values():
                raise DataError(
                    f"the row does not have the {len(header)} cells of the header",
                    file=path,
                    line=reader.line_num,
                )
            begins = reader.line_num - sum(cell.count("\n") for cell in row.values())
            yield begins, _from_cells(row, path, begins)
    except csv.Error as e:
        raise DataError(f"bad quoting: {e}", file=path, line=reader.line_num + 1) from None


def _from_cells(row: dict[str, str], path: Path, line: int) -> dict[str, Any]:
    """A csv row with the values a jsonl row would have: an empty cell is not a value.

    But where the text is all there could be, an empty cell is an empty answer.
    """
    record: dict[str, Any] = {k: v for k, v in row.items() if v != ""}
    if "text" in row and not record.keys() & {"label", "probs"}:
        record["text"] = row["text"]
    try:
        if "probs" in record:
            record["probs"] = json.loads(record["probs"])
        if "replicate" in record:
            record["replicate"] = int(record["replicate"])
    except (ValueError, RecursionError):
        found = {k: record[k] for k in ("probs", "replicate") if k in record}
        raise DataError(
            f"probs must be a JSON list and replicate a whole number, found {_short(found)}", file=path, line=line
        ) from None
    return record


class _Record(msgspec.Struct):
    """A row as it is written; a csv has the same after its cells are read."""

    id: Filled | int
    replicate: Count | None = None
    label: str | float | bool | None = None
    text: str | None = None
    probs: Any = None  # log_probabilities says what is wrong with it
    tool_calls: Any = None


def _parse(given: Mapping[str, Any], line: int, path: Path) -> tuple[tuple[str, int], Row]:
    hint = "leave out the rows that have no answer"
    record: _Record = of_log(_Record, given, Where(str(path), line), hint)
    if record.label is None and record.text is None and record.probs is None and "tool_calls" not in given:
        raise DataError("the row has neither label nor text nor probs", hint=hint, file=path, line=line)
    try:
        logs = () if record.probs is None else log_probabilities(record.probs)
    except ValueError as e:
        raise DataError(str(e), file=path, line=line) from None
    label = _name(given.get("label"))  # a whole number stays one
    return (str(record.id), record.replicate or 0), Row(line, label, record.text, logs, record.tool_calls)


def _name(label: str | float | None) -> str | None:
    """True -> "true", 2.0 -> "2": a JSON label as it would be written in a csv."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, bool):
        return str(label).lower()
    return str(int(label)) if isinstance(label, int) or label.is_integer() else str(label)


def _answer(row: Row, request: Request, path: Path) -> Answer:
    choices = request.choices
    if row.probs and len(row.probs) != len(choices):
        raise DataError(
            f"{len(row.probs)} probs for {len(choices)} choices", hint=_known(choices), file=path, line=row.line
        )
    if row.calls:
        try:
            return with_calls(row.calls, row.text)
        except ValueError as e:
            raise DataError(str(e), file=path, line=row.line) from None
    text = row.text if row.label is None else _label(row.label, choices)
    if text is None and row.label is not None:
        raise DataError(f"unknown label {_short(row.label)}", hint=_known(choices), file=path, line=row.line)
    return Answer(text=text, logprobs=row.probs)


def _label(name: str, choices: Sequence[str]) -> str | None:
    """By name, else by number: "Neutral" -> "neutral", "0" -> the first choice; free text where no choices are."""
    if not choices:
        return name
    found = match_label(name, choices)
    if found is None and _NUMBER.fullmatch(name) and int(float(name)) < len(choices):
        return choices[int(float(name))]
    return found


def _known(choices: Sequence[str]) -> str:
    return "choices: " + ", ".join(f"{i} {c}" for i, c in enumerate(choices))
