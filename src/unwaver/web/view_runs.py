"""The run folders that the view shows: where they are, in which state, and what their small files say.

A run is looked up by its id among those found, so that no address ever becomes a path. What was read of a file is
remembered with its time and size. Nothing is written.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from unwaver.config import Config
from unwaver.engine.at_work import LOCK
from unwaver.engine.folder import ANSWERS, AUDIT, GROUPS, RUN, SCORES, SEEN
from unwaver.engine.stored import read_run
from unwaver.errors import DataError, UnwaverError, UsageError
from unwaver.reports.standings import Standing, read_standings
from unwaver.text.shown import safe
from unwaver.verdicts.paired_runs import MEANING

State = Literal["finished", "incomplete", "under way", "interrupted", "unreadable"]
STATES: tuple[State, ...] = ("finished", "incomplete", "under way", "interrupted", "unreadable")
DEEPEST, MOST_FOLDERS = 5, 20_000  # below a given folder
WAL = f"{ANSWERS}-wal"
_READ = (RUN, SCORES, GROUPS, ANSWERS, WAL, SEEN, AUDIT, LOCK)
Files = Mapping[str, tuple[int, int]]  # name -> time and size


@dataclass(frozen=True)
class Run:
    """What the list knows of a run without its scores. `groups` is the same for runs on the same groups in the
    same setting, "" if that is not known."""

    id: str
    name: str  # below the given folder
    path: Path  # as the user would write it
    place: Path
    files: Files
    state: State
    reason: str = ""
    date: str = ""  # 2026-11-17T15:33:00Z
    models: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    command: str = ""
    calls: int | None = None
    cost: float | None = None
    groups: str = ""
    setting: str = ""  # what is not as usual: "shots 2"
    holder: str = ""  # the process that writes to it

    @property
    def has_scores(self) -> bool:
        return self.state in ("finished", "incomplete") and SCORES in self.files

    @property
    def fingerprint(self) -> tuple[object, ...]:
        return tuple(sorted((name, *seen) for name, seen in self.files.items() if name != LOCK))


@dataclass(frozen=True)
class Found:
    runs: Mapping[str, Run]  # by id
    notes: tuple[str, ...]  # on what is not shown


class Runs:
    """All runs below some folders, looked for again at each request."""

    def __init__(self, folders: Sequence[Path], clock: Callable[[], float] = time.monotonic):
        self._roots = [(folder, checked_root(folder)) for folder in folders]
        self._clock = clock
        self._runs: dict[Path, Run] = {}
        self._standings: dict[Path, tuple[object, list[Standing] | str]] = {}

    def find(self) -> Found:
        found: dict[str, Run] = {}
        notes: list[str] = []
        for given, root in self._roots:
            several = len(self._roots) > 1
            for place, entries in _folders(root, notes):
                if _is_run(entries):
                    below = place.relative_to(root)
                    name = str(given / below) if several else str(below) if below.parts else root.name
                    run = self._run(place, root, name, given / below, entries)
                    found[run.id] = run
        return Found(found, tuple(notes))

    def _run(self, place: Path, root: Path, name: str, path: Path, entries: Sequence[os.DirEntry[str]]) -> Run:
        files, outside = _files(entries, root)
        known = self._runs.get(place)
        held = _holder(place / LOCK) if LOCK in files else None
        if known is None or known.files != files or (held or "") != known.holder:
            known = _read(place, name, path, files, outside, held)
            self._runs[place] = known
        return known

    def standings(self, run: Run) -> list[Standing] | str:
        """How its models stand, or why that cannot be said; [] if there are no scores."""
        if not run.has_scores:
            return []
        seen, found = self._standings.get(run.place, (None, ""))
        if seen != run.files[SCORES]:
            try:
                found = read_standings(run.place / SCORES)
            except UnwaverError as e:
                found = f"{SCORES}: {e.message}"
            except Exception as e:  # whatever a strange file brings: the other runs are shown all the same
                found = f"{SCORES} cannot be read: {type(e).__name__}"
            self._standings[run.place] = run.files[SCORES], found
        return found

    def is_read(self, run: Run) -> bool:
        return not run.has_scores or self._standings.get(run.place, (None,))[0] == run.files[SCORES]

    def read(self, runs: Sequence[Run], seconds: float) -> bool:
        """Read the scores of these runs, as far as the time allows; whether all are read."""
        end = self._clock() + seconds
        for run in runs:
            if not self.is_read(run):
                if self._clock() > end:
                    return False
                self.standings(run)
        return True

    def read_in_background(self) -> threading.Thread:
        def read() -> None:
            for run in sorted(self.find().runs.values(), key=lambda run: run.date, reverse=True):
                start = self._clock()
                self.standings(run)
                time.sleep(max(0.0, self._clock() - start))  # half of the time is for pages

        thread = threading.Thread(target=read, name="unwaver view", daemon=True)
        thread.start()
        return thread


def checked_root(folder: Path) -> Path:
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        from unwaver.errors import near

        beside = folder.parent if folder.parent.is_dir() else Path()
        names = [path.name for path in beside.iterdir() if path.is_dir() and not path.name.startswith(".")]
        hint = near(folder.name, names) if names else "give the folder above your run folders: unwaver view runs"
        if folder == Path("runs"):
            hint = "unwaver run writes run folders to it; or name another: unwaver view FOLDER"
        raise UsageError("there is no such folder", file=folder, hint=hint) from None
    if not root.is_dir():
        if root.name == RUN:
            return root.parent
        hint = "unwaver view shows run folders; for a table or log: unwaver report FILE"
        raise UsageError("this is a file, not a folder", file=folder, hint=hint)
    return root


# --- looking for runs ---------------------------------------------------------------------------------------


def _folders(root: Path, notes: list[str]) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """Folders with what is in them. Runs are not searched further, and links out of the root are not followed."""
    left = [(root, 0)]
    visited, strange = 0, 0
    while left:
        place, depth = left.pop()
        visited += 1
        if visited > MOST_FOLDERS:
            notes.append(
                f"Only the first {MOST_FOLDERS:,} folders were searched. Start unwaver view on a part of them."
            )
            return
        try:
            with os.scandir(place) as found:
                entries = list(found)
        except OSError as e:
            notes.append(f"{safe(str(place.relative_to(root)))} cannot be opened: {e.strerror}.")
            continue
        yield place, entries
        if _is_run(entries) or depth >= DEEPEST:
            continue
        for entry in entries:
            if entry.is_symlink():
                strange += entry.is_dir() and not _is_within(Path(entry.path), root)
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                left.append((Path(entry.path), depth + 1))
    if strange:
        links = "1 link leads" if strange == 1 else f"{strange} links lead"
        notes.append(
            f"{links} out of the folder and are not followed. To see what is there, name that folder too."
        )


def _is_within(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return False


def _is_run(entries: Sequence[os.DirEntry[str]]) -> bool:
    """A dry run writes groups alone, and a store that several runs share is alone."""
    names = {entry.name for entry in entries}
    return RUN in names or {ANSWERS, GROUPS} <= names


def _files(entries: Sequence[os.DirEntry[str]], root: Path) -> tuple[Files, str]:
    """Time and size of the files that are read, and the name of one that is not within the root."""
    files: dict[str, tuple[int, int]] = {}
    for entry in entries:
        if entry.name not in _READ:
            continue
        if entry.is_symlink() and not _is_within(Path(entry.path), root):
            return {}, entry.name
        try:
            if entry.is_file():
                about = entry.stat()
                files[entry.name] = about.st_mtime_ns, about.st_size
        except OSError:
            continue
    return files, ""


def _holder(path: Path) -> str | None:
    """The process that writes to the folder, if it is alive. The lock itself is not touched: a run that starts at
    this moment would find it taken."""
    try:
        who = json.loads(path.read_bytes()[:1000])
        pid, host, since = int(who["pid"]), str(who["host"]), str(who["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if host == socket.gethostname() and not _is_alive(pid):
        return None
    return f"process {pid} on {host}, since {since}"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return pid > 0


# --- reading one --------------------------------------------------------------------------------------------


def _read(place: Path, name: str, path: Path, files: Files, outside: str, held: str | None) -> Run:
    def run(state: State, reason: str = "", **more: Any) -> Run:
        return Run(id_of(place), name, path, place, files, state, reason, holder=held or "", **more)

    if outside:
        return run("unreadable", f"{outside} is a link that leads out of the folder")
    try:
        return run(**_facts(place, files, held))
    except UnwaverError as e:
        if held:
            return run("under way", "it has just started")
        return run("unreadable", f"{Path(e.file).name}: {e.message}" if e.file else e.message)
    except Exception as e:  # as in `standings`
        return run("unreadable", f"{RUN} cannot be read: {type(e).__name__}")


def _facts(place: Path, files: Files, held: str | None) -> dict[str, Any]:
    if RUN not in files:
        raise DataError("there is no such file", file=place / RUN)
    record = read_run(place)
    config = record.get("config")
    config = config if isinstance(config, dict) else {}
    asking = record.get("asking") or {}
    state, reason = _state(record, files, held)
    began = asking.get("began") or f"{datetime.fromtimestamp(files[RUN][0] / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}"
    suites = config.get("suites")
    return {
        "state": state,
        "reason": reason,
        "date": began,
        "models": tuple(dict.fromkeys(model["name"] for model in record["models"])),
        "suites": tuple(map(str, suites)) if isinstance(suites, list) else (),
        "command": " ".join(record.get("command") or ()),
        "calls": asking.get("calls"),
        "cost": asking.get("cost"),
        "groups": _same_groups(record, config),
        "setting": _setting(config),
    }


def _state(record: Mapping[str, Any], files: Files, held: str | None) -> tuple[State, str]:
    if held:
        return "under way", held
    again = "run the same command again to continue"
    if not {"spent", "agreements", "failures"} & set(record):  # what is known only at the end
        return "interrupted", f"stopped before the end: {again}"
    if SCORES not in files:
        return "interrupted", f"there is no {SCORES}: {again}"
    stopped = (record.get("spent") or {}).get("stopped")
    if stopped:
        return "incomplete", str(stopped)
    failures = record.get("failures")
    if isinstance(failures, list) and failures:
        calls = sum(
            one["calls"] for one in failures if isinstance(one, dict) and isinstance(one.get("calls"), int)
        )
        return "incomplete", f"{calls:,} {'call' if calls == 1 else 'calls'} failed: {again}"
    return "finished", ""


def _same_groups(record: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    groups = (record.get("hashes") or {}).get(GROUPS)
    if not groups:
        return ""
    settings = {name: config.get(name) for name in MEANING}
    text = json.dumps([groups, settings], sort_keys=True, default=str)
    return sha256(text.encode(errors="replace")).hexdigest()[:12]


def _setting(config: Mapping[str, Any]) -> str:
    """What is not as usual: "shots 2, read last"."""
    usual = {field.name: field.default for field in fields(Config)}
    told = [(name, config.get(name)) for name in MEANING]
    return ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in told if value and value != usual.get(name)
    )


def id_of(place: Path) -> str:
    """ "sample-1a2b3c4d.5e6f7a8b9c": readable, and unlike any other whatever characters the path has."""
    slug = re.sub(r"[^a-z0-9-]+", "-", place.name.lower()).strip("-")[:40]
    return f"{slug or 'run'}.{sha256(os.fsencode(place)).hexdigest()[:10]}"
