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
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from unwaver.errors import UsageError
from unwaver.secrets import masked

STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
STDERR = ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2")
OF_A_RUN = ("run.json", "groups.jsonl", "answers.sqlite", "scores.json", "audit.jsonl", "seen.json")
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
    "groups": re.compile(rb'\{"version": \d+, "id": "(?:[^"\\]|\\.)*", "suite": '),
    "audit": re.compile(rb'\{"version": \d+, "model": "(?:[^"\\]|\\.)*", "group": '),
    "run": re.compile(rb'\{\s*"version": \d+,\s*"id": '),
    "scores": re.compile(rb'\{\s*"version": \d+,\s*"(?:run|scores)": '),
    "seen": re.compile(rb'\{"version": \d+, "seen": '),
    "store": _STORE,
    "training": re.compile(rb'\{\s*"version": \d+,\s*"setup": '),
    "bag of words": re.compile(rb'\{\s*"version": \d+,\s*"task": "[^"]*",\s*"labels": '),
    "study": re.compile(rb'\{\s*"version": \d+,\s*"lines": '),
    "study tables": re.compile(rb"\*\*.*\*\*\n\n\| "),
}
_RUN_FORMS = dict(zip(OF_A_RUN, ("run", "groups", "store", "scores", "audit", "seen"), strict=True))


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
    reason = ""
    if path.is_dir():
        reason = "Is a directory"
    elif not parent.is_dir():
        reason = "Not a directory" if parent.exists() else "No such file or directory"
    if reason:
        hint = f"make the folder {path.parent} first, or choose another" if parent != path else _ANOTHER
        raise UsageError(f"cannot be written: {reason}", file=path, hint=hint)


def _check_written(path: Path, form: str, *, inputs: Iterable[Path], force: bool, option: str) -> None:
    _check_run_files(path, option)
    head = _head(path)
    if head is None:
        return
    if _STORE.match(head):
        raise UsageError(f"{option}: this is a store of answers", file=path, hint=_ANOTHER)
    ours = BEGINNINGS[form].match(head) is not None
    for given in inputs:
        if _same(path, given):
            hint = "choose another name: the output would replace its own input"
            raise UsageError(f"{option}: this file is an input of the command", file=path, hint=hint)
        if head and not ours and given.is_dir() and _is_in(path, given):
            raise UsageError(f"{option}: this file is part of the input {given}", file=path, hint=_ANOTHER)
    if head and not ours and not force:
        raise UsageError(
            f"{option}: this name is taken by a file which unwaver did not write",
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


def check_run(folder: Path, inputs: Iterable[Path]) -> None:
    """A run may go into any folder whose files it does not replace: its own, or none of these names.

    A folder without run.json may hold what a dry run or a killed run left there.
    """
    given = [path for path in inputs if path.is_file()]
    for name, form in _RUN_FORMS.items():
        path = folder / name
        head = _head(path)
        if head is None:
            continue
        if any(_same(path, one) for one in given):
            hint = "choose another --out: the output would replace its own input"
            raise UsageError(f"the run would write {name}, which is an input of the command", file=path, hint=hint)
        if head and not (folder / "run.json").exists() and not BEGINNINGS[form].match(head):
            hint = "choose another --out, or move that file away"
            raise UsageError(f"the run would replace {name}, which unwaver did not write", file=path, hint=hint)


def named_files(params: Mapping[str, Any], *, outputs: Iterable[str] = ()) -> list[Path]:
    """Everything on a command line that is there: mine.csv, bank/mine.csv, entail=hf/FOLDER …"""
    leave = set(outputs)
    return [path for name, value in params.items() if name not in leave for path in _paths(value)]


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _paths(part)
        return
    if not isinstance(value, str | Path):
        return
    whole = str(value)
    _, _, after = whole.partition("=")
    for text in dict.fromkeys(t for t in (whole, after, *re.split(r"[,@]", after or whole)) if t):
        _, _, below = text.partition("/")  # of bank/FILE, predictions/FILE, hf/FOLDER
        for candidate in (text, below):
            with suppress(OSError, ValueError):  # a text that is too long or cannot be a path
                if candidate and Path(candidate).expanduser().exists():
                    yield Path(candidate).expanduser()


def is_stream(path: Path) -> bool:
    """Standard output, a device or a pipe: there is nothing to replace."""
    if str(path) in STDOUT + STDERR:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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
    with path.open("wb") as file:
        file.write(data)


def append(path: Path, text: str) -> None:
    """Add to a file that several steps write, such as the summary of a CI job."""
    with path.open("ab") as file:
        file.write(masked(text).encode(errors="backslashreplace"))


def is_step_summary(path: Path) -> bool:
    """The file that GitHub shows as the summary of a step: others have written there, too."""
    named = os.environ.get("GITHUB_STEP_SUMMARY", "")
    return bool(named) and (_same(path, Path(named)) or path.resolve() == Path(named).resolve())


def _check_run_files(path: Path, option: str) -> None:
    real = path.resolve()
    for place in dict.fromkeys((path.parent, real.parent)):
        name = (real if place == real.parent else path).name.casefold()
        stores = [f"answers.sqlite{ending}" for ending in _ENDINGS]
        if name in (*OF_A_RUN, ".lock", *stores) and (place / "run.json").is_file():
            raise UsageError(f"{option}: this file belongs to a run", file=path, hint=_ANOTHER)
    for ending in _ENDINGS:
        store = real.with_name(real.name.removesuffix(ending))
        if real.name.endswith(ending) and _STORE.match(_head(store) or b""):
            raise UsageError(f"{option}: this file belongs to the store {store.name}", file=path, hint=_ANOTHER)


def _head(path: Path) -> bytes | None:
    """The beginning of a file; None where there is none, or where it cannot be read (writing says why)."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(1 << 14)
    except OSError:
        return None


def _same(one: Path, other: Path) -> bool:
    """One file, by whatever name: a link, another case, a path through another folder."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_in(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except OSError:
        return False
