"""Runs on the same groups, each against the first: which differences are there, and which groups changed?

Nothing is compared that is not the same question: other groups, other texts, other numbers of variants or other
settings are refused, unless asked for, and then they are named. Prompts and decoding may differ: see differing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from unwaver.asking.failures import Reason, from_records
from unwaver.engine.load import load, name_of
from unwaver.errors import DataError, UsageError, near
from unwaver.groups import ALONE, BASE, is_plain
from unwaver.meaning import leading_of
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.broken import broken
from unwaver.metrics.score import Measured, Unreadable, accuracy_of, measured
from unwaver.stats import LEVEL
from unwaver.stats.paired import difference, holm
from unwaver.types import Group, Item, replace
from unwaver.verdicts.differing import AGREEMENT, Difference, agree_alike, agreements_of, asked_how, differing

CaseName = tuple[str, str, str]
Change = Literal["better", "worse", "differs", "no difference"]

# what gives a comparison another meaning; the model, its method, its prompts and its decoding are what is compared
MEANING = (
    "shots", "replicates", "normalise", "read", "unreadable", "cut", "additive", "variants", "writer",
    "writer_args", "writer_prompt", "judges", "k", "encoder", "lang", "antonyms", "review", "epsilon",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """The answers of one model in one run."""

    path: str
    model: str
    method: str
    frame: pl.DataFrame
    settings: Mapping[str, Any] = field(default_factory=dict)  # none: of a table nothing is known
    groups: Mapping[str, Group] = field(default_factory=dict)
    unreadable: Unreadable = "violate"
    failures: tuple[Reason, ...] = ()  # of this model, and of those who judged
    asked: Mapping[str, Any] = field(default_factory=dict)  # system prompt, templates and decoding, if known
    suites: Mapping[str, str] = field(default_factory=dict)  # version and hash of those that have one

    @property
    def name(self) -> str:
        return f"{self.model} ({self.path})"


@dataclass(frozen=True)
class ComparedScore:
    """One metric on one suite/task/kind: second − first. Values are fractions, lists are ids of groups."""

    suite: str
    task: str
    kind: str
    metric: str
    given: str | None
    better: Literal["low", "high", ""]
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    interval: str | None
    p: float | None
    test: str | None
    groups: int  # that both have
    counted: int
    not_applicable: int
    missing: int  # answers are missing in one of them
    clusters: int
    unreadable: tuple[int, int]
    accuracy: tuple[float | None, float | None]
    broken: tuple[str, ...]
    fixed: tuple[str, ...]
    p_holm: float | None = None
    verdict: Change | None = None


@dataclass(frozen=True)
class Comparison:
    first: Side
    second: Side
    rows: tuple[ComparedScore, ...]
    remarks: tuple[str, ...]

    @property
    def differs(self) -> list[Difference]:
        return what_differs(self.first, self.second)


def what_differs(first: Side, second: Side) -> list[Difference]:
    """How the two were asked differently: what the comparison is about, beside the models."""
    return differing(first.asked, second.asked, same_model=first.model == second.model)


def sides_of(answers: Any, unreadable: Unreadable | None = None, **options: Any) -> list[Side]:
    """The models of a run folder, a table, a log or a result; options are those of unwaver.score."""
    found = load(answers, **options)
    groups = {group.id: group for group in found.groups}
    settings: dict[str, Any] = {}
    reading: Unreadable = unreadable or "violate"
    reasons: list[Reason] = []
    compares: dict[str, Any] = {}
    if found.config is not None:
        config = found.run["config"]
        reading = unreadable or config.get("unreadable", "violate")
        cut = options.get("cut") or config.get("cut", "exclude")
        settings = {name: config.get(name) for name in MEANING} | {"unreadable": reading, "cut": cut}
        reasons = from_records(found.run.get("failures"))
        if config.get("shots"):
            settings["seed"] = config.get("seed")  # it chooses the solved examples
    if found.groups and (agreements := agreements_of(found.frame.columns, found.run, options.get("agree"))):
        compares = {AGREEMENT: agreements}
    parts = found.frame.partition_by(["model", "method"], maintain_order=True)
    return [
        Side(
            *(name_of(answers), name, method, part, settings, groups, reading, _failures(reasons, name)),
            asked=(asked_how(found.run, name, method) if found.config is not None else {}) | compares,
            suites=found.run.get("suites") or {},
        )
        for part in parts
        for name, method in [(str(part["model"][0]), str(part["method"][0]))]
    ]


def _failures(reasons: Sequence[Reason], model: str) -> tuple[Reason, ...]:
    return tuple(r for r in reasons if r.role != "model" or r.model == model)


def pairs_of(runs: Sequence[Sequence[Side]]) -> list[tuple[Side, Side]]:
    """Runs of the same several models are compared model by model; else everything with what comes first."""
    if len(runs) > 1 and len(runs[0]) > 1:
        twins = [[twin_of(first, later) for first in runs[0]] for later in runs[1:]]
        if all(len(later) == len(runs[0]) for later in runs[1:]) and None not in (t for of in twins for t in of):
            return [(one, t) for of in twins for one, t in zip(runs[0], of, strict=True) if t is not None]
    first, *others = [side for sides in runs for side in sides]
    if not others:
        raise UsageError("there is only one run of one model here", hint="give a second run: unwaver compare A B")
    return [(first, other) for other in others]


def twin_of(side: Side, others: Sequence[Side]) -> Side | None:
    """The same model in another run: by its method, too, where it has several. Another decoding has another name
    for the method."""
    exact = [other for other in others if (other.model, other.method) == (side.model, side.method)]
    named = [other for other in others if other.model == side.model]
    return exact[0] if exact else named[0] if len(named) == 1 else None


def compare(
    pairs: Sequence[tuple[Side, Side]],
    *,
    metrics: Sequence[str] = (),
    common: bool = False,
    allow_different: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Comparison]:
    """Every pair, on the groups that both have; Holm's correction is over all rows of all pairs."""
    found = []
    for first, second in pairs:
        one, other, remarks = paired(
            first, second, common=common, allow_different=allow_different, agree_apart=True
        )
        rows = [row for a, b in zip(one, other, strict=True) for row in _rows(a, b, first, second, metrics, seed)]
        found.append(Comparison(first, second, tuple(rows), tuple(remarks)))
    _check_metrics(found, metrics)
    return _judged(found, alpha)


# --- the same groups ----------------------------------------------------------------------------------------


class Aligned(NamedTuple):
    """The answers about one suite/task/kind, its groups in one order on both sides."""

    names: list[str]
    block: Block


def paired(
    first: Side, second: Side, *, common: bool, allow_different: bool, agree_apart: bool = False
) -> tuple[list[Aligned], list[Aligned], list[str]]:
    """What both have, case by case, and what a reader must know; refused where it is not the same question.
    `agree_apart`: free answers may be compared by another agreement on each side."""
    _check_versions(first, second)
    one, other = _by_case(first), _by_case(second)
    shared = _shared(first, second, one, other, common)
    remarks = _unequal(one, other, shared) if common else []
    remarks += [
        f"{side.name} was asked until a verdict was certain: p values are too small and intervals too narrow"
        for side in (first, second)
        if "sequential" in side.frame.columns
    ]
    differences = _other_settings(first, second)
    alike = agree_alike(first.asked, second.asked)
    if not alike and agree_apart:
        remarks.append(APART)
    elif not alike:
        ways = [", ".join(side.asked[AGREEMENT]) for side in (first, second)]
        differences.append(f"--agree is {ways[0]} and {ways[1]}")
    if different := _other_texts(first, second, shared):
        differences.append(different)
    aligned: tuple[list[Aligned], list[Aligned]] = ([], [])
    for case, names in shared.items():
        parts = [_in_order(side[case], names) for side in (one, other)]
        if different := _other_sizes(*parts):
            differences.append(f"{'/'.join(case)}: {different}")
        for found, part in zip(aligned, parts, strict=True):
            found.append(Aligned(names, block_of(part)))
    if differences and not allow_different:
        raise UsageError(
            f"{first.name} and {second.name} were not asked in the same way: {'; '.join(differences)}",
            hint=("" if alike else "--agree NAME compares both by one; ")
            + "--allow-different compares them anyway and lists the differences",
        )
    return *aligned, remarks + [f"compared although they differ: {d}" for d in differences]


def _check_versions(first: Side, second: Side) -> None:
    """Two versions of a suite ask different questions under the same names."""
    for name in first.suites.keys() & second.suites.keys():
        if first.suites[name] != second.suites[name]:
            raise UsageError(
                f"{first.name} and {second.name} are of two versions of {name}: {first.suites[name]} and "
                f"{second.suites[name]}",
                hint=f"run {name} with both models again; --core-seed and --table must be the same",
            )


APART = (
    "free answers are compared by another agreement on each side, so no value is better or worse than the other: "
    "--agree NAME compares both by one"
)


def _by_case(side: Side) -> dict[CaseName, pl.DataFrame]:
    rows = side.frame.filter(pl.col("role") != "test")
    parts = rows.partition_by(["suite", "task", "kind"], maintain_order=True)
    return {(part["suite"][0], part["task"][0], part["kind"][0]): part for part in parts}


def _names(rows: pl.DataFrame | None) -> list[str]:
    return [] if rows is None else [str(name) for name in rows["group"].unique(maintain_order=True).to_list()]


def _shared(
    first: Side,
    second: Side,
    one: Mapping[CaseName, pl.DataFrame],
    other: Mapping[CaseName, pl.DataFrame],
    common: bool,
) -> dict[CaseName, list[str]]:
    unequal = []
    shared: dict[CaseName, list[str]] = {}
    for case in dict.fromkeys([*one, *other]):
        a, b = _names(one.get(case)), _names(other.get(case))
        if set(a) != set(b) and case[2].partition("_")[0] not in ALONE:
            a, b = _names(_with_variants(one.get(case))), _names(_with_variants(other.get(case)))
        known = set(b)
        both = [name for name in a if name in known]
        if both:
            shared[case] = both
        asked_once = case[2].partition("_")[0] == BASE and not (a and b)  # --base-accuracy of one run
        if not len(a) == len(b) == len(both) and not asked_once:
            unequal.append(f"{'/'.join(case)} has {len(a):,} and {len(b):,} groups, {len(both):,} in both")
    if unequal and shared and not common:
        more = f"; and {len(unequal) - 3} more" if len(unequal) > 3 else ""
        raise UsageError(
            f"{first.name} and {second.name} have different groups: {'; '.join(unequal[:3])}{more}",
            hint="--common compares those that both have",
        )
    if not shared:
        raise DataError(
            f"{first.name} and {second.name} have no group in common", hint="both must use the same group ids"
        )
    return shared


def _with_variants(rows: pl.DataFrame | None) -> pl.DataFrame | None:
    """Without groups whose variants were all refused: people are not asked about them, and no value has them."""
    return None if rows is None else rows.filter((pl.col("role") != "original").any().over("group"))


def _unequal(
    one: Mapping[CaseName, pl.DataFrame],
    other: Mapping[CaseName, pl.DataFrame],
    shared: Mapping[CaseName, Sequence[str]],
) -> list[str]:
    lines = []
    for case in dict.fromkeys([*one, *other]):
        both = len(shared.get(case, ()))
        only = len(_names(one.get(case))) - both, len(_names(other.get(case))) - both
        if any(only):
            left_out = f"left out: {only[0]:,} of the first, {only[1]:,} of the second"
            lines.append(f"{'/'.join(case)}: {both:,} groups in both; {left_out}")
    return lines


def _in_order(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    order = pl.DataFrame({"_group": names, "_place": range(len(names))}, schema_overrides={"_group": pl.String})
    keyed = rows.with_columns(_group=pl.col("group").cast(pl.String))
    found = keyed.join(order, on="_group", how="inner").sort("_place", maintain_order=True)
    return found.drop("_place", "_group")


def _other_settings(first: Side, second: Side) -> list[str]:
    if not first.settings or not second.settings:
        return []
    names = dict.fromkeys([*first.settings, *second.settings])
    values = [(name, first.settings.get(name), second.settings.get(name)) for name in names]
    return [f"--{name.replace('_', '-')} is {_shown(a)} and {_shown(b)}" for name, a, b in values if a != b]


def _shown(value: object) -> str:
    return "not given" if value in (None, [], {}, ()) else str(value)


def _other_texts(first: Side, second: Side, shared: Mapping[CaseName, Sequence[str]]) -> str | None:
    """Groups of one id with other texts; of variants that have to be certified only the originals are alike."""
    if not first.groups or not second.groups or first.groups is second.groups:
        return None
    names = [name for found in shared.values() for name in found]
    other = [n for n in names if _texts(first.groups.get(n)) != _texts(second.groups.get(n))]
    return f"{len(other):,} groups have different texts, such as {other[0]}" if other else None


def _texts(group: Group | None) -> list[Any]:
    if group is None:
        return []

    def asked(item: Item) -> tuple[Any, ...]:
        return item.role, dict(item.fields), item.choices, item.accepted, item.template

    return [asked(item) for item in group.items if is_plain(group) or item.role == "original"]


def _other_sizes(one: pl.DataFrame, other: pl.DataFrame) -> str | None:
    """Some metrics grow with the number of variants, and none is paired where it differs: never across other k."""
    if "keep" in one.columns and "keep" in other.columns and one["keep"].max() is not None:
        ks = one["keep"].max(), other["keep"].max()
        return None if ks[0] == ks[1] else f"k is {ks[0]!r} and {ks[1]!r}"
    sizes = [rows.group_by("group", maintain_order=True).len() for rows in (one, other)]
    unequal = np.flatnonzero(sizes[0]["len"].to_numpy() != sizes[1]["len"].to_numpy())
    if not len(unequal):
        return None
    place = int(unequal[0])
    a, b = sizes[0]["len"][place], sizes[1]["len"][place]
    such = f"such as {_names(one)[place]} with {a} and {b}"
    return f"{len(unequal):,} groups have different numbers of answers, {such}"


# --- differences --------------------------------------------------------------------------------------------


class _Named(NamedTuple):
    """A metric that can be compared, on both sides."""

    metric: str
    given: str | None
    value: float | None
    one: Measured
    other: Measured


def _rows(
    one: Aligned, other: Aligned, first: Side, second: Side, metrics: Sequence[str], seed: int
) -> Iterator[ComparedScore]:
    named = comparable(one.block, other.block, first.unreadable, second.unreadable)
    apart = bool(one.block.agree) and not agree_alike(first.asked, second.asked)
    if not metrics and named:
        named = [leading_of(named)]
    for found in named:
        if not metrics or found.metric in metrics:
            row = _row(found, one, other, seed)
            yield replace(row, better="") if apart else row


def comparable(
    one: Block, other: Block, reading: Unreadable = "violate", other_reading: Unreadable = "violate"
) -> list[_Named]:
    """The metrics that both blocks have and that are a function of sums over groups."""
    second: dict[tuple[str, str | None], Measured] = {}
    for found in measured(other, other_reading):
        second.setdefault((found.metric.name, found.metric.given), found)
    named: dict[tuple[str, str | None], _Named] = {}
    for found in measured(one, reading):
        m = found.metric
        key = m.name, m.given
        if m.known or m.of_test or m.by_weight or m.name.endswith("_published") or key not in second:
            continue
        value = 0.0 if found.counted and second[key].counted else None
        named.setdefault(key, _Named(m.name, m.given, value, found, second[key]))
    return list(named.values())


def _row(named: _Named, one: Aligned, other: Aligned, seed: int) -> ComparedScore:
    metric, block = named.one.metric, one.block
    found = difference(
        named.one.values, named.other.values, block.units, metric.reduce, share=metric.share, seed=seed
    )
    complete = block.complete & other.block.complete
    counted = found.groups if found else 0
    before, after = broken(block), broken(other.block)
    return ComparedScore(
        suite=block.suite,
        task=block.task,
        kind=block.kind,
        metric=metric.name,
        given=metric.given,
        better=metric.better,
        first=found.first if found else None,
        second=found.second if found else None,
        difference=found.difference if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        interval=found.interval if found else None,
        p=found.p if found else None,
        test=found.test if found else None,
        groups=block.groups,
        counted=counted,
        not_applicable=int(complete.sum()) - counted,
        missing=int((~complete).sum()),
        clusters=found.clusters if found else 0,
        unreadable=(int(block.unreadable.sum()), int(other.block.unreadable.sum())),
        accuracy=(accuracy_of(_only(block, complete)), accuracy_of(_only(other.block, complete))),
        broken=tuple(name for name, a, b in zip(one.names, before, after, strict=True) if a == 0 and b > 0),
        fixed=tuple(name for name, a, b in zip(one.names, before, after, strict=True) if a > 0 and b == 0),
    )


def _only(block: Block, groups: np.ndarray) -> Block:
    """The block with the other groups counted as not asked."""
    return replace(block, not_asked=~groups)


def _check_metrics(found: Sequence[Comparison], metrics: Sequence[str]) -> None:
    have = {row.metric for comparison in found for row in comparison.rows}
    for name in metrics:
        if name not in have:
            first, second = found[0].first, found[0].second
            one, other, _ = paired(first, second, common=True, allow_different=True)
            known = {n.metric for a, b in zip(one, other, strict=True) for n in comparable(a.block, b.block)}
            raise UsageError(f"there is no {name} to compare", hint=near(name, known))


def _judged(found: Sequence[Comparison], alpha: float) -> list[Comparison]:
    rows = [row for comparison in found for row in comparison.rows if row.p is not None]
    corrected = dict(zip(map(id, rows), holm([row.p or 0.0 for row in rows]), strict=True))

    def judged(row: ComparedScore) -> ComparedScore:
        if id(row) not in corrected or row.difference is None:
            return row
        return replace(row, p_holm=corrected[id(row)], verdict=_change(row, corrected[id(row)] < alpha))

    return [replace(c, rows=tuple(judged(row) for row in c.rows)) for c in found]


def _change(row: ComparedScore, is_there: bool) -> Change:
    if not is_there or not row.difference:
        return "no difference"
    if not row.better:
        return "differs"
    return "better" if (row.difference < 0) == (row.better == "low") else "worse"


def summary(rows: Sequence[ComparedScore]) -> dict[str, dict[str, int]]:
    """By kind, how many rows are better, worse, not different: the picture of many tasks at one glance."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.verdict:
            of_kind = counts.setdefault(row.kind, {"better": 0, "worse": 0, "no difference": 0})
            of_kind[row.verdict] = of_kind.get(row.verdict, 0) + 1
    return counts


def document(found: Sequence[Comparison], alpha: float) -> dict[str, Any]:
    """What `unwaver compare --json` prints."""
    from dataclasses import asdict

    return {
        "version": 1,
        "alpha": alpha,
        "level": LEVEL,
        "comparisons": [
            {
                **{
                    name: {"path": side.path, "model": side.model, "method": side.method}
                    for name, side in (("first", c.first), ("second", c.second))
                },
                "differs": [difference._asdict() for difference in c.differs],
                "summary": summary(c.rows),
                "rows": [asdict(row) for row in c.rows],
                "remarks": list(c.remarks),
            }
            for c in found
        ],
    }
