"""Groups that share originals: connected components, and the items that intervals resample."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from unwaver.groups.many import together
from unwaver.groups.packed import Packed
from unwaver.types import Group, Item, replace

_encode = msgspec.msgpack.Encoder().encode


def with_clusters(groups: Iterable[Group], *, keep: bool = False) -> Sequence[Group]:
    """The groups with `cluster` filled in: the id of the first of those connected by shared originals.

    Groups 1 and 2 share original a, 2 and 3 share b -> all three are cluster 1. Where groups have several
    originals, `units` are these: the id of the first item with each text. With `keep`, a group that has a cluster
    stays as it is.
    """
    groups = together(groups)
    joined = Joined(keep)
    for group in groups:
        joined.add([_question(item) for item in group.items if item.role == "original"])
        joined.name(group)
    return joined.placed(groups)


class Joined:
    """Groups that share originals: added one after the other, each with hashes of its originals. All of
    them, or the first, are then named and placed. With `keep`, a group that has a cluster stays as it is.
    """

    def __init__(self, keep: bool) -> None:
        self._keep = keep
        self._ids: list[str] = []
        self._given: dict[int, str] = {}
        self._first_with: dict[bytes, int] = {}  # original -> the first group that has it
        self._parent = array("q")
        self._several = False  # a group has more than one original

    def add(self, originals: Sequence[bytes]) -> None:
        number = len(self._parent)
        self._parent.append(number)
        for original in originals:
            if (first := self._first_with.setdefault(original, number)) != number:
                a, b = sorted((self._root(number), self._root(first)))
                self._parent[b] = a  # the smaller one stays the root: the cluster is named after its first group
        self._several = self._several or len(set(originals)) > 1

    def _root(self, i: int) -> int:
        parent = self._parent
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    def name(self, group: Group) -> None:
        if self._keep and group.cluster:
            self._given[len(self._ids)] = group.cluster
        self._ids.append(group.id)

    def placed(self, groups: Sequence[Group]) -> Sequence[Group]:
        """The groups that were named, with their clusters and units."""
        ids, given = self._ids, self._given
        roots = enumerate(map(self._root, range(len(ids))))
        clusters = [given[i] if i in given else None if i == root else ids[root] for i, root in roots]
        return _with(groups, clusters, _units(groups, self._keep) if self._several else None)


def _with(
    groups: Sequence[Group], clusters: Sequence[str | None], units: Sequence[tuple[str, ...]] | None
) -> Sequence[Group]:
    """With these clusters, None where that is the group's own id."""
    if isinstance(groups, Packed):
        return groups.with_clusters(clusters, units)
    return [
        replace(group, cluster=clusters[i] or group.id, units=group.units if units is None else units[i])
        for i, group in enumerate(groups)
    ]


def _units(groups: Sequence[Group], keep: bool) -> list[tuple[str, ...]]:
    """The originals of each group, each by the id of the first item that asks it."""
    named: dict[bytes, str] = {}
    units = []
    for group in groups:
        asked = [(_question(item), item.id) for item in group.items if item.role == "original"]
        units.append(tuple(dict.fromkeys([named.setdefault(question, id) for question, id in asked])))
    if keep:
        units = [group.units if group.cluster else own for group, own in zip(groups, units, strict=True)]
    return units


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
