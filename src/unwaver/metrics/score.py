"""From a table of answers to scores: applies every metric of the catalogue to every block of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from unwaver import registry
from unwaver.answers.schema import BLOCK
from unwaver.catalog import ABOUT_ONLY
from unwaver.groups import BASE, SEEN_FLAG, SEEN_SUFFIX, SELF_CERTIFIED
from unwaver.groups.families import PROFILED
from unwaver.meaning import family_of
from unwaver.metrics.block import Block, Metric, block_of
from unwaver.stats import LEVEL, Estimate, Floats, estimate
from unwaver.types import Score

Unreadable = Literal["violate", "skip"]
ONE_LABEL = "one_label"  # all answers of a block are one label: the flag of its scores


def score_frame(frame: pl.DataFrame, *, unreadable: Unreadable = "violate", seed: int = 0) -> list[Score]:
    """Scores of a complete table, blocks in order of appearance, the chosen count of unreadable answers first."""
    blocks = [block_of(part) for part in partition(frame)]
    constant = _constant_predictors(blocks)
    scores: list[Score] = []
    for block in blocks:
        flags = flags_of(block, constant)
        scores += [replace(s, flags=flags) for s in _scores(block, unreadable, seed)]
    kinds = {block.kind.partition("_")[0] for block in blocks}
    if "fooling" in kinds:
        from unwaver.metrics.fooling_averages import averages, with_reasons

        scores = [*with_reasons(scores, blocks), *averages(blocks, seed)]
    if BASE in kinds:
        from unwaver.metrics.base_split import with_base

        scores = with_base(scores, blocks)
    if any(block.suite in PROFILED for block in blocks):
        from unwaver.metrics.profile import profile

        scores += profile(blocks, seed)
    return scores


def flags_of(block: Block, constant: Set[tuple[str, ...]]) -> tuple[str, ...]:
    """`constant` are those who give one label to everything."""
    if (block.model, block.method, block.suite, block.task) in constant:
        flags: tuple[str, ...] = ("constant",)
    else:
        flags = ("identical",) if _identical_in_buckets(block) else ()
        if block.suite in PROFILED and _has_one_label(block):
            flags = (*flags, ONE_LABEL)
    if block.kind.endswith(SEEN_SUFFIX):
        flags = (*flags, SEEN_FLAG)
    if block.self_certified:
        flags = (*flags, SELF_CERTIFIED)
    return flags


def partition(frame: pl.DataFrame) -> list[pl.DataFrame]:
    if frame.select(pl.all_horizontal((pl.col(c) == pl.col(c).first()).all() for c in BLOCK)).item():
        return [frame]  # a million groups need no copy
    return frame.partition_by(BLOCK, maintain_order=True)


def _scores(block: Block, unreadable: Unreadable, seed: int) -> Iterator[Score]:
    accuracy = accuracy_of(block)
    for found in measured(block, unreadable):
        yield score_of(found, accuracy, seed)


@dataclass(frozen=True)
class Measured:
    """A metric applied to a block: one value (or one row of statistics) per group, NaN if the metric does not
    apply to the group or if answers are missing. `reading` says how unreadable answers are counted."""

    metric: Metric
    block: Block
    values: Floats
    reading: Unreadable

    @property
    def counted(self) -> int:
        values = self.values
        return int((~np.isnan(values if values.ndim == 1 else values.sum(axis=1))).sum())

    @property
    def mean_of(self) -> Floats | None:
        """One value between 0 and 1 per group, if the metric is the mean of such values; else None."""
        m = self.metric
        if not m.share or m.by_weight or m.known or m.of_test:
            return None
        if m.each is not None:
            return m.each(self.values)
        return self.values if m.reduce is None else None

    def estimate(self, seed: int = 0, level: float = LEVEL) -> Estimate:
        m, block = self.metric, self.block
        if m.estimate is not None:
            found = m.estimate(self.values, block.units, seed, level)
        else:
            found = estimate(
                self.values, block.units, m.reduce, share=m.share, seed=seed, by_weight=m.by_weight, level=level
            )
        if m.known:
            return replace(found, low=None, high=None, interval=None)
        if block.sequential:
            from unwaver.stats.sequential import after_stopping

            return after_stopping(found, self.mean_of, block.cluster, level)
        return found


def measured(block: Block, unreadable: Unreadable) -> Iterator[Measured]:
    """Every metric that applies. If a metric can count unreadable answers in two ways, the chosen way first."""
    readings: tuple[Unreadable, Unreadable] = ("skip", "violate") if unreadable == "skip" else ("violate", "skip")
    for metric in metrics_of(block):
        if metric.of_test and block.test:
            yield Measured(metric, block.test, metric.values(block.test), unreadable)
            continue
        values = complete_only(metric.values(block), block)
        both = metric.skippable and bool((block.unreadable & block.complete).any())
        for reading in readings if both else readings[:1]:
            chosen = values
            if reading == "skip" and metric.skippable:
                chosen = np.where(_column(block.unreadable, values), np.nan, values)
            yield Measured(metric, block, chosen, reading)


def metrics_of(block: Block) -> Iterator[Metric]:
    kind = block.kind.partition("_")[0]  # items of a base split are in no relation
    about = {kind, *(() if kind == BASE else (block.expect,)), *(("free text",) if block.is_free_text else ())}
    if block.trials > block.groups:
        about.add("repeats")
    if block.format is not None:
        about.add("format")
    for name in registry.names("metrics"):
        if about.isdisjoint(ABOUT_ONLY.get(name, about)):
            continue
        built_in = registry.is_built_in("metrics", name)
        for metric in registry.find("metrics", name)(block) if built_in else _of_package(name, block):
            declared = family_of(metric.name)
            yield metric if metric.better or declared is None else replace(metric, better=declared.better)


def _of_package(name: str, block: Block) -> Iterable[Metric]:
    from unwaver.metrics.plug_ins import metrics_of as given

    return given(name, block)


def score_of(measured: Measured, accuracy: float | None, seed: int) -> Score:
    block, metric, counted = measured.block, measured.metric, measured.counted
    found = measured.estimate(seed)
    missing: dict[str, Any] = block.missing
    score = Score(
        suite=block.suite,
        task=block.task,
        kind=block.kind,
        metric=metric.name,
        value=found.value,
        low=found.low,
        high=found.high,
        groups=block.groups,
        counted=counted,
        not_applicable=block.groups - counted - sum(missing.values()),
        unreadable=int(block.unreadable.sum()),
        empty=int(block.empty.sum()),
        tool_call=int(block.tool_call.sum()),
        cut_read=int(block.cut_read.sum()),
        **missing,
        truncated=int(block.truncated.sum()),
        accuracy=accuracy,
        model=block.model,
        method=block.method,
        given=metric.given,
        better=metric.better,
        interval=found.interval,
        clusters=found.clusters,
        unreadable_as="skipped" if measured.reading == "skip" else "violation",
        not_needed=int(block.not_needed.sum()),
        partial=block.partial,
    )
    return _bounded(score, metric.any_of, block.epsilon)


def _bounded(score: Score, any_of: int, epsilon: float | None) -> Score:
    """Add bounds of the value on correct variants, if a share epsilon of the variants is wrong.

    0.2 with epsilon 0.1 -> [(0.2 − 0.1) / 0.9, 0.2 / 0.9]; in a group with k variants, any of them may be wrong.
    """
    value = score.value
    if value is None or epsilon is None or not any_of:
        return score
    wrong = 1 - (1 - epsilon) ** any_of
    if wrong >= 1:
        return replace(score, bound_low=0.0, bound_high=1.0, epsilon=epsilon)
    low, high = (value - wrong) / (1 - wrong), value / (1 - wrong)
    return replace(score, bound_low=max(low, 0.0), bound_high=min(high, 1.0), epsilon=epsilon)


def complete_only(values: Floats, block: Block) -> Floats:
    return np.where(_column(block.complete, values), values, np.nan)


def _column(flags: np.ndarray, values: Floats) -> np.ndarray:
    return flags if values.ndim == 1 else flags[:, None]


def accuracy_of(block: Block) -> float | None:
    """Accuracy on originals of complete groups, or on all items of buckets without one; None without gold."""
    right = answers_judged(block)
    return float(right.mean()) if len(right) else None


def answers_judged(block: Block) -> Floats:
    """Whether the answers that an accuracy is about are right."""
    known = block.complete[block.group] & ~np.isnan(block.right)
    rows = known & ~block.target
    if block.expect == "bucket" and not rows.any():
        rows = known
    return np.asarray(block.right[rows])


def _constant_predictors(blocks: Sequence[Block]) -> set[tuple[str, ...]]:
    """(model, method, suite, task) of models that give one label to everything, although other labels are right.

    This looks at all kinds of a task together: a symmetric set of contradictions alone has one right answer.
    """
    said: dict[tuple[str, ...], set[str]] = {}
    always_right: dict[tuple[str, ...], bool] = {}
    for block in blocks:
        key = (block.model, block.method, block.suite, block.task)
        codes = np.unique(block.code[block.code >= 0])
        said.setdefault(key, set()).update(block.labels[c] for c in codes)
        readable = block.code >= 0
        always_right[key] = always_right.get(key, True) and bool((block.right[readable] == 1.0).all())
    return {key for key, labels in said.items() if len(labels) == 1 and not always_right[key]}


def _has_one_label(block: Block) -> bool:
    """Whether all answers of a block are one label, although another is right for some: the number follows from
    this alone."""
    readable = block.code >= 0
    return len(np.unique(block.code[readable])) == 1 and not bool((block.right[readable] == 1.0).all())


def _identical_in_buckets(block: Block) -> bool:
    """Whether each bucket with several wordings got a single label, not always the right one: the paraphrases may
    never have reached the model."""
    if block.expect != "bucket" or block.kind.partition("_")[0] == "repeat":
        return False
    rows = block.target & block.complete[block.group]
    if bool((block.right[rows] == 1.0).all()):
        return False
    least, most = np.full(block.groups, len(block.labels)), np.full(block.groups, -1)
    np.minimum.at(least, block.group[rows], block.code[rows])
    np.maximum.at(most, block.group[rows], block.code[rows])
    if bool((least < most).any()):
        return False
    several = block.wordings(rows) > 1
    return int(several.sum()) > 1 and bool((least[several] >= 0).all())
