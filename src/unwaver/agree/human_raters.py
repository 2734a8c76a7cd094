"""Several people who have judged the same pairs, one column of labels each: their common label, and how far they
agree with one another (Cohen's κ of two, Fleiss' κ, Krippendorff's α).

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
from unwaver.people.agreement import Agreement, agreement_of, as_json, in_total_and_by_kind

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
    ratings: Sequence[Ratings],
    clusters: Sequence[str],
    names: Sequence[str],
    cut: float,
    seed: int,
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """Agreement on same and different (labels at or above the cut, and below), in total and by kind; where labels
    have more than two values, also that of the labels as they are, α of grades with an order."""
    table = np.array(ratings, dtype=np.float64)
    same = np.where(np.isnan(table), np.nan, table >= cut)
    total, *by_kind = in_total_and_by_kind(same, clusters, kinds or [""] * len(table), seed=seed)
    found = _entry(total)
    if by_kind:
        found["by_kind"] = {each.kind: _entry(each) for each in by_kind}
    if len(np.unique(table[~np.isnan(table)])) > 2:
        found["of_labels"] = _entry(agreement_of(table, clusters, "ordinal", seed=seed))
    return {"names": list(names), **found}


def _entry(found: Agreement) -> dict[str, Any]:
    entry = asdict(found.fleiss)
    kappa = entry.pop("kappa")
    told = as_json(found)
    more = {name: told[name] for name in ("undefined", "cohen_kappa", "krippendorff_alpha")}
    return {"fleiss_kappa": kappa["value"], "low": kappa["low"], "high": kappa["high"], **entry, **more}


def in_words(found: Mapping[str, Any]) -> str:
    """3 raters of 60 pairs: Fleiss' κ 0.62 [0.41 – 0.79], Krippendorff's α 0.62 [0.41 – 0.79], 81.1 % of the pairs
    of raters agree. By kind, a line for each follows."""
    if found["fleiss_kappa"] is None:
        said = f"κ and α are undefined: {found['undefined']}"
    else:
        of_two = [f"Cohen's κ {_value(found['cohen_kappa'])}"] if found["cohen_kappa"] else []
        own = {"value": found["fleiss_kappa"], "low": found["low"], "high": found["high"]}
        both = [f"Fleiss' κ {_value(own)}", f"Krippendorff's α {_value(found['krippendorff_alpha'])}"]
        agree = f"{100 * found['agreement']:.1f} % of the pairs of raters agree"
        said = ", ".join([*of_two, *both, agree])
    lost = [f"{found['missing']:,} labels missing"] if found["missing"] else []
    if found["left_out"]:
        lost.append(f"{found['left_out']:,} pairs with fewer than two labels left out of κ")
    lines = ["; ".join([f"{found['raters']} raters of {found['items']:,} pairs: {said}", *lost])]
    return "\n".join([*lines, *(f"{kind}: {in_words(own)}" for kind, own in found.get("by_kind", {}).items())])


def _value(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "undefined"
    return f"{found['value']:.2f}" + (
        "" if found["low"] is None else f" [{found['low']:.2f} – {found['high']:.2f}]"
    )
