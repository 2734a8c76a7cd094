"""`unwaver check` does what unwaver.toml says: groups are made once, answers are asked for once, and the result is
compared with bars and lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.asking.failures import from_records
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine.load import load
from unwaver.engine.runs import Outcome, go
from unwaver.errors import DataError, UsageError
from unwaver.project.compared import Changes, Part, changes, checks, entries_of, parts_of
from unwaver.project.file import Project, Source
from unwaver.project.frozen import FOLDER, frozen, is_file
from unwaver.project.lock import LOCK, CaseKey, Entry, by_case, read_lock, write_lock
from unwaver.project.settings import OF_BOTH, OF_GROUPS
from unwaver.result import Result
from unwaver.types import Group, replace
from unwaver.verdicts.checks import Check, GateOutcome
from unwaver.verdicts.paired_runs import Side

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Checked:
    """What came of one source."""

    source: Source
    result: Result
    frame: pl.DataFrame
    groups: Sequence[Group]
    checks: Sequence[Check]
    changes: Mapping[CaseKey, Changes]
    entries: Sequence[Entry]
    place: Path | None  # the run folder; a log has none


@dataclass(frozen=True, repr=False)
class Outcomes:
    """All sources of a project, and the verdict on them."""

    project: Project
    sources: Sequence[Checked]
    lock: Mapping[str, Any] = field(default_factory=dict)  # its first line; nothing if there is none
    accepted: bool = False
    allow_undecided: bool = False

    @property
    def gate(self) -> GateOutcome:
        found = tuple(check for checked in self.sources for check in checked.checks)
        return GateOutcome(found, self.project.alpha, self.allow_undecided)

    @property
    def is_met(self) -> bool:
        """Whether all bars are met. What is accepted is compared with nothing; nothing decided is not a pass."""
        return self.accepted or (bool(self.gate.checks) and self.gate.is_met)

    @property
    def is_complete(self) -> bool:
        return all(c.result.is_complete and not _stopped(c.result) for c in self.sources)

    def __bool__(self) -> bool:
        return self.is_met and self.is_complete

    def __str__(self) -> str:
        from unwaver.project.said import lines

        return "\n".join(f"{word:<10}{text}" for word, text in lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from unwaver.project.said import lines
        from unwaver.text import displayed

        (word, text), *rest = lines(self)
        level = {"pass": "good", "accepted": "good", "fail": "bad"}.get(word, "fair")
        return displayed.framed(
            displayed.headline(f"{word}: {text}", level), displayed.verdicts(("", *line, "") for line in rest)
        )

    @property
    def how_to_complete(self) -> str:
        """What to do about missing answers; those of a log are not unwaver's to ask for."""
        of_logs = [c.source.given for c in self.sources if c.source.is_log and not c.result.is_complete]
        return f"make the log {of_logs[0]} again" if of_logs else "run the same command again to ask for them"


def _stopped(result: Result) -> str | None:
    spent = result.run.get("spent") or {}
    return spent.get("stopped") or None


def check_project(
    project: Project,
    console: Console | None = None,
    *,
    rebuild: bool = False,
    fresh: bool = False,
    accept: bool = False,
    with_texts: bool = False,
    allow_undecided: bool = False,
) -> Outcomes:
    """Ask what has no answer yet, and hold all of it against bars and lock. With `accept` it becomes the lock."""
    speak = console or Console()
    header, entries = read_lock(project.folder / LOCK)
    locked = by_case(entries)
    _check_bars(project)
    found = []
    for source in project.sources:
        ran = _score_log(project, source) if source.is_log else _ask(project, source, speak, rebuild, fresh)
        found.append(_checked(project, source, ran, locked, accept, with_texts))
    outcomes = Outcomes(project, found, header, accept, allow_undecided)
    if accept:
        _accept(outcomes)
    return outcomes


def _check_bars(project: Project) -> None:
    if not project.bars:
        hint = 'add [bars] with "*" = ["drop<=0.05"]: at most five points worse than the accepted run'
        raise UsageError("it has no bars, so nothing can be decided", file=project.path, hint=hint)


def _accept(outcomes: Outcomes) -> None:
    if not outcomes.is_complete:
        raise DataError("answers are missing, so nothing was accepted", hint=outcomes.how_to_complete)
    write_lock(outcomes.project.folder / LOCK, [e for checked in outcomes.sources for e in checked.entries])


# --- asking -------------------------------------------------------------------------------------------------


def run_config(project: Project, source: Source, groups: Path | None) -> Config:
    """How a source is asked. `groups` are those that were made for it; a suite has its own."""
    settings = {
        name: value
        for name, value in source.settings.items()
        if groups is None or name not in OF_GROUPS or name in OF_BOTH
    }
    suite = source.given if groups is None else str(Path(FOLDER) / groups.name)
    if not settings.get("models"):
        hint = f'add model = "provider/name" below [run] or [sources.{source.name}]'
        raise UsageError(f"[sources.{source.name}] has no model", file=project.path, hint=hint)
    config = Config(suites=(suite,), **settings)
    return replace(config, out=str(project.runs / f"{source.name}-{config.id}"))


def _ask(project: Project, source: Source, console: Console, rebuild: bool, fresh: bool) -> Outcome:
    groups = frozen(project, source, console, rebuild=rebuild) if is_file(project, source) else None
    config = run_config(project, source, groups)
    if fresh:
        set_aside(config.folder)
    return go(config, console)


def set_aside(place: Path) -> Path | None:
    """Keep an earlier run under another name, runs/faq-1a2b3c4d.1, so that everything is asked again."""
    if not place.exists():
        return None
    number = next(n for n in range(1, 10_000) if not place.with_name(f"{place.name}.{n}").exists())
    return place.rename(place.with_name(f"{place.name}.{number}"))


def _score_log(project: Project, source: Source) -> Outcome:
    path = project.folder / source.given
    settings = dict(source.settings)
    unreadable = settings.pop("unreadable", None)
    loaded = load(path, **settings)
    return Outcome(loaded.scored(unreadable))


# --- what came of it ----------------------------------------------------------------------------------------


def _checked(
    project: Project,
    source: Source,
    ran: Outcome,
    locked: Mapping[CaseKey, Mapping[str, Entry]],
    accepting: bool,
    with_texts: bool,
) -> Checked:
    bars = [placed for placed in project.bars if placed.where.partition("/")[0] in ("*", source.name)]
    extra = [placed.bar.metric for placed in bars if placed.bar.drop and placed.bar.metric != "*"]
    groups = {group.id: group for group in ran.groups}
    texts = _texts(ran) if with_texts else {}
    every: list[Part] = []
    made: list[Check] = []
    different: dict[CaseKey, Changes] = {}
    sides = list(_sides(source, ran, groups))
    locked = _renamed(locked, source, [model for _, model in sides])
    for side, model in sides:
        parts = list(parts_of(side, source.name, model))
        made += checks(side, parts, bars, locked, alpha=project.alpha, accepting=accepting)
        different |= {p.key: changes(p, locked[p.key], groups) for p in parts if p.key in locked}
        every += parts
    entries = [entry for part in every for entry in entries_of(part, groups, extra, texts)]
    return Checked(source, ran.result, ran.frame, ran.groups, made, different, entries, ran.result.folder)


def _renamed(
    locked: Mapping[CaseKey, Mapping[str, Entry]], source: Source, models: Sequence[str]
) -> Mapping[CaseKey, Mapping[str, Entry]]:
    """The lock with the name of the model that is checked, where it holds one other model of this source: what is
    checked is then what may take its place."""
    accepted = {model for name, model, *_ in locked if name == source.name}
    now = set(models)
    if len(accepted) != 1 or len(now) != 1 or accepted == now:
        return locked
    (name,) = now
    return {(key[0], name, *key[2:]) if key[0] == source.name else key: of for key, of in locked.items()}


def _sides(source: Source, ran: Outcome, groups: Mapping[str, Group]) -> Iterator[tuple[Side, str]]:
    """The answers of each model, with the name that it has in unwaver.toml: another model may follow it there."""
    import polars as pl

    frame = ran.frame.with_columns(suite=pl.lit(source.name))
    reasons = from_records(ran.result.run.get("failures"))
    reading = source.settings.get("unreadable", "violate")
    given = source.settings.get("models", ())
    decodings = source.settings.get("decode") or ("",)
    names = list(dict.fromkeys(frame["model"].to_list()))
    called = dict(zip(names, given, strict=True)) if len(names) == len(given) else {n: n for n in names}
    for part in frame.partition_by(["model", "method"], maintain_order=True):
        name, method = str(part["model"][0]), str(part["method"][0])
        model = called[name] if len(decodings) == 1 else f"{called[name]} ({method})"
        failed = tuple(r for r in reasons if r.role != "model" or r.model == name)
        yield Side(str(ran.result.folder or source.given), name, method, part, {}, groups, reading, failed), model


def _texts(ran: Outcome) -> dict[str, dict[str, str]]:
    """Of each group: what was asked, and what was answered first."""
    asked = {item.id: " / ".join(item.fields.values()) for group in ran.groups for item in group.items}
    found: dict[str, dict[str, str]] = {}
    for group, item, label in ran.frame.select("group", "item", "label").iter_rows():
        if label is not None:
            found.setdefault(str(group), {}).setdefault(asked.get(item, str(item)), str(label))
    return found
