"""unwaver.toml as a whole: what is asked, of whom, and what must hold.

    [run]                      # options of `unwaver run`, for every source
    model = "@bot"

    [models.bot]               # see unwaver.models_file
    model = "openai/NAME"

    [sources.faq]              # options of `unwaver run` for this source; those of [run] are the defaults
    from = "faq.csv"           # a file or a suite
    variants = "auto"

    [bars]                     # by source/task/kind
    "*" = ["drop<=0.05"]

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from unwaver.bars import fraction
from unwaver.errors import DataError, UsageError, near
from unwaver.files import read_toml
from unwaver.models_file import FILE, check_no_key, find_file
from unwaver.project.settings import read_settings
from unwaver.typed import Filled, typed
from unwaver.verdicts.placed_bars import PlacedBar, bars_at

RUNS, ALPHA = "runs", 0.05
_EXAMPLE = 'a source is [sources.NAME] with from = "questions.csv" below it'


@dataclass(frozen=True)
class Source:
    """One file, suite or log. `settings` are fields of Config, for a log those of unwaver.score."""

    name: str
    given: str
    settings: Mapping[str, Any]
    is_log: bool = False


@dataclass(frozen=True)
class Project:
    path: Path
    sources: tuple[Source, ...]
    bars: tuple[PlacedBar, ...] = ()
    alpha: float = ALPHA
    runs: Path = Path(RUNS)

    @property
    def folder(self) -> Path:
        return self.path.parent

    def with_settings(self, chosen: Mapping[str, Any]) -> Project:
        """The project with these settings in place of what the file says; logs are not asked."""
        sources = tuple(
            source if source.is_log else replace(source, settings={**source.settings, **chosen})
            for source in self.sources
        )
        return replace(self, sources=sources)


def open_project() -> Project:
    """The nearest unwaver.toml, from the working folder up."""
    path = find_file()
    if path is None:
        hint = "unwaver init --from questions.csv --model openai/NAME writes one"
        raise UsageError(f"there is no {FILE} in this folder or above it", hint=hint)
    return read_project(path)


def read_project(path: Path) -> Project:
    given = read_toml(path, "file", _EXAMPLE)
    for name in ("run", "sources"):
        if isinstance(given.get(name), dict):  # before a value of it is shown
            check_no_key(path, f"[{name}]", given[name])
    typed(ProjectRecord, given, path, _EXAMPLE)
    shared = read_settings(given.get("run", {}), "[run]", path)
    sources = tuple(_sources(given.get("sources", {}), shared, path))
    if not sources:
        raise DataError("it has no source", file=path, hint=_EXAMPLE)
    alpha = fraction(given.get("alpha", ALPHA), f"{path}: alpha")
    if not 0 < alpha < 0.5:
        what = f"alpha is {alpha:g}, expected a share between 0 and 0.5"
        raise DataError(what, file=path, hint="leave it out for 0.05")
    bars = tuple(_bars(given.get("bars", {}), sources, path))
    return Project(path, sources, bars, alpha, Path(given.get("runs", RUNS)))


class SourceRecord(msgspec.Struct, rename={"origin": "from"}):
    """[sources.NAME]; other keys are settings, read by read_settings."""

    origin: Filled | None = None
    log: Filled | None = None


class ProjectRecord(msgspec.Struct, forbid_unknown_fields=True):
    """unwaver.toml as a whole. [models] is read by unwaver.models_file where a model is named."""

    run: dict[str, Any] = {}
    sources: dict[str, SourceRecord] = {}
    models: dict[str, Any] = {}
    alpha: float | str = ALPHA
    runs: Filled = RUNS
    bars: list[str] | dict[str, str | list[str]] = {}


def _sources(given: Mapping[str, Any], shared: Mapping[str, Any], path: Path) -> Iterator[Source]:
    for name, table in given.items():
        where = f"[sources.{name}]"
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            raise DataError(f"{where} is not the name of a source", file=path, hint=_EXAMPLE)
        settings = dict(table)
        origin, log = settings.pop("from", None), settings.pop("log", None)
        if (origin is None) == (log is None):
            both = "both from and log" if origin is not None else "neither from nor log"
            hint = 'from = "questions.csv" (a file or suite), or log = "results.json" (answers of another tool)'
            raise DataError(f"{where} has {both}, expected one of them", file=path, hint=hint)
        if log is not None:
            yield Source(name, log, _log_settings(settings, where, path), is_log=True)
            continue
        yield Source(name, str(origin), {**shared, **read_settings(settings, where, path)})


def _log_settings(given: Mapping[str, Any], where: str, path: Path) -> dict[str, Any]:
    from dataclasses import fields

    from unwaver.logs import LogOptions

    known = {field.name for field in fields(LogOptions)} | {"agree", "unreadable", "cut"}
    plain = {name.replace("-", "_"): value for name, value in given.items()}
    for name in plain:
        if name not in known:
            raise DataError(f'{where}: "{name}" is not known for a log', file=path, hint=near(name, known))
    return {**plain, **({"agree": (plain["agree"],)} if isinstance(plain.get("agree"), str) else {})}


def _bars(given: Any, sources: tuple[Source, ...], path: Path) -> Iterator[PlacedBar]:
    """A list for everything, or lists by source/task/kind."""
    places = given if isinstance(given, dict) else {"*": given}
    known = {source.name for source in sources}
    for where, texts in places.items():
        if where.partition("/")[0] not in ("*", *known):
            hint = near(where.partition("/")[0], known)
            raise DataError(f'[bars] "{where}" matches no source of this file', file=path, hint=hint)
        yield from bars_at(where, [texts] if isinstance(texts, str) else texts, path)
