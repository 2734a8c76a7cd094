"""The profile of core: the share of groups that hold in each family of relations, and the mean over families.

family wording: 40 groups, 3 of them broken -> held = 0.925, with an interval that resamples facts
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from unwaver.groups.families import FAMILIES, PROFILED, family_of
from unwaver.meaning import Meaning
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.broken import broken
from unwaver.state import MISSING
from unwaver.stats import Estimate, Floats, Ints, estimate
from unwaver.types import Score

HELD, AVERAGE = "held", "average"
ALL = "all families"


def metrics(block: Block) -> Iterator[Metric]:  # noqa: ARG001 - the profile is about several blocks
    yield from ()


def profile(blocks: Sequence[Block], seed: int) -> Iterator[Score]:
    """One score for each family, and one for all of them, of each suite and model."""
    for suite, model in dict.fromkeys((b.suite, b.model) for b in blocks if b.suite in PROFILED):
        own = [b for b in blocks if (b.suite, b.model) == (suite, model)]
        found = {f: [b for b in own if family_of(b.task, b.kind) == f] for f in FAMILIES}
        parts = {family: of for family, of in found.items() if of}
        for family, of in parts.items():
            yield _score(family, of, estimate(_held(of), _facts(of), seed=seed))
        if len(parts) > 1:
            every = [block for of in parts.values() for block in of]
            columns = _columns([_held(of) for of in parts.values()])
            yield _score(ALL, every, estimate(columns, _facts(every), _mean_of_means, seed=seed))


def held(block: Block) -> Floats:
    """Per group: 1 if it holds in every answer, 0 if not, NaN if that cannot be said."""
    values = broken(block)
    return np.where(np.isnan(values), np.nan, (values == 0).astype(float))


def _held(blocks: Sequence[Block]) -> Floats:
    return np.concatenate([held(block) for block in blocks])


def _facts(blocks: Sequence[Block]) -> Ints:
    """The fact of each group, the same in all blocks: intervals resample facts."""
    first = [np.unique(block.group, return_index=True)[1] for block in blocks]
    names = [block.cluster_name.cast(pl.String).gather(rows) for block, rows in zip(blocks, first, strict=True)]
    return pl.concat(names).rank("dense").to_numpy().astype(np.int64) - 1


def _columns(values: Sequence[Floats]) -> Floats:
    """For each family, a column with its values and one with how many they are: 0 in the rows of the others, and
    NaN where a group does not count."""
    total = sum(map(len, values))
    table, start = np.zeros((total, 2 * len(values))), 0
    for n, part in enumerate(values):
        rows = slice(start, start + len(part))
        table[rows, 2 * n], table[rows, 2 * n + 1] = part, 1.0
        start += len(part)
    return table


def _mean_of_means(sums: Floats) -> Floats:
    """Over the families that have a group in the sample."""
    held, counts = sums[..., :-1:2], sums[..., 1:-1:2]
    there = counts > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(there, held / np.where(there, counts, 1), 0.0)
        return np.asarray(shares.sum(axis=-1) / there.sum(axis=-1))


def _score(family: str, blocks: Sequence[Block], found: Estimate) -> Score:
    groups, counted = sum(b.groups for b in blocks), int((~np.isnan(_held(blocks))).sum())
    missing: dict[str, Any] = {name: sum(b.missing[name] for b in blocks) for name in MISSING}
    constant = len({label for b in blocks for label in b.labels}) == 1
    return Score(
        suite=blocks[0].suite,
        task=AVERAGE,
        kind=family,
        metric=HELD,
        value=found.value,
        low=found.low,
        high=found.high,
        groups=groups,
        counted=counted,
        not_applicable=groups - counted - sum(missing.values()),
        unreadable=sum(int(b.unreadable.sum()) for b in blocks),
        **missing,
        truncated=sum(int(b.truncated.sum()) for b in blocks),
        accuracy=_accuracy(blocks),
        model=blocks[0].model,
        method=", ".join(dict.fromkeys(b.method for b in blocks)),
        better="high",
        interval=found.interval,
        clusters=found.clusters,
        flags=("constant",) if constant else (),
    )


def _accuracy(blocks: Sequence[Block]) -> float | None:
    """On originals; on all wordings of a bucket."""
    rights = [b.right[(~b.target | (b.expect == "bucket")) & b.complete[b.group]] for b in blocks]
    known = np.concatenate(rights)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else None


MEANINGS = (
    Meaning(
        HELD,
        title="share of groups held",
        says="Share of the groups of a family that hold in every answer. The line for all families is the mean "
        "over families, whatever their sizes. Groups that do not apply are left "
        "out: a doubt about a wrong answer, for one.",
        formula="mean over groups of [the group is not broken]; all families: mean over families",
        better="high",
        leads=95,
        verdict="{right} of the groups hold",
        docs="docs/core.md#the-profile",
    ),
)
