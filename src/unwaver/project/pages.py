"""The report page of each source of a project, in its run folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from unwaver.console import Track, untracked
from unwaver.project.checking import Checked, Outcomes


def write_pages(outcomes: Outcomes, track: Track = untracked, without_texts: bool = False) -> list[Path]:
    """The pages of all sources that have a run folder; none if the extra for figures is not installed."""
    from unwaver.reports.pictures import installed

    return list(_written(outcomes, track, without_texts)) if installed() else []


def _written(outcomes: Outcomes, track: Track, without_texts: bool) -> Iterator[Path]:
    for checked in outcomes.sources:
        if checked.place is not None:
            yield _page(checked, checked.place, track, without_texts)


def _page(checked: Checked, place: Path, track: Track, without_texts: bool) -> Path:
    """The page of a source, unless it is there already and nothing was asked since."""
    from unwaver.engine.runs import Outcome
    from unwaver.reports.written import REPORT, is_without_texts, write_page_of_run

    page, scores = place / REPORT, place / "scores.json"
    is_new = page.exists() and scores.exists() and page.stat().st_mtime >= scores.stat().st_mtime
    if is_new and is_without_texts(page) == without_texts:
        return page
    outcome = Outcome(checked.result)
    write_page_of_run(place, outcome, track, without_texts)
    page.touch()  # the same page is not written again, and would stay older than the scores
    return page
