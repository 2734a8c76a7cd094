"""Variance components of right and wrong: unbiased on simulated buckets, also where these are unequal."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from unwaver.answers.given import complete
from unwaver.metrics.score import score_frame
from unwaver.types import Score


def simulated(
    rng: np.random.Generator, problems: int, wording_noise: float, repeats: tuple[int, int]
) -> pl.DataFrame:
    """Each wording is right with a probability of its own; sizes differ between problems and wordings."""
    item = rng.uniform(0.2, 0.8, problems)
    group = np.repeat(np.arange(problems), rng.integers(2, 6, problems))
    p = item[group] + rng.uniform(-wording_noise, wording_noise, len(group))
    row = np.repeat(np.arange(len(group)), rng.integers(repeats[0], repeats[1] + 1, len(group)))
    right = rng.random(len(row)) < p[row]
    first = np.searchsorted(row, row)
    return pl.DataFrame(
        {
            "group": group[row],
            "item": row,
            "replicate": np.arange(len(row)) - first,
            "label": np.where(right, "r", "w"),
        }
    ).with_columns(
        kind=pl.lit("bucket"), role=pl.lit("variant"), gold=pl.lit("r"), item=pl.col("item").cast(pl.String)
    )


def components(frame: pl.DataFrame) -> dict[str, Score]:
    return {s.metric: s for s in score_frame(complete(frame))}


@pytest.mark.parametrize("wording_noise", [0.0, 0.2])
def test_unbiased_on_unequal_buckets(wording_noise: float) -> None:
    found = components(simulated(np.random.default_rng(1), 20_000, wording_noise, (2, 5)))
    item, wording = 0.6**2 / 12, (2 * wording_noise) ** 2 / 12
    replicate = 0.25 - item - wording
    assert found["var_item"].value == pytest.approx(item, abs=0.0015)
    assert found["var_wording"].value == pytest.approx(wording, abs=0.0015)
    assert found["var_replicate"].value == pytest.approx(replicate, abs=0.0015)
    assert found["var_wording_share"].value == pytest.approx(wording / 0.25, abs=0.006)
    assert found["P_C_repeats"].value == pytest.approx(1 - 2 * replicate, abs=0.003)


def test_intervals_cover() -> None:
    """Small studies: the interval of var_wording holds the true value in most of them."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(50):
        found = components(simulated(rng, 120, 0.2, (3, 3)))["var_wording"]
        held += found.low <= 0.16 / 12 <= found.high  # type: ignore[operator]
    assert held >= 43


def test_a_model_that_repeats_itself_has_no_replicate_noise() -> None:
    frame = simulated(np.random.default_rng(2), 200, 0.1, (1, 1))
    twice = pl.concat([frame, frame.with_columns(replicate=pl.lit(1, dtype=pl.Int64))])
    found = components(twice)
    assert found["var_replicate"].value == 0.0
    assert found["P_C_repeats"].value == 1.0
    assert found["P_C_pairs"].value == pytest.approx(1 - 2 * found["var_wording"].value, abs=1e-12)  # type: ignore


def test_pairs_are_wording_and_replicate_noise_together() -> None:
    found = components(simulated(np.random.default_rng(4), 300, 0.15, (3, 3)))
    noise = found["var_wording"].value + found["var_replicate"].value  # type: ignore[operator]
    assert found["P_C_pairs"].value == pytest.approx(1 - 2 * noise, abs=1e-12)


def test_only_with_replicates() -> None:
    assert "var_item" not in components(simulated(np.random.default_rng(4), 50, 0.15, (1, 1)))


def test_problems_without_repeats_do_not_apply() -> None:
    rows = [("a", "x", 0), ("a", "x", 1), ("a", "y", 0), ("a", "y", 1), ("b", "x", 0), ("b", "x", 1), ("c", "x", 0), ("c", "y", 0)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["group", "item", "replicate"], orient="row")
    frame = frame.with_columns(kind=pl.lit("bucket"), role=pl.lit("variant"), gold=pl.lit("r"), label=pl.lit("r"))
    found = components(frame)["var_wording"]
    assert (found.counted, found.not_applicable) == (1, 2)
