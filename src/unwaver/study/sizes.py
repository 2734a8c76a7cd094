"""What BECEL and CALM ask of several bases: ρ by size, shares of better cases, tests paired over models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unwaver.stats.seeds import SeedTest, paired_t
from unwaver.study.compared import ALPHA, NOT_TESTED, VERDICTS, Compared, better_of
from unwaver.study.lines import TEST, SeedMean
from unwaver.study.plan import StudyPlan
from unwaver.study.sides import Condition, Families, Side, TaskComparison

_OF_RHO = ("boolq", "mrpc", "rte")


# --- shares of better, worse and no difference --------------------------------------------------------------


def shares_of(tests: Sequence[Compared], plan: StudyPlan) -> Iterator[dict[str, Any]]:
    """Of the consistency tests of each pair of sides: how many are better, worse, no different, or not tested.
    `holm` follows the verdicts, `raw` the p of a t-test over seeds alone at α = .05, as BECEL counts.

    Two sizes are also counted over all families, and by relation.
    """
    some = [t for t in tests if t.metric != "accuracy"]
    for first, second in dict.fromkeys((t.first, t.second) for t in some):
        sides = {"first": asdict(first), "second": asdict(second)}
        yield _share(sides, [t for t in some if (t.first, t.second) == (first, second)])
    for one, other, condition in dict.fromkeys(size_pairs(plan)):
        sides = {"first": {"size": one, **asdict(condition)}, "second": {"size": other, **asdict(condition)}}
        all_of_them = [t for t in some if _is_of(t, one, other, condition, plan)]
        if all_of_them:
            yield _share(sides, all_of_them)
        for kind in dict.fromkeys(t.kind for t in all_of_them):
            yield _share({**sides, "kind": kind}, [t for t in all_of_them if t.kind == kind])


def _share(about: Mapping[str, Any], tests: Sequence[Compared]) -> dict[str, Any]:
    holm, raw = (_counts([getattr(t, name) for t in tests]) for name in ("verdict", "raw_verdict"))
    return {**about, "tests": len(tests), "holm": holm, "raw": raw}


def _counts(verdicts: Sequence[str]) -> dict[str, int]:
    return {verdict: verdicts.count(verdict) for verdict in (*VERDICTS, NOT_TESTED)}


def size_pairs(plan: StudyPlan) -> Iterator[tuple[str, str, Condition]]:
    """The sizes of a family that are compared, under each condition."""
    for c in plan.compare:
        one, other = plan.size_of(c.first.base), plan.size_of(c.second.base)
        same = plan.family_of(c.first.base) == plan.family_of(c.second.base)
        if one and same and c.first.condition == c.second.condition:
            yield one, other, c.first.condition


def _is_of(test: Compared, one: str, other: str, condition: Condition, plan: StudyPlan) -> bool:
    sizes = plan.size_of(test.first.base), plan.size_of(test.second.base)
    families = plan.family_of(test.first.base), plan.family_of(test.second.base)
    alike = families[0] == families[1] and test.first.condition == test.second.condition == condition
    return alike and sizes == (one, other)


# --- ρ ------------------------------------------------------------------------------------------------------


def rho(tau: float, tau_snli: float, tau_best: float) -> float | None:
    """How far a model's negational τ falls from a task to SNLI, in units of what the best model does on the task:
    rho(0.6, 0.2, 0.4) -> 2.0; does not apply where no model is better."""
    return None if tau <= tau_best else (tau - tau_snli) / (tau - tau_best)


def rho_of(lines: Sequence[SeedMean], plan: StudyPlan, writers: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """ρ of BoolQ, MRPC and RTE. The best τ is that of single-task models of the same size and fraction, trained on
    the task as it is, that write no text (T5 does)."""
    taus = {
        (line.suite, line.fraction, line.task, line.side): line.value
        for line in lines
        if line.metric == "tau" and line.kind == "negational" and line.value is not None
    }
    for (suite, fraction, task, side), tau in taus.items():
        snli = taus.get((suite, fraction, "snli", side))
        size = plan.size_of(side.base)
        alike = [
            value
            for (s, f, t, other), value in taus.items()
            if (s, f, t) == (suite, fraction, task)
            and plan.size_of(other.base) == size
            and other.base not in writers
            and plan.settings[other.setting].is_plain
        ]
        if task in _OF_RHO and snli is not None and alike:
            best = min(alike)
            told: Mapping[str, Any] = {**asdict(side), "size": size, "task": task}
            yield {**told, "tau": tau, "tau_snli": snli, "best": best, "rho": rho(tau, snli, best)}


# --- paired over models (CALM) ------------------------------------------------------------------------------


@dataclass(frozen=True)
class AcrossModels:
    """One metric of two tasks, paired over bases, or of two sizes, paired over families and their tasks: CALM does
    not say what it pairs, this is our reading. Each value is a mean over seeds."""

    first: str
    second: str
    setting: str
    fraction: float
    kind: str
    metric: str
    pairs: int
    alpha: float
    found: SeedTest
    verdict: str


def across_models(lines: Sequence[SeedMean], plan: StudyPlan) -> Iterator[AcrossModels]:
    """Tasks that the plan compares, and the sizes of its families."""
    usable = [x for x in lines if x.value is not None and x.kind != TEST and not x.seen_in_training]
    for comparison in plan.compare_tasks:
        yield from _of_tasks(usable, comparison)
    for one, other, condition in dict.fromkeys(size_pairs(plan)):
        yield from _of_sizes(usable, plan.families, (one, other), (condition.setting, condition.fraction))


def _of_tasks(lines: Sequence[SeedMean], asked: TaskComparison) -> Iterator[AcrossModels]:
    some = [x for x in lines if x.side.condition == asked.condition]
    for suite, kind, metric in dict.fromkeys((x.suite, x.kind, x.metric) for x in some):
        one, other = (
            {x.base: x.value or 0.0 for x in some if x.case == (suite, task, kind, metric)}
            for task in (asked.first, asked.second)
        )
        about = (asked.first, asked.second, asked.condition.setting, asked.condition.fraction, kind, metric)
        yield from _tested(about, one, other, asked.alpha)


def _of_sizes(
    lines: Sequence[SeedMean], families: Families, sizes: tuple[str, str], condition: tuple[str, float]
) -> Iterator[AcrossModels]:
    some = {(x.side, x.case): x.value or 0.0 for x in lines if (x.setting, x.fraction) == condition}
    for kind, metric in dict.fromkeys((case[2], case[3]) for _, case in some):
        one, other = (
            {
                f"{name} {'/'.join(case[:3])}": value
                for name, family in families.items()
                for (side, case), value in some.items()
                if case[2:] == (kind, metric) and side == Side(family.get(size, ""), *condition)
            }
            for size in sizes
        )
        yield from _tested((*sizes, *condition, kind, metric), one, other, ALPHA)


def _tested(
    about: tuple[str, str, str, float, str, str],
    one: Mapping[str, float],
    other: Mapping[str, float],
    alpha: float,
) -> Iterator[AcrossModels]:
    found = paired_t(one, other)
    if found is None:
        return
    if found.p is None:
        verdict = NOT_TESTED
    elif found.p >= alpha:
        verdict = "no difference"
    else:
        verdict = "better" if (found.difference < 0) == (better_of(about[-1]) == "low") else "worse"
    yield AcrossModels(*about, found.seeds[0], alpha, found, verdict)
