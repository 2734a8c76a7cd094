"""Means over seeds: one line for each metric of each relation, for the models of each side."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unwaver.engine.folder import SCORES
from unwaver.engine.stored import read_scores
from unwaver.groups import SEEN_SUFFIX
from unwaver.metrics.base_split import is_base
from unwaver.result import Result
from unwaver.study.sides import Side
from unwaver.study.work import StudyModel, answers_to_test
from unwaver.types import Score

TEST = "test"  # the kind of accuracies on a test set


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
    unreadable: int = 0  # the most groups of a seed with an answer that is not a label
    by_seed: Mapping[str, float] = field(default_factory=dict)  # values; seeds without one are left out
    base_accuracy: float | None = None  # on the whole split that the set was made from, and its macro-averaged F1
    base_accuracy_sd: float | None = None
    base_f1: float | None = None
    base_f1_sd: float | None = None

    @property
    def side(self) -> Side:
        return Side(self.base, self.setting, self.fraction)

    @property
    def case(self) -> tuple[str, str, str, str]:
        return (self.suite, self.task, self.kind, self.metric)


def lines_of(models: Sequence[StudyModel]) -> Iterator[SeedMean]:
    """Accuracies on test sets first."""
    found: dict[tuple[Side, tuple[str, str, str, str]], dict[str, Score]] = {}
    accuracies: dict[tuple[Side, str], dict[str, list[float]]] = {}
    for model in models:
        seed = str(model.seed)
        for score in leading_scores(model):
            case = (score.suite, score.task, score.kind, score.metric)
            found.setdefault((model.side, case), {})[seed] = score
        for answer in answers_to_test(model):
            right = accuracies.setdefault((model.side, answer["task"]), {}).setdefault(seed, [])
            right.append(float(answer["label"] == answer["gold"]))
    for (side, task), several in accuracies.items():
        by_seed = {seed: statistics.fmean(right) for seed, right in several.items()}
        value, spread = statistics.fmean(by_seed.values()), _sd(list(by_seed.values()))
        about = (side.base, side.setting, side.fraction, "", task, TEST, "accuracy", "high", value, spread)
        groups = len(next(iter(several.values())))
        yield SeedMean(*about, value, spread, len(by_seed), groups, 0, False, by_seed=by_seed)
    for (side, case), scores in found.items():
        yield _line(side, case, scores)


def _line(side: Side, case: tuple[str, str, str, str], scores: Mapping[str, Score]) -> SeedMean:
    by_seed = {seed: s.value for seed, s in scores.items() if s.value is not None}
    values, every = list(by_seed.values()), list(scores.values())
    right, base, f1 = (
        [v for s in every if (v := getattr(s, name)) is not None]
        for name in ("accuracy", "base_accuracy", "base_f1")
    )
    return SeedMean(
        side.base, side.setting, side.fraction, *case, every[0].better,
        value=_mean(values),
        sd=_sd(values),
        accuracy=_mean(right),
        accuracy_sd=_sd(right),
        seeds=len(values),
        groups=min((s.counted for s in every if s.value is not None), default=0),
        not_applicable=max(s.not_applicable for s in every),
        seen_in_training=case[2].endswith(SEEN_SUFFIX),
        constant=sum("constant" in s.flags for s in every),
        unreadable=max(s.unreadable for s in every),
        by_seed=by_seed,
        base_accuracy=_mean(base),
        base_accuracy_sd=_sd(base),
        base_f1=_mean(f1),
        base_f1_sd=_sd(f1),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _sd(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def leading_scores(model: StudyModel) -> Iterator[Score]:
    """Of each relation; a base split is beside the relations that were made from it."""
    for run in model.runs:
        result = Result(read_scores(run / SCORES))
        for leading in result.leading():
            average = leading.task.startswith("average")
            if is_base(leading.kind) or (average and leading.task.endswith(("_plain", "_published"))):
                continue
            yield leading
            yield from _strict_rate(leading, result)


def _strict_rate(leading: Score, result: Result) -> Iterator[Score]:
    """Beside a relaxed fooling rate the strict one, as the paper's tables have both."""
    if leading.metric.startswith("r_r@"):
        metric = leading.metric.replace("r_r", "r_s")
        strict = (s for s in result.scores if s.metric == metric and s.given is None)
        yield from (s for s in strict if (s.suite, s.task, s.kind) == (leading.suite, leading.task, leading.kind))
