"""A run beside the lock: what each bar says, which groups broke newly, and what the next lock would hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from unwaver.bars import LEADING, check_metrics
from unwaver.meaning import leading_of
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.broken import broken
from unwaver.metrics.score import Measured, partition
from unwaver.project.lock import CaseKey, Entry, Value, digest, hash_of
from unwaver.stats import Floats
from unwaver.types import Group, replace
from unwaver.verdicts.checks import Check
from unwaver.verdicts.gates import (
    checks_of,
    drop_check,
    is_hidden,
    missing_check,
    nothing_check,
)
from unwaver.verdicts.paired_runs import Side, comparable
from unwaver.verdicts.placed_bars import EVERYWHERE, PlacedBar, bars_for

NO_LOCK = "there is no accepted run to compare with: unwaver check --accept makes this one the baseline"


@dataclass(frozen=True)
class Part:
    """The answers of one model about one task and kind of a source, with the groups in their order."""

    key: CaseKey
    names: Sequence[str]
    block: Block
    measured: Mapping[str, Measured]  # by metric: those that are a function of sums over groups
    leading: str | None
    broken: Floats
    answers: Mapping[str, str]  # a hash of the answers to each group


@dataclass(frozen=True)
class Changes:
    """What is different from the lock, in ids of groups."""

    broken: tuple[str, ...] = ()  # newly
    fixed: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()  # with other words or another label, broken or not
    compared: int = 0
    new: int = 0  # not in the lock, or there with other texts


def parts_of(side: Side, source: str, model: str) -> Iterator[Part]:
    for rows in partition(side.frame.filter(pl.col("role") != "test")):
        block = block_of(rows)
        named = [n for n in comparable(block, block, side.unreadable, side.unreadable) if n.given is None]
        names = rows["group"].unique(maintain_order=True).to_list()
        yield Part(
            (source, model, block.task, block.kind),
            names,
            block,
            {n.metric: n.one for n in reversed(named)},
            leading_of(named).metric if named else None,
            broken(block),
            _answers(rows),
        )


def _answers(rows: pl.DataFrame) -> dict[str, str]:
    """In free text, the label is the answer as it was written."""
    found: dict[str, list[list[object]]] = {}
    for group, *answer in rows.select("group", "item", "replicate", "label").iter_rows():
        found.setdefault(str(group), []).append(answer)
    return {name: digest(json.dumps(sorted(told, key=str), ensure_ascii=False)) for name, told in found.items()}


# --- for the lock -------------------------------------------------------------------------------------------


def entries_of(
    part: Part, groups: Mapping[str, Group], metrics: Sequence[str], texts: Mapping[str, Mapping[str, str]]
) -> Iterator[Entry]:
    """What the lock holds of the groups of a part; `metrics` are those besides the leading one that bars name."""
    if part.leading is None:
        return
    leading = part.measured[part.leading]
    others = [name for name in metrics if name in part.measured and name != part.leading]
    for place, name in enumerate(part.names):
        wrong = float(part.broken[place])
        yield Entry(
            *part.key,
            group=name,
            hash=hash_of(groups[name]) if name in groups else "",
            metric=part.leading,
            value=_value(leading.values[place]),
            broken=None if np.isnan(wrong) else wrong,
            answers=part.answers[name],
            values={metric: _value(part.measured[metric].values[place]) for metric in others},
            texts=texts.get(name, {}),
        )


def _value(value: Floats | float) -> Value:
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    if np.isnan(numbers).any():
        return None
    return float(numbers[0]) if np.ndim(value) == 0 else [float(x) for x in numbers]


# --- against the lock ---------------------------------------------------------------------------------------


def same_group(entry: Entry | None, group: Group | None) -> bool:
    """Whether the lock has this group with the same texts; of a log no texts are known."""
    return entry is not None and (group is None or not entry.hash or entry.hash == hash_of(group))


def changes(part: Part, locked: Mapping[str, Entry], groups: Mapping[str, Group]) -> Changes:
    known = [name for name in part.names if same_group(locked.get(name), groups.get(name))]
    now = dict(zip(part.names, part.broken, strict=True))
    before = {name: locked[name].broken for name in known}
    worst_first = sorted(known, key=lambda name: -now[name])
    return Changes(
        tuple(name for name in worst_first if before[name] == 0 and now[name] > 0),
        tuple(name for name in known if (before[name] or 0) > 0 and now[name] == 0),
        tuple(name for name in known if locked[name].answers != part.answers[name]),
        len(known),
        len(part.names) - len(known),
    )


def checks(
    side: Side,
    parts: Sequence[Part],
    bars: Sequence[PlacedBar],
    locked: Mapping[CaseKey, Mapping[str, Entry]],
    *,
    alpha: float,
    accepting: bool,
) -> list[Check]:
    """Every bar on everything that it is about. A run that is being accepted is compared with nothing."""
    absolute = [placed for placed in bars if not placed.bar.drop]
    found = checks_of([side], absolute, alpha=alpha) if absolute else []
    if accepting:
        return found
    drops = [placed for placed in bars if placed.bar.drop]
    check_metrics((placed.bar.metric for placed in drops), lambda: {m for part in parts for m in part.measured})
    used: set[int] = set()
    for part in parts:
        for placed in bars_for((part.key[0], part.key[2], part.key[3]), drops):
            if check := _drop(part, placed, locked.get(part.key, {}), side, alpha):
                found.append(check)
                used.add(id(placed))
    left = [placed for placed in drops if id(placed) not in used and not is_hidden(placed, side, drops)]
    return [*found, *(nothing_check(placed, side) for placed in left)]


def _drop(part: Part, placed: PlacedBar, locked: Mapping[str, Entry], side: Side, alpha: float) -> Check | None:
    """The same texts stand on both sides: who certified them matters less than for a bar on the value itself."""
    metric = part.leading or LEADING if placed.bar.metric == LEADING else placed.bar.metric
    named = replace(placed, bar=replace(placed.bar, metric=metric))
    if metric not in part.measured:
        if placed.where == EVERYWHERE and metric != LEADING:
            return None  # one that is for everything is for what has this metric
        told = "it has nothing that can be compared" if metric == LEADING else f"it has no {metric}"
        return missing_check(named, part.block, told)
    if not locked:
        return replace(missing_check(named, part.block, NO_LOCK), verdict="undecided")
    after = part.measured[metric]
    before = replace(after, values=_aligned(part, locked, metric, side.groups, after.values))
    if np.isnan(before.values).all():
        told = f"the lock holds no {metric} of these groups: unwaver check --accept"
        return replace(missing_check(named, part.block, told), verdict="undecided")
    found = drop_check(before, after, named, part.block, alpha)
    if found.verdict == "undecided" and not found.missing and _same_answers(part, locked, side.groups):
        found = replace(found, verdict="pass", reason="all answers are those that were accepted")
    return found


def _same_answers(part: Part, locked: Mapping[str, Entry], groups: Mapping[str, Group]) -> bool:
    """Whether nothing at all has changed: no interval is needed to say that it is no worse."""
    found = ((locked.get(name), groups.get(name), part.answers[name]) for name in part.names)
    return all(
        entry is not None and same_group(entry, group) and entry.answers == told for entry, group, told in found
    )


def _aligned(
    part: Part, locked: Mapping[str, Entry], metric: str, groups: Mapping[str, Group], like: Floats
) -> Floats:
    """The values in the lock in the order of the groups, NaN if it has none."""
    values = np.full_like(like, np.nan, dtype=float)
    for place, name in enumerate(part.names):
        entry = locked.get(name)
        if entry is None or not same_group(entry, groups.get(name)):
            continue
        value = entry.value_of(metric)
        if value is not None and np.shape(value) == np.shape(like[place]):
            values[place] = value
    return values
