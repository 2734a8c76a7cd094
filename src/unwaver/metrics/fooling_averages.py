"""Fooling rates beyond one set: why items have none, and several sets or several models in one number, by
evaluated items and with the plain mean beside.

A model's average over sets has the task "average" or "average_plain"; the average of a set over models has that
in place of the model. Rates of different k are never averaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unwaver.meaning import block_key
from unwaver.metrics.block import Block
from unwaver.metrics.fooling import flipped, left_out, opposed, rate
from unwaver.state import MISSING
from unwaver.stats import Floats, estimate
from unwaver.types import Score

WEIGHTED, PLAIN = "average", "average_plain"


def with_reasons(scores: Sequence[Score], blocks: Sequence[Block]) -> list[Score]:
    """The scores, each fooling rate with how many items have none because the answer was wrong, and because they
    have fewer than k certified variants."""
    rated: dict[tuple[str, ...], Block] = {
        (b.suite, b.task, b.kind, b.model, b.method): b for b in blocks if b.kind == "fooling" and b.keep
    }
    return [_with_reason(s, rated.get(block_key(s))) for s in scores]


def _with_reason(score: Score, block: Block | None) -> Score:
    name, _, k = score.metric.partition("@")
    if block is None or name not in ("r_r", "r_s"):
        return score
    wrong, few = left_out(block, int(k), score.given)
    return replace(score, answered_wrong=wrong, too_few=few)


def averages(blocks: Sequence[Block], seed: int) -> Iterator[Score]:
    rated = [block for block in blocks if block.kind == "fooling" and block.keep]
    for key in dict.fromkeys((b.suite, b.model, b.method) for b in rated):
        sets = [b for b in rated if (b.suite, b.model, b.method) == key]
        yield from _of(sets, seed, over="task")
    for key in dict.fromkeys((b.suite, b.task, b.method) for b in rated):
        models = [b for b in rated if (b.suite, b.task, b.method) == key]
        yield from _of(models, seed, over="model")


def _of(blocks: Sequence[Block], seed: int, over: str) -> Iterator[Score]:
    if len(blocks) < 2 or len({block.keep for block in blocks}) > 1:
        return
    for k in range(1, (blocks[0].keep or 0) + 1):
        for name, changes in (("r_r", flipped), ("r_s", opposed)):
            values = [_complete(rate(block, changes(block), k), block) for block in blocks]
            why = np.sum([left_out(block, k) for block in blocks], axis=0)
            for plain in (False, True):
                found = _score(blocks, f"{name}@{k}", values, seed, over, plain)
                yield replace(found, answered_wrong=int(why[0]), too_few=int(why[1]))


def _complete(values: Floats, block: Block) -> Floats:
    return np.where(block.complete, values, np.nan)


def _score(
    blocks: Sequence[Block], metric: str, values: Sequence[Floats], seed: int, over: str, plain: bool
) -> Score:
    first = blocks[0]
    pooled = np.concatenate(values)
    if over == "task":  # other items in every set; several models answer the same ones
        starts = np.cumsum([0, *(int(block.cluster.max()) + 1 for block in blocks[:-1])])
        clusters = np.concatenate([block.cluster + start for block, start in zip(blocks, starts, strict=True)])
    else:
        clusters = np.concatenate([block.cluster for block in blocks])
    if plain:
        found = estimate(_columns(values), clusters, _mean_of_means, seed=seed)
    else:
        found = estimate(pooled, clusters, seed=seed)
    if any(block.sequential for block in blocks):
        found = replace(found, low=None, high=None, interval=None)
    counted = int((~np.isnan(pooled)).sum())
    groups = sum(block.groups for block in blocks)
    missing: dict[str, Any] = {name: sum(block.missing[name] for block in blocks) for name in MISSING}
    named = PLAIN if plain else WEIGHTED
    return Score(
        suite=first.suite,
        task=named if over == "task" else first.task,
        kind=first.kind,
        metric=metric,
        value=found.value,
        low=found.low,
        high=found.high,
        groups=groups,
        counted=counted,
        not_applicable=groups - counted - sum(missing.values()),
        unreadable=sum(int(block.unreadable.sum()) for block in blocks),
        empty=sum(int(block.empty.sum()) for block in blocks),
        tool_call=sum(int(block.tool_call.sum()) for block in blocks),
        cut_read=sum(int(block.cut_read.sum()) for block in blocks),
        **missing,
        truncated=sum(int(block.truncated.sum()) for block in blocks),
        accuracy=_accuracy(blocks, plain),
        model=named if over == "model" else first.model,
        method=first.method,
        better="low",
        interval=found.interval,
        clusters=found.clusters,
        not_needed=sum(int(block.not_needed.sum()) for block in blocks),
    )


def _columns(values: Sequence[Floats]) -> Floats:
    """A column with the values of each part and one with how many they are: 0 in the rows of the others."""
    sizes = [len(part) for part in values]
    table = np.zeros((sum(sizes), 2 * len(values)))
    start = 0
    for n, part in enumerate(values):
        rows = slice(start, start + len(part))
        table[rows, 2 * n], table[rows, 2 * n + 1] = part, 1.0
        start += len(part)
    return table


def _mean_of_means(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((sums[..., :-1:2] / sums[..., 1:-1:2]).mean(axis=-1))


def _accuracy(blocks: Sequence[Block], plain: bool) -> float | None:
    """Over the originals, of all parts together or as the mean of the parts."""
    rights = [block.right[~block.target & block.complete[block.group]] for block in blocks]
    rights = [right[~np.isnan(right)] for right in rights]
    if any(len(right) == 0 for right in rights):
        return None
    return float(np.mean([r.mean() for r in rights]) if plain else np.concatenate(rights).mean())
