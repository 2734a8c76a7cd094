"""How do accuracy and consistency change along a series of models, such as over the size of the training set?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unwaver.types import Score


@dataclass(frozen=True)
class SeriesPoint:
    """One model of the series on one suite/task/kind: each metric as (value, low, high)."""

    size: float
    relation: str
    model: str
    values: Mapping[str, tuple[float | None, float | None, float | None]]
    flags: tuple[str, ...]


def series(models: Mapping[float, Sequence[Score]], metrics: Sequence[str]) -> list[SeriesPoint]:
    """By suite/task/kind, small sizes first: series({0.01: scores, 1.0: scores}, ["A_bucket", "P_C"])."""
    steps = []
    for size in sorted(models):
        found: dict[tuple[str, str], dict[str, Score]] = {}
        for s in models[size]:
            if s.metric in metrics and s.given is None:
                found.setdefault((f"{s.suite}/{s.task}/{s.kind}", s.model), {}).setdefault(s.metric, s)
        for (relation, model), scores in found.items():
            values = {name: (s.value, s.low, s.high) for name, s in scores.items()}
            flags = tuple(dict.fromkeys(flag for s in scores.values() for flag in s.flags))
            steps.append(SeriesPoint(size, relation, model, values, flags))
    return sorted(steps, key=lambda step: (step.relation, step.size))
