"""Groups that share originals: connected components, and the items that intervals resample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from unwaver.types import Group, Item


def with_clusters(groups: Iterable[Group]) -> list[Group]:
    """The groups with `cluster` filled in: the id of the first of those connected by shared originals.

    Groups 1 and 2 share original a, 2 and 3 share b -> all three are cluster 1. Where groups have several
    originals, `units` are these: the id of the first item with each text.
    """
    groups = list(groups)
    first_with: dict[object, int] = {}  # original -> the first group that has it
    named: dict[object, str] = {}  # original -> the id of the first item that asks it
    parent = list(range(len(groups)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for i, group in enumerate(groups):
        for item in group.items:
            if item.role == "original":
                question = _question(item)
                named.setdefault(question, item.id)
                a, b = sorted((root(i), root(first_with.setdefault(question, i))))
                parent[b] = a  # the smaller one stays the root: the cluster is named after its first group
    found = [replace(group, cluster=groups[root(i)].id) for i, group in enumerate(groups)]
    units = [_originals(group, named) for group in groups]
    if all(len(of_group) < 2 for of_group in units):
        return found
    return [replace(group, units=of_group) for group, of_group in zip(found, units, strict=True)]


def share_items(groups: Iterable[Group]) -> bool:
    """Are groups made of several originals that other groups have too? Then no cluster is independent of the rest.

    Groups (a, b) and (c, d) -> False; (a, b) and (b, c) -> True; two groups of (a, b) are one cluster -> False.
    """
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        units = frozenset(group.units)
        if any(found.setdefault(unit, units) != units for unit in units):
            return True
    return False


def _originals(group: Group, named: Mapping[object, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(named[_question(item)] for item in group.items if item.role == "original"))


def _question(item: Item) -> object:
    return item.task, item.template, tuple(item.fields.items())


# --- groups as JSON -----------------------------------------------------------------------------------------
