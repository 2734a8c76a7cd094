"""One million groups scored from a table in memory, intervals included: under 3 s and 1 GB above the table."""

from __future__ import annotations

import json
import resource
import time

import numpy as np
import polars as pl

import unwaver

GROUPS = 1_000_000
MOST_SECONDS, MOST_GB = 3.0, 1.0


def table(groups: int, seed: int = 0) -> pl.DataFrame:
    """Pairs of answers with gold; every third original is shared by three groups."""
    rng = np.random.default_rng(seed)
    labels = np.array(["entailment", "neutral", "contradiction"])
    original = rng.integers(0, 3, groups)
    variant = np.where(rng.random(groups) < 0.1, rng.integers(0, 3, groups), original)
    return pl.DataFrame(
        {
            "group": np.repeat(np.arange(groups), 2),
            "cluster": np.repeat(np.arange(groups) // 3, 2),
            "kind": ["semantic"] * (2 * groups),
            "role": ["original", "variant"] * groups,
            "label": labels[np.column_stack([original, variant]).ravel()],
            "gold": labels[np.repeat(rng.integers(0, 3, groups), 2)],
        }
    )


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    unwaver.score(table(1000))  # imports
    answers = table(GROUPS)
    before = peak_gb()
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = unwaver.score(answers)
        seconds.append(time.perf_counter() - start)
    assert all(s.low is not None for s in result if s.value is not None)
    figures = {"seconds": round(sorted(seconds)[1], 2), "gb_above_table": round(peak_gb() - before, 2)}
    good = figures["seconds"] < MOST_SECONDS and figures["gb_above_table"] < MOST_GB
    print(json.dumps({"bench": "a million groups", **figures, "target": "< 3 s, < 1 GB", "ok": good}))


if __name__ == "__main__":
    main()
