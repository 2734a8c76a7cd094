"""The leaderboard: models of runs on the same groups, asked in the same setting, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unwaver.reports.standings import Place, Relation, Share, Standing, places
from unwaver.web.view_runs import Run, Runs


@dataclass(frozen=True)
class Entry:
    """A model with the share that ranks it. `place` is None for a model that is not ranked, and `why` says why."""

    run: Run
    standing: Standing
    share: Share | None
    place: Place | None
    why: str = ""


@dataclass(frozen=True)
class Board:
    """Models on the same groups; `relations` are those that were measured for every ranked model."""

    key: str
    suites: tuple[str, ...]
    setting: str
    groups: int
    relations: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class OneRelation:
    """The same models, ranked by one relation."""

    name: str
    entries: tuple[tuple[Entry, Relation, Place | None], ...]


def boards(runs: Runs, found: Sequence[Run]) -> list[Board]:
    """One for each set of groups and setting, those with the most models first."""
    by_groups: dict[tuple[str, frozenset[str]], list[tuple[Run, Standing]]] = {}
    for run in found:
        standings = runs.standings(run) if run.groups and run.has_scores and runs.is_read(run) else []
        if not isinstance(standings, str):
            for standing in standings:
                relations = frozenset(r.name for r in standing.relations)
                by_groups.setdefault((run.groups, relations), []).append((run, standing))
    made = [_board(key, own) for (key, _), own in by_groups.items()]
    return sorted(made, key=lambda board: (-len(board.entries), board.suites, board.key))


def _board(key: str, own: Sequence[tuple[Run, Standing]]) -> Board:
    measured = [{r.name for r in standing.relations if r.share is not None} for _, standing in own]
    most = max(map(len, measured))
    why = [_why_not(standing, len(names), most) for (_, standing), names in zip(own, measured, strict=True)]
    ranked = [names for names, reason in zip(measured, why, strict=True) if not reason]
    shared = set.intersection(*ranked) if ranked else set()
    if not shared:
        why = [reason or "no relation was measured for all" for reason in why]
    shares = [None if reason else _on(standing, shared) for (_, standing), reason in zip(own, why, strict=True)]
    entries = [
        Entry(run, standing, share, place, reason)
        for (run, standing), share, place, reason in zip(own, shares, places(shares), why, strict=True)
    ]
    entries.sort(key=lambda e: (e.share is None, -(e.share.value if e.share else 0), e.run.date, e.run.name))
    suites = tuple(dict.fromkeys(suite for run, _ in own for suite in run.suites))
    groups = max(standing.groups for _, standing in own)
    return Board(key, suites, own[0][0].setting, groups, tuple(sorted(shared)), tuple(entries))


def _why_not(standing: Standing, measured: int, most: int) -> str:
    if not measured:
        return "nothing was measured"
    if standing.is_constant:
        return "it gives one answer to everything"
    return f"only {measured} of {most} relations were measured" if 2 * measured < most else ""


def _on(standing: Standing, names: set[str]) -> Share | None:
    """Its consistency on these relations."""
    relations = tuple(r for r in standing.relations if r.name in names)
    return replace(standing, relations=relations).consistency


def by_relation(board: Board) -> list[OneRelation]:
    """Every relation that any model has, with all models that have it."""
    own: dict[str, list[tuple[Entry, Relation]]] = {}
    for entry in board.entries:
        for relation in entry.standing.relations:
            own.setdefault(relation.name, []).append((entry, relation))
    return [_ranked(name, found) for name, found in sorted(own.items())]


def _ranked(name: str, found: Sequence[tuple[Entry, Relation]]) -> OneRelation:
    shares = [None if r.level == "constant" else r.share for _, r in found]
    rows = [(entry, r, place) for (entry, r), place in zip(found, places(shares), strict=True)]
    rows.sort(key=lambda row: (row[2] is None, -(row[1].share.value if row[1].share else 0)))
    return OneRelation(name, tuple(rows))
