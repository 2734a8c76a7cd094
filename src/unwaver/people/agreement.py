"""How far several people agree, in one form for jobs, review sheets and judged pairs.

Cohen's κ for two people, Fleiss' κ and Krippendorff's α for any number; in total and by kind of group. Labels may
be missing. Intervals resample clusters: see unwaver.stats.raters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unwaver.stats import Floats
from unwaver.stats.raters import Level, Raters, cohen, fleiss, krippendorff


@dataclass(frozen=True)
class Agreement:
    """Of one criterion, in total (kind "") or in one kind of group. `cohen` only for two people."""

    criterion: str
    kind: str
    cohen: Raters | None
    fleiss: Raters
    alpha: Raters
    level: Level

    @property
    def undefined(self) -> str | None:
        """Why there is no κ and no α; None where there are."""
        if self.fleiss.kappa.value is not None:
            return None
        return "all labels are the same" if self.fleiss.items else "nothing has labels of two people"

    @property
    def has_interval(self) -> bool:
        return any(
            each is not None and each.kappa.low is not None for each in (self.cohen, self.fleiss, self.alpha)
        )


def agreement_of(
    table: Floats,
    clusters: Sequence[Hashable],
    level: Level = "nominal",
    *,
    criterion: str = "",
    kind: str = "",
    seed: int = 0,
) -> Agreement:
    """`table` has a row for each thing judged and a column for each person, NaN where there is no label."""
    of_two = cohen(table[:, 0], table[:, 1], clusters, seed) if table.shape[1] == 2 else None
    alpha = krippendorff(table, clusters, level, seed)
    return Agreement(criterion, kind, of_two, fleiss(table, clusters, seed), alpha, level)


def in_total_and_by_kind(
    table: Floats,
    clusters: Sequence[Hashable],
    kinds: Sequence[str],
    level: Level = "nominal",
    *,
    criterion: str = "",
    seed: int = 0,
) -> list[Agreement]:
    """All rows together, then those of each kind where there are several."""
    found = [agreement_of(table, clusters, level, criterion=criterion, seed=seed)]
    names = dict.fromkeys(kinds)
    for kind in names if len(names) > 1 else ():
        chosen = [n for n, own in enumerate(kinds) if own == kind]
        own = [clusters[n] for n in chosen]
        found.append(agreement_of(table[chosen], own, level, criterion=criterion, kind=kind, seed=seed))
    return found


def value(found: Raters | None) -> str:
    """ "0.62 [0.41 – 0.79]", "undefined" or "–"."""
    if found is None:
        return "–"
    kappa = found.kappa
    if kappa.value is None:
        return "undefined"
    between = "" if kappa.low is None or kappa.high is None else f" [{kappa.low:.2f} – {kappa.high:.2f}]"
    return f"{kappa.value:.2f}{between}"


def row(found: Agreement) -> list[str]:
    """A row of a table: items, share of pairs that agree, Cohen, Fleiss, α."""
    share = found.fleiss.agreement
    agree = "–" if share is None else f"{100 * share:.1f}"
    return [f"{found.fleiss.items:,}", agree, value(found.cohen), value(found.fleiss), value(found.alpha)]


def notes(found: Sequence[Agreement]) -> list[str]:
    """What a reader of the table must know: what brackets are, how α sees labels, why a figure is missing."""
    brackets = (
        ["In brackets: 95 % interval over clusters of groups."] if any(f.has_interval for f in found) else []
    )
    reasons = dict.fromkeys(f"Undefined: {each.undefined}." for each in found if each.undefined)
    return [*brackets, *([f"α is {found[0].level}."] if found else []), *reasons]


HEADER = ("items", "agree %", "Cohen's κ", "Fleiss' κ", "Krippendorff's α")


def as_json(found: Agreement) -> dict[str, Any]:
    def one(raters: Raters | None) -> dict[str, Any] | None:
        if raters is None:
            return None
        kappa = raters.kappa
        return {"value": kappa.value, "low": kappa.low, "high": kappa.high}

    return {
        "criterion": found.criterion or None,
        "kind": found.kind or None,
        "items": found.fleiss.items,
        "left_out": found.fleiss.left_out,
        "missing": found.fleiss.missing,
        "raters": found.fleiss.raters,
        "agreement": found.fleiss.agreement,
        "undefined": found.undefined,
        "cohen_kappa": one(found.cohen),
        "fleiss_kappa": one(found.fleiss),
        "krippendorff_alpha": {**(one(found.alpha) or {}), "level": found.level},
    }


def table_of(people: Sequence[dict[str, float]], ids: Sequence[str]) -> Floats:
    """From what each person says by id; NaN where somebody says nothing."""
    return np.array([[own.get(id, np.nan) for own in people] for id in ids], dtype=np.float64)
