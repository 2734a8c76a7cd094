"""Does a run meet its bars? Pass, fail or undecided, each bar for each suite/task/kind and model.

A bar is met if the one-sided confidence limit of the value is on its good side, missed if the other limit is on
its bad side; else more groups are needed. So a pass is wrong with probability alpha at most, and so is a fail.
A metric that is not there, or has no value, fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from unwaver.asking.failures import in_short
from unwaver.bars import LEADING, Way, check_metrics, fraction, metric_name, read_bar
from unwaver.errors import DataError, UsageError, near
from unwaver.files import read_toml
from unwaver.meaning import leading_of
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.missing import in_words, what_to_do
from unwaver.metrics.score import Measured, accuracy_of, measured, partition
from unwaver.stats import FEWEST as FEWEST_UNITS
from unwaver.stats.paired import difference
from unwaver.verdicts.paired_runs import Side, comparable, paired

Verdict = Literal["pass", "fail", "undecided"]
EVERYWHERE = "*"
MOST_GROUPS = 10_000_000
FEWEST = 20  # units: an interval that is not exact decides nothing with fewer
ESTIMATED = ("bootstrap", "item bootstrap", "t")


@dataclass(frozen=True)
class Bar:
    """`metric` at most (at least) `value` on everything that `where` names: "*", "becel/snli", "*/*/symmetric".

    max_drop: by at most so much worse than the baseline.
    """

    way: Way
    metric: str
    value: float
    where: str = EVERYWHERE

    def __str__(self) -> str:
        if self.way == "max_drop":
            return f"drop{f' {self.metric}' if self.metric != LEADING else ''} <= {self.value:g}"
        return f"{self.metric} {'<=' if self.way == 'max' else '>='} {self.value:g}"


@dataclass(frozen=True)
class Check:
    """One bar on one suite/task/kind of one model. `low` and `high` are one-sided limits at level 1 − alpha each;
    of a max_drop they are about how much worse it is than the baseline."""

    suite: str
    task: str
    kind: str
    model: str
    method: str
    metric: str
    bar: str
    where: str
    verdict: Verdict
    reason: str
    value: float | None = None
    baseline: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    further_groups: int | None = None  # about so many more of the same kind would decide
    groups: int = 0
    counted: int = 0
    not_applicable: int = 0
    unreadable: int = 0
    missing: int = 0
    not_needed: int = 0
    clusters: int = 0
    accuracy: float | None = None
    # those that are missing, by why; and the groups with an answer that was cut and could be read
    failed: int = 0
    refused: int = 0
    cut: int = 0
    not_asked: int = 0
    cut_read: int = 0

    @property
    def case(self) -> str:
        return "/".join(part for part in (self.suite, self.task, self.kind) if part) or self.where


# --- bars ---------------------------------------------------------------------------------------------------


def bar_from(text: str, way: Way) -> Bar:
    """ "tau=0.10" or "tau<=0.10" -> Bar("max", "tau", 0.1); for a drop the metric may be left out: "0.02"."""
    return Bar(way, *read_bar(text, way))


def bar_of(way: Way, metric: str, value: Any, name: str) -> Bar:
    """A bar whose parts are given apart; `name` is what the user calls it."""
    return Bar(way, metric_name(metric, name, "max_tau=0.10"), fraction(value, name))


def read_bars(path: Path) -> tuple[list[Bar], float | None]:
    """The bars of a TOML file, and its alpha if it has one: a table for each suite/task/kind, or "*"."""
    given = read_toml(path, "file", '["becel/snli"] and below it max = {tau = 0.1}')
    alpha = given.pop("alpha", None)
    bars: list[Bar] = []
    for where, table in given.items():
        if not isinstance(table, dict):
            hint = f'put it below a table: ["{EVERYWHERE}"] is for everything'
            raise DataError(f'"{where}" stands outside of a table', file=path, hint=hint)
        if where.count("/") > 2:
            raise DataError(f'["{where}"] is more than suite/task/kind', file=path, hint="leave the rest out")
        bars += _bars_in(where, table, path)
    if not bars:
        raise DataError("it has no bars", file=path, hint='["*"] and below it max = {tau = 0.1}')
    if alpha is not None:
        alpha = fraction(alpha, f"{path}: alpha")
    return bars, alpha


_WAYS: tuple[Way, ...] = ("max", "min", "max_drop")


def _bars_in(where: str, table: Mapping[str, Any], path: Path) -> Iterator[Bar]:
    for name in table:
        if name not in _WAYS:
            raise DataError(f'["{where}"]: "{name}" is not known', file=path, hint=near(name, _WAYS))
    for way in _WAYS:
        if way not in table:
            continue
        given = table[way]
        metrics = {LEADING: given} if way == "max_drop" and not isinstance(given, dict) else given
        if not isinstance(metrics, dict):
            raise DataError(f'["{where}"]: {way} = {given!r}', file=path, hint=f"{way} = {{tau = 0.1}}")
        for metric, value in metrics.items():
            place = f'{path}: ["{where}"] {way} {metric}'
            name = metric if metric == LEADING else metric_name(metric, place, f"{way} = {{tau = 0.1}}")
            yield Bar(way, name, fraction(value, place), where)


def _matches(bar: Bar, case: tuple[str, str, str]) -> int | None:
    """How closely: the number of parts that are named; None where it is about something else."""
    parts = bar.where.split("/")
    if any(part not in (EVERYWHERE, name) for part, name in zip(parts, case, strict=False)):
        return None
    return sum(part != EVERYWHERE for part in parts)


def _bars_for(case: tuple[str, str, str], bars: Sequence[Bar]) -> list[Bar]:
    """Of several bars of one metric the one that names most; of two alike the later."""
    chosen: dict[tuple[Way, str], tuple[int, Bar]] = {}
    for bar in bars:
        closeness = _matches(bar, case)
        key = bar.way, bar.metric
        if closeness is not None and (key not in chosen or closeness >= chosen[key][0]):
            chosen[key] = closeness, bar
    return [bar for _, bar in chosen.values()]


# --- verdicts -----------------------------------------------------------------------------------------------


def gate(
    sides: Sequence[Side],
    bars: Sequence[Bar],
    *,
    baseline: Sequence[Side] = (),
    alpha: float = 0.05,
    common: bool = False,
    allow_different: bool = False,
    seed: int = 0,
) -> list[Check]:
    """Every bar on everything that it is about, in the order of the run; what nothing met comes last."""
    if not bars:
        raise UsageError("there are no bars", hint="--max tau=0.10, --min P_C=0.85, or --bars FILE.toml")
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha is {alpha:g}, expected a share between 0 and 0.5", hint="0.05")
    drops = [bar for bar in bars if bar.way == "max_drop"]
    if bool(drops) != bool(baseline):
        missing = "--max-drop" if baseline else "--baseline"
        raise UsageError(
            f"{missing} is missing", hint="a drop is against a baseline: --baseline RUN --max-drop 0.02"
        )
    check_metrics((bar.metric for bar in bars), lambda: _metrics_in([*sides, *baseline]))
    absolute = [bar for bar in bars if bar.way != "max_drop"]
    checks: list[Check] = []
    for side in sides:
        made = list(_absolute(side, absolute, alpha, seed))
        if baseline:
            other = _baseline_of(side, baseline)
            made += _drops(other, side, drops, alpha, seed, common=common, allow_different=allow_different)
        used = {id(bar) for bar, _ in made}
        checks += [_with_failures(check, side) for _, check in made]
        checks += [_nothing(bar, side) for bar in bars if id(bar) not in used and not _is_hidden(bar, side, bars)]
    return checks


def _metrics_in(sides: Sequence[Side]) -> set[str]:
    found = (measured(block_of(part), side.unreadable) for side in sides for part in partition(side.frame))
    return {m.metric.name for of_block in found for m in of_block}


def _with_failures(check: Check, side: Side) -> Check:
    """Where groups are missing, the reason is rather that calls failed than what is left to say without them."""
    if not check.missing or not side.failures or check.verdict == "pass":
        return check
    return replace(check, reason=f"{in_short(side.failures)}; {check.reason}")


def overall(checks: Sequence[Check]) -> Verdict:
    """The worst of all."""
    verdicts = {check.verdict for check in checks}
    return "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"


def _absolute(side: Side, bars: Sequence[Bar], alpha: float, seed: int) -> Iterator[tuple[Bar, Check]]:
    for part in partition(side.frame):
        block = block_of(part)
        chosen = _bars_for((block.suite, block.task, block.kind), bars)
        if not chosen:
            continue
        found: dict[str, Measured] = {}
        for m in measured(block, side.unreadable):
            if m.metric.given is None:
                found.setdefault(m.metric.name, m)
        for bar in chosen:
            if bar.metric in found:
                yield bar, _check(found[bar.metric], bar, block, alpha, seed)
            elif bar.where != EVERYWHERE:  # one that is for everything is for what has this metric
                yield bar, _missing(bar, block, f"it has no {bar.metric}: {near(bar.metric, found)}")


def _check(measured: Measured, bar: Bar, block: Block, alpha: float, seed: int) -> Check:
    if measured.metric.share and not 0 <= bar.value <= 1:
        raise UsageError(f"{bar}: {bar.metric} lies between 0 and 1", hint="a bar is a fraction: 0.10 is 10 %")
    found = measured.estimate(seed, level=1 - 2 * alpha)
    check = _counts(
        _missing(bar, block, _no_value(bar.metric, block)),
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
    return _decided(check, found.value, bar.value, at_most=bar.way == "max", alpha=alpha)


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


def further_groups(check: Check, value: float, bar: float, alpha: float) -> int | None:
    """How many more groups, if the value stays what it is; None where it is the bar itself."""
    assert check.low is not None
    assert check.high is not None
    if value == bar or not check.clusters:
        return None
    each = check.counted / check.clusters
    if check.interval == "exact":
        clusters = _clusters_needed(value, bar, check.clusters, alpha, drop=check.baseline is not None)
    else:  # an interval narrows with the square root of what it rests on
        width = (check.high if value < bar else check.low) - value
        clusters = check.clusters * (width / (bar - value)) ** 2
    if clusters is None or clusters * each > MOST_GROUPS:
        return None
    return max(1, math.ceil(math.ceil(clusters) * each) - check.counted)


def _clusters_needed(value: float, bar: float, clusters: int, alpha: float, *, drop: bool) -> float | None:
    """By bisection: at how many clusters is the exact limit on the same side of the bar as the value?"""
    from scipy.special import betaincinv

    def decides(n: float) -> bool:
        if drop:  # no cluster differs in another way: see unwaver.stats.paired
            others = 1 - alpha ** (1 / n)
            end = (1 - others) * value + (others if value < bar else -others)
            return bool(end <= bar) if value < bar else bool(end > bar)
        hits = value * n
        if value < bar:
            return hits < n and float(betaincinv(hits + 1, n - hits, 1 - alpha)) <= bar
        return hits > 0 and float(betaincinv(hits, n - hits + 1, alpha)) > bar

    low, high = float(clusters), 2.0 * clusters
    while not decides(high):
        low, high = high, 2 * high
        if high > MOST_GROUPS:
            return None
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def _missing(bar: Bar, block: Block, reason: str) -> Check:
    check = Check(
        block.suite,
        block.task,
        block.kind,
        block.model,
        block.method,
        bar.metric,
        str(bar),
        bar.where,
        "fail",
        reason,
    )
    return _counts(check, block, 0)


def _no_value(metric: str, block: Block) -> str:
    if not sum(block.missing.values()):
        return f"nothing was measured: {metric} applies to none of {block.groups:,} groups"
    return f"nothing was measured: {_lacking(sum(block.missing.values()), block.missing)}"


def _lacking(groups: int, counts: Mapping[str, int]) -> str:
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
        missing=sum(missing.values()) - not_needed,
        **missing,
        not_needed=not_needed,
        accuracy=accuracy_of(block),
    )


def _nothing(bar: Bar, side: Side) -> Check:
    cases = side.frame.select("suite", "task", "kind").unique(maintain_order=True).rows()
    known: set[str] = set()
    if any(_matches(bar, case) is not None for case in cases):
        for part in partition(side.frame):
            known |= {m.metric.name for m in measured(block_of(part), side.unreadable)}
        reason = f"nothing here has {bar.metric}: {near(bar.metric, known)}"
    else:
        reason = f"nothing here is {bar.where}: {near(bar.where, ['/'.join(case) for case in cases])}"
    return Check("", "", "", side.model, side.method, bar.metric, str(bar), bar.where, "fail", reason)


def _is_hidden(bar: Bar, side: Side, bars: Sequence[Bar]) -> bool:
    """Everything that it is about has a bar of its own that names more."""
    cases = side.frame.select("suite", "task", "kind").unique(maintain_order=True).rows()
    about = [case for case in cases if _matches(bar, case) is not None]
    return bool(about) and all(
        any((b.way, b.metric) == (bar.way, bar.metric) for b in _bars_for(case, bars) if b is not bar)
        for case in about
    )


# --- against a baseline -------------------------------------------------------------------------------------


def _baseline_of(side: Side, baseline: Sequence[Side]) -> Side:
    if len(baseline) == 1:
        return baseline[0]
    for other in baseline:
        if (other.model, other.method) == (side.model, side.method):
            return other
    names = ", ".join(other.model for other in baseline)
    raise UsageError(f"the baseline has no {side.model} ({side.method})", hint=f"it has {names}")


def _drops(
    old: Side, new: Side, bars: Sequence[Bar], alpha: float, seed: int, *, common: bool, allow_different: bool
) -> Iterator[tuple[Bar, Check]]:
    one, other, _ = paired(old, new, common=common, allow_different=allow_different)
    for before, after in zip(one, other, strict=True):
        block = after.block
        named = comparable(before.block, block, old.unreadable, new.unreadable)
        of_metric = {n.metric: n for n in reversed(named) if n.given is None}
        for bar in _bars_for((block.suite, block.task, block.kind), bars):
            found = (leading_of(named) if named else None) if bar.metric == LEADING else of_metric.get(bar.metric)
            if found is not None:
                yield bar, _drop(found.one, found.other, bar, block, alpha, seed)
            elif bar.where != EVERYWHERE:
                yield bar, _missing(bar, block, f"it has no {bar.metric}: {near(bar.metric, of_metric)}")


def _drop(before: Measured, after: Measured, bar: Bar, block: Block, alpha: float, seed: int) -> Check:
    metric = after.metric
    if not metric.better:
        raise UsageError(
            f"{metric.name} is neither better low nor high", hint="it cannot drop: choose another metric"
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
    named = replace(bar, metric=metric.name)
    check = _missing(named, block, f"nothing was measured: {metric.name} has no value in both runs")
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


# --- for machines and pages ---------------------------------------------------------------------------------


def document(checks: Sequence[Check], alpha: float, allow_undecided: bool) -> dict[str, Any]:
    """What `unwaver gate --json` prints."""
    return {
        "version": 1,
        "verdict": overall(checks),
        "alpha": alpha,
        "allow_undecided": allow_undecided,
        "checks": [asdict(check) for check in checks],
    }


def is_met(checks: Sequence[Check], allow_undecided: bool) -> bool:
    return overall(checks) == "pass" or (allow_undecided and overall(checks) == "undecided")


def junit(checks: Sequence[Check], allow_undecided: bool) -> str:
    """One test case a bar. Undecided is a failure, or skipped where it is allowed."""
    from xml.etree import ElementTree as xml

    failed = [c for c in checks if c.verdict == "fail" or (c.verdict == "undecided" and not allow_undecided)]
    skipped = [c for c in checks if c.verdict == "undecided" and allow_undecided]
    numbers = {
        "tests": str(len(checks)),
        "failures": str(len(failed)),
        "skipped": str(len(skipped)),
        "errors": "0",
    }
    root = xml.Element("testsuites", {"name": "unwaver gate", **numbers})
    suite = xml.SubElement(root, "testsuite", {"name": "unwaver gate", **numbers})
    for check in checks:
        names = {"classname": _xml(check.case.replace("/", ".")), "name": _xml(f"{check.bar} ({check.model})")}
        case = xml.SubElement(suite, "testcase", {**names, "time": "0"})
        told = _xml(f"{shown_value(check)}; {check.reason}")
        if check in failed:
            xml.SubElement(case, "failure", {"type": check.verdict, "message": told}).text = _xml(as_line(check))
        elif check in skipped:
            xml.SubElement(case, "skipped", {"message": f"undecided: {told}"})
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Without what XML cannot hold."""
    from unwaver.text.safe import safe

    return "".join(c if c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "�" for c in safe(text))


def markdown(checks: Sequence[Check], alpha: float) -> str:
    """A summary for the page of a CI job."""
    marks = {"pass": "✅ pass", "fail": "❌ fail", "undecided": "❔ undecided"}
    lines = [
        f"## unwaver gate: {marks[overall(checks)]}",
        "",
        "| relation | model | bar | % | limits | accuracy | groups | verdict | why |",
        "|---|---|---|--:|--:|--:|--:|---|---|",
    ]
    for c in checks:
        cells = [c.case, c.model, c.bar, _percent(c.value), limits(c), _percent(c.accuracy), f"{c.counted:,}"]
        lines.append("| " + " | ".join(_cell(cell) for cell in [*cells, marks[c.verdict], c.reason]) + " |")
    level = f"{100 * (1 - alpha):g} %"
    return "\n".join([*lines, "", f"Limits are one-sided at {level}; of a drop, of how much worse it is.", ""])


def _cell(text: str) -> str:
    """Text of data or models in a Markdown table: nothing in it is markup."""
    from unwaver.text.safe import safe

    flat = " ".join(safe(text).split())
    return "".join(f"&#{ord(c)};" if c in "|<>&`*_[]\\~!#@:" else c for c in flat)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def limits(check: Check) -> str:
    return "–" if check.low is None else f"{_percent(check.low)} – {_percent(check.high)}"


def shown_value(check: Check) -> str:
    """ "tau is 12.5 % [9.1 – 16.8]"; against a baseline also what it was."""
    if check.value is None:
        return f"{check.metric} has no value"
    was = "" if check.baseline is None else f", was {_percent(check.baseline)} %; worse by"
    return f"{check.metric} is {_percent(check.value)} %{was} [{limits(check)}]"


def as_line(check: Check) -> str:
    counts = f"{check.counted:,} of {check.groups:,} groups, accuracy {_percent(check.accuracy)} %"
    about = f"{check.verdict}: {check.case} · {check.model}: {check.bar}"
    return f"{about}: {shown_value(check)}; {check.reason} ({counts})"
