"""The profile of a run of core: one line for each family, and a picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unwaver.metrics import charts
from unwaver.reports.markup import Html, tag
from unwaver.reports.terminal import percent, table_of
from unwaver.text.shown import interval, safe
from unwaver.types import Figure, Score

if TYPE_CHECKING:
    from rich.console import Console

NUMBER = 9000  # of the picture in the page: none of the others has it
SAYS = (
    "Share of the groups of each family that hold in every answer, with 95 % intervals that resample facts. The "
    "tick is accuracy. All families: the mean over families."
)


def profile_rows(scores: Sequence[Score]) -> list[list[str]]:
    """Header first; one line for each family."""
    header = ["family", "held %", "95 % interval", "acc.", "groups", "n/a"]
    return [header, *(_row(s) for s in scores)]


def _row(s: Score) -> list[str]:
    return [
        safe(s.kind),
        percent(s.value),
        interval(s.low, s.high),
        percent(s.accuracy),
        f"{s.counted:,}",
        f"{s.not_applicable:,}",
    ]


def print_profile(scores: Sequence[Score], console: Console) -> None:
    """One table for each suite and model."""
    from rich.text import Text

    for suite, model in dict.fromkeys((s.suite, s.model) for s in scores):
        own = [s for s in scores if (s.suite, s.model) == (suite, model)]
        console.print(Text(safe(f"Profile: {suite} · {model}"), style="bold"))
        console.print(table_of(profile_rows(own)), crop=False)


def profile_figure(scores: Sequence[Score]) -> Figure | None:
    """Dots with intervals, and accuracy as a tick beside them; a colour for each model."""
    known = [s for s in scores if s.value is not None]
    if not known:
        return None
    several = len({(s.suite, s.model) for s in known}) > 1
    rows = charts.rows_of(
        known,
        name=lambda s: s.kind,
        colour=lambda s: charts.label(s.model) if several else "",
        chance=lambda s: s.accuracy,
    )
    return Figure(
        "profile", "Profile", SAYS, "held", charts.intervals(rows, "share of groups held; tick: accuracy")
    )


def profile_section(scores: Sequence[Score]) -> Html:
    """What the report of a run of core opens with: one dot for each family, and the numbers."""
    from unwaver.reports.pictures import inline_svg, installed

    parts = []
    figure = profile_figure(scores)
    if figure and installed():
        parts.append(tag("div", Html(inline_svg(figure, NUMBER)), class_="drawing"))
    header, *body = profile_rows(scores)
    several = len({s.model for s in scores}) > 1
    models = [[safe(s.model)] if several else [] for s in scores]
    head = tag("tr", [tag("th", title) for title in ([*(["model"] if several else []), *header])])
    lines = [
        tag("tr", [tag("td", cell) for cell in (*who, *line)]) for who, line in zip(models, body, strict=True)
    ]
    parts.append(tag("div", tag("table", head, lines), class_="scroll"))
    said = tag("p", SAYS, class_="note")
    return tag("section", tag("h2", "Profile by family"), said, tag("div", parts, class_="profile"), id="profile")
