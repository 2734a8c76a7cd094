"""Writes the run folder: run.json, groups.jsonl, answers.sqlite, scores.json. docs/formats.md describes each file.

A file is written under a temporary name and then renamed, so that a kill never leaves half a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from unwaver import __version__
from unwaver.config import Config
from unwaver.errors import StoreFull, UsageError
from unwaver.groups import group_to_json
from unwaver.outputs import BEGINNINGS, write_stream
from unwaver.paths import head, is_stream, same
from unwaver.secrets import masked, masked_bytes, masked_json
from unwaver.tasks import Task
from unwaver.types import Group, Item

Tasks = Mapping[str, Task] | None
Rendered = Callable[[Item], Mapping[str, Any]] | None
RUN_VERSION = 1
_FORMS = {"run.json": "run", "groups.jsonl": "groups", "answers.sqlite": "store", "scores.json": "scores"}
_FORMS |= {"audit.jsonl": "audit", "seen.json": "seen"}
RUN, GROUPS, ANSWERS, SCORES = "run.json", "groups.jsonl", "answers.sqlite", "scores.json"
PART = 1024  # groups that are written at once
AUDIT, SEEN = "audit.jsonl", "seen.json"


def open_place(folder: Path) -> Path:
    """Make the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise _unwritable(folder, e) from e
    return folder


def open_folder(folder: Path, config: Config) -> Path:
    """Make the folder, or check that the run in it is this one."""
    open_place(folder)
    if (folder / RUN).exists():
        from unwaver.engine.came_back import is_continued
        from unwaver.engine.stored import read_run

        record = read_run(folder)
        if record.get("id") != config.id and not is_continued(record, config):
            from unwaver.engine.other_run import other_run

            raise other_run(folder, record, config)
    return folder


def check_run(folder: Path, inputs: Iterable[Path]) -> None:
    """Refuse a folder with a file that the run would overwrite: an input, or a file that unwaver did not write.

    A folder without run.json may hold files of a dry run or of a killed run; these may be replaced.
    """
    given = [path for path in inputs if path.is_file()]
    for name, form in _FORMS.items():
        path = folder / name
        beginning = head(path)
        if beginning is None:
            continue
        if any(same(path, one) for one in given):
            hint = "choose another --out: the output would replace its own input"
            raise UsageError(f"the run would write {name}, which is an input of the command", file=path, hint=hint)
        if beginning and not (folder / RUN).exists() and not BEGINNINGS[form].match(beginning):
            hint = "choose another --out, or move that file away"
            raise UsageError(f"the run would replace {name}, which unwaver did not write", file=path, hint=hint)


def write_run(folder: Path, run: Mapping[str, Any]) -> None:
    write_whole(folder / RUN, json.dumps(run, ensure_ascii=False, indent=1) + "\n")


def write_groups(folder: Path, groups: Iterable[Group], tasks: Tasks = None, rendered: Rendered = None) -> str:
    """Write groups.jsonl and return its hash; `rendered` adds the prompt of each item, for others to answer."""
    digest = hashlib.sha256()

    def parts() -> Iterator[bytes]:
        for text in _groups_texts(groups, tasks, rendered):
            data = masked_json(text).encode(errors="backslashreplace")
            digest.update(data)
            yield data

    write_parts(folder / GROUPS, parts())
    return "sha256:" + digest.hexdigest()


_encode = msgspec.json.Encoder().encode


def _line(record: Mapping[str, Any]) -> str:
    """As json.dumps writes it, in a quarter of the time; msgspec does not take half a character."""
    try:
        return msgspec.json.format(_encode(record), indent=0).decode()
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=False)


def groups_text(groups: Iterable[Group], tasks: Tasks = None, rendered: Rendered = None) -> str:
    """The content of groups.jsonl; `tasks` are those that are not built in."""
    return "".join(_groups_texts(groups, tasks, rendered))


def _groups_texts(groups: Iterable[Group], tasks: Tasks, rendered: Rendered) -> Iterator[str]:
    """The same in parts: there may be a million groups."""
    remember: Callable[[str], dict[str, Any]] = lambda _: {}  # noqa: E731
    if tasks:
        from unwaver.tasks.remembered import remembering

        remember = remembering(tasks)

    def line(group: Group) -> str:
        record = group_to_json(group) | remember(group.task)
        if rendered:
            for item, written in zip(group.items, record["items"], strict=True):
                written.update(rendered(item))
        return _line(record)

    left = iter(groups)
    while part := list(islice(left, PART)):
        yield "".join([line(group) + "\n" for group in part])


def write_audit(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_whole(folder / AUDIT, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))


def write_seen(folder: Path, seen: Mapping[str, list[str]]) -> None:
    """Write the groups that each model (by its number) was trained on; no file if there are none."""
    known = {number: groups for number, groups in seen.items() if groups}
    if known:
        write_whole(folder / SEEN, json.dumps({"version": 1, "seen": known}, ensure_ascii=False) + "\n")


def write_scores(folder: Path, document: Mapping[str, Any]) -> None:
    write_whole(folder / SCORES, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def write_whole(path: Path, text: str | bytes) -> None:
    """Write the whole file or nothing, also if the process is killed.

    Bytes that are not UTF-8 are written as JSON escapes them: the byte e9 -> \\udce9.
    """
    write_parts(path, [_without_secrets(path, text)])


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """The same in parts, which are without secrets: they are never in memory together."""
    if is_stream(path):
        for part in parts:
            write_stream(path, part)
        return
    if path.is_symlink():  # else the link would be replaced, not what it leads to
        path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    left = iter(parts)
    try:
        known, first = _already_there(path, left)
        if first is None:
            return  # nothing new, and perhaps no space for it
        with beside.open("wb") as f:
            if known:
                with path.open("rb") as old:
                    while known and (piece := old.read(min(known, 1 << 20))):
                        f.write(piece)
                        known -= len(piece)
            f.write(first)
            f.writelines(left)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(path)
    except OSError as e:
        with suppress(OSError):  # a read-only folder
            beside.unlink(missing_ok=True)
        raise _unwritable(path, e) from e


def _already_there(path: Path, parts: Iterator[bytes]) -> tuple[int, bytes | None]:
    """How many bytes a file begins with that are the first parts, and the first part that it does not have; None
    if it has all of them and nothing else."""
    if not path.is_file():
        return 0, next(parts, b"")
    known = 0
    with path.open("rb") as old:
        for part in parts:
            if old.read(len(part)) != part:
                return known, part
            known += len(part)
        return known, None if not old.read(1) else b""


def _without_secrets(path: Path, text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return masked_bytes(text)
    return (masked_json(text) if path.suffix in (".json", ".jsonl") else masked(text)).encode(
        errors="backslashreplace"
    )


def _unwritable(path: Path, error: OSError) -> StoreFull | UsageError:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "free some space, then run the same command again to continue"
        return StoreFull(f"the disk is full ({error.strerror})", file=path, hint=hint)
    return UsageError(f"cannot be written: {error.strerror}", file=path, hint="choose another folder with --out")


def shown_record(record: Mapping[str, Any], config: Config, place: Path) -> dict[str, Any]:
    """The part of run.json that a result shows (`Result.run`)."""
    shown = {name: value for name, value in record.items() if name not in ("words", "version")}
    kept = {"cut": config.cut} if config.cut == "keep" else {}
    return {**shown, **kept, "folder": str(place)}


def versions() -> dict[str, str]:
    """Versions of everything that scores may depend on; libraries only if they were imported."""
    found: dict[str, str] = {}
    for name in ("numpy", "polars", "scipy", "torch", "transformers", "tokenizers"):
        if name in sys.modules:
            found[name] = str(getattr(sys.modules[name], "__version__", "?"))
    return {"unwaver": __version__, "python": platform.python_version(), **found}
