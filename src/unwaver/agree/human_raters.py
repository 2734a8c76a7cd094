"""Several people who have judged the same pairs, one column of labels each: their common label, and how far they
agree with one another (Fleiss' κ).

    rater1 rater2 rater3
    1      1      0         label 2/3: the mean
    1      0      (empty)   a tie of 0 and 1: no label, the pair is left out and counted
    4      5      3         label 4: grades have a mean, too
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from unwaver.errors import UsageError, near
from unwaver.files import Row
from unwaver.stats.raters import Raters, fleiss

Ratings = tuple[float | None, ...]  # of one pair, None if a rater gave no label
_NUMBERED = re.compile(r"(label|human|judgement|score|rater|annotator)[ _-]?\d+", re.IGNORECASE)


def rater_columns(row: Row, given: Sequence[str], *, has_label: bool) -> tuple[str, ...]:
    """The columns of the raters: those given; else, if there is no column of labels, rater1, rater2, …"""
    if not given:
        found = tuple(name for name in row.cells if _NUMBERED.fullmatch(name))
        return found if len(found) > 1 and not has_label else ()
    for name in given:
        if name not in row.cells:
            raise row.where.error(f'there is no column "{name}"', near(name, list(row.cells)))
    if len(set(given)) < 2:
        raise UsageError(
            f"--rater {given[0]}: one rater cannot agree or disagree with another",
            hint=f"name two or more columns, or use --column label={given[0]}",
        )
    return tuple(dict.fromkeys(given))


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


def common_label(ratings: Ratings) -> float | None:
    """The mean of the labels that there are; None without one, or where as many say 0 as say 1."""
    known = [rating for rating in ratings if rating is not None]
    if not known:
        return None
    mean = sum(known) / len(known)
    return None if mean == 0.5 and set(known) == {0.0, 1.0} else mean


def between_raters(
    ratings: Sequence[Ratings], clusters: Sequence[str], names: Sequence[str], cut: float, seed: int
) -> dict[str, Any]:
    """Fleiss' κ of same and different (labels at or above the cut, and below); where labels have more than two
    values, also that of the labels as they are."""
    table = np.array(ratings, dtype=np.float64)
    same = np.where(np.isnan(table), np.nan, table >= cut)
    found = _entry(fleiss(same, clusters, seed))
    if len(np.unique(table[~np.isnan(table)])) > 2:
        found["of_labels"] = _entry(fleiss(table, clusters, seed))
    return {"names": list(names), **found}


def _entry(found: Raters) -> dict[str, Any]:
    entry = asdict(found)
    kappa = entry.pop("kappa")
    return {"fleiss_kappa": kappa["value"], "low": kappa["low"], "high": kappa["high"], **entry}


def in_words(found: Mapping[str, Any]) -> str:
    """3 raters of 60 pairs: Fleiss' κ 0.62 [0.41 – 0.79], 81.1 % of the pairs of raters agree."""
    if found["fleiss_kappa"] is None:
        why = "all labels are the same" if found["items"] else "no pair has two labels"
        said = f"Fleiss' κ is undefined: {why}"
    else:
        interval = "" if found["low"] is None else f" [{found['low']:.2f} – {found['high']:.2f}]"
        agree = f"{100 * found['agreement']:.1f} % of the pairs of raters agree"
        said = f"Fleiss' κ {found['fleiss_kappa']:.2f}{interval}, {agree}"
    lost = [f"{found['missing']:,} labels missing"] if found["missing"] else []
    if found["left_out"]:
        lost.append(f"{found['left_out']:,} pairs with fewer than two labels left out of κ")
    return "; ".join([f"{found['raters']} raters of {found['items']:,} pairs: {said}", *lost])
