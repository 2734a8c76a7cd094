"""unwaver.lock.jsonl: the values that a team has accepted, group by group. It is committed, and a later check is
compared with it, also in a fresh clone.

    {"version": 1, "accepted": "2026-11-17", "unwaver": "0.9.0"}
    {"source": "faq", "model": "@bot", "task": "question", "kind": "semantic", "group": "faq/semantic/7",
     "hash": "9f2c…", "metric": "Cons_normalised", "value": 1.0, "broken": 0.0, "answers": "51ab…"}

`hash` is of the texts of the group, `answers` of what was answered. Neither holds a text; --with-texts adds them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unwaver import __version__
from unwaver.engine.folder import write_whole
from unwaver.errors import DataError
from unwaver.files import read_rows
from unwaver.typed import typed
from unwaver.types import Group

LOCK, VERSION = "unwaver.lock.jsonl", 1
ACCEPT = "unwaver check --accept writes it again"
Value = float | list[float] | None
CaseKey = tuple[str, str, str, str]  # source, model, task, kind


@dataclass(frozen=True)
class Entry:
    """One group of one model. `values` are those of metrics besides the leading one that a bar names."""

    source: str
    model: str
    task: str
    kind: str
    group: str
    hash: str
    metric: str
    value: Value
    broken: float | None
    answers: str
    values: Mapping[str, Value] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)  # question -> answer, with --with-texts

    @property
    def key(self) -> CaseKey:
        return self.source, self.model, self.task, self.kind

    def value_of(self, metric: str) -> Value:
        return self.value if metric == self.metric else self.values.get(metric)


def hash_of(group: Group) -> str:
    """Of what is asked: another id or cluster is the same group."""
    asked = [
        [item.role, dict(item.fields), list(item.choices), item.template]
        + [text for text in (item.tools, item.response_format) if text]
        for item in group.items
    ]
    return digest(json.dumps([group.expect, asked], sort_keys=True, ensure_ascii=False))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


def write_lock(path: Path, entries: Iterable[Entry]) -> None:
    header = {"version": VERSION, "accepted": f"{datetime.now(UTC):%Y-%m-%d}", "unwaver": __version__}
    lines = [header, *(_record(entry) for entry in entries)]
    write_whole(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _record(entry: Entry) -> dict[str, Any]:
    record = {name: getattr(entry, name) for name in _ENTRY_FIELDS}
    extra = {name: dict(value) for name in ("values", "texts") if (value := getattr(entry, name))}
    return {**record, **extra}


_ENTRY_FIELDS = (
    "source", "model", "task", "kind", "group", "hash", "metric", "value", "broken", "answers",
)  # fmt: skip


def read_lock(path: Path) -> tuple[Mapping[str, Any], list[Entry]]:
    """The first line, and the entries; nothing if there is no lock."""
    if not path.exists():
        return {}, []
    rows = read_rows(path)
    header = dict(rows[0].cells)
    if header.get("version") != VERSION:
        found = header.get("version")
        hint = f"use the version of unwaver that wrote it, or {ACCEPT}"
        raise DataError(f"version {found!r} of the lock, expected {VERSION}", file=path, line=1, hint=hint)
    entries = []
    for row in rows[1:]:
        entries.append(typed(Entry, row.cells, row.where, f"the line was edited or cut: {ACCEPT}"))
    return header, entries


def by_case(entries: Sequence[Entry]) -> dict[CaseKey, dict[str, Entry]]:
    found: dict[CaseKey, dict[str, Entry]] = {}
    for entry in entries:
        found.setdefault(entry.key, {})[entry.group] = entry
    return found
