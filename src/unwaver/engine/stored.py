"""Reads the files of a run folder. They may be truncated, edited or written by hand, so each one is checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from unwaver.engine.folder import AUDIT, GROUPS, RUN, RUN_VERSION, SEEN
from unwaver.errors import DataError, about_json
from unwaver.files import read_json, read_rows
from unwaver.groups.from_lines import read_groups_file
from unwaver.outputs import BEGINNINGS
from unwaver.paths import head
from unwaver.typed import Count, typed
from unwaver.types import Group, Score

INCOMPLETE = "copy the whole run folder, or run the same command again"
_DAMAGED = "the file was cut or edited: move it away and run the same command again"


def read_run(place: Path) -> dict[str, Any]:
    """The content of run.json, given the run folder or the file."""
    path = place if place.is_file() or place.name == RUN else place / RUN
    if path.is_file() and not BEGINNINGS["run"].match(head(path) or b"") and path.name != RUN:
        hint = f"give the folder that `unwaver run` wrote, or the {RUN} in it"
        raise DataError("this file is not a record of a run", file=path, hint=hint)
    run = _read_json(path)
    if run.get("version") != RUN_VERSION:
        raise DataError(
            f"version {run.get('version')} of the run format; this unwaver reads version {RUN_VERSION}",
            file=path,
            hint="use the version of unwaver that wrote it",
        )
    typed(_Named, run, path, _DAMAGED, halves=True)
    typed(_Run, {name: run[name] for name in _Run.__struct_fields__ if name in run}, path, _DAMAGED)
    return run


# what is read again; config.config_from looks at the configuration, failures.from_records at the failures


class _Model(msgspec.Struct):
    name: str
    method: str
    writes: str | None = None
    form: str | None = None
    settings: dict[str, Any] | None = None


class _Certified(msgspec.Struct):
    case: str
    model: str
    items: Count
    candidates: Count
    judged: Count
    kept: Count
    acceptance: float | None
    distance_to_original: float | None
    distance_among_variants: float | None
    items_with_1: float | None
    items_with_3: float | None
    items_with_5: float | None
    unfinished: Count = 0
    refused: Count = 0
    empty: Count = 0
    copies: Count = 0
    no_verdict: dict[str, Count] = {}


class _Case(msgspec.Struct):
    model: str
    case: str
    verdict: Literal["pass", "fail", "undecided"]
    number: Count
    asked: Count
    groups: Count
    clusters_asked: Count


class _Until(msgspec.Struct):
    bar: str
    alpha: float
    seed: int
    requests: Count
    saved: Count
    cases: list[_Case]


class _Price(msgspec.Struct):
    model: str
    source: str
    prompt: float | None = None
    answer: float | None = None
    cached: float | None = None
    date: str = ""


class _Asking(msgspec.Struct):
    began: str
    seconds: float
    calls: Count
    tokens_in: Count
    tokens_out: Count
    cost: float | None = None
    prices: list[_Price] = []


class _Pilot(msgspec.Struct):
    groups: Count
    of: Count
    calls: Count
    cost: float
    cost_of_all: float | None = None
    low: float | None = None
    high: float | None = None
    at_most: float | None = None


class _Prompt(msgspec.Struct):
    prompt: str
    words: list[str]


class _Run(msgspec.Struct):
    models: Annotated[list[_Model], msgspec.Meta(min_length=1)]
    words: dict[str, list[str]]
    judges: list[_Model] = []
    writer: _Model | None = None
    certification: list[_Certified] = []
    until: _Until | None = None
    hashes: dict[str, str] = {}
    suites: dict[str, str] = {}
    prompts: dict[str, _Prompt] = {}
    versions: dict[str, str] = {}
    asking: _Asking | None = None
    pilot: _Pilot | None = None


class _Spent(msgspec.Struct):
    stopped: str | None = None
    calls: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0


class _Named(msgspec.Struct):
    """What may name files."""

    command: list[str] = []
    notes: dict[str, list[str]] = {}
    spent: _Spent = msgspec.field(default_factory=_Spent)


class _Seen(msgspec.Struct):
    seen: dict[str, list[str]]


class _Scores(msgspec.Struct):
    scores: list[Score]


def read_kept(folder: Path, groups: Iterable[Group]) -> set[str] | None:
    """The item ids of these groups, without variants that no model keeps according to audit.jsonl; None without
    that file."""
    path = folder / AUDIT
    if not path.exists() or not path.stat().st_size:
        return None
    rows = [(str(row.cells.get("id")), row.cells.get("standing") == "kept") for row in read_rows(path)]
    refused = {id for id, _ in rows} - {id for id, kept in rows if kept}
    return {item.id for group in groups for item in group.items} - refused


def read_seen(folder: Path) -> dict[str, list[str]]:
    if not (folder / SEEN).exists():
        return {}
    found: _Seen = typed(_Seen, _read_json(folder / SEEN), folder / SEEN, _DAMAGED)
    return found.seen


def read_groups(folder: Path) -> Sequence[Group]:
    path = folder / GROUPS
    if not path.exists():
        raise DataError("the run has no groups", file=path, hint=INCOMPLETE)
    return read_groups_file(path)


def read_scores(path: Path) -> list[Score]:
    """The scores in a scores.json, or in what `unwaver score --json` printed."""
    hint = "use the output of `unwaver score --json`, or score the run again"
    found: _Scores = typed(_Scores, read_json(path), path, hint)
    return found.scores


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            "there is no run here", file=path, hint="give the folder that `unwaver run` wrote"
        ) from None
    except json.JSONDecodeError as e:
        message = f"broken JSON: {about_json(e)}"
        raise DataError(message, file=path, line=e.lineno, hint=_DAMAGED) from None
    except (ValueError, OSError, RecursionError) as e:
        raise DataError(f"cannot be read: {e}", file=path, hint=_DAMAGED) from None
    if not isinstance(value, dict):
        raise DataError("found no JSON object", file=path, hint="give a run.json that `unwaver run` wrote")
    return value
