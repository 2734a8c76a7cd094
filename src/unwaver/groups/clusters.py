"""Groups that share originals: connected components, and the items that intervals resample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from unwaver.groups.many import few, together
from unwaver.groups.packed import Packed
from unwaver.types import Group, Item

_encode = msgspec.msgpack.Encoder().encode


def with_clusters(groups: Iterable[Group], *, keep: bool = False) -> Sequence[Group]:
    """The groups with `cluster` filled in: the id of the first of those connected by shared originals.

    Groups 1 and 2 share original a, 2 and 3 share b -> all three are cluster 1. Where groups have several
    originals, `units` are these: the id of the first item with each text. With `keep`, a group that has a cluster
    stays as it is.
    """
    groups = together(groups)
    clusters = _clusters(groups, keep)
    several = any(sum(item.role == "original" for item in group.items) > 1 for group in few(groups))
    units = _units(groups, keep) if several else None
    if isinstance(groups, Packed):
        return groups.with_clusters(clusters, units)
    return [
        _placed(group, clusters[i] or group.id, group.units if units is None else units[i])
        for i, group in enumerate(groups)
    ]


def _clusters(groups: Sequence[Group], keep: bool) -> list[str | None]:
    """The cluster of each group, None where that is its own id."""
    first_with: dict[bytes, int] = {}  # original -> the first group that has it
    parent: list[int] = []
    ids: list[str] = []
    given: dict[int, str] = {}

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for i, group in enumerate(groups):
        parent.append(i)
        ids.append(group.id)
        if keep and group.cluster:
            given[i] = group.cluster
        for item in group.items:
            if item.role == "original" and (first := first_with.setdefault(_question(item), i)) != i:
                a, b = sorted((root(i), root(first)))
                parent[b] = a  # the smaller one stays the root: the cluster is named after its first group
    return [given[i] if i in given else None if (first := root(i)) == i else ids[first] for i in range(len(ids))]


def _units(groups: Sequence[Group], keep: bool) -> list[tuple[str, ...]] | None:
    """The originals of each group, each by the id of the first item that asks it; None if no group has two."""
    named: dict[bytes, str] = {}
    units = []
    for group in groups:
        asked = [(_question(item), item.id) for item in group.items if item.role == "original"]
        units.append(tuple(dict.fromkeys([named.setdefault(question, id) for question, id in asked])))
    if all(len(of_group) < 2 for of_group in units):
        return None
    if keep:
        units = [group.units if group.cluster else own for group, own in zip(groups, units, strict=True)]
    return units


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


def _question(item: Item) -> bytes:
    """A hash of what is asked: as many texts need little memory."""
    return blake2b(_encode((item.task, item.template, item.fields)), digest_size=16).digest()
