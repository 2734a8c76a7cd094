"""Very many groups: packed in blocks, and made again when they are read. A million take tens of megabytes; as
objects they would take one and a half gigabytes. unwaver.groups.many is for any number of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, overload

import msgspec
from msgspec.structs import force_setattr

from unwaver.groups import many
from unwaver.types import Group

BLOCK = 512

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Group]).decode


class Packed(Sequence[Group]):
    """Groups in compressed blocks. Read them from the first to the last, or by slices."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._length = 0
        self._few: dict[Hashable, Group] = {}
        self._clusters: Sequence[str | None] = ()
        self._units: Sequence[tuple[str, ...]] | None = None

    def add(self, groups: Sequence[Group]) -> None:
        """One more block: all but the last have BLOCK groups."""
        self._length += len(groups)
        self._blocks.append(zlib.compress(_encode(groups), 1))
        for group in groups:
            self._few.setdefault(form(group), group)

    def with_clusters(self, clusters: Sequence[str | None], units: Sequence[tuple[str, ...]] | None) -> Packed:
        """The same groups with these clusters (None: its own id) and units (None: as they are)."""
        other = Packed()
        other._blocks, other._length, other._few = self._blocks, self._length, self._few
        other._clusters, other._units = clusters, units
        return other

    @property
    def whole(self) -> Packed:
        return self

    @property
    def few(self) -> Sequence[Group]:
        """The first group of each form."""
        return list(self._few.values())

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Group]:
        return Reading(self)

    def one_by_one(self) -> Iterator[Group]:
        for number in range(len(self._blocks)):
            yield from self._block(number)

    @overload
    def __getitem__(self, place: int) -> Group: ...
    @overload
    def __getitem__(self, place: slice) -> list[Group]: ...
    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            at = range(self._length)[place]
            return self._block(at // BLOCK)[at % BLOCK]
        start, stop, step = place.indices(self._length)
        if step != 1:
            return [self[at] for at in range(start, stop, step)]
        blocks = range(start // BLOCK, -(-stop // BLOCK) if stop > start else 0)
        found = [group for number in blocks for group in self._block(number)]
        skipped = start % BLOCK
        return found[skipped : skipped + max(0, stop - start)]

    def _block(self, number: int) -> list[Group]:
        groups = _decode(zlib.decompress(self._blocks[number]))
        for n, group in enumerate(groups if self._clusters else (), number * BLOCK):
            force_setattr(group, "cluster", self._clusters[n] or group.id)  # nobody else has it yet
            if self._units is not None:
                force_setattr(group, "units", self._units[n])
        return groups


class Reading(Iterator[Group]):
    """An iterator over packed groups that knows them: who wants all of them need not pack them again."""

    def __init__(self, packed: Packed):
        self._left, self.whole = packed.one_by_one(), packed

    def __next__(self) -> Group:
        return next(self._left)


def form(group: Group) -> Hashable:
    """What two groups have in common that differ in nothing but their texts, labels and names."""
    return (
        group.suite,
        group.task,
        group.kind,
        group.expect,
        group.keep,
        group.epsilon,
        bool(group.units),
        group.repeats,
        *[
            (i.task, i.role, i.template, i.judge, i.certified, i.certified_by, bool(i.choices), bool(i.accepted))
            for i in group.items
        ],
        *[(bool(i.tools), bool(i.response_format)) for i in group.items],
        *[(m.role, "{answer of" in m.text) for i in group.items for m in i.messages],
    )


class Pile:
    """Groups that come one after the other: kept as they are, and packed as soon as there are many."""

    def __init__(self) -> None:
        self._kept: list[Group] = []
        self._packed: Packed | None = None

    def add(self, group: Group) -> None:
        self._kept.append(group)
        if len(self._kept) == (many.KEPT if self._packed is None else BLOCK):
            self._pack()

    def _pack(self) -> None:
        if self._packed is None:
            self._packed = Packed()
        for start in range(0, len(self._kept), BLOCK):
            self._packed.add(self._kept[start : start + BLOCK])
        self._kept = []

    def all(self) -> Sequence[Group]:
        """What was added. Nothing can be added any more."""
        if self._packed is None:
            return self._kept
        if self._kept:
            self._pack()
        return self._packed


def packed(groups: Iterable[Group]) -> Sequence[Group]:
    """These groups, packed if there are many."""
    pile = Pile()
    for group in groups:
        pile.add(group)
    return pile.all()
