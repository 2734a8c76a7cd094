"""What the view shows of runs beyond the list: reports, comparisons and broken groups, by the code of `report`,
`compare` and `show`. It takes seconds for large runs, so the latest ones are kept in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import polars as pl

from unwaver.engine.folder import ANSWERS, AUDIT, GROUPS, RUN, SEEN
from unwaver.reports.compared import about_p, tables, title
from unwaver.reports.listed import Listed, as_csv, as_jsonl, listed, records
from unwaver.reports.markup import Html
from unwaver.types import Group, replace
from unwaver.verdicts.differing import heading
from unwaver.verdicts.paired_runs import Comparison, Side, compare, pairs_of, sides_of
from unwaver.web.view_runs import WAL, Run

KEPT = 8
MOST_CHANGED = 20  # groups that are shown with their texts
ALPHA = 0.05
_WRITERS = {"csv": as_csv, "jsonl": as_jsonl}

Made = TypeVar("Made")


class Kept:
    """The latest results of work that takes long. One piece of work at a time: a second request for the same waits
    for the first, and two large runs do not need memory at once."""

    def __init__(self, most: int = KEPT):
        self._most, self._lock = most, Lock()
        self._found: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key not in self._found:
                self._found[key] = make()
                while len(self._found) > self._most:
                    self._found.popitem(last=False)
            self._found.move_to_end(key)
            found: Made = self._found[key]
            return found


@contextmanager
def readable(run: Run) -> Iterator[Path]:
    """The folder of the run; a copy of its files if a killed process left a log beside the answers: SQLite would
    write to the folder to read them."""
    if not run.files.get(WAL, (0, 0))[1]:
        yield run.place
        return
    with tempfile.TemporaryDirectory(prefix="unwaver-view-") as place:
        for name in (RUN, GROUPS, SEEN, AUDIT, ANSWERS, WAL):
            if name in run.files:
                shutil.copyfile(run.place / name, Path(place) / name)
        yield Path(place)


def report(run: Run, above: Html) -> str:
    """The page that `unwaver report` writes."""
    from unwaver.engine.load import load_run
    from unwaver.reports.page import page
    from unwaver.reports.source import source_of

    with readable(run) as place:
        found = load_run(place)
    result = replace(found.scored(), folder=run.path)
    return page([source_of(str(run.path), found.frame, result, found.groups)], above=above)


def broken(run: Run, form: str) -> str:
    """The broken groups as csv or jsonl, the worst first."""
    from unwaver.engine.load import load_run

    with readable(run) as place:
        found = load_run(place)
    return _WRITERS[form](listed(found.frames), {group.id: group for group in found.groups})


# --- several runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Changed:
    """One group that broke or was fixed: its texts with the answers in both runs."""

    relation: str
    group: str
    answers: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Compared:
    """One comparison, ready to be shown. `numbers` and `counts` are tables, titles first."""

    title: str
    changes: str
    differs: Sequence[str]
    numbers: Sequence[Sequence[str]]
    counts: Sequence[Sequence[str]]
    remarks: Sequence[str]
    broken: Sequence[Changed]
    fixed: Sequence[Changed]
    all_broken: int
    all_fixed: int


def comparisons(runs: Sequence[Run], *, common: bool, allow_different: bool) -> list[Comparison]:
    """Each run against the first, as `unwaver compare` does."""
    found = compare(
        pairs_of([_sides(run) for run in runs]), common=common, allow_different=allow_different, alpha=ALPHA
    )
    return list(found)


def _sides(run: Run) -> list[Side]:
    with readable(run) as place:
        return [replace(side, path=run.name) for side in sides_of(place)]


def shown(found: Sequence[Comparison]) -> list[Compared]:
    return [_shown(comparison) for comparison in found]


def about(found: Sequence[Comparison]) -> str:
    return about_p(found, ALPHA)


def _shown(comparison: Comparison) -> Compared:
    numbers, counts = tables(comparison)
    broken, fixed = names_of(comparison, "broken"), names_of(comparison, "fixed")
    return Compared(
        title(comparison),
        _changes(comparison, len(broken), len(fixed)),
        list(heading(comparison.differs)),
        numbers,
        counts,
        comparison.remarks,
        _changed(comparison, broken[:MOST_CHANGED]),
        _changed(comparison, fixed[:MOST_CHANGED]),
        len(broken),
        len(fixed),
    )


def _changes(comparison: Comparison, broken: int, fixed: int) -> str:
    """ "Better: 1 of 7 relations, worse: 0. Newly broken: 3 groups, fixed: 22." """
    better, worse = (sum(row.verdict == word for row in comparison.rows) for word in ("better", "worse"))
    of = f"{len(comparison.rows)} relation{'' if len(comparison.rows) == 1 else 's'}"
    groups = f"{broken:,} group{'' if broken == 1 else 's'}"
    return f"Better: {better} of {of}, worse: {worse}. Newly broken: {groups}, fixed: {fixed:,}."


Name = tuple[str, str, str, str]  # suite, task, kind, group


def names_of(comparison: Comparison, way: str) -> list[Name]:
    """The groups that are newly broken or fixed, each once."""
    names = ((r.suite, r.task, r.kind, group) for r in comparison.rows for group in getattr(r, way))
    return list(dict.fromkeys(names))


def _listed(side: Side, names: Sequence[Name]) -> dict[Name, Listed]:
    """These groups as this side answered them."""
    wanted = pl.DataFrame(names, schema=["suite", "task", "kind", "group"], orient="row") if names else None
    if wanted is None:
        return {}
    texts = [pl.col(name).cast(pl.String) for name in wanted.columns]
    frame = side.frame.with_row_index("_row")
    rows = frame.select("_row", *texts).join(wanted, on=wanted.columns, how="semi")["_row"]
    own = frame.filter(pl.col("_row").is_in(rows.implode())).drop("_row")
    found = listed([own], everything=True) if len(own) else []
    return {(each.suite, each.task, each.kind, each.group): each for each in found}


def _changed(comparison: Comparison, names: Sequence[Name]) -> list[Changed]:
    sides = [(_listed(side, names), side.groups) for side in (comparison.first, comparison.second)]
    return [Changed("/".join(name[:3]), name[3], _side_by_side(name, sides)) for name in names]


def _side_by_side(
    name: Name, sides: Sequence[tuple[Mapping[Name, Listed], Mapping[str, Group]]]
) -> list[dict[str, Any]]:
    """One line for each item and repeat, with what both said."""
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    for which, (found, known) in zip(("first", "second"), sides, strict=True):
        for record in records([found[name]] if name in found else [], known):
            for answer in record["answers"]:
                line = lines.setdefault((answer["item"], answer["replicate"]), {"first": None, "second": None})
                line |= {"role": answer["role"], "text": answer["text"] or line.get("text"), which: _said(answer)}
    return list(lines.values())


def _said(answer: Mapping[str, Any]) -> dict[str, Any]:
    said, right = answer["answer"], answer["right"]
    if right is None and said is not None and answer["gold"]:
        right = said in answer["gold"]
    return {"text": str(said if said is not None else answer["status"].replace("_", " ")), "right": right}


def newly_broken(found: Sequence[Comparison], form: str) -> str:
    """The groups that held in the first run and are broken in a later one, with the answers of both, as csv or
    jsonl. The name of the run is added to that of the model."""
    rows: dict[tuple[str, Name], Listed] = {}
    known: dict[str, Group] = {}
    for comparison in found:
        names = names_of(comparison, "broken")
        for side in (comparison.first, comparison.second):
            known |= side.groups
            own = _listed(side, names)
            rows |= {(side.name, name): replace(own[name], model=side.name) for name in names if name in own}
    order = {name: n for n, name in enumerate(dict.fromkeys(name for _, name in rows))}
    by_group = sorted(rows.items(), key=lambda each: order[each[0][1]])
    return _WRITERS[form]([each for _, each in by_group], known)
