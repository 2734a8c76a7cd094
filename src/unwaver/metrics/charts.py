"""Pictures as Vega-Lite specifications: plain dicts with their data inside. Nothing is drawn here.

Fields have fixed names and texts of data are only ever values, so nothing in them is read as an expression.
Every mark has a text of its own (`says`), which a reader sees on touching it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unwaver.types import Score

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

# the page gives the first three other colours in the dark
INK, MUTED, LINE = "#1f2328", "#59636e", "#d1d9e0"
COLOURS = ("#2f6fde", "#d9730d", "#1f9d6b", "#9b5bd6", "#c93c58", "#0f9bb0", "#8a6d3b", "#6b7a90")
GOOD, BAD = "#2f6fde", "#d9730d"
WIDTH = 255
FITS = 26  # characters of a name beside a picture that are not cut
MOST_SERIES = len(COLOURS)
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_CONFIG: Spec = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 150,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "bottom",
        "labelLimit": 280,
        "columns": 2,
        "symbolStrokeWidth": 4,
        "symbolSize": 50,
        "symbolType": "square",
        "symbolOpacity": 1,
    },
    "header": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "labelFontWeight": "bold"},
    "range": {"category": list(COLOURS)},
    "text": {"color": INK, "fontSize": 12},
}


def spec(layers: Sequence[Spec], rows: Rows, *, width: Any = WIDTH, height: Any = 220, **more: Any) -> Spec:
    """Layers over shared data, in the style of all pictures."""
    values = [dict(row) for row in rows]
    return {
        "$schema": _SCHEMA,
        "data": {"values": values},
        "width": width,
        "height": height,
        "layer": list(layers),
        "config": _CONFIG,
        **more,
    }


def label(text: str, most: int = 48) -> str:
    """A name that is safe and short enough for a picture: label("a\\x00b") -> "a�b"."""
    text = _CONTROL.sub("�", text)
    return text if len(text) <= most else text[: most - 1] + "…"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """with_interval(.25, .2, .3) -> "25.0 % (20.0 – 30.0)" """
    return percent(value) + ("" if low is None or high is None else f" ({100 * low:.1f} – {100 * high:.1f})")


def names_of(scores: Sequence[Any]) -> dict[tuple[str, ...], str]:
    """A name for each (suite, task, kind, model, method): the relation, and what else tells them apart."""
    keys = list(dict.fromkeys(block_key(s) for s in scores))
    wanted = [1, 2]
    if len({key[1] for key in keys}) == 1 < len(keys) and max(len(f"{k[1]}/{k[2]}") for k in keys) > FITS:
        wanted = [2]  # of one task the kinds are enough, and all of such a name is seen
    for part in (3, 4, 0):
        if len({tuple(key[n] for n in wanted) for key in keys}) < len(keys):
            wanted.append(part)
    return {key: label(" · ".join(_joined(key, sorted(wanted)))) for key in keys}


def _joined(key: tuple[str, ...], told: Sequence[int]) -> Iterator[str]:
    relation = "/".join(key[n] for n in told if n < 3)
    who = ", ".join(key[n] for n in told if n >= 3)
    yield from (part for part in (relation, who) if part)


def block_key(s: Any) -> tuple[str, ...]:
    """Of a Block or a Score."""
    return (s.suite, s.task, s.kind, s.model, s.method)


def relation_of(s: Any) -> str:
    return label(f"{s.task}/{s.kind}")


def chosen(scores: Sequence[Score], *metrics: str) -> list[Score]:
    """Scores of these metrics that have a value: of all groups, unreadable answers as the run counts them."""
    found: dict[tuple[str, ...], Score] = {}
    for s in scores:
        if s.metric in metrics and s.value is not None and s.given is None:
            found.setdefault((*block_key(s), s.metric), s)
    return list(found.values())


def share_axis(title: str, **more: Any) -> Spec:
    return {"title": title, "format": "%", "values": [0, 0.25, 0.5, 0.75, 1], **more}


SAYS = {"description": {"field": "says", "type": "nominal"}}


def accuracy_axis() -> Spec:
    return {
        "field": "accuracy",
        "type": "quantitative",
        "axis": share_axis("accuracy"),
        "scale": {"domain": [0, 1]},
    }


def _by_name(rows: Rows) -> tuple[Spec, Spec, Spec]:
    """One line for each `name`; the colours of its rows, and how they stand below one another."""
    axis = {"title": None, "ticks": False, "domain": False}
    coloured = colour(rows)
    apart = {"yOffset": {"field": "colour", "type": "nominal", "sort": None}} if coloured else {}
    return {"field": "name", "type": "nominal", "sort": None, "axis": axis}, coloured, apart


def intervals(rows: Rows, title: str, *, domain: Sequence[float] | None = (0, 1), format: str = "%") -> Spec:
    """A point and its 95 % interval for each `name`; rows: name, value, low, high, chance, colour, says."""
    x: Spec = {"field": "value", "type": "quantitative", **_across(title, domain, format)}
    y, coloured, several = _by_name(rows)
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, **({} if coloured else {"color": GOOD})},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, **coloured, **several},
        },
        {
            "mark": {
                "type": "point",
                "filled": True,
                "size": 70,
                "opacity": 1,
                **({} if coloured else {"color": GOOD}),
            },
            "encoding": {"x": x, "y": y, **coloured, **several, **SAYS},
        },
    ]
    if any(row.get("chance") is not None for row in rows):
        layers.append(
            {
                "mark": {"type": "tick", "color": MUTED, "thickness": 2, "size": 14},
                "encoding": {"x": {**x, "field": "chance"}, "y": y, **several},
            }
        )
    names = len({row["name"] for row in rows})
    each = 24 if not coloured else max(24, 14 * len({row["colour"] for row in rows}))
    return spec(layers, rows, width=WIDTH - 65, height=max(60, names * each))


def _across(title: str, domain: Sequence[float] | None, format: str) -> Spec:
    axis = {"title": title, "format": format, "tickCount": 4}
    if domain is None:
        return {"axis": axis}
    first, last = domain
    quarters = [first + n * (last - first) / 4 for n in range(5)]
    return {"axis": {**axis, "values": quarters}, "scale": {"domain": [first, last]}}


def colour(rows: Rows) -> Spec:
    """A colour for each value of `colour`, where there are several."""
    values = list(dict.fromkeys(row["colour"] for row in rows if row.get("colour")))
    if len(values) < 2:
        return {}
    scale = {"domain": values, "range": [COLOURS[n % len(COLOURS)] for n in range(len(values))]}
    legend = {"title": None, "columns": 1 if max(map(len, values)) > 20 else 2}
    return {"color": {"field": "colour", "type": "nominal", "scale": scale, "legend": legend, "sort": None}}


def heat(
    rows: Rows,
    across: str,
    down: str,
    *,
    scheme: str = "oranges",
    domain: Sequence[float] = (0, 1),
    text: str = ".0%",
) -> Spec:
    """A cell for each `column` and `row` with its `value`; `dark` says that white text reads better on it."""
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lines = list(dict.fromkeys(row["row"] for row in rows))
    place = {
        "x": {
            "field": "column",
            "type": "nominal",
            "sort": columns,
            "axis": {"title": across, "orient": "top", "labelAngle": -35 if max(map(len, columns)) > 8 else 0},
        },
        "y": {"field": "row", "type": "nominal", "sort": lines, "axis": {"title": down}},
    }
    for axis in place.values():
        axis["axis"].update({"ticks": False, "domain": False})  # type: ignore[attr-defined]
    scale = {"domain": list(domain), "scheme": scheme, "clamp": True}
    cell = {
        "mark": {"type": "rect", "cornerRadius": 3},
        "encoding": {
            **place,
            "color": {"field": "value", "type": "quantitative", "scale": scale, "legend": None},
            **SAYS,
        },
    }
    shown = {
        "mark": {"type": "text", "fontSize": 12, "aria": False},
        "encoding": {
            **place,
            "text": {"field": "value", "type": "quantitative", "format": text},
            "color": {"field": "tone", "type": "nominal", "scale": None},
        },
    }
    middle, reach = (domain[0] + domain[-1]) / 2, (domain[-1] - domain[0]) / 2
    toned = [
        {**row, "tone": "#ffffff" if _is_dark(float(row["value"]), middle, reach, scheme) else "#111111"}
        for row in rows
    ]
    apart = {"scale": {"color": "independent"}}
    return spec([cell, shown], toned, width={"step": 52}, height={"step": 28}, resolve=apart)


def _is_dark(value: float, middle: float, reach: float, scheme: str) -> bool:
    if scheme.startswith(("blueorange", "redblue", "purpleorange")):
        return abs(value - middle) > 0.75 * reach
    return value > middle + 0.2 * reach


def boxes(rows: Rows, title: str, *, domain: Sequence[float] | None = (0, 1), format: str = "%") -> Spec:
    """Five numbers for each `name` and `colour`: low, q1, middle, q3, high."""
    x: Spec = {"field": "q1", "type": "quantitative", **_across(title, domain, format)}
    y, coloured, offset = _by_name(rows)
    shared = {"y": y, **coloured, **offset}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "aria": False},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, **shared},
        },
        {
            "mark": {"type": "bar", "size": 12, "opacity": 0.75},
            "encoding": {"x": x, "x2": {"field": "q3"}, **shared, **SAYS},
        },
        {
            "mark": {"type": "tick", "color": INK, "thickness": 2, "size": 12, "aria": False},
            "encoding": {"x": {**x, "field": "middle"}, "y": y, **offset},
        },
    ]
    names = len({row["name"] for row in rows})
    return spec(layers, rows, width=WIDTH - 65, height=max(60, names * 40))


def box(values: np.ndarray) -> dict[str, float]:
    """Quartiles, and whiskers to the furthest value within 1.5 boxes: Tukey's."""
    q1, middle, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {"low": float(inside.min()), "q1": q1, "middle": middle, "q3": q3, "high": float(inside.max())}


def lines(rows: Rows, across: str, up: str, *, domain: Sequence[float] | None = None, ticks: Any = None) -> Spec:
    """A line through the points (x, value) of each `colour`, with the band of its intervals."""
    axis: Spec = {"title": across, "grid": False, "labelAngle": 0}
    if ticks is not None:
        axis.update({"values": ticks, "format": "~g"})
    x = {"field": "x", "type": "quantitative", "axis": axis, "scale": {"zero": False, "nice": False}}
    y: Spec = {"field": "value", "type": "quantitative", "axis": share_axis(up)}
    if domain is not None:
        y["scale"] = {"domain": list(domain)}
    coloured = colour(rows)
    plain = {} if coloured else {"color": GOOD}
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.15, "aria": False, **plain},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **coloured},
        },
        {
            "mark": {"type": "line", "strokeWidth": 2, "aria": False, **plain},
            "encoding": {"x": x, "y": y, **coloured},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1, **plain},
            "encoding": {"x": x, "y": y, **coloured, **SAYS},
        },
    ]
    return spec(layers, rows)


def bars(rows: Rows, across: str, up: str, *, format: str = "%", domain: Sequence[float] | None = None) -> Spec:
    """Bars side by side: `name` below, `colour` beside one another, with intervals."""
    axis = {"title": across or None, "ticks": False, "labelAngle": 0 if _short(rows) else -35}
    x = {"field": "name", "type": "nominal", "sort": None, "axis": axis}
    y: Spec = {"field": "value", "type": "quantitative", "axis": {"title": up, "format": format, "tickCount": 4}}
    if domain is not None:
        y["scale"] = {"domain": list(domain)}
    coloured = colour(rows)
    offset = {"xOffset": {"field": "colour", "type": "nominal", "sort": None}} if coloured else {}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "cornerRadiusEnd": 2, **({} if coloured else {"color": GOOD})},
            "encoding": {"x": x, "y": y, **coloured, **offset, **SAYS},
        },
        {
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5, "aria": False},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **offset},
        },
    ]
    return spec(layers, rows)


def _short(rows: Rows) -> bool:
    names = {row["name"] for row in rows}
    return max(map(len, names)) * len(names) < 40


def rows_of(scores: Sequence[Score], **fields: Any) -> list[dict[str, Any]]:
    """One row a score: value, low, high and what they say; `fields` are functions of the score."""
    found = []
    for s in scores:
        assert s.value is not None
        own = {name: make(s) for name, make in fields.items()}
        about = ", ".join(str(v) for k, v in own.items() if k in ("name", "colour") and v)
        says = f"{about}: {s.metric} {with_interval(s.value, s.low, s.high)}, {s.counted:,} groups"
        low, high = (s.value if end is None else end for end in (s.low, s.high))
        found.append({"value": s.value, "low": low, "high": high, "says": label(says, 200), **own})
    return found
