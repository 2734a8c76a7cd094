"""The report page of each source of a project, in its run folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from unwaver.console import Track, untracked
from unwaver.project.checking import Checked, Outcomes


def write_pages(outcomes: Outcomes, track: Track = untracked) -> list[Path]:
    """The pages of all sources that have a run folder; none if the extra for figures is not installed."""
    from unwaver.reports.pictures import installed

    return list(_written(outcomes, track)) if installed() else []


def _written(outcomes: Outcomes, track: Track) -> Iterator[Path]:
    for checked in outcomes.sources:
        if checked.place is not None:
            yield _page(checked, checked.place, track)


def _page(checked: Checked, place: Path, track: Track) -> Path:
    """The page of a source, unless it is there already and nothing was asked since."""
    from unwaver.engine.runs import Outcome
    from unwaver.reports.written import REPORT, write_page_of_run

    page, scores = place / REPORT, place / "scores.json"
    if page.exists() and scores.exists() and page.stat().st_mtime >= scores.stat().st_mtime:
        return page
    write_page_of_run(place, Outcome(checked.result, checked.frame, checked.groups), track)
    page.touch()  # the same page is not written again, and would stay older than the scores
    return page
