"""Inspect: `.eval` and `.json` logs, through inspect_ai's own reader; a file or a folder of them.

Epochs are replicates. A sample is a wording; the bucket is its id unless a field of it, or of its metadata, is
named. The answer and whether it is right come from the scorer: the first, or the one --metric-key names
("match", or "quality.style" where a scorer gives several values). C is right, I and N are wrong; partial credit
(P, 0.5) is counted as wrong, and said.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.answers.extract import reader
from unwaver.answers.thoughts import is_open
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Where, decode, read_text
from unwaver.logs.choices import choice_of
from unwaver.logs.common import (
    LogOptions,
    Partial,
    as_golds,
    as_right,
    digest,
    entry,
    field_text,
    head,
    table_of_entries,
    with_named_fields,
)
from unwaver.logs.ended import log_status
from unwaver.unpack import TooMuch, check_size

NAME = "inspect"
MOST_BYTES = 4 << 30  # what a log may unpack to; most of it is not kept
_SKIPPED = {"messages", "events", "store", "attachments", "timelines"}
_WORDS = {"c": 1.0, "yes": 1.0, "true": 1.0, "i": 0.0, "n": 0.0, "no": 0.0, "false": 0.0, "p": 0.5}


def looks_like(path: Path) -> bool:
    if path.is_dir():
        return bool(_files(path))
    if path.suffix == ".eval":
        return True
    return bool(re.match(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:', head(path)))


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    files = _files(path) if path.is_dir() else [path]
    return pl.concat([_read_file(file, options.about(file, len(files) > 1)) for file in files])


def _files(folder: Path) -> list[Path]:
    """The logs of a folder: all .eval, else all .json that are logs of Inspect."""
    found = sorted(path for path in folder.rglob("*.eval") if path.is_file())
    return found or sorted(path for path in folder.rglob("*.json") if path.is_file() and looks_like(path))


def _read_file(file: Path, options: LogOptions) -> pl.DataFrame:
    log = _log(file)
    if log.status != "success":
        options.about(file).say(f"the evaluation did not finish (status {log.status})")
    where = Where(str(file), 1)
    scorer = _scorer(log.samples or [], options, file)
    told = {"task": str(log.eval.task), "model": str(log.eval.model)}
    # what stands before each sample: two prompts of one task are two wordings
    prompt = digest(log.eval.task_args, getattr(log.eval, "solver", None), getattr(log.eval, "solver_args", None))
    partial = Partial()
    entries = [
        _entry(sample, scorer, told, prompt, options, partial, where) for sample in log.samples or [] if sample
    ]
    partial.tell(options.say, scorer or "score")
    return table_of_entries(entries, file, options, suite=NAME)


# --- the file -----------------------------------------------------------------------------------------------


def _log(file: Path) -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise DataError(
            "logs of Inspect are read by inspect_ai, which is not installed",
            file=file,
            hint="pip install 'unwaver[inspect]'",
        ) from None
    if file.suffix == ".eval":
        _check_zip(file)
    try:
        return read_eval_log(str(file), **_reading(read_eval_log, file))
    except MemoryError:
        raise
    except Exception as e:  # whatever a damaged or foreign file does to a reader that is not ours
        raise _damaged(file, e) from None


def _reading(read_eval_log: Any, file: Path) -> dict[str, Any]:
    """Leave out what is not needed, where this version of inspect_ai can."""
    from inspect import signature

    can = "exclude_fields" in signature(read_eval_log).parameters and file.suffix == ".eval"
    return {"exclude_fields": set(_SKIPPED)} if can else {}


def _check_zip(file: Path) -> None:
    hint = "copy the file again; it may still be written, or cut"
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
        check_size(sum(p.file_size for p in parts), sum(p.compress_size for p in parts), MOST_BYTES)
    except TooMuch as e:
        raise DataError(str(e), file=file, hint="split the log") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as e:
        raise DataError(
            f"no .eval log of Inspect: {e}, expected a zip archive", file=file, line=1, hint=hint
        ) from None


def _damaged(file: Path, error: Exception) -> DataError:
    """For a .json log the line where it breaks; else what the reader said."""
    if file.suffix == ".json":
        try:
            decode(read_text(file), file)
        except DataError as e:
            return e
    said = str(error).strip().split("\n", 1)[0]
    message = f"inspect_ai cannot read it: {type(error).__name__} {said}"
    return DataError(message, file=file, line=1, hint="expected a log that `inspect eval` wrote; it may be cut")


# --- samples ------------------------------------------------------------------------------------------------


def _scorer(samples: list[Any], options: LogOptions, file: Path) -> str | None:
    known = list(dict.fromkeys(name for sample in samples for name in sample.scores or {}))
    if options.metric_key is None:
        if len(known) > 1:
            options.say(
                f"right and wrong are those of the scorer {known[0]}; --metric-key takes {', '.join(known[1:])}"
            )
        return known[0] if known else None
    name = options.metric_key
    if name not in known and name.rpartition(".")[0] not in known:
        raise UsageError(
            f"{file} has no scorer {name!r}; found: {', '.join(known) or 'none'}", hint=near(name, known)
        )
    return name


def _entry(
    sample: Any,
    scorer: str | None,
    told: Mapping[str, str],
    prompt: str,
    options: LogOptions,
    partial: Partial,
    where: Where,
) -> dict[str, Any]:
    name, part = _split(scorer, sample.scores or {})
    score = (sample.scores or {}).get(name)
    choices = [str(choice) for choice in sample.choices or ()]
    label = _label(sample, score, choices)
    settled = label in choices and not is_open(sample.output.completion or "")
    made = entry(
        where,
        **told,
        group=str(sample.id),
        id=str(sample.id),
        item=digest(sample.id, _plain(sample.input), *([choices] if choices else []), prompt),
        prompt=_asked(sample.input),
        replicate=str(sample.epoch),
        label=label,
        right=None if score is None else _right(score.value, part, partial),
        status=log_status(_finish(sample), label, settled=settled),
    )
    if sample.error is not None:
        made |= {"status": "failed", "label": None, "right": None}
    if options.names_columns:
        made = with_named_fields(made, _record(sample), options, where)
        if options.gold is not None and choices and made["gold"]:
            # as the answer is read: the targets A, C are one answer
            made["gold"] = as_golds(choice_of(", ".join(made["gold"]), choices)) or made["gold"]
    return made


def _label(sample: Any, score: Any, choices: Sequence[str]) -> str | None:
    """What the scorer took for the answer, else all of the text. Of multiple choice it is the text of the choice:
    its letter says which place it has in this sample, and choices may be shuffled."""
    said = None if score is None else field_text(score.answer)
    written = field_text(sample.output.completion)
    if not choices:
        return said or written
    if said is None and written is not None:  # the scorer found no choice, or there is none
        return choice_of(reader("letter")(written), choices) or choice_of(written, choices)
    return choice_of(said, choices) or said


def _finish(sample: Any) -> str:
    """Why the text ended; a limit of tokens for the whole sample cuts it, too."""
    limit = getattr(sample, "limit", None)
    if limit is not None and getattr(limit, "type", "") == "token":
        return "max_tokens"
    choices = getattr(sample.output, "choices", None)
    return str(getattr(choices[0], "stop_reason", None) or "") if choices else ""


def _split(scorer: str | None, scores: Mapping[str, Any]) -> tuple[str, str]:
    """ "match" -> ("match", ""); "quality.style" -> ("quality", "style")"""
    if scorer is None or scorer in scores:
        return scorer or "", ""
    name, _, part = scorer.rpartition(".")
    return name or part, part if name else ""


def _right(value: Any, part: str, partial: Partial) -> float | None:
    if part:
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), _number(value))
    return as_right(value, partial)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    """The input: a text, or messages as what they say."""
    if isinstance(value, str):
        return value
    return [[getattr(m, "role", ""), getattr(m, "text", str(m))] for m in value]


def _asked(value: Any) -> str | None:
    """What was asked, for people: the text, or each message with who says it."""
    said = _plain(value)
    return field_text(said if isinstance(said, str) else "\n".join(f"{role}: {text}" for role, text in said))


def _record(sample: Any) -> dict[str, Any]:
    """What --bucket and the like may name: fields of the sample, and of its metadata without that word."""
    fields = json.loads(sample.model_dump_json(include={"id", "epoch", "input", "choices", "target", "metadata"}))
    return {**(fields.get("metadata") or {}), **fields}
