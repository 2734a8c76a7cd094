"""What the models of a study say: means over seeds, paired tests between conditions, and ρ.

A test compares two conditions on the same groups: the values of a group are averaged over seeds, and the signs of
the differences are flipped by cluster. Groups that a model was trained on are in no test.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from unwaver.engine.folder import SCORES
from unwaver.engine.load import load_run
from unwaver.engine.stored import read_scores
from unwaver.groups import SEEN_SUFFIX
from unwaver.meaning import family_of, meaning_of
from unwaver.metrics.block import block_of
from unwaver.metrics.score import measured, partition
from unwaver.result import Result
from unwaver.stats import Floats, paired
from unwaver.stats.paired import holm
from unwaver.study.plan import Condition, StudyPlan
from unwaver.study.work import StudyModel, answers_to_test
from unwaver.train.base import is_text_to_text, open_base
from unwaver.types import Score

ALPHA = 0.05
MARGIN = 0.02  # how much accuracy may be lost: 2 points
TEST = "test"  # the kind of accuracies on a test set

RelationMetric = tuple[str, str, str, str]  # suite, task, kind, metric


@dataclass(frozen=True)
class SeedMean:
    """Mean and s.d. over seeds of one metric, accuracy beside; values are fractions."""

    base: str
    setting: str
    fraction: float
    suite: str
    task: str
    kind: str
    metric: str
    better: str
    value: float | None
    sd: float | None
    accuracy: float | None
    accuracy_sd: float | None
    seeds: int
    groups: int  # the fewest that a seed's value rests on
    not_applicable: int
    seen_in_training: bool
    constant: int = 0  # seeds that give one and the same answer to everything
    unreadable: int = 0  # the most groups of a seed with an answer that is no label


@dataclass(frozen=True)
class Compared:
    """second − first on groups that both have, seeds averaged."""

    base: str
    first: str
    second: str
    suite: str
    task: str
    kind: str
    metric: str
    value_first: float
    value_second: float
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float
    verdict: str  # better, worse, no difference; of accuracy also non-inferior
    groups: int
    clusters: int


@dataclass(frozen=True)
class Findings:
    lines: list[SeedMean]
    tests: list[Compared]
    shares: list[dict[str, Any]]
    rho: list[dict[str, Any]]

    def document(self) -> dict[str, Any]:
        tests = [asdict(t) for t in self.tests]
        return {
            "version": 1,
            "lines": [asdict(x) for x in self.lines],
            "tests": tests,
            "shares": self.shares,
            "rho": self.rho,
        }


def findings(plan: StudyPlan, models: Sequence[StudyModel]) -> Findings:
    lines = list(_lines(models))
    tests = [test for base in plan.bases for pair in plan.compare for test in _tests(base, pair, models)]
    corrected = holm([test.p for test in tests])
    tests = [_judged(replace(t, p_holm=p), better_of(t.metric)) for t, p in zip(tests, corrected, strict=True)]
    writers = {base for base in plan.bases if is_text_to_text(open_base(base)[1])}
    return Findings(lines, tests, list(_shares(tests)), list(rho_of(lines, writers)))


def better_of(metric: str) -> str:
    meaning = meaning_of(metric)
    return "high" if meaning is None else meaning.better


def _can_lead(metric: str) -> bool:
    """By a name of its own: rates of different k are never tested against each other."""
    meaning = family_of(metric)
    return meaning is not None and meaning.leads is not None and not meaning.is_family


# --- means over seeds ---------------------------------------------------------------------------------------


def _lines(models: Sequence[StudyModel]) -> Iterator[SeedMean]:
    found: dict[tuple[str, Condition, RelationMetric], list[Score]] = {}
    accuracies: dict[tuple[str, Condition, str], list[list[float]]] = {}
    for model in models:
        for score in _scores(model):
            case = (score.suite, score.task, score.kind, score.metric)
            found.setdefault((model.base, model.condition, case), []).append(score)
        rights: dict[str, list[float]] = {}
        for answer in answers_to_test(model):
            rights.setdefault(answer["task"], []).append(float(answer["label"] == answer["gold"]))
        for task, right in rights.items():
            accuracies.setdefault((model.base, model.condition, task), []).append(right)
    for (base, condition, task), several in accuracies.items():
        values = [statistics.fmean(right) for right in several]
        spread = _sd(values)
        about = (base, condition.setting, condition.fraction, "", task, TEST, "accuracy", "high")
        value = statistics.fmean(values)
        yield SeedMean(*about, value, spread, value, spread, len(values), len(several[0]), 0, False)
    for (base, condition, (suite, task, kind, metric)), scores in found.items():
        values = [s.value for s in scores if s.value is not None]
        right = [s.accuracy for s in scores if s.accuracy is not None]
        about = (base, condition.setting, condition.fraction, suite, task, kind, metric, scores[0].better)
        yield SeedMean(
            *about,
            value=statistics.fmean(values) if values else None,
            sd=_sd(values),
            accuracy=statistics.fmean(right) if right else None,
            accuracy_sd=_sd(right),
            seeds=len(values),
            groups=min((s.counted for s in scores if s.value is not None), default=0),
            not_applicable=max(s.not_applicable for s in scores),
            seen_in_training=kind.endswith(SEEN_SUFFIX),
            constant=sum("constant" in s.flags for s in scores),
            unreadable=max(s.unreadable for s in scores),
        )


def _sd(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _scores(model: StudyModel) -> Iterator[Score]:
    for run in model.runs:
        yield from Result(read_scores(run / SCORES)).leading()


# --- paired tests -------------------------------------------------------------------------------------------

GroupValues = dict[str, tuple[str, list[float]]]  # group -> its cluster, a value for each seed


def _tests(base: str, pair: tuple[Condition, Condition], models: Sequence[StudyModel]) -> Iterator[Compared]:
    first, second = ([m for m in models if m.base == base and m.condition == side] for side in pair)
    one, other = _by_case(first), _by_case(second)
    names = [c.setting if pair[0].fraction == pair[1].fraction else f"{c.setting}@{c.fraction:g}" for c in pair]
    for case in one:
        if case in other and not case[2].endswith(SEEN_SUFFIX):
            found = paired_test(one[case], other[case])
            if found is not None:
                suite, task, kind, metric = case
                about = replace(found, suite=suite, task=task, kind=kind, metric=metric)
                yield replace(about, base=base, first=names[0], second=names[1])


def _by_case(models: Sequence[StudyModel]) -> dict[RelationMetric, GroupValues]:
    found: dict[RelationMetric, GroupValues] = {}

    def add(case: RelationMetric, group: str, cluster: str, value: float) -> None:
        found.setdefault(case, {}).setdefault(group, (cluster, []))[1].append(value)

    for model in models:
        leading = {(s.suite, s.task, s.kind, s.metric) for s in _scores(model)}
        for answer in answers_to_test(model):
            case = ("", answer["task"], TEST, "accuracy")
            add(case, str(answer["id"]), str(answer["cluster"]), float(answer["label"] == answer["gold"]))
        for run in model.runs:
            for case, groups, values in _group_values(load_run(run).frames[0]):
                if case in leading:
                    for (group, cluster), value in zip(groups, values, strict=True):
                        add(case, group, cluster, float(value))
    return found


def _group_values(frame: pl.DataFrame) -> Iterator[tuple[RelationMetric, list[tuple[str, str]], Floats]]:
    """Of each case and metric: (group, cluster) in order, and a value for each."""
    for part in partition(frame):
        block = block_of(part)
        rows = part.filter(pl.col("role") != "test").unique("group", keep="first", maintain_order=True)
        groups = list(rows.select("group", "cluster").iter_rows())
        told: set[str] = set()  # of two readings of unreadable answers the first is the one that leads
        for found in measured(block, "violate"):
            name, values = found.metric.name, found.mean_of
            if _can_lead(name) and name not in told and found.metric.given is None and values is not None:
                told.add(name)
                yield (block.suite, block.task, block.kind, name), groups, values


def paired_test(first: GroupValues, second: GroupValues) -> Compared | None:
    """The paired test of two conditions; a group counts if each has a value of it in some seed."""
    rows = []
    for group, (cluster, values) in first.items():
        if group in second:
            a, b = ([v for v in side if not np.isnan(v)] for side in (values, second[group][1]))
            if a and b:
                rows.append((cluster, statistics.fmean(a), statistics.fmean(b)))
    if not rows:
        return None
    units = np.unique([r[0] for r in rows], return_inverse=True)[1]
    found = paired.difference(np.array([r[1] for r in rows]), np.array([r[2] for r in rows]), units)
    assert found is not None
    return Compared(
        base="", first="", second="", suite="", task="", kind="", metric="",
        value_first=found.first, value_second=found.second, difference=found.difference, low=found.low,
        high=found.high, p=found.p, p_holm=1.0, verdict="", groups=found.groups, clusters=found.clusters,
    )  # fmt: skip


def _judged(test: Compared, better: str) -> Compared:
    if test.p_holm >= ALPHA:
        verdict = "no difference"
    else:
        verdict = "better" if (test.difference < 0) == (better == "low") else "worse"
    if test.metric == "accuracy" and verdict != "better" and test.low is not None and test.low > -MARGIN:
        verdict = "non-inferior"
    return replace(test, verdict=verdict)


def _shares(tests: Sequence[Compared]) -> Iterator[dict[str, Any]]:
    """Of the consistency tests of each pair: how many are better, worse, no different."""
    for base, first, second in dict.fromkeys((t.base, t.first, t.second) for t in tests):
        pair = [t for t in tests if (t.base, t.first, t.second) == (base, first, second)]
        some = [t for t in pair if t.metric != "accuracy"]
        counts = {v: sum(t.verdict == v for t in some) for v in ("better", "worse", "no difference")}
        yield {"base": base, "first": first, "second": second, "tests": len(some), **counts}


# --- ρ ------------------------------------------------------------------------------------------------------


def rho(tau: float, tau_snli: float, tau_best: float) -> float | None:
    """How far a model's negational τ falls from a task to SNLI, in units of what the best model does on the task:
    rho(0.6, 0.2, 0.4) -> 2.0; does not apply to the best model itself."""
    return None if tau == tau_best else (tau - tau_snli) / (tau - tau_best)


def rho_of(lines: Sequence[SeedMean], writers: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """ρ of BoolQ, MRPC and RTE; the best is taken over the bases of one suite, setting and fraction that write no
    text (T5 does). Models of one size are compared: which bases stand in a study is its author's choice."""
    taus: dict[tuple[str, str, float], dict[tuple[str, str], float]] = {}
    for line in lines:
        if line.metric == "tau" and line.kind == "negational" and line.value is not None:
            taus.setdefault((line.suite, line.setting, line.fraction), {})[line.base, line.task] = line.value
    for (_, setting, fraction), found in taus.items():
        for task in ("boolq", "mrpc", "rte"):
            best = min((v for (b, t), v in found.items() if t == task and b not in writers), default=None)
            for base in dict.fromkeys(b for b, t in found if t == task):
                if best is None or (base, "snli") not in found:
                    continue
                value = rho(found[base, task], found[base, "snli"], best)
                told: Mapping[str, Any] = {"base": base, "setting": setting, "fraction": fraction, "task": task}
                yield {
                    **told,
                    "tau": found[base, task],
                    "tau_snli": found[base, "snli"],
                    "best": best,
                    "rho": value,
                }
