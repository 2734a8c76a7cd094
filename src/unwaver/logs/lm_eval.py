"""lm-evaluation-harness: `samples_TASK_DATE.jsonl`, what --log_samples writes; a file or a folder of them.

A line is one document under one filter: doc_id, doc, target, arguments, resps, filtered_resps, filter, and the
metrics by name. Several files of one task are several prompts, or repeats: the same document with the same
prompt is a repeat, with another prompt another wording.

    multiple choice   filtered_resps [["-4.2", "False"], ["-3.1", "True"]] -> the second choice, its text
    generation        filtered_resps ["42"] -> 42; [["42", "41"]] -> two replicates
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, Where, read_json, read_rows, shown, stem
from unwaver.logs.choices import are_letters, choice_of, choices_shown
from unwaver.logs.common import (
    LogOptions,
    Partial,
    as_golds,
    as_right,
    digest,
    entry,
    field_text,
    files_in,
    head,
    table_of_entries,
    with_named_fields,
)
from unwaver.typed import of_log

NAME = "lm-eval"
PATTERNS = ("samples_*.jsonl", "samples_*.jsonl.gz")
REQUIRED = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
# the metric that says what is right: the first of these, else the first that is 0 or 1 everywhere
PREFERRED = ("exact_match", "acc", "em", "acc_norm")
_FIELDS = {*REQUIRED, "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}
_DATED = re.compile(r"^samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:+-]+)$")


def looks_like(path: Path) -> bool:
    if path.is_dir():
        return any(next(path.rglob(pattern), None) for pattern in PATTERNS)
    start = head(path).lstrip()
    return bool(re.match(r'\{\s*"doc_id"\s*:', start)) or (
        path.name.startswith("samples_") and ".jsonl" in path.name
    )


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    files = files_in(path, *PATTERNS)
    return pl.concat([_read_file(file, options.about(file, len(files) > 1)) for file in files])


class _Sample(msgspec.Struct):
    """One document, as a samples file holds it; `arguments` are requests as objects or as lists."""

    doc_id: str | int | float | bool | None
    doc: Any
    arguments: dict[str, dict[str, Any] | list[Any]] | list[dict[str, Any] | list[Any]]
    filtered_resps: Annotated[list[Any], msgspec.Meta(min_length=1)]
    resps: Any = None
    target: Any = None
    filter: str | None = None
    metrics: list[str] | None = None
    doc_hash: str | None = None
    prompt_hash: str | None = None


def _read_file(file: Path, options: LogOptions) -> pl.DataFrame:
    rows = read_rows(file, required=REQUIRED)
    for row in rows:
        of_log(_Sample, row.cells, row.where, "run lm-eval again")
    rows = _of_one_filter(rows, options)
    metric = _metric_key(rows, options)
    name = _DATED.match(stem(file))
    told = {
        "task": name["task"] if name else stem(file).removeprefix("samples_"),
        "model": _model(file, name["date"] if name else ""),
    }
    partial = Partial()
    entries = [e for row in rows for e in _entries(row, metric, told, options, partial)]
    partial.tell(options.say, str(metric))
    return table_of_entries(entries, file, options, suite=NAME)


def _model(file: Path, date: str) -> str:
    """From the results beside the samples, else the folder, which lm-eval names after the model."""
    try:
        return str(read_json(file.parent / f"results_{date}.json")["model_name"])
    except (DataError, KeyError, TypeError):
        return file.resolve().parent.name


# --- which rows, which metric -------------------------------------------------------------------------------


def _metrics(cells: Mapping[str, Any]) -> list[str]:
    """The names of the metrics: the log lists them, or they are the fields that are left."""
    return list(cells.get("metrics") or ()) or [name for name in cells if name not in _FIELDS]


def _of_one_filter(rows: Sequence[Row], options: LogOptions) -> list[Row]:
    filters = list(dict.fromkeys(str(row.cells.get("filter", "none")) for row in rows))
    chosen = filters[0] if options.filter is None else options.filter
    if chosen not in filters:
        raise rows[0].where.error(f"no filter {shown(chosen)}; found: {', '.join(filters)}", near(chosen, filters))
    if len(filters) > 1 and options.filter is None:
        others = ", ".join(filters[1:])
        options.say(f"answers are those of the filter {chosen}, of {others} with --filter")
    return [row for row in rows if str(row.cells.get("filter", "none")) == chosen]


def _metric_key(rows: Sequence[Row], options: LogOptions) -> str | None:
    """The metric that says what is right; None: there is none."""
    known = _metrics(rows[0].cells)
    if options.metric_key is not None:
        if options.metric_key not in known:
            raise UsageError(
                f"{rows[0].where.file} has no metric {options.metric_key!r}; found: {', '.join(known)}",
                hint=near(options.metric_key, known),
            )
        return options.metric_key
    for name in (*(p for p in PREFERRED if p in known), *known):
        if all(row.cells.get(name) in (0, 1) for row in rows):  # 0, 1, 0.0, 1.0, true, false
            return name
    return None


# --- answers ------------------------------------------------------------------------------------------------


def _entries(
    row: Row, metric: str | None, told: Mapping[str, str], options: LogOptions, partial: Partial
) -> Iterator[dict[str, Any]]:
    cells, where = row.cells, row.where
    doc = cells["doc"]
    id = doc.get("id", cells["doc_id"]) if isinstance(doc, dict) else cells["doc_id"]
    arguments = _arguments(cells["arguments"], where)
    doc_hash = cells.get("doc_hash") or digest(doc)
    prompt_hash = cells.get("prompt_hash") or digest(arguments[0][0])
    made = {
        **told,
        "group": f"{cells['doc_id']}:{str(doc_hash)[:12]}",
        "id": field_text(id),
        "item": digest(cells["doc_id"], doc_hash, prompt_hash),
        "prompt": field_text(arguments[0][0]),
    }
    right = None if metric is None else as_right(cells.get(metric), partial)
    said = _said(cells, arguments, metric, where)
    for n, answer in enumerate(said.answers):
        found = entry(where, **made, label=answer, gold=None if right is not None else said.gold)
        found["right"] = right if n < said.judged else None
        if said.no_answer:
            found["status"] = "answered"
        yield with_named_fields(found, cells, options, where)


@dataclass(frozen=True)
class _Said:
    """The answers to one document: several are repeats, of which lm-eval judges one or none."""

    answers: list[str | None]
    gold: list[str] | None = None
    judged: int = 1  # the first so many were judged by the metric
    no_answer: bool = False  # the log tells right from wrong and no more


def _said(cells: Mapping[str, Any], arguments: Sequence[Sequence[Any]], metric: str | None, where: Where) -> _Said:
    responses = cells["filtered_resps"]
    if len(arguments[0]) < 2:
        raise where.error(
            "found a rolling log-likelihood, which is not an answer", "expected multiple choice or generated text"
        )
    if isinstance(arguments[0][1], str):
        if len(arguments) == 1:  # one continuation: was it the most probable one?
            return _Said([None], no_answer=True)
        return _choice(cells, arguments, metric, where)
    first, listed = responses[0], choices_shown(cells["doc"], arguments[0][0])
    if isinstance(first, list):  # the metric was given the list as a whole
        return _Said([_named(field_text(answer), listed) for answer in first] or [None], judged=0)
    said = [field_text(answer) for answer in _unfiltered_repeats(cells["resps"], first)]
    return _Said([_named(answer, listed) for answer in said])


def _named(answer: str | None, choices: Sequence[str]) -> str | None:
    """The text of the choice that a letter stands for, which may be another in each document: "(B)" -> "Paris"."""
    is_letter = answer is not None and re.fullmatch(r"\(?[A-Z]\)?[.)]?", answer) is not None
    return (choice_of(answer, choices) if is_letter else None) or answer


def _unfiltered_repeats(raw: Any, filtered: Any) -> list[Any]:
    """All repeats where the filter has only taken the first of them as it was."""
    repeats = raw[0] if isinstance(raw, list) and raw and isinstance(raw[0], list) else []
    return repeats if len(repeats) > 1 and repeats[0] == filtered else [filtered]


def _choice(
    cells: Mapping[str, Any], arguments: Sequence[Sequence[Any]], metric: str | None, where: Where
) -> _Said:
    """The most probable choice, by its text, or by its number where all choices have one text."""
    scores = [_log_likelihood(r, where) for r in cells["filtered_resps"]]
    if "acc_mutual_info" in _metrics(cells):  # the second half are the choices without the question
        scores, arguments = scores[: len(scores) // 2], arguments[: len(arguments) // 2]
    texts = [str(argument[1]).strip() for argument in arguments if len(argument) > 1]
    if len(scores) != len(texts) or not scores:
        raise where.error(
            f"found {len(scores)} filtered_resps for {len(texts)} choices, expected as many", "run lm-eval again"
        )
    if metric == "acc_norm":
        scores = [s / max(len(t), 1) for s, t in zip(scores, texts, strict=True)]
    names = texts if len(set(texts)) == len(texts) else [str(n) for n in range(len(texts))]
    target = str(cells["target"]).strip()
    if target not in names and target in (numbers := [str(n) for n in range(len(names))]):
        target = names[numbers.index(target)]
    shown_as = choices_shown(cells["doc"], arguments[0][0])
    if are_letters(names) and len(shown_as) == len(names):  # a letter may be another choice in each document
        target = choice_of(target, shown_as) or target
        names = shown_as
    best = max(range(len(scores)), key=scores.__getitem__)
    return _Said([names[best]], as_golds(target) if target in names else None)


def _log_likelihood(response: Any, where: Where) -> float:
    """["-4.2", "False"] -> -4.2"""
    try:
        return float(response[0])
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        raise where.error(
            f'"filtered_resps": found {shown(response)}, expected [log-likelihood, is greedy]', "run lm-eval again"
        ) from None


def _arguments(value: Any, where: Where) -> list[list[Any]]:
    """{"gen_args_0": {"arg_0": "Q", "arg_1": " yes"}} or [["Q", " yes"]] -> [["Q", " yes"]]"""
    requests = list(value.values()) if isinstance(value, dict) else value
    if isinstance(requests, list) and requests:
        lists = [list(r.values()) if isinstance(r, dict) else r for r in requests]
        if all(isinstance(r, list) and r for r in lists):
            return lists
    raise where.error(f'"arguments": found {shown(value)}, expected the requests', "run lm-eval again")
