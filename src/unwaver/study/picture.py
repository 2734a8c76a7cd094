"""Shares of better, worse and no difference as stacked bars: BECEL's Figure 4 of any study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.metrics.charts import BAD, GOOD, LINE, MUTED, SAYS, label, share_axis, spec
from unwaver.study.compared import ALPHA, NOT_TESTED, VERDICTS
from unwaver.study.findings import Findings
from unwaver.study.plan import StudyPlan
from unwaver.study.tables import share_name
from unwaver.types import Figure

_COLOURS = {"better": GOOD, "worse": BAD, "no difference": LINE, NOT_TESTED: MUTED}
_WIDTH = 300


def shares_figure(found: Findings, plan: StudyPlan) -> Figure:
    """A bar for each comparison; verdicts are those of a t-test over seeds alone, as in the paper."""
    rows = list(_rows(found, plan))
    verdicts = [v for v in (*VERDICTS, NOT_TESTED) if v in VERDICTS or any(r["verdict"] == v for r in rows)]
    scale = {"domain": verdicts, "range": [_COLOURS[v] for v in verdicts]}
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 320}
    bars = {
        "mark": {"type": "bar", "height": 16},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": None, "axis": axis},
            "x": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "axis": share_axis("share of the consistency tests"),
                "scale": {"domain": [0, 1]},
            },
            "color": {
                "field": "verdict",
                "type": "nominal",
                "scale": scale,
                "legend": {"title": None, "columns": 4},
            },
            "order": {"field": "order", "type": "quantitative"},
            **SAYS,
        },
    }
    says = f"Recipes that are better, worse or no different by a t-test over seeds (p < {ALPHA:g})"
    height = 26 * len({row["name"] for row in rows})
    return Figure(
        "studies", "Better, worse, no difference", says, "tau", spec([bars], rows, width=_WIDTH, height=height)
    )


def _rows(found: Findings, plan: StudyPlan) -> Iterator[dict[str, Any]]:
    for share in found.shares:
        name = label(share_name(share, plan), 60)
        for order, verdict in enumerate((*VERDICTS, NOT_TESTED)):
            count = share["raw"][verdict]
            if count:
                says = f"{name}: {verdict} {count} of {share['tests']}"
                yield {
                    "name": name,
                    "verdict": verdict,
                    "share": count / share["tests"],
                    "order": order,
                    "says": says,
                }
