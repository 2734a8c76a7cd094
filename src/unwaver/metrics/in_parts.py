"""Scores of a table that is too large to be in memory with all its columns: read in parts of whole clusters.

A metric has one value per group, so parts give the values that the whole table gives. What is kept of them are
sums of clusters (unwaver.stats.streamed).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import polars as pl

from unwaver import registry
from unwaver.answers.schema import BLOCK, OPTIONAL
from unwaver.groups import BASE
from unwaver.groups.families import PROFILED
from unwaver.metrics.block import Block, Metric, block_of
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
from unwaver.stats.streamed import Part, Sums, bundle_of, part_of
from unwaver.types import Score

MOST_LABELS = 1000  # more are free text
ROW = "_row"  # the number of a row, where the order of parts is not that of the table
MOST_WORKERS = 4  # threads; each holds a part
_FLAGS = ("unreadable", "empty", "tool_call", "cut_read", "truncated", "not_needed", *MISSING)
Key = tuple[Any, ...]  # of a block
Labels = dict[Key, frozenset[str]]
Read = Callable[[], pl.DataFrame]  # a part of the table


class NotInParts(Exception):
    """The table has something that must be seen as a whole."""


@dataclass(frozen=True)
class Share:
    """What one part of the table has of one block."""

    key: Key
    labels: frozenset[str]
    first: int  # row of the table, if that is known
    block: Block  # without rows
    said: frozenset[str]
    always_right: bool
    judged: Floats
    counts: Mapping[str, int]
    metrics: Mapping[tuple[str, str | None], Metric]
    sums: Mapping[tuple[str, str | None, Unreadable], Part]
    bundles: Any  # of each cluster; None if they are not asked for


def share_of(frame: pl.DataFrame, key: Key, labels: frozenset[str], seed: int | None) -> Share:
    """`labels` are those of the block; `seed` is that of the bundles, if they are asked for."""
    _check(frame, key)
    block = block_of(frame, sorted(labels))
    readable = block.code[block.code >= 0]
    judged = answers_judged(block)
    counts = {name: int(getattr(block, name).sum()) for name in _FLAGS}
    counts["readable_or_not"] = int((block.unreadable & block.complete).sum()) if counts["unreadable"] else 0
    metrics = {(metric.name, metric.given): metric for metric in metrics_of(block)}
    if any(metric.estimate or metric.by_weight for metric in metrics.values()):
        raise NotInParts("metrics that are not sums over groups")
    return Share(
        key=key,
        labels=labels,
        first=frame[ROW][0] if ROW in frame.columns else 0,
        block=_without_rows(block),
        said=frozenset(block.labels[code] for code in np.flatnonzero(np.bincount(readable))),
        always_right=bool((block.right[block.code >= 0] == 1.0).all()),
        judged=np.array([judged.sum(), len(judged)]),
        counts=counts,
        metrics=metrics,
        sums=_sums(block, metrics),
        bundles=None if seed is None else bundle_of(_keys(frame, block), seed),
    )


def _sums(block: Block, metrics: Mapping[Any, Metric]) -> dict[tuple[str, str | None, Unreadable], Part]:
    """Of each metric in both readings, which are the same where every answer is readable."""
    found: dict[tuple[str, str | None, Unreadable], Part] = {}
    clusters, count = block.cluster, int(block.cluster.max()) + 1
    for (name, given), metric in metrics.items():
        values = complete_only(metric.values(block), block)
        part = part_of(values, clusters, count)
        found[name, given, "violate"] = found[name, given, "skip"] = part
        if metric.skippable and block.unreadable.any():
            found[name, given, "skip"] = part_of(np.where(block.unreadable, np.nan, values), clusters, count)
    return found


class Gathered:
    """One block of the table: counts, and what is kept of the values of its metrics."""

    def __init__(self, first: Share, streamed: bool):
        self.labels, self.first = first.labels, first.first
        self._block, self._metrics = first.block, first.metrics
        self._kept = {of: Sums(self._metrics[of[:2]].reduce, keep=not streamed) for of in first.sums}
        self._groups = 0
        self.said: set[str] = set()
        self.always_right = True
        self._judged = np.zeros(2)
        self._counts = dict.fromkeys(first.counts, 0)

    def add(self, share: Share) -> None:
        """A part of whole clusters."""
        if list(share.metrics) != list(self._metrics):
            raise NotInParts("metrics that are not sums over groups")
        self.first = min(self.first, share.first)
        self._groups += share.block.groups
        self.said |= share.said
        self.always_right = self.always_right and share.always_right
        self._judged += share.judged
        for name, count in share.counts.items():
            self._counts[name] += count
        for of, part in share.sums.items():
            self._kept[of].add(part, share.bundles)

    def scores(self, constant: set[tuple[str, ...]], unreadable: Unreadable, seed: int) -> list[Any]:
        """Functions that give the scores, one each."""
        block = replace(self._block, groups=self._groups, trials=self._groups)
        accuracy = float(self._judged[0] / self._judged[1]) if self._judged[1] else None
        flags = flags_of(block, constant)
        readings: tuple[Unreadable, ...] = ("skip", "violate") if unreadable == "skip" else ("violate", "skip")
        scores = []
        for name, metric in self._metrics.items():
            both = metric.skippable and self._counts["readable_or_not"]
            for reading in readings if both else readings[:1]:
                score = score_of(Measured(metric, block, np.zeros(0), reading), accuracy, seed)
                found = replace(score, flags=flags)
                scores.append(partial(self._filled, found, metric, self._kept[*name, reading], seed))
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


def _without_rows(block: Block) -> Block:
    """What is left to ask is how many of its groups are what."""
    nothing, none, empty = np.zeros(0, np.int64), np.zeros(0, bool), pl.Series([], dtype=pl.String)
    flags: dict[str, Any] = dict.fromkeys(_FLAGS, none)
    return replace(
        block, group=nothing, trial=nothing, target=none, code=nothing, right=np.zeros(0), gold=empty, probs=empty,
        cluster=nothing, units=nothing, item=empty, cluster_name=empty, **flags,
    )  # fmt: skip


def check_columns(names: Iterable[str]) -> None:
    """Refuse columns, and metrics of other packages, that may have to be seen as a whole."""
    strange = [name for name in names if name in OPTIONAL or name.startswith(("agree_", "right_"))]
    if strange or not all(registry.is_built_in("metrics", name) for name in registry.names("metrics")):
        raise NotInParts(f"column {strange[0]}" if strange else "metrics of other packages")


def scores_in_parts(
    parts: Callable[[], Iterator[Read]], *, unreadable: Unreadable, seed: int, streamed: bool
) -> list[Score]:
    """Scores of a table from parts of whole clusters. If `streamed`, memory does not grow with the table.

    If a part has labels that are not known, the rest is looked through for others and all is read again: twice at
    the most.
    """
    labels: Labels = {}
    with ThreadPoolExecutor(_workers()) as pool:
        while (blocks := _gathered(pool, parts(), labels, seed, streamed)) is None:
            pass
        constant = _constant(blocks)
        coming = [score for block in blocks.values() for score in block.scores(constant, unreadable, seed)]
        return list(_in_turn(pool, coming))


def _gathered(
    pool: ThreadPoolExecutor, parts: Iterator[Read], labels: Labels, seed: int, streamed: bool
) -> dict[Key, Gathered] | None:
    """None if there were more labels than those that are known; they are now."""
    blocks: dict[Key, Gathered] = {}
    more = Event()  # from then on, only labels are looked for
    work = (partial(_shares, read, labels, more, seed if streamed else None) for read in parts)
    for found in _in_turn(pool, work):
        for key, used, share in found:
            known = labels[key] = labels.get(key, frozenset()) | used
            if len(known) > MOST_LABELS:
                raise NotInParts("free text")
            if share is None or known != used or (key in blocks and blocks[key].labels != used):
                more.set()
                continue
            if key not in blocks:
                blocks[key] = Gathered(share, streamed)
            blocks[key].add(share)
    return None if more.is_set() else dict(sorted(blocks.items(), key=lambda block: block[1].first))


def _shares(read: Read, labels: Labels, more: Event, seed: int | None) -> list[tuple[Key, frozenset[str], Any]]:
    """Of each block in a part: its key, its labels (known ones and those of the part), and its share or None."""
    found: list[tuple[Key, frozenset[str], Any]] = []
    for frame in partition(read()):
        key = frame.head(1).select(BLOCK).row(0)
        used = labels.get(key, frozenset()) | frozenset(frame["label"].unique().drop_nulls())
        share = None if more.is_set() or len(used) > MOST_LABELS else share_of(frame, key, used, seed)
        found.append((key, used, share))
    return found


def _workers() -> int:
    return min(MOST_WORKERS, pl.thread_pool_size())


def _in_turn(pool: ThreadPoolExecutor, work: Iterable[Callable[[], Any]]) -> Iterator[Any]:
    """What each gives, in their order: as many at once as there are threads, and one more is waiting."""
    waiting: deque[Future[Any]] = deque()
    try:
        for each in work:
            waiting.append(pool.submit(each))
            if len(waiting) > _workers():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for result in waiting:
            result.cancel()


def _check(frame: pl.DataFrame, key: Key) -> None:
    """Refuse rows that have to be seen as a whole."""
    suite, _, kind, _, _ = key
    whole = (
        str(kind).partition("_")[0] in ("fooling", BASE)
        or suite in PROFILED
        or "units" in frame.columns
        or frame["weight"].null_count() < frame.height
        or (frame["replicate"] != 0).any()
        or (frame["role"] == "test").any()
        or (frame["expect"] == "bucket").any()
    )
    if whole:
        raise NotInParts("replicates, weights, buckets, fooling rates, test sets or a suite with a profile")


def _keys(frame: pl.DataFrame, block: Block) -> Any:
    """64 bits for each cluster that tell it apart."""
    column = frame["cluster"]
    rows = column.to_numpy() if column.dtype.is_integer() else column.cast(pl.String).hash(0).to_numpy()
    keys = np.empty(int(block.cluster.max()) + 1, rows.dtype)
    keys[block.cluster[block.group]] = rows
    return keys


def _constant(blocks: dict[Key, Gathered]) -> set[tuple[str, ...]]:
    """(model, method, suite, task) of those who give one label to everything, as unwaver.metrics.score has it."""
    said: dict[tuple[str, ...], set[str]] = {}
    right: dict[tuple[str, ...], bool] = {}
    for (suite, task, _, model, method), gathered in blocks.items():
        key = (model, method, suite, task)
        said.setdefault(key, set()).update(gathered.said)
        right[key] = right.get(key, True) and gathered.always_right
    return {key for key, labels in said.items() if len(labels) == 1 and not right[key]}
