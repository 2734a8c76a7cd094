"""Does a run meet its bars? Pass, fail or undecided, each bar for each suite/task/kind and model.

A bar is met if the one-sided confidence limit of the value is on its good side, missed if the other limit is on
its bad side; else more groups are needed. So a pass is wrong with probability alpha at most, and so is a fail.
A metric that is not there, or has no value, fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from unwaver.asking.failures import in_short
from unwaver.bars import LEADING, check_metrics
from unwaver.errors import UsageError, near
from unwaver.meaning import leading_of
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.missing import in_words, what_to_do
from unwaver.metrics.score import Measured, accuracy_of, measured, partition
from unwaver.stats import FEWEST as FEWEST_UNITS
from unwaver.stats.paired import difference
from unwaver.verdicts.checks import Check, GateOutcome
from unwaver.verdicts.further_groups import further_groups
from unwaver.verdicts.paired_runs import Side, comparable, paired, sides_of, twin_of, what_differs
from unwaver.verdicts.placed_bars import EVERYWHERE, Given, PlacedBar, bars_for, bars_from

ALPHA = 0.05
FEWEST = 20  # units: an interval that is not exact decides nothing with fewer
CERTIFY = "run again with --judge, or have a person review the variants (unwaver review, then --review)"
ESTIMATED = ("bootstrap", "item bootstrap", "t")


def gate(
    run: Any,
    bars: Given | Sequence[Given],
    *,
    baseline: Any = None,
    alpha: float | None = None,
    allow_undecided: bool = False,
    common: bool = False,
    allow_different: bool = False,
    seed: int = 0,
    **options: Any,
) -> GateOutcome:
    """Does a run meet its bars? gate("runs/new", ["tau<=0.10", "accuracy>=0.80"]).verdict -> "pass"

    `run` and `baseline` are a run folder, a table or a log, or the result of unwaver.run or unwaver.score. `bars`
    is a list of texts or Bar objects, or the path of a bars file. Other options are those of unwaver.score.
    """
    from unwaver.engine.answer_options import check_answer_options

    placed, of_file = bars_from(bars)
    check_answer_options([Path(each) for each in (run, baseline) if isinstance(each, str | Path)], **options)
    if common and baseline is None:
        raise UsageError(
            "--common has no effect without --baseline", hint="leave --common out, or add --baseline RUN"
        )
    level = alpha if alpha is not None else ALPHA if of_file is None else of_file
    sides = sides_of(run, **options)
    others = [] if baseline is None else sides_of(baseline, **options)
    checks = checks_of(
        sides,
        placed,
        baseline=others,
        alpha=level,
        common=common,
        allow_different=allow_different,
        seed=seed,
    )
    differs = [d for side in sides if others for d in what_differs(_baseline_of(side, others), side)]
    once = [d for n, d in enumerate(differs) if d not in differs[:n]]
    return GateOutcome(tuple(checks), level, allow_undecided, tuple(once))


def checks_of(
    sides: Sequence[Side],
    bars: Sequence[PlacedBar],
    *,
    baseline: Sequence[Side] = (),
    alpha: float = ALPHA,
    common: bool = False,
    allow_different: bool = False,
    seed: int = 0,
) -> list[Check]:
    """Every bar on everything that it is about, in the order of the run; what nothing met comes last."""
    _check_usage(bars, baseline, alpha)
    check_metrics((placed.bar.metric for placed in bars), lambda: _metrics_in([*sides, *baseline]))
    absolute = [placed for placed in bars if not placed.bar.drop]
    drops = [placed for placed in bars if placed.bar.drop]
    checks: list[Check] = []
    for side in sides:
        made = list(_absolute(side, absolute, alpha, seed))
        if baseline:
            other = _baseline_of(side, baseline)
            made += _drops(other, side, drops, alpha, seed, common=common, allow_different=allow_different)
        used = {id(placed) for placed, _ in made}
        checks += [_with_failures(check, side) for _, check in made]
        checks += [nothing_check(b, side) for b in bars if id(b) not in used and not is_hidden(b, side, bars)]
    return checks


def _check_usage(bars: Sequence[PlacedBar], baseline: Sequence[Side], alpha: float) -> None:
    if not bars:
        raise UsageError("there are no bars", hint="--bar 'tau<=0.10', --bar 'P_C>=0.85', or --bars FILE.toml")
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha is {alpha:g}, expected a share between 0 and 0.5", hint="leave it out for 0.05")
    drop = next((placed.bar for placed in bars if placed.bar.drop), None)
    if drop is not None and not baseline:
        raise UsageError(
            f"--baseline is missing: {drop} compares the run with a baseline",
            hint="add --baseline RUN, or bar the metric itself: --bar 'tau<=0.10'",
        )
    if drop is None and baseline:
        raise UsageError(
            "--bar 'drop<=X' or --max-drop is missing: --baseline is given, and no bar limits a drop",
            hint="add --bar 'drop<=0.02', or leave --baseline out",
        )


def _metrics_in(sides: Sequence[Side]) -> set[str]:
    found = (measured(block_of(part), side.unreadable) for side in sides for part in partition(side.frame))
    return {m.metric.name for of_block in found for m in of_block}


def _with_failures(check: Check, side: Side) -> Check:
    """Where groups are missing, the reason is rather that calls failed than what is left to say without them."""
    if not check.missing or not side.failures or check.verdict == "pass":
        return check
    return replace(check, reason=f"{in_short(side.failures)}; {check.reason}")


def _trusted(check: Check, *blocks: Block) -> Check:
    """No bar is met on variants that nobody but their own writer has certified."""
    if check.verdict != "pass" or not any(block.self_certified for block in blocks):
        return check
    reason = f"{check.reason}, but the variants are self-certified: {CERTIFY}"
    return replace(check, verdict="undecided", reason=reason)


class _Named(NamedTuple):
    """A metric on a block as leading_of reads it."""

    metric: str
    given: str | None
    value: float | None


def _absolute(side: Side, bars: Sequence[PlacedBar], alpha: float, seed: int) -> Iterator[tuple[PlacedBar, Check]]:
    for part in partition(side.frame):
        block = block_of(part)
        chosen = bars_for((block.suite, block.task, block.kind), bars)
        if not chosen:
            continue
        found: dict[str, Measured] = {}
        for m in measured(block, side.unreadable):
            if m.metric.given is None:
                found.setdefault(m.metric.name, m)
        for placed in chosen:
            metric = _leading_name(found) if placed.bar.metric == LEADING else placed.bar.metric
            if metric in found:
                named = replace(placed, bar=replace(placed.bar, metric=metric))
                yield placed, _trusted(_check(found[metric], named, block, alpha, seed), block)
            elif placed.where != EVERYWHERE:  # one that is for everything is for what has this metric
                yield placed, missing_check(placed, block, f"it has no {metric}: {near(metric, found)}")


def _leading_name(found: Mapping[str, Measured]) -> str:
    named = [_Named(name, None, 0.0 if m.counted else None) for name, m in found.items()]
    return leading_of(named).metric if named else LEADING


def _check(measured: Measured, placed: PlacedBar, block: Block, alpha: float, seed: int) -> Check:
    bar = placed.bar
    if measured.metric.share and not 0 <= bar.value <= 1:
        raise UsageError(f"{bar}: {bar.metric} lies between 0 and 1", hint="a bar is a fraction: 0.10 is 10 %")
    found = measured.estimate(seed, level=1 - 2 * alpha)
    check = _counts(
        missing_check(placed, block, _no_value(bar.metric, block)),
        block,
        measured.counted,
    )
    if found.value is None:
        return check
    if found.low is None or found.high is None:
        few = f"the value has no interval: {found.clusters} independent units are too few"
        why = "the value has no interval" if found.clusters >= FEWEST_UNITS else few
        return replace(check, value=found.value, verdict="undecided", reason=why, clusters=found.clusters)
    check = replace(
        check, value=found.value, low=found.low, high=found.high, interval=found.interval, clusters=found.clusters
    )
    return _decided(check, found.value, bar.value, at_most=bar.at_most, alpha=alpha)


def _decided(check: Check, value: float, bar: float, *, at_most: bool, alpha: float) -> Check:
    assert check.low is not None
    assert check.high is not None
    if check.interval in ESTIMATED and check.clusters < FEWEST:
        lacking = math.ceil((FEWEST - check.clusters) * check.counted / check.clusters)
        reason = f"{check.clusters} independent units are too few: about {lacking:,} more groups are needed"
        return replace(check, verdict="undecided", reason=reason, further_groups=lacking)
    limit = f"one-sided {100 * (1 - alpha):g} % limit"
    good, bad = (check.high, check.low) if at_most else (check.low, check.high)
    if good <= bar if at_most else good >= bar:
        if check.missing:
            return replace(check, verdict="undecided", reason=_lacking(check.missing, asdict(check)))
        return replace(check, verdict="pass", reason=f"the {limit} is {100 * good:.1f} %")
    if bad > bar if at_most else bad < bar:
        return replace(check, verdict="fail", reason=f"the {limit} is {100 * bad:.1f} %")
    more = further_groups(check, value, bar, alpha)
    needed = (
        f"about {more:,} more group{'s' * (more > 1)} would decide"
        if more
        else "no number of groups would decide at this value"
    )
    return replace(check, verdict="undecided", reason=needed, further_groups=more)


def missing_check(placed: PlacedBar, block: Block, reason: str) -> Check:
    check = Check(
        block.suite,
        block.task,
        block.kind,
        block.model,
        block.method,
        placed.bar.metric,
        str(placed.bar),
        placed.where,
        "fail",
        reason,
    )
    return _counts(check, block, 0)


def _no_value(metric: str, block: Block) -> str:
    if not sum(block.missing.values()):
        return f"nothing was measured: {metric} applies to none of {block.groups:,} groups"
    return f"nothing was measured: {_lacking(sum(block.missing.values()), block.missing)}"


def _lacking(groups: int, counts: Mapping[str, int]) -> str:
    if groups == counts.get("partial"):
        lack = "group was" if groups == 1 else "groups were"
        return f"{groups:,} {lack} scored without an answer whose call failed: repeat the calls"
    why = in_words(counts)  # nothing where they are missing in the baseline
    lack = "group has no answer" if groups == 1 else "groups have no answer"
    return f"{groups:,} {lack}{f' ({why})' if why else ''}: {what_to_do(counts)}"


def _counts(check: Check, block: Block, counted: int) -> Check:
    missing: dict[str, Any] = block.missing
    not_needed = int(block.not_needed.sum())
    return replace(
        check,
        groups=block.groups,
        counted=counted,
        not_applicable=block.groups - counted - sum(missing.values()),
        unreadable=int(block.unreadable.sum()),
        cut_read=int(block.cut_read.sum()),
        empty=int(block.empty.sum()),
        tool_call=int(block.tool_call.sum()),
        missing=sum(missing.values()) - not_needed + block.partial,
        partial=block.partial,
        **missing,
        not_needed=not_needed,
        accuracy=accuracy_of(block),
    )


def nothing_check(placed: PlacedBar, side: Side) -> Check:
    bar, where = placed.bar, placed.where
    cases = side.frame.select("suite", "task", "kind").unique(maintain_order=True).rows()
    known: set[str] = set()
    if any(placed.matches(case) is not None for case in cases):
        for part in partition(side.frame):
            known |= {m.metric.name for m in measured(block_of(part), side.unreadable)}
        reason = f"nothing here has {bar.metric}: {near(bar.metric, known)}"
    else:
        reason = f"nothing here is {where}: {near(where, ['/'.join(case) for case in cases])}"
    return Check("", "", "", side.model, side.method, bar.metric, str(bar), where, "fail", reason)


def is_hidden(placed: PlacedBar, side: Side, bars: Sequence[PlacedBar]) -> bool:
    """Everything that it is about has a bar of its own that names more."""
    cases = side.frame.select("suite", "task", "kind").unique(maintain_order=True).rows()
    about = [case for case in cases if placed.matches(case) is not None]
    return bool(about) and all(
        any(other.limits_the_same(placed) for other in bars_for(case, bars) if other is not placed)
        for case in about
    )


# --- against a baseline -------------------------------------------------------------------------------------


def _baseline_of(side: Side, baseline: Sequence[Side]) -> Side:
    if len(baseline) == 1:
        return baseline[0]
    if twin := twin_of(side, baseline):
        return twin
    names = ", ".join(other.model for other in baseline)
    raise UsageError(f"the baseline has no {side.model} ({side.method})", hint=f"it has {names}")


def _drops(
    old: Side,
    new: Side,
    bars: Sequence[PlacedBar],
    alpha: float,
    seed: int,
    *,
    common: bool,
    allow_different: bool,
) -> Iterator[tuple[PlacedBar, Check]]:
    one, other, _ = paired(old, new, common=common, allow_different=allow_different)
    for before, after in zip(one, other, strict=True):
        block = after.block
        named = comparable(before.block, block, old.unreadable, new.unreadable)
        of_metric = {n.metric: n for n in reversed(named) if n.given is None}
        for placed in bars_for((block.suite, block.task, block.kind), bars):
            metric = placed.bar.metric
            found = of_metric.get(metric) if metric != LEADING else leading_of(named) if named else None
            if found is not None:
                drop = drop_check(found.one, found.other, placed, block, alpha, seed)
                yield placed, _trusted(drop, block, before.block)
            elif placed.where != EVERYWHERE:
                yield placed, missing_check(placed, block, f"it has no {metric}: {near(metric, of_metric)}")


def drop_check(
    before: Measured, after: Measured, placed: PlacedBar, block: Block, alpha: float, seed: int = 0
) -> Check:
    """A bar for how much worse `after` is, on values of the same groups in the same order."""
    metric, bar = after.metric, replace(placed.bar, metric=after.metric.name)
    if not metric.better:
        raise UsageError(
            f"{metric.name} has no direction: neither low nor high values are better",
            hint="it cannot drop: choose another metric",
        )
    if metric.share and not -1 <= bar.value <= 1:
        raise UsageError(f"{bar}: a drop lies between -1 and 1", hint="a bar is a fraction: 0.02 is 2 points")
    found = difference(
        before.values,
        after.values,
        before.block.units,
        metric.reduce,
        share=metric.share,
        seed=seed,
        level=1 - 2 * alpha,
    )
    check = missing_check(
        replace(placed, bar=bar), block, f"nothing was measured: {metric.name} has no value in both runs"
    )
    if found is None:
        return check
    check = replace(_counts(check, block, found.groups), value=found.second, baseline=found.first)
    check = replace(check, missing=int((~(block.complete & before.block.complete)).sum()) - check.not_needed)
    if block.sequential or before.block.sequential:
        reason = "a run with --until has no fixed number of groups: compare whole runs"
        return replace(check, verdict="undecided", reason=reason)
    if found.low is None or found.high is None:
        return replace(check, verdict="undecided", reason="the difference has no interval")
    worse, low, high = found.difference, found.low, found.high
    if metric.better == "high":
        worse, low, high = -worse, -high, -low
    check = replace(check, low=low, high=high, interval=found.interval, clusters=found.clusters)
    return _decided(check, worse, bar.value, at_most=True, alpha=alpha)
