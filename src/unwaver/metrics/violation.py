"""τ, the share of groups that break their relation: the inconsistency of BECEL, lower is better.

    same        original "a", variant "a" -> 0; "a", "b" -> 1; "a", unreadable -> 1
    different   original "a", variant "b" -> 0; "a", "a" -> 1; unreadable -> 1
    implied     both originals right, conclusion accepted -> 0, not accepted -> 1; an original wrong -> null

A group of one original and several variants is worth the share of variants that break the relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from unwaver.metrics import charts
from unwaver.metrics.block import Block, Bools, Metric
from unwaver.stats import Floats
from unwaver.types import Figure, Score

MOST_LABELS = 50  # more than this is free text, where label shares say nothing


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect not in ("same", "different", "implied"):
        return
    yield Metric("tau", tau, "low", skippable=True, any_of=1)
    if block.expect != "implied":
        yield Metric("tau_conditioned", partial(tau_conditioned, given=None), "low", skippable=True, any_of=1)
        for label in block.labels if len(block.labels) <= MOST_LABELS else ():
            chosen = partial(tau_conditioned, given=label)
            yield Metric("tau_conditioned", chosen, "low", given=label, skippable=True, any_of=1)
    if len(block.labels) <= MOST_LABELS:
        values, reduce = INDEPENDENT[block.expect]
        yield Metric("tau_independent", values, reduce=reduce)


def violated(block: Block) -> Bools:
    """Per row: this variant or conclusion breaks the relation. False for originals."""
    return block.target & ~satisfied(block)


def satisfied(block: Block) -> Bools:
    """The one place where labels are compared. An unreadable answer satisfies no relation."""
    if block.expect == "implied":
        return np.asarray(block.right == 1.0)
    original = block.first_original[block.trial]
    readable = (block.code >= 0) & (original >= 0)
    if block.expect == "same":
        return np.asarray(readable & (block.code == original))
    return np.asarray(readable & (block.code != original))


def applies(block: Block) -> Bools:
    """Per row: a variant with an original, or a conclusion whose gold is known and whose originals were
    answered right."""
    if block.expect == "implied":
        held = block.originals_right[block.trial]
        return np.asarray(block.target & held & ~np.isnan(block.right))
    return np.asarray(block.target & (block.first_original[block.trial] > -2))


def tau(block: Block) -> Floats:
    return block.per_group(violated(block).astype(float), applies(block))


def tau_conditioned(block: Block, given: str | None) -> Floats:
    """τ over the groups whose original was answered right, or was answered with the given label."""
    if given is None:
        chosen = block.originals_right
    else:
        chosen = block.first_original == block.labels.index(given)
    return block.per_group(violated(block).astype(float), applies(block) & chosen[block.trial])


def _label_shares(block: Block, rows: Bools) -> Floats:
    """Per group: the share of each label among these rows; unreadable ones are of no label."""
    return np.column_stack(
        [block.per_group((block.code == code).astype(float), rows) for code in range(len(block.labels))]
        or [np.full(block.groups, np.nan)]
    )


def _label_pairs(block: Block) -> Floats:
    rows = applies(block)
    trials = np.zeros(block.trials, dtype=bool)
    trials[block.trial[rows]] = True
    return np.hstack([_label_shares(block, ~block.target & trials[block.trial]), _label_shares(block, rows)])


def _independent_same(sums: Floats) -> Floats:
    """Originals 50 % a, 50 % b and variants likewise -> 0.5, whatever goes with what."""
    original, variant, n = _halves(sums)
    return np.asarray(1 - (original * variant).sum(axis=-1) / n**2)


def _independent_different(sums: Floats) -> Floats:
    original, variant, n = _halves(sums)
    readable = original.sum(axis=-1) * variant.sum(axis=-1)
    return np.asarray(1 - (readable - (original * variant).sum(axis=-1)) / n**2)


def _halves(sums: Floats) -> tuple[Floats, Floats, Floats]:
    labels = (sums.shape[-1] - 1) // 2
    return sums[..., :labels], sums[..., labels:-1], sums[..., -1]


def _label_and_accepted(block: Block) -> Floats:
    """Per group: share of each label among its conclusions, and of conclusions that accept that label."""
    rows = applies(block)
    accepts = [block.per_group(_accepts(block, label), rows) for label in block.labels]
    return np.hstack([_label_shares(block, rows), np.column_stack(accepts or [np.full(block.groups, np.nan)])])


def _accepts(block: Block, label: str) -> Floats:
    gold = block.gold
    accepted = gold.list.contains(label) if isinstance(gold.dtype, pl.List) else gold == label
    return accepted.fill_null(False).cast(pl.Float64).to_numpy()


# what independent answers with the same label shares would give: values and reduce, by expectation
INDEPENDENT = {
    "same": (_label_pairs, _independent_same),
    "different": (_label_pairs, _independent_different),
    "implied": (_label_and_accepted, _independent_same),
}


# --- pictures -----------------------------------------------------------------------------------------------

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
    """A model low on the right is accurate and all the same inconsistent."""
    known = [s for s in taus if s.accuracy is not None]
    if len(known) < 3:
        return
    several = len({(s.model, s.method) for s in known}) > 1
    rows: list[dict[str, Any]] = [
        {
            "accuracy": s.accuracy,
            "value": 1 - (s.value or 0),
            "colour": charts.label(s.model if several else s.kind.partition("_")[0], 30),
            "says": charts.label(
                f"{s.model}, {s.task}/{s.kind}: right {charts.percent(s.accuracy or 0)}, "
                f"consistent {charts.percent(1 - (s.value or 0))}",
                200,
            ),
        }
        for s in known
    ]
    x = charts.ACCURACY
    y = {"field": "value", "type": "quantitative", "axis": charts.share_axis("consistency, 1 − τ")}
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
    yield Figure(title, f"{title}, by relation", says, "tau", charts.spec([points], rows))


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
