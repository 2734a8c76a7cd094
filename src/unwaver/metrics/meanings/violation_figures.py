"""Figures of the metrics of `unwaver.metrics.violation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from unwaver.metrics import charts
from unwaver.metrics.block import Block
from unwaver.metrics.violation import applies
from unwaver.types import Figure, Score

MOST_SHOWN = 12  # labels of a matrix


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    # of free text another word is no other answer: its figures are those of the agreements
    free = {(b.suite, b.task, b.kind, b.model, b.method) for b in blocks if b.agree}
    taus = [
        s
        for s in charts.chosen(scores, "tau")
        if not s.task.startswith("average") and (s.suite, s.task, s.kind, s.model, s.method) not in free
    ]
    models = {(s.model, s.method) for s in taus}
    if len(models) > 1:
        yield _heat_map(taus)
    elif len(taus) > 1:
        yield _by_relation(taus, scores)
    if len(taus) > 2:
        yield from _against_accuracy(taus)
    for block in blocks:
        if block.expect in ("same", "different") and 1 < len(block.labels) <= MOST_SHOWN and not block.agree:
            yield from _flips(block)


def _heat_map(taus: Sequence[Score]) -> Figure:
    names = charts.names_of(taus)
    several = len({s.method for s in taus}) > 1
    rows = [
        {
            "row": charts.relation_of(s),
            "column": charts.label(f"{s.model} ({s.method})" if several else s.model, 24),
            "value": s.value,
            "says": charts.label(
                f"{names[charts.block_key(s)]}: {charts.with_interval(s.value or 0, s.low, s.high)}", 200
            ),
        }
        for s in taus
    ]
    says = "Share of groups that break their relation. Darker is worse."
    return Figure("Inconsistency", "Inconsistency by relation and model", says, "tau", charts.heat(rows, "", ""))


def _by_relation(taus: Sequence[Score], scores: Sequence[Score]) -> Figure:
    chance = {charts.block_key(s): s.value for s in charts.chosen(scores, "tau_independent")}
    rows = charts.rows_of(taus, name=charts.relation_of, chance=lambda s: chance.get(charts.block_key(s)))
    says = "Share of groups that break their relation, 95 % intervals. Grey mark: were the answers independent."
    spec = charts.intervals(rows, "groups that break their relation")
    return Figure("Inconsistency", "Inconsistency by relation", says, "tau", spec)


def _against_accuracy(taus: Sequence[Score]) -> Iterator[Figure]:
    """A model high on the right is accurate and all the same inconsistent."""
    known = [s for s in taus if s.accuracy is not None]
    if len(known) < 3:
        return
    several = len({(s.model, s.method) for s in known}) > 1
    rows: list[dict[str, Any]] = [
        {
            "accuracy": s.accuracy,
            "value": s.value,
            "colour": charts.label(s.model if several else s.kind.partition("_")[0], 30),
            "says": charts.label(
                f"{s.model}, {s.task}/{s.kind}: right {charts.percent(s.accuracy or 0)}, "
                f"inconsistent {charts.percent(s.value or 0)}",
                200,
            ),
        }
        for s in known
    ]
    x = charts.accuracy_axis()
    y = {"field": "value", "type": "quantitative", "axis": charts.share_axis("inconsistency, τ")}
    points = {
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
        "encoding": {"x": x, "y": {**y, "scale": {"domain": [0, 1]}}, **charts.colour(rows), **charts.SAYS},
    }
    says = (
        "Each point is one relation"
        + (" and model." if several else ".")
        + " Accuracy does not tell how far answers hold."
    )
    title = "Accuracy against consistency"
    yield Figure(title, "Accuracy against inconsistency, by relation", says, "tau", charts.spec([points], rows))


def _flips(block: Block) -> Iterator[Figure]:
    rows = applies(block) & (block.code >= 0) & (block.first_original[block.trial] >= 0)
    before, after = block.first_original[block.trial][rows], block.code[rows]
    if not len(before) or not bool((before != after).any()):
        return
    size = len(block.labels)
    counts = np.bincount(before * size + after, minlength=size * size).reshape(size, size)
    totals = counts.sum(axis=1, keepdims=True)
    names = [charts.label(name, 18) for name in block.labels]
    cells = [
        {
            "row": names[i],
            "column": names[j],
            "value": counts[i, j] / totals[i, 0],
            "says": f"{names[i]} → {names[j]}: {counts[i, j]:,} of {totals[i, 0]:,} answers",
        }
        for i in range(size)
        for j in range(size)
        if totals[i, 0]
    ]
    wanted = "another label" if block.expect == "different" else "the same label"
    says = f"Of each answer to originals, what variants got. {int(rows.sum()):,} variants; expected is {wanted}."
    title = charts.label(f"{block.task}/{block.kind} · {block.model}", 60)
    spec = charts.heat(cells, "variant", "original", scheme="blues")
    yield Figure("Flips: which answer turned into which", title, says, "tau", spec)
