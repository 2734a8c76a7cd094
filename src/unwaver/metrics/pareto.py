"""Which models are not beaten in accuracy and consistency at once? And the curves they are drawn among."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unwaver.types import Score


@dataclass(frozen=True)
class Point:
    """A model on one suite/task/kind; `front`: no other is at least as good in both and better in one."""

    relation: str
    model: str
    method: str
    accuracy: float
    consistency: float
    floor: float  # the least P_C at this accuracy
    share: float | None  # PVAP: where it lies between 1 (at P_C = 1, share 0) and the floor (share 1)
    front: bool


def pareto(scores: Sequence[Score], accuracy: str = "A_bucket", consistency: str = "P_C") -> list[Point]:
    """The points of all models that have both numbers, by suite/task/kind, with the front marked."""
    found: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for s in scores:
        if s.metric in (accuracy, consistency, f"{consistency}_floor") and s.value is not None and s.given is None:
            of_relation = found.setdefault(f"{s.suite}/{s.task}/{s.kind}", {})
            of_relation.setdefault((s.model, s.method), {}).setdefault(s.metric, s.value)
    points = []
    for relation, models in found.items():
        known = {
            w: (v[accuracy], v[consistency]) for w, v in models.items() if {accuracy, consistency} <= v.keys()
        }
        for (who, (a, c)), on_front in zip(known.items(), front(list(known.values())), strict=True):
            model, method = who
            # P_C leaves out buckets with one wording, whose accuracy counts: it has a floor of its own
            spread = 1 - models[who].get(f"{consistency}_floor", consistency_at(a, 1.0))
            share = (1 - c) / spread if spread else None
            points.append(Point(relation, model, method, a, c, 1 - spread, share, on_front))
    return points


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """front([(0.9, 0.8), (0.8, 0.9), (0.8, 0.8)]) -> [True, True, False]; equal points share a place on it."""
    return [not any(_beats(other, point) for other in points) for point in points]


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other


def consistency_at(accuracy: float, share: float) -> float:
    """The curve of constant PVAP: consistency_at(0.8, 1.0) -> 0.68, the floor; consistency_at(0.8, 0.0) -> 1.0."""
    return 1 - 2 * share * accuracy * (1 - accuracy)
