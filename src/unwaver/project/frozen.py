"""Groups that are made once and committed: unwaver.groups/NAME.jsonl, with a hash of each row of their source.

A later check asks exactly these groups, with the variants that were certified then. If the source or the way the
groups are made has changed, that is an error which names the rows, until someone says --rebuild.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.errors import DataError, UsageError
from unwaver.files import read_json
from unwaver.groups import is_plain
from unwaver.groups.from_lines import read_groups_file
from unwaver.project.file import Project, Source
from unwaver.project.settings import OF_BOTH, OF_GROUPS
from unwaver.secrets import masked_json
from unwaver.tables import read_table
from unwaver.typed import typed
from unwaver.types import Group, replace

FOLDER, VERSION = "unwaver.groups", 1
REBUILD = "unwaver check --rebuild makes the groups again"
MOST_ROWS = 5  # named in an error


class _Record(msgspec.Struct):
    """What groups were made from: a hash of each row, and how."""

    rows: dict[str, str]
    made: dict[str, Any]


@dataclass(frozen=True)
class Places:
    groups: Path  # committed
    record: Path  # committed: what the groups were made from
    work: Path  # answers of writer and certifiers, and the audit

    @classmethod
    def of(cls, project: Project, source: Source) -> Places:
        committed = project.folder / FOLDER
        work = project.folder / project.runs / f"groups-{source.name}"
        return cls(committed / f"{source.name}.jsonl", committed / f"{source.name}.source.json", work)


def is_file(project: Project, source: Source) -> bool:
    """Whether the source is a file of the team's, whose groups are made once. A suite is always the same."""
    path = project.folder / source.given
    if path.is_dir():
        raise DataError("this is a folder, expected a file", file=path, hint="name a file in it")
    return path.exists() or bool(path.suffix) or Places.of(project, source).groups.exists()


def frozen(project: Project, source: Source, console: Console, *, rebuild: bool = False) -> Path:
    """The file with the groups of a source; made if it is not there."""
    places = Places.of(project, source)
    if places.groups.exists() and not rebuild:
        check_unchanged(project, source)
        return places.groups
    return _made(project, source, places, console)


def _made(project: Project, source: Source, places: Places, console: Console) -> Path:
    from unwaver.engine.build_groups import build
    from unwaver.engine.questions import settled

    path = project.folder / source.given
    rows = _hashes(path)
    folder.open_place(places.work)
    folder.open_place(places.groups.parent)
    config = settled(groups_config(project, source), source.settings.get("models", ()), console)
    if config.judges or "/" in (config.writer or "").removeprefix("bank/"):  # else nobody is asked
        config = replace(config, store=str(places.work / "answers.sqlite"))
    built = build(config, places.work / "groups.jsonl", console)
    for line in dict.fromkeys(line for notes in built.notes.values() for line in notes):
        console.say(line)
    groups = certified(built.groups, built.kept)
    lost = len(built.groups) - len(groups)
    if lost:
        console.say(f"{source.name}: no certified variant for {lost:,} of {len(built.groups):,} groups")
    if not groups:
        hint = f"{places.work / 'audit.jsonl'} says why, candidate by candidate"
        raise DataError("not one variant was certified", file=path, hint=hint)
    named = [replace(group, suite=source.name) for group in groups]
    record = {"version": VERSION, "source": source.given, "made": _made_how(source), "rows": rows}
    folder.write_whole(places.record, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    folder.write_whole(places.groups, folder.groups_text(named, built.tasks))  # last: it says that all is there
    return places.groups


def groups_config(project: Project, source: Source) -> Config:
    """How the groups of a source are made."""
    settings = {name: value for name, value in source.settings.items() if name in (*OF_GROUPS, *OF_BOTH)}
    return Config(suites=(str(project.folder / source.given),), models=(), **settings)


def certified(groups: Sequence[Group], kept: Mapping[str, Sequence[str]]) -> list[Group]:
    """Groups with certified variants only and no questions to certifiers: nothing is left to decide. What only its
    own writer has certified stays marked so."""
    found = []
    for group in groups:
        if is_plain(group):
            found.append(group)
            continue
        chosen = set(kept.get(group.id, ()))
        items = tuple(
            replace(item, certified=None) for item in group.items if item.role == "original" or item.id in chosen
        )
        if any(item.role != "original" for item in items):
            found.append(replace(group, items=items, keep=None))
    return found


def _made_how(source: Source) -> dict[str, Any]:
    """The settings that decide what the groups are, as JSON. A model that is named @bot stays @bot, whatever
    stands behind it: the groups are there."""
    chosen = {name: value for name, value in source.settings.items() if name in OF_GROUPS}
    return dict(json.loads(masked_json(json.dumps(chosen, default=str, sort_keys=True))))


def _hashes(path: Path) -> dict[str, str]:
    """A hash of each row of a table, by its line."""

    def hash_of(cells: Mapping[str, Any]) -> str:
        written = json.dumps(cells, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(written.encode(errors="backslashreplace")).hexdigest()[:12]

    return {str(row.where.line): hash_of(row.cells) for row in read_table(path)}


def check_unchanged(project: Project, source: Source) -> None:
    """An error if the source is not what the groups were made from."""
    places = Places.of(project, source)
    path = project.folder / source.given
    record = _record(places.record)
    if not path.is_file():
        hint = "restore it: a check compares the groups with their source"
        raise DataError(f"the source of {places.groups.name} is gone", file=path, hint=hint)
    if told := _changed_rows(record["rows"], _hashes(path)):
        raise DataError(f"{told} since its groups were made", file=path, hint=REBUILD)
    now = _made_how(source)
    if other := [name for name in {**now, **record["made"]} if now.get(name) != record["made"].get(name)]:
        what = f"[sources.{source.name}] has another {', '.join(sorted(other))} than when its groups were made"
        raise UsageError(what, file=project.path, hint=REBUILD)


def _record(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise DataError("this file, which says what the groups were made from, is gone", file=path, hint=REBUILD)
    found = read_json(path)
    typed(_Record, found, path, REBUILD)
    return dict(found)


def _changed_rows(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """ "line 7 is new, line 9 is gone (old line 12)"; "" where nothing changed. Moved rows are not a change."""
    old, new = set(before.values()), set(now.values())
    added = [line for line, hash in now.items() if hash not in old]
    gone = [line for line, hash in before.items() if hash not in new]
    changed = [line for line in added if line in gone]
    parts = [
        _lines(changed, "has changed", "have changed"),
        _lines([line for line in added if line not in changed], "is new", "are new"),
        _lines([line for line in gone if line not in changed], "is gone", "are gone"),
    ]
    return "; ".join(part for part in parts if part)


def _lines(lines: Sequence[str], one: str, several: str) -> str:
    if not lines:
        return ""
    more = f" and {len(lines) - MOST_ROWS} more" if len(lines) > MOST_ROWS else ""
    named = ", ".join(lines[:MOST_ROWS]) + more
    return f"line {named} {one}" if len(lines) == 1 else f"lines {named} {several}"


def read_frozen(project: Project, source: Source) -> Sequence[Group]:
    return read_groups_file(Places.of(project, source).groups)
