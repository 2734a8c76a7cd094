"""How far people agree who filled in review sheets for the same variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unwaver.errors import DataError, UsageError
from unwaver.people.agreement import Agreement, in_total_and_by_kind, table_of
from unwaver.types import Group


def agreement_of_sheets(
    sheets: Mapping[Path, Mapping[str, bool]], groups: Sequence[Group] = (), seed: int = 0
) -> list[Agreement]:
    """In total and, where the groups are known, by kind; intervals resample clusters of groups, or else variants.
    Each sheet is one person's."""
    if len(sheets) < 2:
        only = next(iter(sheets))
        raise UsageError(
            f"{only}: one sheet cannot agree or disagree with another", hint="give two sheets or more"
        )
    of_item = {item.id: group for group in groups for item in group.items}
    ids = list(dict.fromkeys(id for verdicts in sheets.values() for id in verdicts if not groups or id in of_item))
    if not ids:
        what = "no verdict is about these groups" if groups else "no sheet has a verdict"
        raise DataError(what, file=next(iter(sheets)), hint="fill in the column verdict: ok or wrong")
    people = [{id: float(verdict) for id, verdict in verdicts.items()} for verdicts in sheets.values()]
    found = [of_item.get(id) for id in ids]
    clusters = [id if group is None else group.cluster or group.id for id, group in zip(ids, found, strict=True)]
    kinds = ["" if group is None else f"{group.suite}/{group.task}/{group.kind}" for group in found]
    return in_total_and_by_kind(table_of(people, ids), clusters, kinds, seed=seed)
