"""Figures of `unwaver analyse pareto|series|compare --plot FILE`: accuracy against consistency, among curves of
constant PVAP (ParaNLU, Figures 3 to 6 and 8). One panel for each suite/task/kind; a series joins its steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from unwaver.analysis.series import SeriesPoint
from unwaver.analysis.two_tables import TableDifference
from unwaver.errors import UsageError
from unwaver.metrics import charts
from unwaver.metrics.meanings.paraphrastic import accuracy_and_consistency, among_curves
from unwaver.metrics.pareto import Point
from unwaver.reports.pictures import bytes_of
from unwaver.types import Figure

Spec = dict[str, Any]
FORMATS = ("svg", "png", "pdf")
_LEAST = 0.45  # P_C is never below .5; other metrics may be
_NAMED_AT = 0.42  # models crowd around .5 and above: curves are named on the left


def format_of(path: Path) -> Literal["svg", "png", "pdf"]:
    """figure.svg -> "svg" """
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        hint = f"name a file that ends in {', '.join('.' + f for f in FORMATS)}"
        raise UsageError(f"--plot {path}: found the ending {path.suffix or 'none'!r}", hint=hint)
    return cast(Literal["svg", "png", "pdf"], form)


def drawn(spec: Spec, path: Path) -> bytes:
    return bytes_of(Figure("analyse", path.stem, "", "", spec), format_of(path))


def pareto_figure(points: Sequence[Point], accuracy: str = "A_bucket", consistency: str = "P_C") -> Spec:
    """Figures 3 and 8: each model a point, a panel for each relation."""
    by_relation: dict[str, list[Point]] = {}
    for point in points:
        by_relation.setdefault(point.relation, []).append(point)
    panels = {
        relation: _renamed(cast(Spec, accuracy_and_consistency(own)), accuracy, consistency, _least(own))
        for relation, own in by_relation.items()
    }
    return _beside(panels)


def _least(points: Sequence[Point]) -> float:
    return _LEAST if min(p.consistency for p in points) >= _LEAST else 0.0


def _renamed(spec: Spec, accuracy: str, consistency: str, least: float) -> Spec:
    """The same picture with the axes of other metrics."""
    where = among_curves(accuracy, consistency, least)
    *_, ring, dots = spec["layer"]
    placed = [{**layer, "encoding": {**layer["encoding"], **where.place}} for layer in (ring, dots)]
    return {**spec, "layer": [*where.layers, *placed]}


def series_figure(steps: Sequence[SeriesPoint], accuracy: str, consistency: str) -> Spec:
    """Figures 5 and 6: the models of a series, joined in the order of their sizes; a colour for each relation."""
    rows: list[dict[str, Any]] = [
        {
            "accuracy": step.values[accuracy][0],
            "value": step.values[consistency][0],
            "size": step.size,
            "text": f"{step.size:g}",
            "colour": charts.label(step.relation, 40),
            "says": charts.label(f"{step.model}, size {step.size:g}", 200),
        }
        for step in steps
        if _has(step.values, accuracy) and _has(step.values, consistency)
    ]
    if not rows:
        hint = f"choose two: --metric {accuracy} --metric {consistency}, such as --metric A_bucket --metric P_C"
        raise UsageError(f"--plot: no model of the series has both {accuracy} and {consistency}", hint=hint)
    least = _LEAST if min(row["value"] for row in rows) >= _LEAST else 0.0
    where = among_curves(accuracy, consistency, least, _NAMED_AT)
    joined = {
        "mark": {"type": "line", "strokeWidth": 1.5, "color": charts.COLOURS[0], "aria": False},
        "encoding": {
            **where.place,
            "order": {"field": "size", "type": "quantitative"},
            "detail": {"field": "colour", "type": "nominal"},
            **charts.colour(rows),
        },
    }
    return charts.spec([*where.layers, joined, where.dots(rows), _texts(where.place)], rows, width=330, height=280)


def compare_figure(
    differences: Sequence[TableDifference], names: tuple[str, str], accuracy: str, consistency: str
) -> Spec:
    """Figure 4: the same model on two sets of paraphrases, two points joined by a line."""
    found = {d.metric: d for d in differences}
    lacking = [name for name in (accuracy, consistency) if name not in found]
    if lacking:
        hint = f"known here: {', '.join(found)}"
        raise UsageError(f"--plot: the two tables have no {lacking[0]} in common", hint=hint)
    first, second = (charts.label(name, 40) for name in _different(names))
    rows = [
        {
            "accuracy": getattr(found[accuracy], side),
            "value": getattr(found[consistency], side),
            "size": n,
            "text": name,
            "colour": name,
            "says": name,
        }
        for n, (side, name) in enumerate((("first", first), ("second", second)))
    ]
    least = _LEAST if min(r["value"] for r in rows) >= _LEAST else 0.0
    where = among_curves(accuracy, consistency, least, _NAMED_AT)
    joined = {
        "mark": {"type": "line", "strokeWidth": 1.5, "color": charts.MUTED, "aria": False},
        "encoding": {**where.place, "order": {"field": "size", "type": "quantitative"}},
    }
    return charts.spec([*where.layers, joined, where.dots(rows)], rows, width=330, height=280)


def _different(names: tuple[str, str]) -> tuple[str, str]:
    return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")


def _has(values: Mapping[str, tuple[float | None, ...]], metric: str) -> bool:
    return metric in values and values[metric][0] is not None


def _texts(place: Mapping[str, object]) -> Spec:
    return {
        "mark": {
            "type": "text",
            "dx": 9,
            "dy": -5,
            "align": "left",
            "color": charts.INK,
            "fontSize": 11,
            "aria": False,
        },
        "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
    }


def _beside(panels: Mapping[str, Spec]) -> Spec:
    """One panel as it is; several side by side, each with its name, its legend and its colours."""
    named = [
        {**spec, "title": {"text": charts.label(name, 60), "fontSize": 13, "color": charts.INK}}
        for name, spec in panels.items()
    ]
    if len(named) == 1:
        return named[0]
    inner = [{k: v for k, v in spec.items() if k not in ("$schema", "config")} for spec in named]
    shared = {"$schema": named[0]["$schema"], "config": named[0]["config"]}
    return {**shared, "concat": inner, "columns": 3, "resolve": {"scale": {"color": "independent"}}}
