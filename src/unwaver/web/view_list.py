"""The list of runs: one row for each model of each run, filtered, searched, sorted and cut into pages. Everything
is in the query string, so that a view of the list can be kept as a bookmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from unwaver.reports.kinds import ORDER, WORDS
from unwaver.reports.standings import Standing
from unwaver.web.view_runs import STATES, Run, Runs

PER_PAGE = 50
PATIENCE = 0.3  # seconds in which a page reads scores; the rest follows
SORTS = ("date", "run", "model", "suite", "verdict", "consistency", "accuracy", "groups", "cost")
BY_SCORES = ("verdict", "consistency", "accuracy", "groups")
LONGEST = 200  # characters of what is searched for
_DESCENDING = ("date",)  # if nothing else is said


@dataclass(frozen=True)
class Query:
    """What is to be shown. `from_params` takes whatever an address holds."""

    q: str = ""
    model: str = ""
    suite: str = ""
    verdict: str = ""
    state: str = ""
    since: str = ""
    until: str = ""
    sort: str = "date"
    order: str = ""
    page: int = 1

    @staticmethod
    def from_params(params: Mapping[str, str]) -> Query:
        texts = {f.name: params.get(f.name, "").strip()[:LONGEST] for f in fields(Query) if f.name != "page"}
        page = params.get("page", "1")
        known: dict[str, Any] = {
            "verdict": texts["verdict"] if texts["verdict"] in ORDER else "",
            "state": texts["state"] if texts["state"] in STATES else "",
            "sort": texts["sort"] if texts["sort"] in SORTS else "date",
            "order": texts["order"] if texts["order"] in ("up", "down") else "",
            "page": int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 8 and int(page) else 1,
        }
        return Query(**{**texts, **known})

    @property
    def is_descending(self) -> bool:
        return self.order == "down" if self.order else self.sort in _DESCENDING

    @property
    def is_filtered(self) -> bool:
        return any((self.q, self.model, self.suite, self.verdict, self.state, self.since, self.until))

    @property
    def needs_scores(self) -> bool:
        """Whether the scores of all runs decide what is on the page."""
        return bool(self.verdict) or self.sort in BY_SCORES

    def address(self, **changes: Any) -> str:
        """The permalink of this list with something else: address(page=2) -> "/?model=gpt&page=2"."""
        other = replace(self, **changes)
        told = {f.name: getattr(other, f.name) for f in fields(Query) if getattr(other, f.name) != f.default}
        return "/" + (f"?{urlencode(told)}" if told else "")

    def sorted_by(self, name: str) -> str:
        """The permalink behind the title of a column: once more turns the order."""
        if self.sort != name:
            return self.address(sort=name, order="", page=1)
        return self.address(order="up" if self.is_descending else "down", page=1)


@dataclass(frozen=True)
class Row:
    """A model of a run. `standing` is None without scores, `pending` while they are not read yet."""

    run: Run
    model: str
    standing: Standing | None
    state: str
    reason: str
    pending: bool = False


@dataclass(frozen=True)
class Page:
    rows: Sequence[Row]
    found: int  # rows on all pages
    runs: int  # that these are of
    pages: int
    number: int
    pending: int  # runs whose scores would have been needed, and are not read


def page_of(runs: Runs, found: Sequence[Run], query: Query) -> Page:
    chosen = [run for run in found if _fits(run, query)]
    if query.needs_scores:
        runs.read(chosen, PATIENCE)
    rows = [row for run in chosen for row in _rows(runs, run) if _row_fits(row, query)]
    rows = _sorted(rows, query)
    pages = max(1, -(-len(rows) // PER_PAGE))
    number = min(query.page, pages)
    shown = rows[(number - 1) * PER_PAGE : number * PER_PAGE]
    if not query.needs_scores:
        runs.read([row.run for row in shown], PATIENCE)
        shown = [_again(runs, row) for row in shown]
    pending = sum(not runs.is_read(run) for run in chosen) if query.needs_scores else sum(r.pending for r in shown)
    return Page(shown, len(rows), len({row.run.id for row in rows}), pages, number, pending)


def _rows(runs: Runs, run: Run) -> list[Row]:
    """From the record of the run alone where its scores are not read yet."""
    names = run.models or ("",)
    if not runs.is_read(run):
        return [Row(run, name, None, run.state, run.reason, pending=True) for name in names]
    found = runs.standings(run)
    if isinstance(found, str):
        return [Row(run, name, None, "unreadable", found) for name in names]
    by_model = {standing.model: standing for standing in found}
    more = [name for name in by_model if name not in names]
    return [Row(run, name, by_model.get(name), run.state, run.reason) for name in (*names, *more)]


def _again(runs: Runs, row: Row) -> Row:
    return next((found for found in _rows(runs, row.run) if found.model == row.model), row)


# --- which, and in which order ------------------------------------------------------------------------------


def _fits(run: Run, query: Query) -> bool:
    day = run.date[:10]
    return (
        (not query.suite or any(_has(suite, query.suite) for suite in run.suites))
        and (not query.since or day >= query.since)
        and (not query.until or ("" < day <= query.until))
    )


def _row_fits(row: Row, query: Query) -> bool:
    if query.model and not _has(row.model, query.model):
        return False
    if query.state and row.state != query.state:
        return False
    if query.verdict and (row.standing is None or row.standing.level != query.verdict):
        return False
    if not query.q:
        return True
    run = row.run
    text = "\n".join((run.name, row.model, *run.suites, run.date, row.state, row.reason, run.command)).casefold()
    return all(word in text for word in query.q.casefold().split())


def _has(text: str, part: str) -> bool:
    return part.casefold() in text.casefold()


_KEYS: Mapping[str, Callable[[Row], Any]] = {
    "date": lambda row: row.run.date or None,
    "run": lambda row: row.run.name.casefold(),
    "model": lambda row: row.model.casefold() or None,
    "suite": lambda row: ", ".join(row.run.suites).casefold() or None,
    "verdict": lambda row: ORDER.index(row.standing.level) if row.standing else None,
    "consistency": lambda row: row.standing.consistency if row.standing else None,
    "accuracy": lambda row: row.standing.accuracy if row.standing else None,
    "groups": lambda row: row.standing.counted if row.standing else None,
    "cost": lambda row: row.run.cost,
}


def _sorted(rows: Sequence[Row], query: Query) -> list[Row]:
    """Rows of equal value by date, the newest first; those without a value come last, whichever the order."""
    key = _KEYS[query.sort]
    newest = sorted(rows, key=lambda row: (row.run.date, row.run.name), reverse=True)
    known = [row for row in newest if key(row) is not None]
    known.sort(key=key, reverse=query.is_descending)
    return known + [row for row in newest if key(row) is None]


VERDICTS = [(level, WORDS[level]) for level in ORDER]
