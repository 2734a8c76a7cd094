"""Does an agreement function see what people see? Statistics for pairs that both have judged.

spearman     rank correlation of the values with the people's labels, which may be grades; by cluster
auc          the chance that a pair people call the same has the better value than one they call different
kappa        Cohen's κ with people at a threshold: the best one for these pairs, and the function's own
corrected    the consistency of a run as people would have seen it (Rogan and Gladen 1978), or why it is not known

A pair whose value cannot be told is left out and counted. Pairs of one question are not independent: they are
resampled together.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwaver.errors import DataError
from unwaver.stats import DRAWS, FEWEST, LEVEL, NOTHING, Estimate, Floats, Ints, Reduce, estimate, mean

Bools = NDArray[np.bool_]
Better = Literal["high", "low"]
Values = Sequence[float | None] | Sequence[float] | Floats


class Confusion(NamedTuple):
    """Numbers of pairs: what the function says, then what people say."""

    same_same: float
    same_different: float
    different_same: float
    different_different: float

    @property
    def sensitivity(self) -> float | None:
        """Of the pairs that people call the same, the share that the function calls the same."""
        return _ratio(self.same_same, self.same_same + self.different_same)

    @property
    def specificity(self) -> float | None:
        return _ratio(self.different_different, self.different_different + self.same_different)

    @property
    def kappa(self) -> float | None:
        """Cohen's κ; None if both always say one and the same."""
        total = sum(self)
        if not total:
            return None
        says, people = self.same_same + self.same_different, self.same_same + self.different_same
        chance = (says * people + (total - says) * (total - people)) / total**2
        seen = (self.same_same + self.different_different) / total
        return _ratio(seen - chance, 1 - chance)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True)
class Validity:
    """How an agreement function does on judged pairs; None if a number cannot be told."""

    pairs: int  # with a value
    unknown: int  # whose value cannot be told
    clusters: int
    spearman: Estimate
    auc: Estimate
    best_threshold: float | None
    best_kappa: float | None  # chosen on these very pairs: on others it will be lower
    best_confusion: Confusion | None
    threshold: float
    kappa: float | None
    confusion: Confusion


def validate(
    values: Values,
    labels: Values,
    clusters: Sequence[Hashable],
    *,
    threshold: float,
    better: Better = "high",
    cut: float = 0.5,
    seed: int = 0,
) -> Validity:
    """The values of an agreement function beside people's labels, pair by pair.

    A label of `cut` or more says that the two are the same: 0.5 for labels 0 and 1, 4 for grades from 0 to 5.
    `clusters` names what the pairs of one question have in common. Where lower values are better, a pair is the
    same when its value is below the threshold.
    """
    table, grades, units = _floats(values), _floats(labels), _numbered(clusters)
    if not len(table) == len(grades) == len(units):
        lengths = f"{len(table)}, {len(grades)} and {len(units)}"
        raise DataError(f"values, labels and clusters differ in number: {lengths}", hint="give one for each pair")
    if np.isnan(grades).any():
        row = int(np.flatnonzero(np.isnan(grades))[0])
        raise DataError(f"pair {row} has no label", hint="leave out pairs that nobody has judged")
    known = ~np.isnan(table)
    table, grades, units = table[known], grades[known], units[known]
    people = grades >= cut
    best = best_threshold(table, people, better)
    confusion = confusion_at(table, people, threshold, better)
    return Validity(
        pairs=len(table),
        unknown=int((~known).sum()),
        clusters=len(np.unique(units)),
        spearman=_estimate(_spearman(table, grades), 0.0, units, seed),
        auc=_estimate(_auc(table, people, better), 0.5, units, seed),
        best_threshold=best,
        best_kappa=None if best is None else confusion_at(table, people, best, better).kappa,
        best_confusion=None if best is None else confusion_at(table, people, best, better),
        threshold=threshold,
        kappa=confusion.kappa,
        confusion=confusion,
    )


def _floats(values: Values) -> Floats:
    """None becomes NaN."""
    return np.array(values, dtype=np.float64)


def _numbered(clusters: Sequence[Hashable]) -> Ints:
    """ "q7", "q9", "q7" -> 0, 1, 0"""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int64)


# --- ranks --------------------------------------------------------------------------------------------------


def spearman(one: Values, other: Values) -> float | None:
    """ρ of pairs that have both values, ties by mean ranks: [1, 2, 3], [1, 3, 2] -> 0.5. None if one side is
    constant."""
    a, b = _floats(one), _floats(other)
    known = ~np.isnan(a) & ~np.isnan(b)
    return _known(_spearman(a[known], b[known])(np.ones(int(known.sum()))))


def spearman_matrix(columns: Mapping[str, Values]) -> list[list[float | None]]:
    """ρ of each column with each: agreement functions, accuracies, people; each over the pairs that both have."""
    return [[spearman(a, b) for b in columns.values()] for a in columns.values()]


def _spearman(one: Floats, other: Floats) -> Reduce:
    """ρ as a function of weights, how often each pair is drawn. What can be sorted is sorted once."""
    codes, other_codes = _codes(one), _codes(other)

    def of_weights(weights: Floats) -> Floats:
        total = weights.sum()
        if not total:
            return _UNKNOWN
        a, b = _mean_ranks(codes, weights), _mean_ranks(other_codes, weights)
        a, b = a - (weights @ a) / total, b - (weights @ b) / total
        spread = np.sqrt((weights @ a**2) * (weights @ b**2))
        return np.clip(weights @ (a * b) / spread, -1.0, 1.0) if spread > 1e-9 else _UNKNOWN

    return of_weights


_UNKNOWN = np.array(np.nan)


def _known(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)


def _codes(values: Floats) -> Ints:
    """5.0, 2.5, 5.0 -> 1, 0, 1: the places of the distinct values in order."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def _mean_ranks(codes: Ints, weights: Floats) -> Floats:
    """The ranks from 1, were each value there as often as its weight says; equal ones share their mean rank."""
    counts = np.bincount(codes, weights=weights)
    return np.asarray((np.cumsum(counts) - counts + (counts + 1) / 2)[codes])


def auc(values: Values, people: Bools, better: Better = "high") -> float | None:
    """[0.1, 0.4, 0.4, 0.9], [no, no, yes, yes] -> 0.875: a tie is worth half. None without pairs of both sorts."""
    return _known(_auc(_floats(values), people, better)(np.ones(len(people))))


def _auc(values: Floats, people: Bools, better: Better) -> Reduce:
    """AUC as a function of weights, as for ρ."""
    codes = _codes(values if better == "high" else -values)

    def of_weights(weights: Floats) -> Floats:
        positive = weights * people
        same, different = positive.sum(), weights.sum() - positive.sum()
        if not same or not different:
            return _UNKNOWN
        ranks = _mean_ranks(codes, weights)
        return np.asarray((positive @ ranks - same * (same + 1) / 2) / (same * different))

    return of_weights


def _estimate(of_weights: Reduce, chance: float, clusters: Ints, seed: int) -> Estimate:
    """With an interval by cluster. A draw that tells nothing counts as chance: were it left out, one pair that
    stands out would be in every draw that is left, and the interval would end at the value."""
    value = _known(of_weights(np.ones(len(clusters))))
    if value is None:
        return replace(NOTHING, clusters=len(np.unique(clusters)))

    def or_chance(weights: Floats) -> Floats:
        return np.nan_to_num(of_weights(weights), nan=chance)

    # `mean` is never called; without a reduce, one pair per cluster would be taken for a share of zeros
    found = estimate(np.zeros(len(clusters)), clusters, mean, share=False, seed=seed, by_weight=or_chance)
    return within(found, 2 * chance - 1, 1.0)  # ρ from −1, AUC from 0


def within(found: Estimate, least: float, most: float) -> Estimate:
    """The estimate with an interval that ends where values end; Student's t knows of no limits."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, least), high=min(found.high, most))


# --- thresholds ---------------------------------------------------------------------------------------------


def confusion_at(values: Floats, people: Bools, threshold: float, better: Better = "high") -> Confusion:
    says = called_same(values, threshold, better)
    return Confusion(
        int((says & people).sum()),
        int((says & ~people).sum()),
        int((~says & people).sum()),
        int((~says & ~people).sum()),
    )


def called_same(values: Floats, threshold: float, better: Better = "high") -> Bools:
    """0.5 at 0.5 -> the same, where higher is better; where lower is better, only what is below."""
    return np.asarray(values >= threshold if better == "high" else values < threshold)


def best_threshold(values: Floats, people: Bools, better: Better = "high") -> float | None:
    """The threshold with the greatest κ, the lowest of several; None without pairs of both sorts.

    Only values that occur are tried: no other threshold tells the pairs apart in another way.
    """
    if not people.any() or people.all():
        return None
    distinct, codes = np.unique(values, return_inverse=True)
    # pairs at or above each distinct value: which are called the same, or different where lower is better
    above_same = np.cumsum(np.bincount(codes, weights=people)[::-1])[::-1]
    above_different = np.cumsum(np.bincount(codes, weights=~people)[::-1])[::-1]
    same, different = above_same[0], above_different[0]
    found = []
    for up_same, up_different in zip(above_same, above_different, strict=True):
        counts = (up_same, up_different, same - up_same, different - up_different)
        confusion = Confusion(*counts) if better == "high" else Confusion(*counts[2:], *counts[:2])
        found.append(confusion.kappa or 0.0)
    return float(distinct[int(np.argmax(found))])


# --- correction ---------------------------------------------------------------------------------------------


WEAK = 0.2  # sensitivity + specificity − 1 below this: a small error in either moves the corrected value far
WIDEST = 0.9  # an interval as wide as this says nothing


def rogan_gladen(share: float, sensitivity: float, specificity: float) -> float | None:
    """The true share behind one seen with errors: 0.5 with 0.9 and 0.8 -> 0.43. None if the errors are such
    that the function tells nothing (sensitivity + specificity of 1 or less)."""
    found = _unbounded(share, sensitivity, specificity)
    return None if found is None else min(max(found, 0.0), 1.0)


def _unbounded(share: float, sensitivity: float, specificity: float) -> float | None:
    """The same without a limit: 0.1 with 0.9 and 0.8 -> −0.14, which no share can be."""
    power = sensitivity + specificity - 1
    return None if power <= 0 else (share + specificity - 1) / power


@dataclass(frozen=True)
class Corrected:
    """A corrected share with its interval; without a value, `reason` says why. `warning`: why not to trust it."""

    value: float | None
    low: float | None
    high: float | None
    clusters: int
    interval: str | None
    reason: str = ""
    warning: str = ""


def corrected(
    shares: Values,
    clusters: Sequence[Hashable],
    says: ArrayLike,
    people: ArrayLike,
    judged_clusters: Sequence[Hashable],
    *,
    identical: Values | None = None,
    seed: int = 0,
) -> Corrected:
    """The consistency of a run, corrected for what the agreement function gets wrong on judged pairs.

    `shares` has for each question the share of its pairs that agree, `identical` the share whose texts are the
    same letter for letter: these are certain, and only the rest is corrected. `says` and `people` are the verdicts
    on judged pairs. The interval draws the questions and the judged pairs, both by cluster; where a draw tells
    nothing, its lower end is 0 and its upper end is 1. There is no value without an interval that says something.
    """
    seen = _floats(shares)
    certain = np.zeros(len(seen)) if identical is None else _floats(identical)
    known = ~np.isnan(seen)
    run = _sums(_numbered(clusters)[known], [seen[known], certain[known], np.ones(int(known.sum()))])
    said, true = np.asarray(says, dtype=bool), np.asarray(people, dtype=bool)
    cells = [said & true, said & ~true, ~said & true, ~said & ~true]
    judged = _sums(_numbered(judged_clusters), [cell.astype(np.float64) for cell in cells])

    def without(reason: str) -> Corrected:
        return Corrected(None, None, None, len(run), None, reason, warning)

    confusion = Confusion(*judged.sum(axis=0))
    warning = _weakness(confusion)
    if not len(run):
        return without("no question of the run has two answers that were compared")
    if reason := _cannot_correct(confusion):
        return without(reason)
    value = _corrected(run.sum(axis=0), judged.sum(axis=0))
    assert value is not None
    if not -ROUNDING <= value <= 1 + ROUNDING:
        return without(
            f"the correction gives {100 * value:.1f} %, which is not a share: sensitivity and specificity on the "
            "judged pairs do not hold for this run"
        )
    value = min(max(value, 0.0), 1.0)
    if min(len(run), len(judged)) < FEWEST:
        return without(
            f"it has no interval: {len(run)} questions in the run and {len(judged)} with judged pairs, at least "
            f"{FEWEST} of each are needed"
        )
    draws = np.clip(_draws(run, judged, seed), 0.0, 1.0)
    tail = 100 * (1 - LEVEL) / 2
    low = min(float(np.percentile(np.nan_to_num(draws, nan=0.0), tail)), value)
    high = max(float(np.percentile(np.nan_to_num(draws, nan=1.0), 100 - tail)), value)
    if high - low >= WIDEST:
        return without(
            f"its interval is {100 * low:.1f} – {100 * high:.1f} %, too wide to be of use: judge more pairs"
        )
    return Corrected(value, low, high, len(run), "bootstrap", warning=warning)


ROUNDING = 1e-9


def _cannot_correct(confusion: Confusion) -> str:
    sensitivity, specificity = confusion.sensitivity, confusion.specificity
    if sensitivity is None or specificity is None:
        missing = "equivalent" if sensitivity is None else "different"
        return f"people judged no pair of different texts {missing}: add such pairs"
    if sensitivity + specificity <= 1:
        return (
            f"sensitivity + specificity is {100 * (sensitivity + specificity):.1f} %: at 100 % or less the "
            "agreement is no better than chance"
        )
    return ""


def _weakness(confusion: Confusion) -> str:
    sensitivity, specificity = confusion.sensitivity, confusion.specificity
    if sensitivity is None or specificity is None or not 0 < sensitivity + specificity - 1 < WEAK:
        return ""
    return (
        f"sensitivity + specificity is {100 * (sensitivity + specificity):.1f} %, close to 100 % (chance): "
        "small errors in either change the corrected value a lot"
    )


def _corrected(run: Floats, judged: Floats) -> float | None:
    """From sums: shares, identical ones, questions; and the four cells of a confusion."""
    confusion = Confusion(*judged)
    sensitivity, specificity = confusion.sensitivity, confusion.specificity
    if sensitivity is None or specificity is None:
        return None
    share, certain = run[0] / run[2], run[1] / run[2]
    if certain >= 1:
        return 1.0
    rest = _unbounded((share - certain) / (1 - certain), sensitivity, specificity)
    return None if rest is None else float(certain + (1 - certain) * rest)


def _draws(run: Floats, judged: Floats, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    draws = np.empty(DRAWS)
    for n in range(DRAWS):
        one, other = (t[random.integers(0, len(t), len(t))].sum(axis=0) for t in (run, judged))
        value = _corrected(one, other)
        draws[n] = np.nan if value is None else value
    return draws


def _sums(units: Ints, columns: Sequence[Floats]) -> Floats:
    """One row per unit that occurs."""
    if not len(units):
        return np.empty((0, len(columns)))
    places = np.unique(units, return_inverse=True)[1]
    return np.column_stack([np.bincount(places, weights=column) for column in columns])
