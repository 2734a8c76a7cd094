"""Fooling rates beyond one set: why items have none, and several sets, several models or both in one number.

    task                  what the averages are over
    average               sets: every evaluated item has the same weight
    average_plain         sets: the mean of their rates
    average_published     sets: the mean of their rates, weighted by their sizes, as Arakelyan et al. do
    average_in, …_out     the sets in and out of domain (--domain), each also as _published

The model "average" or "average_plain" stands for all models. With several sets, its rates are over models and
sets: "average" pools the items, "average_plain" is the mean over all pairs of model and set, "average_published"
the plain mean over models, weighted by the sizes of the sets. Rates of different k are never averaged. Averages
exist up to the smallest k of the sets: above it, a set has no rate by design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from unwaver.groups import SELF_CERTIFIED
from unwaver.meaning import block_key
from unwaver.metrics.block import Block
from unwaver.metrics.fooling import flipped, left_out, opposed, originals_of, rate
from unwaver.state import MISSING
from unwaver.stats import FEWEST, Floats, Reduce, estimate
from unwaver.types import Score

WEIGHTED, PLAIN, PUBLISHED = "average", "average_plain", "average_published"
DOMAINS = ("in", "out")
_ENDINGS = {WEIGHTED: "", PLAIN: "_plain", PUBLISHED: "_published"}
_RATES: Mapping[str, Callable[[Block], Any]] = {"r_r": flipped, "r_s": opposed}


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


# --- what is averaged ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Over:
    """Some blocks, and the averages of them: the weighting of each, with the task and model that it is given."""

    blocks: Sequence[Block]
    names: Mapping[str, tuple[str, str]]

    @cached_property
    def clusters(self) -> np.ndarray:
        """The cluster of each group: other items in every set, the same ones for all models of a set."""
        names = [
            f"{block.task}\0"
            + block.cluster_name.cast(pl.String).gather(np.unique(block.group, return_index=True)[1])
            for block in self.blocks
        ]
        return pl.concat(names).rank("dense").to_numpy().astype(np.int64) - 1


def averages(blocks: Sequence[Block], seed: int) -> Iterator[Score]:
    rated = [block for block in blocks if block.kind == "fooling" and block.keep]
    values = _Values()
    for over in _all_averages(rated):
        yield from _scores(over, values, seed)


def _all_averages(rated: Sequence[Block]) -> Iterator[_Over]:
    for key in dict.fromkeys((b.suite, b.model, b.method) for b in rated):
        sets = [b for b in rated if (b.suite, b.model, b.method) == key]
        yield from _over_sets(sets, key[1])
    for key in dict.fromkeys((b.suite, b.task, b.method) for b in rated):
        models = [b for b in rated if (b.suite, b.task, b.method) == key]
        if len(models) > 1:
            yield _Over(models, {weighting: (key[1], weighting) for weighting in (WEIGHTED, PLAIN)})
    for suite, method in dict.fromkeys((b.suite, b.method) for b in rated):
        both = [b for b in rated if (b.suite, b.method) == (suite, method)]
        if len({b.model for b in both}) > 1:
            yield from _over_sets(both, WEIGHTED)


def _over_sets(blocks: Sequence[Block], model: str) -> Iterator[_Over]:
    """All sets, where there are several, and those of each domain."""
    if len({b.task for b in blocks}) > 1:
        yield _Over(blocks, {w: (w, model) for w in _weightings(blocks, WEIGHTED, PLAIN, PUBLISHED)})
    for domain in DOMAINS:
        if some := [b for b in blocks if b.domain == domain]:
            weightings = _weightings(some, WEIGHTED, PUBLISHED)
            yield _Over(some, {w: (f"average_{domain}{_ENDINGS[w]}", model) for w in weightings})


def _weightings(blocks: Sequence[Block], *weightings: str) -> list[str]:
    """Means of means only where every model has every set: others would shift them."""
    full = len(blocks) == len({b.task for b in blocks}) * len({b.model for b in blocks})
    return [w for w in weightings if full or w == WEIGHTED]


class _Values:
    """The rates of each block, computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, int, str | None], tuple[Floats, tuple[int, int]]] = {}

    def of(self, block: Block, name: str, k: int, given: str | None) -> tuple[Floats, tuple[int, int]]:
        """A value per group, NaN if it has none, and how many have none: answered wrong, too few variants."""
        key = (id(block), name, k, given)
        if key not in self._known:
            if given is not None and given not in block.labels:  # no answer of this class: nothing is known of it
                nothing = np.full(block.groups, np.nan)
                self._known[key] = nothing, (0, 0)
            else:
                found = rate(block, _RATES[name](block), k, given)
                self._known[key] = np.where(block.complete, found, np.nan), left_out(block, k, given)
        return self._known[key]


def _scores(over: _Over, values: _Values, seed: int) -> Iterator[Score]:
    classes = dict.fromkeys(label for block in over.blocks for label in originals_of(block))
    for k in range(1, min(block.keep or 0 for block in over.blocks) + 1):
        for given in (None, *classes):  # rates of the same items follow one another: they share their draws
            for name, weighting in product(_RATES, over.names):
                if given is not None and weighting == PUBLISHED:  # sizes by class are not published
                    continue
                found = [values.of(block, name, k, given) for block in over.blocks]
                wrong, few = (sum(why[n] for _, why in found) for n in (0, 1))
                score = _score(over, weighting, f"{name}@{k}", [value for value, _ in found], seed)
                yield replace(score, given=given, answered_wrong=wrong, too_few=few)


# --- the number ------------------------------------------------------------------------------------------------


def _score(over: _Over, weighting: str, metric: str, values: Sequence[Floats], seed: int) -> Score:
    blocks, first = over.blocks, over.blocks[0]
    task, model = over.names[weighting]
    pooled = np.concatenate(values)
    table = pooled if weighting == WEIGHTED else _columns(values)
    found = estimate(table, over.clusters, _reduce(blocks, weighting), seed=seed)
    fewest = min(int((~np.isnan(part)).sum()) for part in values)
    if any(block.sequential for block in blocks) or (weighting != WEIGHTED and fewest < FEWEST):
        found = replace(found, low=None, high=None, interval=None)
    counted = int((~np.isnan(pooled)).sum())
    groups = sum(block.groups for block in blocks)
    missing: dict[str, Any] = {name: sum(block.missing[name] for block in blocks) for name in MISSING}
    return Score(
        suite=first.suite,
        task=task,
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
        accuracy=_accuracy(blocks, weighting == PLAIN),
        model=model,
        method=first.method,
        better="low",
        interval=found.interval,
        clusters=found.clusters,
        flags=(SELF_CERTIFIED,) if any(block.self_certified for block in blocks) else (),
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


def _reduce(blocks: Sequence[Block], weighting: str) -> Reduce | None:
    """From the columns to the average; a part without items leaves none."""
    if weighting == WEIGHTED:
        return None
    shares = _shares(blocks) if weighting == PUBLISHED else np.full(len(blocks), 1 / len(blocks))

    def mean_of_means(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((sums[..., :-1:2] / sums[..., 1:-1:2]) @ shares)

    return mean_of_means


def _shares(blocks: Sequence[Block]) -> Floats:
    """The weight of each block: the size of its set, divided by the number of models that have it."""
    sizes = {b.task: max(other.groups for other in blocks if other.task == b.task) for b in blocks}
    tasks = [b.task for b in blocks]
    return np.array([sizes[task] / tasks.count(task) for task in tasks]) / sum(sizes.values())


def _accuracy(blocks: Sequence[Block], plain: bool) -> float | None:
    """Over the originals, of all parts together or as the mean of the parts."""
    rights = [block.right[~block.target & block.complete[block.group]] for block in blocks]
    rights = [right[~np.isnan(right)] for right in rights]
    if any(len(right) == 0 for right in rights):
        return None
    return float(np.mean([r.mean() for r in rights]) if plain else np.concatenate(rights).mean())
