"""Groups that share originals: connected components, and the items that intervals resample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
                if (first := first_with.setdefault(question, i)) != i:
                    a, b = sorted((root(i), root(first)))
                    parent[b] = a  # the smaller one stays the root: the cluster is named after its first group
    units: list[tuple[str, ...]] = [()] * len(groups)
    if any(sum(item.role == "original" for item in group.items) > 1 for group in groups):
        units = [_originals(group, named) for group in groups]
    if all(len(of_group) < 2 for of_group in units):
        units = [group.units for group in groups]
    return [_placed(group, groups[root(i)].id, units[i]) for i, group in enumerate(groups)]


def _placed(group: Group, cluster: str, units: tuple[str, ...]) -> Group:
    """As dataclasses.replace does it, in a fifth of the time: there are a million of them."""
    return Group(
        group.id, group.suite, group.task, group.kind, group.expect, group.items, cluster, group.tag, group.keep,
        group.epsilon, units, group.repeats,
    )  # fmt: skip


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
