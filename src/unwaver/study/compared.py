"""Two sides of a study compared with each other, at two levels that answer two questions.

    these models  the same groups put to both: values of a group are averaged over seeds, and the signs of the
                  differences are flipped by cluster. Speaks of the very models that were trained
    this recipe   one value for each seed: Welch's t-test, or a paired one. Speaks of what another seed would give

A verdict follows the second, by Holm's correction over all tests of the study. Groups that a model was trained on
are in no test.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from unwaver.engine.load import load_run
from unwaver.groups import SEEN_SUFFIX
from unwaver.meaning import family_of, meaning_of
from unwaver.metrics.block import block_of
from unwaver.metrics.score import measured, partition
from unwaver.stats import Floats, Ints, paired
from unwaver.stats.paired import holm
from unwaver.stats.seeds import Sample, SeedTest, paired_t, welch
from unwaver.study.lines import TEST, SeedMean, leading_scores
from unwaver.study.sides import Comparison, Side
from unwaver.study.work import StudyModel, answers_to_test

ALPHA = 0.05
MARGIN = 0.02  # how much accuracy may be lost: 2 points
VERDICTS = ("better", "worse", "no difference")
NOT_TESTED = "not tested"

RelationMetric = tuple[str, str, str, str]  # suite, task, kind, metric
Units = tuple[str, ...]  # the original items of a group that shares them with others, else its cluster
GroupValues = dict[str, tuple[Units, list[float]]]  # group -> its units, a value for each seed


@dataclass(frozen=True)
class GroupTest:
    """second − first on groups that both have, seeds averaged."""

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    p: float
    groups: int
    clusters: int
    p_holm: float = 1.0


@dataclass(frozen=True)
class Compared:
    """One metric of one relation, second against first."""

    first: Side
    second: Side
    suite: str
    task: str
    kind: str
    metric: str
    recipe: SeedTest
    models: GroupTest | None  # none where no group has values on both sides
    p_holm: float | None = None  # of the recipe
    verdict: str = NOT_TESTED  # better, worse, no difference; of accuracy also non-inferior

    @property
    def raw_verdict(self) -> str:
        """Without a correction for the number of tests, as BECEL counts."""
        return _direction(self.recipe.p, self.recipe.difference, better_of(self.metric))


def compared(
    comparisons: Iterable[Comparison], lines: Sequence[SeedMean], models: Sequence[StudyModel]
) -> list[Compared]:
    known: dict[Side, dict[RelationMetric, GroupValues]] = {}

    def groups(side: Side) -> dict[RelationMetric, GroupValues]:
        if side not in known:
            known[side] = _by_case([m for m in models if m.side == side])
        return known[side]

    return judged([test for comparison in comparisons for test in _tests(comparison, lines, groups)])


def judged(tests: Sequence[Compared]) -> list[Compared]:
    """Both corrections over all tests that could be made, and what follows."""
    recipes = _corrected([t.recipe.p for t in tests])
    models = _corrected([None if t.models is None else t.models.p for t in tests])
    found = []
    for test, recipe, of_models in zip(tests, recipes, models, strict=True):
        two = None if test.models is None else replace(test.models, p_holm=1.0 if of_models is None else of_models)
        found.append(_with_verdict(replace(test, p_holm=recipe, models=two)))
    return found


def _corrected(p: Sequence[float | None]) -> list[float | None]:
    """Holm over those that there are: [0.01, None, 0.03] -> [0.02, None, 0.03]."""
    corrected = iter(holm([value for value in p if value is not None]))
    return [None if value is None else next(corrected) for value in p]


def _with_verdict(test: Compared) -> Compared:
    verdict = _direction(test.p_holm, test.recipe.difference, better_of(test.metric))
    low = test.recipe.low
    if test.metric == "accuracy" and verdict != "better" and low is not None and low > -MARGIN:
        verdict = "non-inferior"
    return replace(test, verdict=verdict)


def _direction(p: float | None, difference: float, better: str) -> str:
    if p is None:
        return NOT_TESTED
    if p >= ALPHA:
        return "no difference"
    return "better" if (difference < 0) == (better == "low") else "worse"


def better_of(metric: str) -> str:
    meaning = meaning_of(metric)
    return "high" if meaning is None else meaning.better


def _can_lead(metric: str) -> bool:
    """By a name of its own: rates of different k are never tested against each other."""
    meaning = family_of(metric)
    return meaning is not None and meaning.leads is not None and not meaning.is_family


# --- this recipe --------------------------------------------------------------------------------------------


def _tests(
    comparison: Comparison,
    lines: Sequence[SeedMean],
    groups: Callable[[Side], Mapping[RelationMetric, GroupValues]],
) -> Iterator[Compared]:
    first, second = comparison.first, comparison.second
    other = {line.case: line for line in lines if line.side == second}
    for line in lines:
        if line.side != first or line.case not in other or line.kind.endswith(SEEN_SUFFIX):
            continue
        if line.kind != TEST and not _can_lead(line.metric):
            continue
        recipe = seed_test(line, other[line.case], paired=comparison.paired)
        if recipe is not None:
            one, two = (groups(side).get(line.case) for side in (first, second))
            of_models = group_test(one, two) if one and two else None
            yield Compared(first, second, *line.case, recipe, of_models)


def seed_test(first: SeedMean, second: SeedMean, *, paired: bool = False) -> SeedTest | None:
    """None if a side has no value."""
    if paired:
        return paired_t(first.by_seed, second.by_seed)
    if first.value is None or second.value is None:
        return None
    return welch(Sample(first.value, first.sd, first.seeds), Sample(second.value, second.sd, second.seeds))


# --- these models -------------------------------------------------------------------------------------------


def _by_case(models: Sequence[StudyModel]) -> dict[RelationMetric, GroupValues]:
    found: dict[RelationMetric, GroupValues] = {}

    def add(case: RelationMetric, group: str, units: Units, value: float) -> None:
        found.setdefault(case, {}).setdefault(group, (units, []))[1].append(value)

    for model in models:
        leading = {(s.suite, s.task, s.kind, s.metric) for s in leading_scores(model)}
        for answer in answers_to_test(model):
            case = ("", answer["task"], TEST, "accuracy")
            add(case, str(answer["id"]), (str(answer["cluster"]),), float(answer["label"] == answer["gold"]))
        for run in model.runs:
            for case, groups, values in _group_values(load_run(run).frames[0]):
                if case in leading:
                    for (group, units), value in zip(groups, values, strict=True):
                        add(case, group, units, float(value))
    return found


def _group_values(frame: pl.DataFrame) -> Iterator[tuple[RelationMetric, list[tuple[str, Units]], Floats]]:
    """Of each case and metric: (group, units) in order, and a value for each."""
    for part in partition(frame):
        block = block_of(part)
        rows = part.filter(pl.col("role") != "test").unique("group", keep="first", maintain_order=True)
        shared = rows["units"].to_list() if "units" in rows.columns else [None] * rows.height
        named = zip(rows["group"], rows["cluster"], shared, strict=True)
        groups = [(group, tuple(units) if units else (cluster,)) for group, cluster, units in named]
        told: set[str] = set()  # of two readings of unreadable answers the first is the one that leads
        for found in measured(block, "violate"):
            name, values = found.metric.name, found.mean_of
            if _can_lead(name) and name not in told and found.metric.given is None and values is not None:
                told.add(name)
                yield (block.suite, block.task, block.kind, name), groups, values


def group_test(first: GroupValues, second: GroupValues) -> GroupTest | None:
    """The paired test of two sides; a group counts if each has a value of it in some seed."""
    rows = []
    for group, (units, values) in first.items():
        if group in second:
            a, b = ([v for v in side if not np.isnan(v)] for side in (values, second[group][1]))
            if a and b:
                rows.append((units, statistics.fmean(a), statistics.fmean(b)))
    if not rows:
        return None
    codes = _codes([r[0] for r in rows])
    found = paired.difference(np.array([r[1] for r in rows]), np.array([r[2] for r in rows]), codes)
    assert found is not None
    ends = found.low, found.high
    return GroupTest(found.first, found.second, found.difference, *ends, found.p, found.groups, found.clusters)


def _codes(units: Sequence[Units]) -> Ints:
    """Numbers for the units, a row per group, −1 if it has fewer: [("a",), ("b", "a")] -> [[0, −1], [1, 0]]."""
    number = {name: n for n, name in enumerate(dict.fromkeys(name for some in units for name in some))}
    most = max(map(len, units))
    rows = np.full((len(units), most), -1, dtype=np.int64)
    for n, some in enumerate(units):
        rows[n, : len(some)] = [number[name] for name in some]
    return rows[:, 0] if most == 1 else rows
