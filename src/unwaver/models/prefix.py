"""Which tokens a causal model must read, and in what order, so that it reads each shared beginning once.

The paths (prompts, with what they are continued by) of a wave form a tree of tokens: instructions and
solved examples first, then a passage, then its questions, then the choices. The tree is cut into rows, and
rows into batches. Inside a row a token sees its ancestors only, so one row holds many paths and costs what
its distinct tokens cost. A beginning shared by more paths than fit in a batch is read once and kept.

Nothing here knows about tensors: see hf_prefix.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unwaver.models.hf_common import length_batches

# Costs in units of one token through the linear layers, measured with SmolLM2-135M on a CPU. They
# decide where a row is cut, never what is computed.
ATTENTION = 1 / 1500  # of a token pair inside a row, nearly all of them masked
ROW = 4.0  # of a row as such
FORWARD = 30.0  # of a batch as such: the weights pass through the caches once
COPY = 0.05  # of a kept token, copied into every row that stands on it
KEEP_FROM = 16  # a shared beginning shorter than this is read again rather than kept

UNLIMITED = 1 << 62

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenRow:
    """Some paths without their kept beginning, depth first:

    paths (7, 8) and (7, 9) -> tokens [7, 8, 9], depth [0, 1, 1], end [3, 2, 3]; token i is an ancestor of
    the tokens i + 1 … end[i] - 1. `reads` are (path, place in the path, place in the row) where a
    prediction is wanted.
    """

    tokens: list[int]
    depth: list[int]
    end: list[int]
    reads: list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Step:
    """A batch of rows after `kept` tokens; with `keep`, its one row extends that beginning for steps to come.

    Steps come depth first: a step with `kept = n` stands on the last kept beginning of n tokens.
    """

    kept: int
    rows: list[TokenRow]
    keep: bool = False


def plain_steps(paths: Sequence[Path], first: Sequence[int], budget: int) -> Iterator[Step]:
    """Without sharing: one row a path. `first[p]` is the first place in path p where a prediction is wanted."""
    for batch in length_batches([len(p) for p in paths], budget):
        yield Step(0, [_row(paths, first, [p], 0) for p in batch])


def shared_steps(
    paths: Sequence[Path], first: Sequence[int], budget: int, widest: int = UNLIMITED
) -> Iterator[Step]:
    """With sharing. `paths` are distinct and sorted; no row with what is kept before it exceeds `widest`."""
    return _Planner(paths, first, budget, widest).steps(list(range(len(paths))), 0)


def common(a: Path, b: Path) -> int:
    """How many tokens two paths share from the beginning: (1, 2, 3), (1, 2, 4) -> 2."""
    shorter = min(len(a), len(b))
    for i in range(shorter):
        if a[i] != b[i]:
            return i
    return shorter


class _Planner:
    def __init__(self, paths: Sequence[Path], first: Sequence[int], budget: int, widest: int):
        self.widest = widest
        self.paths = paths
        self.first = first
        self.budget = budget
        self.shared = [0, *(common(a, b) for a, b in itertools.pairwise(paths))]

    def steps(self, members: list[int], kept: int) -> Iterator[Step]:
        """The steps of consecutive paths that stand on a beginning of `kept` tokens."""
        loose: list[int] = []
        for run in self._runs(members, kept + KEEP_FROM):
            if len(run) == 1 or self._size(run, kept) <= self.budget:
                loose += run
                continue
            longest = min(self.shared[p] for p in run[1:])
            yield Step(kept, [self._beginning(run, kept, longest)], keep=True)
            yield from self.steps(run, longest)
        yield from self._batches(loose, kept)

    def _runs(self, members: list[int], least: int) -> Iterator[list[int]]:
        """Cut where neighbours share fewer than `least` tokens."""
        run = members[:1]
        for p in members[1:]:
            if self.shared[p] < least:
                yield run
                run = []
            run.append(p)
        if run:
            yield run

    def _size(self, run: list[int], kept: int) -> int:
        new = sum(len(self.paths[p]) - self.shared[p] for p in run[1:])
        return len(self.paths[run[0]]) - kept + new

    def _beginning(self, run: list[int], kept: int, longest: int) -> TokenRow:
        # The first path is the shortest way to spell the beginning; the others only add their readings.
        spelled = self.paths[run[0]][kept:longest]
        reads = [
            (p, place, place - kept)
            for p in run
            for place in range(max(self.first[p], kept), min(longest, len(self.paths[p])))
        ]
        width = len(spelled)
        return TokenRow(list(spelled), list(range(width)), [width] * width, reads)

    def _batches(self, members: list[int], kept: int) -> Iterator[Step]:
        # A path that is wholly kept has been read already.
        left = [p for p in members if len(self.paths[p]) > kept]
        rows = [_row(self.paths, self.first, m, kept) for m in self._rows(left, kept)]
        for batch in _similar(rows, self.budget):
            yield Step(kept, batch)

    def _rows(self, members: list[int], kept: int) -> list[list[int]]:
        """A cut between rows reads the shared beginning again; a long row attends in vain."""
        new = [
            len(self.paths[p]) - max(kept, common(self.paths[q], self.paths[p]))
            for q, p in itertools.pairwise(members)
        ]

        def costs(start: int) -> Iterator[float]:
            size = len(self.paths[members[start]]) - kept
            for more in [*new[start:], 0]:
                yield size + ATTENTION * size * size + ROW + COPY * kept
                size += more
                if size > min(self.budget, self.widest - kept):
                    return

        return [members[a:b] for a, b in cheapest_cuts(len(members), costs)]


def _similar(rows: list[TokenRow], budget: int) -> Iterator[list[TokenRow]]:
    """Batches of rows of similar length, longest first: one that does not fit in memory shows at once."""
    rows = sorted(rows, key=lambda row: -len(row.tokens))

    def costs(start: int) -> Iterator[float]:
        width = len(rows[start].tokens)
        for count in range(1, max(budget // width, 1) + 1):
            yield FORWARD + width * count

    return (rows[a:b] for a, b in cheapest_cuts(len(rows), costs))


def cheapest_cuts(count: int, costs: Callable[[int], Iterator[float]]) -> list[tuple[int, int]]:
    """Cut 0 … count - 1 into consecutive pieces at the least sum of costs.

    `costs(start)` yields the cost of the piece from start of one, two, … members, as far as allowed:
    three members, a piece of one costs 2 and one of two 3 -> [(0, 1), (1, 3)].
    """
    best = [0.0] + [math.inf] * count
    back = [0] * (count + 1)
    for start in range(count):
        for stop, cost in zip(range(start + 1, count + 1), costs(start), strict=False):
            if best[start] + cost < best[stop]:
                best[stop], back[stop] = best[start] + cost, start
    cuts = [count] if count else []
    while cuts and cuts[-1]:
        cuts.append(back[cuts[-1]])
    return list(itertools.pairwise(reversed(cuts)))


def _row(paths: Sequence[Path], first: Sequence[int], members: Sequence[int], kept: int) -> TokenRow:
    row = TokenRow([], [], [], [])
    way: list[int] = []  # places in the row of the tokens of the path at hand
    before: Path = ()
    for p in members:
        path = paths[p]
        shared = max(common(before, path) - kept, 0)
        for place in way[shared:]:
            row.end[place] = len(row.tokens)
        del way[shared:]
        for depth in range(shared, len(path) - kept):
            way.append(len(row.tokens))
            row.tokens.append(path[kept + depth])
            row.depth.append(depth)
            row.end.append(-1)
        row.reads.extend((p, i, way[i - kept]) for i in range(max(first[p], kept), len(path)))
        before = path
    for place in way:
        row.end[place] = len(row.tokens)
    return row
