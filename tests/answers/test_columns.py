"""Tables from elsewhere: every column gets its type, or an error with the row, what was found and what was expected."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.answers.columns import as_text, frame_of, texts
from unwaver.answers.given import complete
from unwaver.errors import DataError
from unwaver.logs.common import field_text as log_text
from unwaver.metrics.block import block_of

ROLES = ("original", "variant")


def rows(**more: Any) -> list[dict[str, Any]]:
    """Two groups of two answers; a value of `more` that is a list has one entry a row."""
    made = [
        {"group": g, "kind": "semantic", "role": role, "label": "a", "gold": "a"} for g in "xy" for role in ROLES
    ]
    for name, value in more.items():
        for n, row in enumerate(made):
            row[name] = value[n] if isinstance(value, list) else value
    return made


def table(path: Path, made: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in made))
        return path
    with path.open("w", newline="") as file:
        write = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        write.writerow(made[0])
        write.writerows(row.values() for row in made)
    return path


def frame(**more: Any) -> pl.DataFrame:
    return pl.DataFrame(rows()).with_columns(
        **{n: v if isinstance(v, pl.Series) else pl.lit(v) for n, v in more.items()}
    )


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl"])
def test_truncated_in_a_text_table(tmp_path: Path, end: str) -> None:
    for said in (["true", "false", "", "0"], ["True", "FALSE", "1", "0.0"], [1, 0, 0, 0]):
        result = unwaver.score(table(tmp_path / f"t.{end}", rows(truncated=said)))
        assert result.find("tau").truncated >= 1
    with pytest.raises(DataError, match='column "truncated": found "maybe", expected 1 or 0, true or false') as e:
        unwaver.score(table(tmp_path / f"t.{end}", rows(truncated=["true", "maybe", "", ""])))
    assert (e.value.file, e.value.line) == (str(tmp_path / f"t.{end}"), 3 if end != "jsonl" else 2)


@pytest.mark.parametrize("bad", [-1, "-1", 0.5, "x", 2**63, 10**400, True, [1], {"a": 1}, "1e400"])
def test_a_replicate_is_a_whole_number(tmp_path: Path, bad: Any) -> None:
    path = table(tmp_path / "t.jsonl", rows(replicate=bad if not isinstance(bad, list) else [bad] * 4))
    with pytest.raises(DataError, match=r'column "replicate": found .* expected'):
        unwaver.score(path)


@pytest.mark.parametrize("replicates", [[0, 0, 1, 1], [2**62] * 4, [0, 0, 3e8, 3e8], ["5", "5.0", "7", "7"]])
def test_a_replicate_may_have_any_number(tmp_path: Path, replicates: list[Any]) -> None:
    """What is kept for a block grows with its answers, not with the numbers of the replicates."""
    found = complete(frame(replicate=pl.Series(replicates, strict=False)))
    assert block_of(found).trials <= 3
    tau = unwaver.score(table(tmp_path / "t.jsonl", rows(replicate=replicates))).find("tau")
    assert (tau.value, tau.groups) == (0.0, 2)


def test_replicates_of_thousands_of_groups_stay_small() -> None:
    """A running number as the replicate: one trial a group, not one for each pair of group and number."""
    n = 20_000
    made = pl.DataFrame({"group": [g for g in range(n) for _ in ROLES], "role": list(ROLES) * n})
    made = made.with_columns(kind=pl.lit("semantic"), label=pl.lit("a"), replicate=pl.int_range(2 * n) // 2)
    assert block_of(complete(made)).trials == n + 1


def test_no_replicates_or_some(tmp_path: Path) -> None:
    assert unwaver.score(table(tmp_path / "t.csv", rows(replicate=""))).find("tau").value == 0.0
    with pytest.raises(DataError, match='column "replicate": found nothing') as e:
        unwaver.score(table(tmp_path / "t.csv", rows(replicate=[0, 0, "", 1])))
    assert e.value.line == 4


@pytest.mark.parametrize("gold", [[["a"]], {"a": 1}, [{"a": 1}], [["a"], "b"]])
def test_nested_gold(tmp_path: Path, gold: Any) -> None:
    with pytest.raises(DataError, match='column "gold": found') as e:
        unwaver.score(table(tmp_path / "t.jsonl", rows(gold=[gold] * 4)))
    assert e.value.line == 1


def test_gold_may_be_a_label_in_one_row_and_a_list_in_another(tmp_path: Path) -> None:
    made = rows(gold=["a", [], ["b", "a"], 1])
    assert unwaver.score(table(tmp_path / "t.jsonl", made)).find("tau").accuracy == 1.0


DAY = datetime.date(2020, 1, 1)
ODD: dict[str, list[Any] | pl.Series] = {
    "date": [DAY] * 4,
    "datetime": [datetime.datetime(2020, 1, 1)] * 4,
    "duration": [datetime.timedelta(1)] * 4,
    "decimal": [decimal.Decimal("1.5")] * 4,
    "binary": [b"\xff"] * 4,
    "text as bytes": [b"a"] * 4,
    "struct": [{"a": 1}] * 4,
    "list of lists": [[["x"]]] * 4,
    "list of nulls": [[None]] * 4,
    "list of structs": [[{"a": 1}]] * 4,
    "list of bytes": [[b"\xff"]] * 4,
    "empty lists": [[]] * 4,
    "nulls": [None] * 4,
    "bool": [True] * 4,
    "great": pl.Series([2**64 - 1] * 4, dtype=pl.UInt64),
    "infinite": [float("inf")] * 4,
    "nan": [float("nan")] * 4,
    "tiny": [1e300] * 4,
    "category": pl.Series(["a"] * 4, dtype=pl.Categorical),
    "enum": pl.Series(["a"] * 4, dtype=pl.Enum(["a"])),
    "array": pl.Series([[1.0, 2.0]] * 4, dtype=pl.Array(pl.Float64, 2)),
    "int128": pl.Series([10**30] * 4, dtype=pl.Int128),
}


def error_of(path: Path, **options: Any) -> DataError | None:
    try:
        assert unwaver.score(path, **options).scores
    except DataError as e:
        return e
    return None


@pytest.mark.parametrize("odd", list(ODD))
def test_odd_types_in_parquet(tmp_path: Path, odd: str) -> None:
    """Scored, or refused with the column; never anything else. Also as a log whose columns are named."""
    path = tmp_path / "t.parquet"
    whole = frame(replicate=0, probs=pl.Series([[0.5, 0.5]] * 4), right=1, truncated=False, status="answered",
                  cluster="c", item="i", model="m", task="t", weight=1.0, epsilon=0.1, expect="same")  # fmt: skip
    for column in whole.columns:
        whole.with_columns(pl.Series(column, ODD[odd])).write_parquet(path)
        error = error_of(path)
        if error is not None:
            assert column in str(error)
            assert error.hint
            assert error.file == str(path)
    log = whole.rename({"group": "bucket", "item": "variant", "label": "answer"}).drop("kind", "role", "expect")
    for column in ("bucket", "variant", "answer", "gold", "right", "replicate", "task", "model", "status"):
        log.with_columns(pl.Series(column, ODD[odd])).write_parquet(path)
        error = error_of(path, bucket="bucket")
        assert error is None or error.hint


def test_text_as_bytes_and_dates_are_labels(tmp_path: Path) -> None:
    for values in (["text as bytes"], ["date"], ["decimal"], ["category"]):
        frame(label=pl.Series(ODD[values[0]]), gold=pl.Series(ODD[values[0]])).write_parquet(
            tmp_path / "t.parquet"
        )
        assert unwaver.score(tmp_path / "t.parquet").find("tau").accuracy == 1.0


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    """Cut and flipped at every place: exit 2 with the file, and not a word of Rust's."""
    whole = tmp_path / "whole.parquet"
    frame(replicate=0).write_parquet(whole)
    data = bytearray(whole.read_bytes())
    for n in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[n] ^= 0xFF
        (tmp_path / f"{n}.parquet").write_bytes(bytes(damaged))
        (tmp_path / f"{n}cut.parquet").write_bytes(bytes(data[:n]))
    code = (
        "import sys, pathlib, unwaver\nfrom unwaver.errors import UnwaverError\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.parquet')):\n"
        "    try: unwaver.score(path)\n"
        "    except UnwaverError as e: assert e.hint, path\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_columns_that_are_called_like_those_of_scorers(tmp_path: Path) -> None:
    """right_answer is what a user calls a column; only numbers that a scorer wrote are a scorer's."""
    result = unwaver.score(table(tmp_path / "t.csv", rows(right_answer="a", agree_x="b")))
    assert result.find("tau").value == 0.0


def test_columns_that_are_not_ours_may_hold_anything(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t.jsonl", rows(meta=[1, "a", {"x": [1, None]}, 10**400], more=[[1], ["a"], [None], None])
    )
    assert unwaver.score(path).find("tau").value == 0.0


def test_empty_cells_that_have_a_default(tmp_path: Path) -> None:
    made = rows(cluster=["c", "c", "", ""], model="", task="", suite="", method="", item="", status="", weight="")
    tau = unwaver.score(table(tmp_path / "t.csv", made)).find("tau")
    assert (tau.suite, tau.task, tau.model, tau.clusters) == ("own", "own", "table", 2)


def test_a_row_of_a_frame_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'row 1: column "role": found "orignal", expected original'):
        unwaver.score(frame(role=pl.Series(["original", "orignal", "original", "variant"])))
    frame(group=pl.Series(["a", None, "b", "b"])).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match='row 1: column "group": found nothing') as e:
        unwaver.score(tmp_path / "t.parquet")
    assert e.value.file == str(tmp_path / "t.parquet")


# --- numbers as labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
def test_each_number_is_read_by_itself(dtype: Any) -> None:
    """2.0 is "2" whatever stands beside it: 2.5, infinity, a missing value, a number that no Int64 holds."""
    nan, infinity = float("nan"), float("inf")
    column = pl.Series("label", [2.0, 2.5, -3.0, -0.0, None, nan, infinity, -infinity, 1e30], dtype=dtype)
    found = texts(column)
    assert found.to_list() == ["2", "2.5", "-3", "0", None, None, "inf", "-inf", "1e+30"]
    assert found.name == "label"
    assert texts(pl.Series([], dtype=dtype)).to_list() == []


@pytest.mark.parametrize("value", [2.0, 2.5, -0.0, 1e-7, 2.0**62, 2.0**63, 1e300, float("inf"), float("nan")])
def test_one_number_is_read_as_in_a_column(value: float) -> None:
    assert as_text(value) == log_text(value) == texts(pl.Series([value, 0.5]))[0]


@pytest.mark.parametrize(
    ("end", "beside"), [*product(("parquet", "jsonl"), (2.5, None, float("inf"))), ("jsonl", "x")]
)
def test_whole_labels_match_their_gold(tmp_path: Path, end: str, beside: Any) -> None:
    made = rows(label=[2.0, 2.0, beside, 1.0], gold=["2", "2", "2", "1"])
    if end == "parquet":
        path = tmp_path / "t.parquet"
        pl.DataFrame(made, schema_overrides={"label": pl.Float64}).write_parquet(path)
    else:
        path = table(tmp_path / "t.jsonl", made)
    assert unwaver.score(path).find("tau").accuracy == 0.5
    assert complete(frame_of(made))["label"].to_list()[:2] == ["2", "2"]
