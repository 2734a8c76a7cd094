"""Drawing examples: evenly over confidence, and shares of a training set that keep related examples together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from unwaver.stats import Floats, Ints
from unwaver.stats.weights import BINS, confidence_bins


def round_robin(confidence: Floats, count: int, *, seed: int = 0) -> Ints:
    """Row numbers of `count` examples: one at random from each decile of confidence in turn, 0–0.1 first.

    A decile that is used up is passed over; fewer come where there are fewer.
    """
    rng = np.random.default_rng(seed)
    bins = confidence_bins(confidence)
    queues = [list(rng.permutation(np.flatnonzero(bins == b))) for b in range(BINS)]
    drawn: list[int] = []
    while len(drawn) < count and any(queues):
        drawn += [int(queue.pop()) for queue in queues if queue]
    return np.array(drawn[:count], dtype=np.int64)


def training_shares(
    keys: Sequence[Hashable], shares: Sequence[float] = (0.01, 0.05, 0.1, 0.5, 1.0), *, seed: int = 0
) -> dict[float, Ints]:
    """Row numbers for each share of a training set. Rows with one key (premise and hypothesis) stay together, and
    a smaller share is part of a larger one."""
    names = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    order = np.random.default_rng(seed).permutation(len(names))
    place = order[[names[key] for key in keys]]
    return {share: np.flatnonzero(place < max(1, round(share * len(names)))) for share in shares}
