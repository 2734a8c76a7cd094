"""Where a command may write: every output path of every verb is checked here, before anything is asked.

an input of the command          never: build --from mine.csv --out mine.csv
a store, a file of a run         never: report RUN --out RUN/answers.sqlite
a file of another kind           with --force: report RUN --out notes.txt, where there are notes
what unwaver wrote there before  yes: it is recognised by its beginning
-, /dev/stdout, a pipe           yes
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from unwaver.errors import UsageError
from unwaver.paths import STDERR, STDOUT, head, is_stream, same
from unwaver.secrets import masked

OF_A_RUN = (
    "run.json",
    "groups.jsonl",
    "answers.sqlite",
    "scores.json",
    "audit.jsonl",
    "seen.json",
    "finished.json",
)
_STORE = re.compile(rb"SQLite format 3\0")
_ANOTHER = "choose another name"
_ENDINGS = ("-wal", "-shm", "-journal")  # of files beside a store
# how files begin that unwaver writes; the first kilobytes are looked at
BEGINNINGS: dict[str, re.Pattern[bytes]] = {
    "html": re.compile(rb"<!doctype html>\n<html lang=\"en\">.*<title>unwaver", re.DOTALL),
    "md": re.compile(rb"\| relation \| model \| metric \|"),
    "latex": re.compile(rb"\\begin\{tabular\}\{l+r+\}\n\\toprule\nrelation & "),
    "csv": re.compile(rb"suite,task,kind,metric,value,low,high,"),
    "png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "svg": re.compile(rb"<svg [^>]*class=\"marks\""),
    "pdf": re.compile(rb"%PDF-"),
    "junit": re.compile(rb"<\?xml [^>]*\?>\s*<testsuites name=\"unwaver gate\""),
    "gate markdown": re.compile(rb"## unwaver gate"),
    "check markdown": re.compile(rb"## unwaver check"),
    "groups": re.compile(rb'\{"version": \d+, "id": "(?:[^"\\]|\\.)*", "suite": '),
    "batch": re.compile(rb'\{"custom_id": "'),
    "audit": re.compile(rb'\{"version": \d+, "model": "(?:[^"\\]|\\.)*", "group": '),
    "run": re.compile(rb'\{\s*"version": \d+,\s*"id": '),
    "scores": re.compile(rb'\{\s*"version": \d+,\s*"(?:run|scores)": '),
    "listed csv": re.compile(rb"state,agreement,suite,task,kind,"),
    "listed jsonl": re.compile(rb'\{"version": \d+, "state": '),
    "unreadable": re.compile(rb'\{"version": \d+, "unreadable": '),
    "seen": re.compile(rb'\{"version": \d+, "seen": '),
    "store": _STORE,
    "training": re.compile(rb'\{\s*"version": \d+,\s*"setup": '),
    "bag of words": re.compile(rb'\{\s*"version": \d+,\s*"task": "[^"]*",\s*"labels": '),
    "predictions": re.compile(rb'[\[{]\s*(?:"|\{\s*"example_id")'),
    "study": re.compile(rb'\{\s*"version": \d+,\s*"lines": '),
    "study tables": re.compile(rb"\*\*.*\*\*\n\n\| "),
}


def check_output(
    path: Path, form: str, *, inputs: Iterable[Path] = (), force: bool = False, option: str = "--out"
) -> None:
    """An error unless a file of this form may be written there."""
    if is_stream(path):
        return
    _check_place(path)
    _check_written(path, form, inputs=inputs, force=force, option=option)


def _check_place(path: Path) -> None:
    """What would stop the writing is known before the work."""
    parent = path.resolve().parent
    if path.is_dir():
        raise UsageError("cannot be written: Is a directory", file=path, hint="name a file in this folder")
    if not parent.is_dir():
        reason = "Not a directory" if parent.exists() else "No such file or directory"
        hint = f"make the folder {path.parent} first, or choose another"
        raise UsageError(f"cannot be written: {reason}", file=path, hint=hint)


def _check_written(path: Path, form: str, *, inputs: Iterable[Path], force: bool, option: str) -> None:
    _check_run_files(path, option)
    beginning = head(path)
    if beginning is None:
        return
    if _STORE.match(beginning):
        raise UsageError(f"{option}: this is a store of answers", file=path, hint=_ANOTHER)
    ours = BEGINNINGS[form].match(beginning) is not None
    for given in inputs:
        if same(path, given):
            hint = "choose another name: the output would replace its own input"
            raise UsageError(f"{option}: this file is an input of the command", file=path, hint=hint)
        if beginning and not ours and given.is_dir() and _is_inside(path, given):
            raise UsageError(f"{option}: this file is part of the input {given}", file=path, hint=_ANOTHER)
    if beginning and not ours and not force:
        raise UsageError(
            f"{option}: unwaver did not write this file",
            file=path,
            hint="choose another name, or replace it with --force",
        )


def check_folder(
    folder: Path,
    forms: Mapping[str, str],
    *,
    inputs: Iterable[Path] = (),
    force: bool = False,
    option: str = "--out",
) -> None:
    """The same for each file that a command writes into a folder: {"study.json": "study"}."""
    given = list(inputs)
    for name, form in forms.items():
        _check_written(folder / name, form, inputs=given, force=force, option=option)


def check_pictures(folder: Path, form: str, *, inputs: Iterable[Path], force: bool) -> None:
    """Pictures are numbered: 01-tau.png."""
    for path in sorted(folder.glob(f"[0-9][0-9]-*.{form}")) if folder.is_dir() else ():
        check_output(path, form, inputs=inputs, force=force)


def write_stream(path: Path, data: bytes) -> None:
    """Write to a stream as it is; only a file can be written beside its place."""
    number = 1 if str(path) in STDOUT else 2 if str(path) in STDERR else None
    if number is not None:
        import sys

        stream = sys.stdout if number == 1 else sys.stderr
        stream.flush()
        buffer = getattr(stream, "buffer", None)  # a picture is no text
        if buffer is None:
            stream.write(data.decode(errors="backslashreplace"))
        else:
            buffer.write(data)
            buffer.flush()
        return
    _write(path, "wb", data)


def append(path: Path, text: str) -> None:
    """Add to a file that several steps write, such as the summary of a CI job."""
    _write(path, "ab", masked(text).encode(errors="backslashreplace"))


def _write(path: Path, mode: str, data: bytes) -> None:
    """A pipe whose reader has left is no failure: the caller sees to that."""
    try:
        with path.open(mode) as file:
            file.write(data)
    except BrokenPipeError:
        raise
    except OSError as e:
        hint = "check the disk and the permissions, or choose another name"
        raise UsageError(f"cannot be written: {e.strerror}", file=path, hint=hint) from e


def is_step_summary(path: Path) -> bool:
    """The file that GitHub shows as the summary of a step: others have written there, too."""
    named = os.environ.get("GITHUB_STEP_SUMMARY", "")
    return bool(named) and (same(path, Path(named)) or path.resolve() == Path(named).resolve())


def _check_run_files(path: Path, option: str) -> None:
    real = path.resolve()
    for place in dict.fromkeys((path.parent, real.parent)):
        name = (real if place == real.parent else path).name.casefold()
        stores = [f"answers.sqlite{ending}" for ending in _ENDINGS]
        if name in (*OF_A_RUN, ".lock", *stores) and (place / "run.json").is_file():
            raise UsageError(f"{option}: this file belongs to a run", file=path, hint=_ANOTHER)
    for ending in _ENDINGS:
        store = real.with_name(real.name.removesuffix(ending))
        if real.name.endswith(ending) and _STORE.match(head(store) or b""):
            raise UsageError(f"{option}: this file belongs to the store {store.name}", file=path, hint=_ANOTHER)


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except OSError:
        return False
