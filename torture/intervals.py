"""Do 95 % intervals hold the true value in 95 % of runs? Simulated runs, one line a case.

An interval must cover at least 93.5 % wherever it is printed. Item-weight intervals are conservative: they may
cover at most 99.8 % and be at most 1.8 times as wide as estimates spread over runs. The chance value of P_C must
lie in its interval.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import unwaver
from unwaver.stats import FEW, estimate
from unwaver.stats.paired import difference
from unwaver.stats.units import merged

LEAST, MOST, WIDEST = 0.935, 0.998, 1.8
Draw = Callable[[np.random.Generator], tuple[Any, ...]]
Found = tuple[float | None, float | None, float | None]  # value, low, high


def of_one(outcome: Any, units: Any) -> Found:
    found = estimate(outcome, merged(units))
    return found.value, found.low, found.high


def of_two(first: Any, second: Any, units: Any) -> Found:
    found = difference(first, second, units)
    return (None, None, None) if found is None else (found.difference, found.low, found.high)


@dataclass(frozen=True)
class Case:
    name: str
    truth: float
    draw: Draw
    conservative: bool = False
    measure: Callable[..., Found] = of_one


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def share_of(level: float, effect: float) -> float:
    """Over all items: the share of groups of two of them that are answered so."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(logistic(level + effect * np.sqrt(2) * nodes) @ weights / weights.sum())


def of_items(name: str, groups: Any, level: float, effect: float) -> Case:
    """Groups of two items that each make the answer likelier or less likely."""
    items, truth = int(groups.max()) + 1, share_of(level, effect)

    def draw(random: np.random.Generator) -> tuple[Any, Any]:
        own = random.normal(0, effect, items)
        chance = logistic(level + own[groups].sum(axis=1))
        return (random.random(len(groups)) < chance).astype(float), groups

    return Case(f"{name}, level {truth:.2f}, item effects {effect:g}", truth, draw, True)


def of_differences(
    name: str, groups: Any, levels: tuple[float, float], effects: tuple[float, float], alike: float
) -> Case:
    """Two runs on such groups; the effects of an item in both have the correlation `alike`."""
    items = int(groups.max()) + 1
    shares = [share_of(level, effect) for level, effect in zip(levels, effects, strict=True)]

    def draw(random: np.random.Generator) -> tuple[Any, Any, Any]:
        own, other = random.normal(size=(2, items))
        both = own, alike * own + np.sqrt(1 - alike**2) * other
        first, second = (
            (random.random(len(groups)) < logistic(level + effect * each[groups].sum(axis=1))).astype(float)
            for level, effect, each in zip(levels, effects, both, strict=True)
        )
        return first, second, groups

    said = f"from {shares[0]:.2f} to {shares[1]:.2f}, item effects {effects[0]:g} and {effects[1]:g}"
    full_name = f"difference, {name}, {said}, correlation {alike:g}"
    return Case(full_name, shares[1] - shares[0], draw, items >= FEW, of_two)


def differences() -> Iterator[Case]:
    """No difference, a small one, a great one, and one that only the second run makes."""
    shapes = {f"all pairs of {n} items": np.array(list(combinations(range(n), 2))) for n in (8, 12, 20)}
    shapes["a transitive chain of 100 groups"] = np.array([(i, i + 1) for i in range(100)])
    for name, groups in shapes.items():
        for alike in (0.0, 0.8):
            yield of_differences(name, groups, (0.0, 0.0), (2.0, 2.0), alike)
            yield of_differences(name, groups, (-1.0, 0.0), (1.0, 1.0), alike)
        yield of_differences(name, groups, (3.0, -3.0), (2.0, 2.0), 0.0)
        yield of_differences(name, groups, (-9.0, -2.0), (0.0, 2.0), 0.0)
        yield of_differences(name, groups, (-1.0, 0.0), (0.0, 0.0), 0.0)


def of_clusters(units: int, size: int, level: float, correlation: float) -> Case:
    """Clusters of `size` groups on average whose shares are drawn from a beta distribution."""

    def draw(random: np.random.Generator) -> tuple[Any, Any]:
        a = (1 - correlation) / correlation
        share = random.beta(level * a, (1 - level) * a, units)
        sizes = random.integers(1, 2 * size, units) + 1
        unit = np.repeat(np.arange(units), sizes)
        return (random.random(len(unit)) < share[unit]).astype(float), unit

    return Case(
        f"{units} clusters of about {size} groups, level {level:g}, correlation {correlation:g}", level, draw
    )


def cases() -> Iterator[Case]:
    pairs = np.array([p for label in (range(20), range(20, 40)) for p in combinations(label, 2)])
    chain = np.array([(i, i + 1) for i in range(100)])
    for effect in (0.0, 0.5, 1.0):
        for level in (0.0, -1.0, -2.0):
            yield of_items("all pairs of 40 items with 2 labels", pairs, level, effect)
            yield of_items("a transitive chain of 100 groups", chain, level, effect)
    for units in (5, 10, 30):
        for level in (0.5, 0.2, 0.05):
            for correlation in (0.05, 0.3):
                yield of_clusters(units, 10, level, correlation)
    yield from differences()


def coverage(case: Case, runs: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    held, widths, values = [], [], []
    for _ in range(runs):
        value, low, high = case.measure(*case.draw(random))
        if value is None or low is None or high is None:
            continue
        values.append(value)
        held.append(low <= case.truth <= high)
        widths.append(high - low)
    covered, width = float(np.mean(held)), float(np.mean(widths) / (2 * 1.96 * np.std(values)))
    noise = 2.5 * np.sqrt(0.95 * 0.05 / len(held)) if runs < 1000 else 0.0  # the short form sees only gross errors
    ok = covered >= LEAST - noise and not (
        case.conservative and (covered > MOST + noise or width > WIDEST + 8 * noise)
    )
    return {"attack": "intervals", "case": case.name, "printed": len(held), "covered": round(100 * covered, 1),
            "width": round(width, 2), "ok": bool(ok)}  # fmt: skip


def chance_of_p_c(n: int, accuracy: float, runs: int, problems: int = 2000) -> dict[str, Any]:
    """Independent answers: how often does P_C's interval hold its chance value, from the true accuracy and from
    the measured one?"""
    import polars as pl

    random = np.random.default_rng(0)
    truth = 1 - 2 * accuracy * (1 - accuracy) * (1 - 1 / n)
    group = np.repeat(np.arange(problems), n)
    by_true, by_measured = [], []
    for _ in range(runs):
        right = random.random(len(group)) < accuracy
        frame = pl.DataFrame({"group": group, "label": np.where(right, "r", "w")})
        result = unwaver.score(frame.with_columns(kind=pl.lit("bucket"), role=pl.lit("variant"), gold=pl.lit("r")))
        found, chance = result.find("P_C"), result.find("P_C_independent")
        by_true.append(found.low <= truth <= found.high)  # type: ignore[operator]
        by_measured.append(found.low <= chance.value <= found.high)  # type: ignore[operator]
    true, measured = float(np.mean(by_true)), float(np.mean(by_measured))
    noise = 0.0 if runs >= 1000 else 0.1
    ok = abs(true - 0.95) <= 0.02 + noise and measured >= 0.93 - noise
    named = {"attack": "intervals", "case": f"chance of P_C, {n} wordings, accuracy {accuracy:g}"}
    return {**named, "by true accuracy": round(100 * true, 1), "by measured": round(100 * measured, 1), "ok": ok}


def main() -> None:
    short = "--short" in sys.argv
    lines = (coverage(case, 40 if short else 2000) for case in cases())
    chances = (
        chance_of_p_c(n, a, 10 if short else 1000, 300 if short else 2000)
        for n in ((3,) if short else (2, 3, 5, 12))
        for a in ((0.5,) if short else (0.2, 0.5, 0.9))
    )
    kept = True
    for line in (*lines, *chances) if short else _lazily(lines, chances):
        print(json.dumps(line, ensure_ascii=False), flush=True)
        kept = kept and line["ok"]
    sys.exit(0 if kept else 1)


def _lazily(*parts: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        yield from part


if __name__ == "__main__":
    main()
