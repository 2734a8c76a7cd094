"""τ, the share of groups that break their relation: the inconsistency of BECEL, lower is better.

    same        original "a", variant "a" -> 0; "a", "b" -> 1; "a", unreadable -> 1
    different   original "a", variant "b" -> 0; "a", "a" -> 1; unreadable -> 1
    implied     both originals right, conclusion accepted -> 0, not accepted -> 1; an original wrong -> null

A group of one original and several variants is worth the share of variants that break the relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from unwaver.meaning import Context
from unwaver.metrics.block import Block, Bools, Metric
from unwaver.stats import Floats
from unwaver.text.shown import percent

MOST_LABELS = 50  # more than this is free text, where label shares say nothing


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect not in ("same", "different", "implied"):
        return
    if block.agree and block.expect != "implied":  # free text
        from unwaver.metrics import agreed

        yield from agreed.metrics(block)
        return
    yield Metric("tau", tau, skippable=True, any_of=1)
    if block.expect != "implied":
        yield Metric("tau_conditioned", partial(tau_conditioned, given=None), skippable=True, any_of=1)
        for label in block.labels if len(block.labels) <= MOST_LABELS else ():
            chosen = partial(tau_conditioned, given=label)
            yield Metric("tau_conditioned", chosen, given=label, skippable=True, any_of=1)
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
    return block.per_group(violated(block), applies(block))


def tau_conditioned(block: Block, given: str | None) -> Floats:
    """τ over the groups whose original was answered right, or was answered with the given label."""
    if given is None:
        chosen = block.originals_right
    else:
        chosen = block.first_original == block.labels.index(given)
    return block.per_group(violated(block), applies(block) & chosen[block.trial])


def _label_shares(block: Block, rows: Bools) -> Floats:
    """Per group: the share of each label among these rows; unreadable ones are of no label."""
    return np.column_stack(
        [block.per_group(block.code == code, rows) for code in range(len(block.labels))]
        or [np.full(block.groups, np.nan)]
    )


def _label_pairs(block: Block) -> Floats:
    rows = applies(block)
    trials = np.zeros(block.trials, dtype=bool)
    trials[block.trial[rows]] = True
    return np.hstack([_label_shares(block, ~block.target & trials[block.trial]), _label_shares(block, rows)])


def _independent_same(sums: Floats) -> Floats:
    """Originals 50 % a, 50 % b and variants the same way -> 0.5, whatever goes with what."""
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
    shares = [block.per_group(accepts(block, label), rows) for label in block.labels]
    return np.hstack([_label_shares(block, rows), np.column_stack(shares or [np.full(block.groups, np.nan)])])


def accepts(block: Block, label: str) -> Floats:
    gold = block.gold
    accepted = gold.list.contains(label) if isinstance(gold.dtype, pl.List) else gold == label
    return accepted.fill_null(False).cast(pl.Float64).to_numpy()


# what independent answers with the same label shares would give: values and reduce, by expectation
INDEPENDENT = {
    "same": (_label_pairs, _independent_same),
    "different": (_label_pairs, _independent_different),
    "implied": (_label_and_accepted, _independent_same),
}


def without_unreadable(context: Context) -> Iterator[str]:
    """The second reading of a leading number: without the groups that hold an unreadable answer."""
    s = context.score
    if context.leads and s.unreadable and s.unreadable_as == "skipped" and s.value is None:
        name = f"{s.suite}/{s.task}/{s.kind}"
        yield f"{name}: no group is left for {s.metric} if those with an unreadable answer are left out"
    elif context.leads and s.unreadable and s.unreadable_as == "skipped":
        interval = "" if s.low is None else f" [{percent(s.low)} – {percent(s.high)}]"
        yield (
            f"{s.suite}/{s.task}/{s.kind}: {s.metric} is {percent(s.value)} %{interval} over {s.counted:,} of "
            f"{s.groups:,} groups if those with an unreadable answer are left out"
        )


MEANINGS = "unwaver.metrics.meanings.violation:MEANINGS"
