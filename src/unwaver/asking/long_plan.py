"""The plan of very many groups: 32 bytes for each request. Requests are made again when they are asked, a window
of groups at a time, so that a million need no more memory than a few thousand.

A key is planned where it occurs first. A window is a plan like any other (unwaver.asking.ask).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from unwaver.asking.ask import Plan, Render, key_maker, make_plan, replicated
from unwaver.asking.panel import Panel, check_requests
from unwaver.types import Group, Item, Model, Request

WINDOW = 8192  # groups
BYTES = 32

Name = TypeVar("Name")
Value = TypeVar("Value")


def plan_in_windows(panel: Panel, groups: Sequence[Group]) -> None:
    for respondent in panel.everyone:
        respondent.plan = LongPlan(
            groups, respondent.model, panel.render, panel.replicates, respondent.answers, check_requests
        )


class LongPlan(Plan):
    """A plan in windows. It holds the keys; its mappings are read window by window."""

    def __init__(
        self,
        groups: Sequence[Group],
        model: Model,
        render: Render,
        replicates: int,
        chosen: Callable[[Item], bool],
        check: Callable[[Model, Sequence[Request]], None],
    ):
        self._all, self._model, self._render = groups, model, render
        self._replicates, self._chosen = replicates, chosen
        made, places, ends, key_of = bytearray(), array("q"), [0], key_maker(model)
        for window in self._windows():
            plan = make_plan(window, model, render, replicates, chosen=chosen, key_of=key_of)
            check(model, list(plan.requests.values()))
            made += bytes.fromhex("".join(plan.keys.values()))
            for item, replicate in plan.keys:
                places.append(hash((item, replicate)))
                places.append(hash((replicate, item)))
            ends.append(ends[-1] + len(plan.keys))
        self._keys, self._ends = np.frombuffer(bytes(made), np.uint8).reshape(-1, BYTES), ends
        self._is_first = _first_of_each(self._keys.view(np.uint64))
        self._is_new = _first_of_each(np.asarray(places).reshape(-1, 2))  # an item may be in several windows
        count = int(self._is_first.sum())
        super().__init__(
            keys=_Streamed(int(self._is_new.sum()), self._new_keys),
            requests=_Streamed(count, lambda: (part.requests for part in self.parts())),
        )

    def _windows(self) -> Iterator[Sequence[Group]]:
        return (self._all[start : start + WINDOW] for start in range(0, len(self._all), WINDOW))

    def digest(self) -> bytes:
        return hashlib.sha256(self._keys.tobytes()).digest()

    def parts(self) -> Iterator[Plan]:
        return (plan for _, plan in self.with_groups())

    def _new_keys(self) -> Iterator[Mapping[tuple[str, int], str]]:
        for part, start, end in zip(self.parts(), self._ends, self._ends[1:], strict=False):
            yield dict(compress(part.keys.items(), self._is_new[start:end].tolist()))

    def with_groups(self) -> Iterator[tuple[Sequence[Group], Plan]]:
        """The groups of each window, and its plan."""
        for window, start, end in zip(self._windows(), self._ends, self._ends[1:], strict=False):
            yield window, self._part(window, start, end)

    def _part(self, window: Sequence[Group], start: int, end: int) -> Plan:
        hexed, first = self._keys[start:end].tobytes().hex(), self._is_first[start:end].tolist()
        keys: dict[tuple[str, int], str] = {}
        asked: dict[str, tuple[Item, int]] = {}
        groups, at = [], 0
        for group in window:
            own = []
            for item in group.items:
                if not self._chosen(item) or (item.id, 0) in keys:
                    continue
                for replicate in range(group.times(item, self._replicates)):
                    key = keys[item.id, replicate] = hexed[2 * BYTES * at : 2 * BYTES * (at + 1)]
                    if first[at]:
                        asked[key] = item, replicate
                        own.append(key)
                    at += 1
            if own:
                groups.append(own)
        return Plan(keys, _Rendered(asked, self._request), groups)

    def _request(self, item: Item, replicate: int) -> Request:
        return replicated(self._render(item, self._model), replicate, self._model)


def _first_of_each(rows: Any) -> Any:
    """Which of the rows occur for the first time."""
    order = np.lexsort(rows.T)
    ordered = rows[order]
    first = np.ones(len(rows), bool)
    if len(rows) > 1:  # lexsort is stable: the first of equal ones stays the first
        first[order[1:][(ordered[1:] == ordered[:-1]).all(axis=1)]] = False
    return first


class _Fixed(MutableMapping[Name, Value]):
    """A mapping that is complete."""

    def __setitem__(self, name: Name, value: Value) -> None:
        raise TypeError("the plan of very many groups does not grow")

    def __delitem__(self, name: Name) -> None:
        raise TypeError("the plan of very many groups does not shrink")


class _Rendered(_Fixed[str, Request]):
    """The requests of a window, made when they are needed."""

    def __init__(self, asked: Mapping[str, tuple[Item, int]], request: Callable[[Item, int], Request]):
        self._asked, self._make = asked, request

    def __getitem__(self, key: str) -> Request:
        return self._make(*self._asked[key])

    def __contains__(self, key: object) -> bool:
        return key in self._asked

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


class _Streamed(_Fixed[Name, Value]):
    """What all windows hold, read from the first to the last. To look up a single name, all before it are read."""

    def __init__(self, length: int, mappings: Callable[[], Iterator[Mapping[Name, Value]]]):
        self._length, self._mappings = length, mappings

    def __getitem__(self, name: Name) -> Value:
        return next(mapping[name] for mapping in self._mappings() if name in mapping)

    def __iter__(self) -> Iterator[Name]:
        return (name for mapping in self._mappings() for name in mapping)

    def __len__(self) -> int:
        return self._length

    def items(self) -> ItemsView[Name, Value]:
        return _Items(self)

    def values(self) -> ValuesView[Value]:
        return _Values(self)

    def pairs(self) -> Iterator[tuple[Name, Value]]:
        return (pair for mapping in self._mappings() for pair in mapping.items())


class _Items(ItemsView[Name, Value]):
    def __init__(self, streamed: _Streamed[Name, Value]):
        super().__init__(streamed)
        self._streamed = streamed

    def __iter__(self) -> Iterator[tuple[Name, Value]]:
        return self._streamed.pairs()


class _Values(ValuesView[Value]):
    def __init__(self, streamed: _Streamed[Any, Value]):
        super().__init__(streamed)
        self._streamed = streamed

    def __iter__(self) -> Iterator[Value]:
        return (value for _, value in self._streamed.pairs())
