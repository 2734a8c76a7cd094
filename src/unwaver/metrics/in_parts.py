"""Scores of a table that is too large to be in memory with all its columns: read in parts of whole clusters.

A metric has one value per group, so parts give the values that the whole table gives. What is kept of them are
sums of clusters (unwaver.stats.streamed).
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from unwaver import registry
from unwaver.answers.schema import BLOCK, OPTIONAL
from unwaver.groups import BASE
from unwaver.groups.families import PROFILED
from unwaver.metrics.block import Block, Metric, block_of, codes_of
from unwaver.metrics.score import (
    Measured,
    Unreadable,
    answers_judged,
    complete_only,
    flags_of,
    metrics_of,
    partition,
    score_of,
)
from unwaver.state import MISSING
from unwaver.stats import Floats
from unwaver.stats.streamed import Sums, bundle_of
from unwaver.types import Score

MOST_LABELS = 1000  # more are free text
_FLAGS = ("unreadable", "empty", "tool_call", "cut_read", "truncated", "not_needed", *MISSING)
Labels = dict[tuple[Any, ...], set[str]]  # of each block


class NotInParts(Exception):
    """The table has something that must be seen as a whole."""


class MoreLabels(Exception):
    """A part has labels that those before it did not have: all have to be read again with these."""


class Gathered:
    """One block of the table: counts, and what is kept of the values of its metrics."""

    def __init__(self, first: Block, streamed: bool, seed: int):
        self._first, self._streamed, self._seed = first, streamed, seed
        self._metrics: dict[tuple[str, str | None], Metric] = {}
        self._kept: dict[tuple[str, str | None, Unreadable], Sums] = {}
        self._groups = 0
        self.said: set[str] = set()
        self.always_right = True
        self._judged = [0.0, 0]
        self._counts = dict.fromkeys((*_FLAGS, "readable_or_not"), 0)

    def add(self, block: Block, keys: Any) -> None:
        """A part of whole groups; `keys` tell their clusters apart."""
        self._groups += block.groups
        readable = block.code >= 0
        self.said |= {block.labels[code] for code in np.unique(block.code[readable])}
        self.always_right = self.always_right and bool((block.right[readable] == 1.0).all())
        judged = answers_judged(block)
        self._judged = [self._judged[0] + float(judged.sum()), self._judged[1] + len(judged)]
        for name in _FLAGS:
            self._counts[name] += int(getattr(block, name).sum())
        self._counts["readable_or_not"] += int((block.unreadable & block.complete).sum())
        clusters, bundles = self._placed(keys)
        found = {(metric.name, metric.given): metric for metric in metrics_of(block)}
        self._metrics = self._metrics or found
        if list(found) != list(self._metrics) or any(m.estimate or m.by_weight for m in found.values()):
            raise NotInParts("metrics that are not sums over groups")
        for of, metric in found.items():
            values = complete_only(metric.values(block), block)
            columns = 1 if values.ndim == 1 else values.shape[1]
            kept = self._kept.setdefault((*of, "violate"), Sums(metric.reduce, columns, keep=not self._streamed))
            if metric.skippable:
                self._skip(of, kept, values, block, (clusters, bundles))
            kept.add(values, clusters, bundles)

    def _skip(self, of: Any, kept: Sums, values: Floats, block: Block, places: tuple[Any, Any]) -> None:
        """The same without groups that hold an unreadable answer; as long as there are none, it is the same."""
        if (*of, "skip") not in self._kept:
            if not block.unreadable.any():
                return
            self._kept[(*of, "skip")] = deepcopy(kept)
        self._kept[(*of, "skip")].add(np.where(block.unreadable, np.nan, values), *places)

    def _placed(self, keys: Any) -> tuple[Any, Any]:
        """The number of each group's cluster, and the bundle of each cluster."""
        clusters, count = codes_of(pl.Series(keys))
        first = np.zeros(count, np.int64)
        first[clusters[::-1]] = np.arange(len(keys))[::-1]
        return clusters, bundle_of(keys[first], self._seed)

    def scores(self, constant: set[tuple[str, ...]], unreadable: Unreadable, seed: int) -> list[Score]:
        block = self._whole()
        accuracy = self._judged[0] / self._judged[1] if self._judged[1] else None
        flags = flags_of(block, constant)
        readings: tuple[Unreadable, ...] = ("skip", "violate") if unreadable == "skip" else ("violate", "skip")
        scores = []
        for name, metric in self._metrics.items():
            both = metric.skippable and self._counts["readable_or_not"]
            for reading in readings if both else readings[:1]:
                kept = self._kept.get((*name, reading)) or self._kept[(*name, "violate")]
                score = score_of(Measured(metric, block, np.zeros(0), reading), accuracy, seed)
                scores.append(replace(self._filled(score, metric, kept, seed), flags=flags))
        return scores

    def _filled(self, score: Score, metric: Metric, kept: Sums, seed: int) -> Score:
        found = kept.estimate(metric.share, seed)
        counts: dict[str, Any] = {name: self._counts[name] for name in _FLAGS}
        missing = sum(self._counts[name] for name in MISSING)
        return replace(
            score,
            value=found.value,
            low=None if metric.known else found.low,
            high=None if metric.known else found.high,
            interval=None if metric.known else found.interval,
            clusters=found.clusters,
            counted=kept.counted,
            not_applicable=self._groups - kept.counted - missing,
            **counts,
        )

    def _whole(self) -> Block:
        """The block without rows: what is left to ask is how many of its groups are what."""
        nothing, none, empty = np.zeros(0, np.int64), np.zeros(0, bool), pl.Series([], dtype=pl.String)
        flags: dict[str, Any] = dict.fromkeys(_FLAGS, none)
        return replace(
            self._first, groups=self._groups, trials=self._groups, group=nothing, trial=nothing, target=none,
            code=nothing, right=np.zeros(0), gold=empty, probs=empty, cluster=nothing, units=nothing, item=empty,
            cluster_name=empty, **flags,
        )  # fmt: skip


def check_columns(names: Iterable[str]) -> None:
    """Refuse columns, and metrics of other packages, that may have to be seen as a whole."""
    strange = [name for name in names if name in OPTIONAL or name.startswith(("agree_", "right_"))]
    if strange or not all(registry.is_built_in("metrics", name) for name in registry.names("metrics")):
        raise NotInParts(f"column {strange[0]}" if strange else "metrics of other packages")


def scores_in_parts(
    parts: Iterable[pl.DataFrame], labels: Labels, *, unreadable: Unreadable, seed: int, streamed: bool
) -> list[Score]:
    """Scores of a table from parts of whole clusters. `labels` are those that are known: if a part has others,
    they are added and MoreLabels is raised. If `streamed`, memory does not grow with the table."""
    blocks: dict[tuple[Any, ...], Gathered] = {}
    for part in parts:
        _check(part)
        for frame in partition(part):
            key = tuple(frame[name][0] for name in BLOCK)
            known, found = labels.setdefault(key, set()), set(frame["label"].unique().drop_nulls())
            if not found <= known:
                known |= found
                if len(known) > MOST_LABELS:
                    raise NotInParts("free text")
                if key in blocks:
                    raise MoreLabels
            block = block_of(frame, sorted(known))
            if key not in blocks:
                blocks[key] = Gathered(block, streamed, seed)
            blocks[key].add(block, _keys(frame, block))
    constant = _constant(blocks)
    return [score for gathered in blocks.values() for score in gathered.scores(constant, unreadable, seed)]


def _check(part: pl.DataFrame) -> None:
    """Refuse rows that have to be seen as a whole."""
    kinds = part["kind"].unique().to_list()
    whole = (
        (part["replicate"] != 0).any()
        or part["weight"].null_count() < part.height
        or (part["role"] == "test").any()
        or (part["expect"] == "bucket").any()
        or any(str(kind).partition("_")[0] in ("fooling", BASE) for kind in kinds)
        or "units" in part.columns
        or part["suite"].is_in(list(PROFILED)).any()
    )
    if whole:
        raise NotInParts("replicates, weights, buckets, fooling rates, test sets or a suite with a profile")


def _keys(frame: pl.DataFrame, block: Block) -> Any:
    """64 bits for each group that tell its cluster apart."""
    column = frame["cluster"]
    rows = column.to_numpy() if column.dtype.is_integer() else column.cast(pl.String).hash(0).to_numpy()
    keys = np.empty(block.groups, rows.dtype)
    keys[block.group] = rows
    return keys


def _constant(blocks: dict[tuple[Any, ...], Gathered]) -> set[tuple[str, ...]]:
    """(model, method, suite, task) of those who give one label to everything, as unwaver.metrics.score has it."""
    said: dict[tuple[str, ...], set[str]] = {}
    right: dict[tuple[str, ...], bool] = {}
    for (suite, task, _, model, method), gathered in blocks.items():
        key = (model, method, suite, task)
        said.setdefault(key, set()).update(gathered.said)
        right[key] = right.get(key, True) and gathered.always_right
    return {key for key, labels in said.items() if len(labels) == 1 and not right[key]}
