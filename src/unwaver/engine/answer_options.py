"""Options about answers that are already there, refused where none of the given paths makes use of them.

    unwaver score runs/a --bucket doc.problem     --bucket has no effect: runs/a is a run folder, …

`score`, `report`, `compare` and `gate` call `check_answer_options` before they read anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unwaver import registry
from unwaver.catalog import LOGS
from unwaver.engine.load import is_job, run_folder
from unwaver.errors import UsageError
from unwaver.logs import format_of

_NAMED = ("bucket", "bucket_regex", "bucket_file", "variant", "answer", "gold", "replicate", "metric_key", "task")
_FIELDS = dict.fromkeys(_NAMED, ("lm-eval", "inspect", "helm", "promptfoo", "table"))
# the formats that an option is for; one of an installed package may use any
_TAKEN_BY = {**_FIELDS, "filter": ("lm-eval",), "strict": tuple(LOGS)}
_OF_RUNS = {
    "review": "a review sheet is about the variants of a run folder",
    "agree": "it compares the texts of a run folder, and a table or log is scored by the labels in it",
}


def check_answer_options(paths: Sequence[Path], format: str = "auto", **options: Any) -> None:
    """Refuse options that no path makes use of; `options` are those of unwaver.score."""
    given = [name for name, value in options.items() if value not in (None, (), [], False)]
    if not given or not paths:
        return
    jobs = [path for path in paths if is_job(path, format)]
    if len(jobs) == len(paths):
        _check_of_jobs(given, jobs[0])
        return
    logs = [path for path in paths if path not in jobs and run_folder([path], format) is None]
    runs = [path for path in paths if path not in logs and path not in jobs]
    formats = {path: format_of(path) if format == "auto" else format for path in logs}
    for name in given:
        if name in _OF_RUNS and not runs:
            raise _refused(name, f"{logs[0]} is not a run folder: {_OF_RUNS[name]}")
        if name not in _TAKEN_BY:
            continue
        if not logs:
            raise _refused(name, f"{runs[0]} is a run folder, whose groups and answers are known")
        if not any(_takes(found, name) for found in formats.values()):
            takers = ", ".join(_TAKEN_BY[name])
            raise _refused(name, f"it is for {takers}, and {logs[0]} is read as {formats[logs[0]]}")


def _check_of_jobs(given: Sequence[str], job: Path) -> None:
    """People's answers are read as they are; only how free text is compared can be chosen."""
    for name in given:
        if name in _TAKEN_BY or name in ("review", "test", "cut"):
            raise _refused(name, f"{job} is a job, whose groups and answers are known")


def _takes(format: str, option: str) -> bool:
    return format in _TAKEN_BY[option] or not registry.is_built_in("logs", format)


def _refused(name: str, why: str) -> UsageError:
    option = "--" + name.replace("_", "-")
    return UsageError(f"{option} has no effect: {why}", hint=f"leave {option} out")
