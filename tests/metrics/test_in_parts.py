"""A large table is scored from parts: the same scores, and with --stream the same values."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.cli.main import cli
from unwaver.engine import large_table
from unwaver.errors import DataError, UsageError
from unwaver.stats import MOST_UNITS, estimate
from unwaver.stats.streamed import Sums, bundle_of, part_of

LABELS = ["a", "b", "c", None]
KINDS = ["semantic", "negational", "transitive", "reverse", "signal"]


def frame_of(rng: np.random.Generator, groups: int, *, kinds: list[str], named: bool = True) -> pl.DataFrame:
    """Groups of two to four answers in clusters of one to three, with some unreadable and some missing answers."""
    rows: list[dict[str, Any]] = []
    cluster = 0
    for n in range(groups):
        cluster += int(rng.integers(0, 2))
        kind = kinds[cluster % len(kinds)]
        originals = 2 if kind == "transitive" else 1
        for place in range(originals + int(rng.integers(1, 3))):
            asked = rng.random() > 0.03
            label = LABELS[rng.choice(4, p=[0.5, 0.3, 0.15, 0.05])] if asked else None
            role = "original" if place < originals else "conclusion" if kind == "transitive" else "variant"
            rows.append(
                {
                    "group": f"g{n:05}" if named else n,
                    "cluster": f"c{cluster:05}" if named else cluster,
                    "kind": kind,
                    "role": role,
                    "label": label,
                    "gold": LABELS[rng.integers(0, 3)] if rng.random() > 0.1 else None,
                    "status": ("answered" if label else "unreadable") if asked else "not_asked",
                    "probs": [0.5, 0.3, 0.2] if kind == "semantic" else None,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def in_parts(path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, **options: Any) -> Any:
    monkeypatch.setattr(large_table, "ROWS", rows)
    return large_table.scored(path, **options)


def as_one(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [asdict(score) for score in unwaver.score(str(path), **options)]


@pytest.mark.parametrize("unreadable", ["violate", "skip"])
@pytest.mark.parametrize("kinds", [[kind] for kind in KINDS] + [KINDS])
def test_the_same_scores(tmp_path: Path, monkeypatch: Any, kinds: list[str], unreadable: Any) -> None:
    path = tmp_path / "t.parquet"
    frame_of(np.random.default_rng(1), 300, kinds=kinds).write_parquet(path)
    result = in_parts(path, monkeypatch, 97, unreadable=unreadable)
    assert [asdict(score) for score in result] == as_one(path, unreadable=unreadable)
    assert len(result) > 3


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 60), st.booleans(), st.booleans())
def test_whatever_the_size_of_parts(tmp_path_factory: Any, seed: int, groups: int, rows: int, named: bool, streamed: bool) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    frame_of(np.random.default_rng(seed), groups, kinds=["semantic", "reverse"], named=named).write_parquet(path)
    with pytest.MonkeyPatch.context() as patch:
        result = in_parts(path, patch, rows, streamed=streamed)
    assert [asdict(score) for score in result] == as_one(path)  # so few clusters are kept one by one


def test_the_order_of_clusters_does_not_matter_to_a_stream(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("unwaver.stats.streamed.MOST_UNITS", 40)
    frame = frame_of(np.random.default_rng(2), 400, kinds=["semantic"])
    shuffled = frame.with_columns(at=pl.col("cluster").hash(3)).sort("at", maintain_order=True).drop("at")
    alone = pl.concat([shuffled.filter(pl.col("role") == role) for role in ("original", "variant")])
    found = []
    for name, table in {"sorted": frame, "shuffled": shuffled, "torn": alone}.items():
        path = tmp_path / f"{name}.parquet"
        table.write_parquet(path)
        found.append(in_parts(path, monkeypatch, 64, streamed=True))
    for score, *others in zip(*found, strict=True):
        for other in others:
            ends = dict.fromkeys(("value", "low", "high"), 0)
            assert asdict(other) | ends == asdict(score) | ends
            for name in ends:
                one, two = getattr(other, name), getattr(score, name)
                assert one == two if two is None else one == pytest.approx(two, rel=1e-12)


def mixed(frame: pl.DataFrame, how: str, rng: np.random.Generator) -> pl.DataFrame:
    """The same rows in another order."""
    if how == "by model":  # the clusters of one model are those of another
        other = frame.with_columns(label=pl.col("label").shift(3), model=pl.lit("two"))
        return pl.concat([frame.with_columns(model=pl.lit("one")), other])
    if how == "by role":
        return pl.concat([frame.filter(pl.col("role") == role) for role in ("original", "variant", "conclusion")])
    return frame[rng.permutation(frame.height)]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["by model", "by role", "at random"]), st.booleans(), st.booleans())
def test_the_same_scores_where_clusters_are_torn(
    tmp_path_factory: Any, seed: int, how: str, named: bool, with_clusters: bool
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    rng = np.random.default_rng(seed)
    frame = mixed(frame_of(rng, 80, kinds=["semantic", "reverse", "transitive"], named=named), how, rng)
    frame.drop([] if with_clusters else ["cluster"]).write_parquet(path)
    with pytest.MonkeyPatch.context() as patch:
        result = in_parts(path, patch, 41)
    assert [asdict(score) for score in result] == as_one(path)


def test_tables_by_model_are_not_divided(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    mixed(frame_of(rng, 90, kinds=["semantic"]), "by model", rng).write_parquet(path)
    monkeypatch.setattr(large_table, "_divide", None)
    assert [asdict(score) for score in in_parts(path, monkeypatch, 50)] == as_one(path)


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_in_torn_tables_name_the_row(tmp_path: Path, monkeypatch: Any, streamed: bool) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    frame = mixed(frame_of(rng, 90, kinds=["semantic"]), "at random", rng)
    wrong = pl.when(pl.int_range(pl.len()) == 77).then(pl.lit("varant")).otherwise("role")
    frame.with_columns(role=wrong).write_parquet(path)
    with pytest.raises(DataError, match='row 77: column "role": found "varant"') as error:
        in_parts(path, monkeypatch, 50, streamed=streamed)
    assert error.value.file == str(path)


@pytest.mark.parametrize("streamed", [False, True])
def test_no_room_to_divide_a_table(tmp_path: Path, monkeypatch: Any, streamed: bool) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    mixed(frame_of(rng, 90, kinds=["semantic"]), "at random", rng).write_parquet(path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    with pytest.raises(DataError, match="could not be written: No space left") as error:
        in_parts(path, monkeypatch, 50, streamed=streamed)
    assert "TMPDIR" in str(error.value.hint)


@pytest.mark.parametrize("streamed", [False, True])
def test_labels_that_come_late_are_looked_for_once(tmp_path: Path, monkeypatch: Any, streamed: bool) -> None:
    path = tmp_path / "t.parquet"
    frame = frame_of(np.random.default_rng(5), 300, kinds=["semantic", "reverse"], named=False)
    late = pl.when(pl.col("label") == "c").then("c" + (pl.col("cluster") // 20).cast(pl.String))
    frame.with_columns(label=late.otherwise("label")).write_parquet(path)
    passes, in_order = [], large_table._in_order

    def counted(*arguments: Any) -> Any:
        passes.append(arguments)
        return in_order(*arguments)

    monkeypatch.setattr(large_table, "_in_order", counted)
    result = in_parts(path, monkeypatch, 40, streamed=streamed)
    assert len(passes) == 2
    assert [asdict(score) for score in result] == as_one(path)


def test_sums_of_a_part() -> None:
    part = part_of(np.array([1.0, 0.0, np.nan, 1.0]), np.array([0, 0, 1, 2]), 3)
    assert (part.sums.tolist(), part.found.tolist(), part.counted) == ([[1, 2], [1, 1]], [0, 2], 3)
    assert part.sums.dtype == np.uint8
    assert part.zeros_and_ones
    halves = part_of(np.array([[0.5, 300.0], [1.0, 0.0]]), np.array([0, 1]), 2)
    assert halves.sums.tolist() == [[0.5, 300.0, 1.0], [1.0, 0.0, 1.0]]
    assert not halves.zeros_and_ones


def test_streamed_intervals_are_those_of_the_bootstrap() -> None:
    """More clusters than are kept: both ends agree within the error of 2,000 draws, about 3 % of the width each."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(3 * MOST_UNITS), 2)
    values = (rng.random(len(clusters)) < rng.beta(2, 5, 3 * MOST_UNITS)[clusters]).astype(float)
    values[rng.random(len(values)) < 0.1] = np.nan
    kept = estimate(values, clusters)
    sums = Sums(None, keep=False)
    for start in range(0, len(values), 1000):
        part = clusters[start : start + 1000]
        names = np.unique(part)
        sums.add(part_of(values[start : start + 1000], part - names[0], len(names)), bundle_of(names, 0))
    found = sums.estimate(share=True)
    assert found.value == pytest.approx(kept.value, rel=1e-12)
    assert found.clusters == kept.clusters
    assert found.interval == kept.interval == "bootstrap"
    ends, others = (kept.low or 0, kept.high or 0), (found.low or 0, found.high or 0)
    width = ends[1] - ends[0]
    assert width > 0
    assert others == pytest.approx(ends, rel=0, abs=0.15 * width)


@pytest.mark.slow
def test_streamed_intervals_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """95 % intervals hold the true value in 95 of 100 simulations (300: within three standard errors)."""
    monkeypatch.setattr("unwaver.stats.streamed.MOST_UNITS", 400)
    runs, clusters, size = 300, 2000, 3
    held = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        chance = rng.beta(2, 6, clusters)
        values = (rng.random((clusters, size)) < chance[:, None]).astype(float).ravel()
        sums = Sums(None, keep=False)
        sums.add(
            part_of(values, np.repeat(np.arange(clusters), size), clusters), bundle_of(np.arange(clusters), run)
        )
        found = sums.estimate(share=True, seed=run)
        held += (found.low or 1) <= 2 / 8 <= (found.high or 0)
    error = math.sqrt(0.95 * 0.05 / runs)
    assert 0.95 - 3 * error <= held / runs <= 0.95 + 3 * error


def test_bundles_are_even() -> None:
    counts = np.bincount(bundle_of(np.arange(100 * MOST_UNITS), 7), minlength=MOST_UNITS)
    assert len(counts) == MOST_UNITS
    assert counts.std() == pytest.approx(10, rel=0.1), "as many as if they were drawn: √100"
    assert (bundle_of(np.arange(100), 0) != bundle_of(np.arange(100), 1)).any()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["score", *arguments])


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    frame_of(np.random.default_rng(3), 200, kinds=["semantic"]).write_parquet(path)
    whole = json.loads(run(str(path), "--json").stdout)
    monkeypatch.setattr(large_table, "LARGE", 10)
    monkeypatch.setattr(large_table, "ROWS", 50)
    large = json.loads(run(str(path), "--json").stdout)
    streamed = json.loads(run(str(path), "--json", "--stream").stdout)
    assert large["scores"] == whole["scores"] == streamed["scores"]
    assert streamed["run"]["streamed"] is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"replicate": pl.Series([0, 1] * 10)}, "replicates, weights, buckets"),
        ({"label": pl.Series([f"text {n}" for n in range(20)])}, None),
        ({"role": pl.Series(["original", "varant"] * 10)}, 'column "role": found "varant"'),
        ({"cluster": pl.Series(["x", None] * 10)}, "groups without a cluster"),
        ({"units": pl.Series([["x"]] * 20)}, "column units"),
    ],
)
def test_what_a_stream_refuses(tmp_path: Path, monkeypatch: Any, change: Any, said: str | None) -> None:
    monkeypatch.setattr(large_table, "ROWS", 6)
    path = tmp_path / "t.parquet"
    plain = {"group": [n // 2 for n in range(20)], "kind": ["semantic"] * 20, "role": ["original", "variant"] * 10}
    pl.DataFrame({**plain, "label": ["a"] * 20}).with_columns(**change).write_parquet(path)
    done = run(str(path), "--stream", "--json")
    assert (done.exception is None) == (said is None)
    if said is not None:
        assert said in str(done.exception)
    monkeypatch.setattr(large_table, "LARGE", 1)
    whole = run(str(path), "--json")
    if said is None:
        assert json.loads(whole.stdout)["scores"] == json.loads(done.stdout)["scores"]


def test_a_stream_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    frame_of(np.random.default_rng(3), 200, kinds=["semantic"]).write_parquet(path)
    monkeypatch.setattr(large_table, "ROWS", 50)
    result = unwaver.score(path, stream=True, unreadable="skip")
    assert [asdict(score) for score in result] == as_one(path, unreadable="skip")
    with pytest.raises(UsageError, match="scores and no answers"):
        result.broken()
    with pytest.raises(UsageError, match="--stream scores one"):
        unwaver.score(path, stream=True, answer="reply")
    with pytest.raises(UsageError, match="--stream scores one"):
        unwaver.score({"group": [1]}, stream=True)


def test_a_stream_needs_one_parquet_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("group,kind,role,label\n1,semantic,original,a\n1,semantic,variant,a\n")
    done = run(str(path), "--stream")
    assert "--stream scores one .parquet table" in str(done.exception)
    missing = tmp_path / "m.parquet"
    pl.DataFrame({"group": [1], "label": ["a"]}).write_parquet(missing)
    assert "no column kind, role" in str(run(str(missing), "--stream").exception)
    assert "there is no such file" in str(run(str(tmp_path / "none.parquet"), "--stream").exception)
    assert "there is no such file" in str(run(str(tmp_path / "none.parquet")).exception)
