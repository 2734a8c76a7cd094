"""One wave of requests, cut into parts that replicas answer: what is handed out next, and what becomes of the part
of a replica that died. Nothing here knows of Ray.

    work = Work(requests, Sizes(64))
    part = work.take(replicas=2)             whole groups, about half of a fair share
    work.answered(part, [(0, answer)])  -> [(17, answer)], without what another replica has answered meanwhile
    work.give_back(part, died=True)          it is handed out again
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from unwaver.types import Answer, Batch, Request

FIRST = 64  # requests of the first part for a model that does not say how many it answers at once
LEAST = 16  # requests of the last parts of a wave, so that replicas end together
MOST = 1024
SECONDS = 5.0  # that a part should take: what a replica's death costs, at most twice
BLAMED = 3  # deaths with one request alone before it counts as failed

_numbers = count(1)


@dataclass(frozen=True, eq=False)
class Part:
    """Some requests of a wave, by their places in it. `deaths` counts the replicas that died answering them."""

    number: int  # no other part has it, in this wave or the next
    indices: tuple[int, ...]
    deaths: int = 0


class Sizes:
    """How many requests make a part, learned from how long earlier parts took."""

    def __init__(self, first: int = FIRST):
        self._first = self.now = first

    def learn(self, asked: int, seconds: float) -> None:
        """64 in 1 s -> 256. Never fewer than at first: a model that answers in large batches would get slower."""
        fitting = int(asked * SECONDS / max(seconds, 1e-3))
        self.now = max(self._first, min(MOST, 4 * self.now, fitting))


class Work:
    def __init__(self, requests: Sequence[Request], sizes: Sizes):
        self.requests, self._sizes = requests, sizes
        self._starts = [*_group_starts(requests), len(requests)]
        self._group = 0  # the first that was not handed out
        self._again: deque[Part] = deque()
        self._open = set(range(len(requests)))

    @property
    def is_over(self) -> bool:
        return not self._open

    def take(self, replicas: int, most: int | None = None, *, alone: bool = True) -> Part | None:
        """The next part for one of so many replicas: first what another left, then whole groups. `most` requests,
        where a server is to be met first. What a replica died of is for one that has nothing else (`alone`): if it
        dies as well, it is clear of what."""
        for part in list(self._again):
            if alone or not part.deaths:
                self._again.remove(part)
                if left := self.open_of(part):
                    return Part(next(_numbers), left, part.deaths)
        if self._group + 1 >= len(self._starts):
            return None
        begin = self._starts[self._group]
        fair = max(LEAST, math.ceil((len(self.requests) - begin) / (2 * replicas)))
        end = begin + min(self._sizes.now, fair)
        self._group += 1
        while self._starts[self._group] < min(end, len(self.requests)):
            self._group += 1
        if most is not None and self._starts[self._group] > begin + most:
            self._again.append(Part(0, tuple(range(begin + most, self._starts[self._group]))))
            return Part(next(_numbers), tuple(range(begin, begin + most)))
        return Part(next(_numbers), tuple(range(begin, self._starts[self._group])))

    def answered(self, part: Part, batch: Batch) -> Batch:
        """The answers with their places in the wave, without those that another replica gave first."""
        found = [(part.indices[index], answer) for index, answer in batch]
        fresh = [(index, answer) for index, answer in found if index in self._open]
        self._open.difference_update(index for index, _ in fresh)
        return fresh

    def done(self, part: Part, seconds: float) -> None:
        """A model may leave a request without an answer: nobody waits for it."""
        self._open.difference_update(part.indices)
        self._sizes.learn(len(part.indices), seconds)

    def open_of(self, part: Part) -> tuple[int, ...]:
        """The places of its requests that have no answer yet."""
        return tuple(index for index in part.indices if index in self._open)

    def give_back(self, part: Part, *, died: bool) -> Batch:
        """Hand out again what is not answered. `died`: the replica died while it worked on it. At the second time
        halves are tried, so that one request that kills replicas (no memory for it, say) ends up alone; it then
        counts as failed: that is what is returned."""
        left = self.open_of(part)
        deaths = part.deaths + died
        if not died or (deaths < 2 if len(left) > 1 else deaths < BLAMED):
            self._again.appendleft(Part(0, left, deaths))
            return []
        if len(left) == 1:
            return self.fail(left, f"the replica died {deaths} times while it answered this request")
        middle = len(left) // 2
        self._again.extend([Part(0, left[:middle], 1), Part(0, left[middle:], 1)])
        return []

    def fail(self, indices: Sequence[int], why: str) -> Batch:
        self._open.difference_update(indices)
        return [(index, Answer(error=why)) for index in indices]


def _group_starts(requests: Sequence[Request]) -> Iterator[int]:
    """Where groups begin: requests come group by group, and items of a group are called GROUP/0, GROUP/1 …"""
    before = None
    for index, request in enumerate(requests):
        group = request.item.rpartition("/")[0] or request.item
        if group != before or not group:
            yield index
        before = group
