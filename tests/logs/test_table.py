from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from counting import Answer, counted
from waiting import no_endless_work

import unwaver
from unwaver.errors import DataError, UsageError

ROWS: list[dict[str, Any]] = [
    {"q": 1, "form": "a", "said": "yes", "key": "yes", "run": 7},
    {"q": 1, "form": "b", "said": "yes ", "key": "yes", "run": 7},
    {"q": 1, "form": "c", "said": "no", "key": "yes", "run": 7},
    {"q": 2, "form": "a", "said": "no", "key": "no", "run": 7},
    {"q": 2, "form": "b", "said": "", "key": "no", "run": 7},
    {"q": 2, "form": "c", "said": "no", "key": "no", "run": 7},
    {"q": 1, "form": "a", "said": "no", "key": "yes", "run": 9},
    {"q": 1, "form": "b", "said": "yes", "key": "yes", "run": 9},
    {"q": 1, "form": "c", "said": "no", "key": "yes", "run": 9},
    {"q": 2, "form": "a", "said": "no", "key": "no", "run": 9},
    {"q": 2, "form": "b", "said": "no", "key": "no", "run": 9},
    {"q": 2, "form": "c", "said": "yes", "key": "no", "run": 9},
]
NAMES = {"bucket": "q", "variant": "form", "answer": "said", "gold": "key", "replicate": "run"}


def expected() -> dict[str, float | None]:
    answers: list[Answer] = [
        (
            str(r["q"]),
            r["form"],
            {7: 0, 9: 1}[r["run"]],
            r["said"].strip() or None,
            float(r["said"].strip() == r["key"]),
        )
        for r in ROWS
    ]
    return counted(answers)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    frame = pl.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif ".csv" in path.name:
        path.write_text(frame.write_csv())
    elif ".jsonl" in path.name:
        path.write_text(frame.write_ndjson())
    else:
        path.write_text(json.dumps(rows))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.json", "t.parquet"])
def test_columns_by_name(tmp_path: Path, name: str) -> None:
    result = unwaver.score(written(tmp_path / name, ROWS), **NAMES)
    for metric, value in expected().items():
        if metric != "P_C_pairs":
            assert result.find(metric).value == pytest.approx(value), metric
    lead = result.find("P_C")
    assert (lead.suite, lead.task, lead.kind, lead.groups, lead.unreadable) == ("table", "t", "paraphrase", 2, 1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_usual_names_need_no_options(tmp_path: Path, name: str) -> None:
    usual = {"q": "bucket", "form": "variant", "said": "answer", "key": "gold", "run": "replicate"}
    rows = [{usual[k]: v for k, v in row.items()} for row in ROWS]
    result = unwaver.score(written(tmp_path / name, rows))
    assert result.find("Cons_lex").value == pytest.approx(expected()["Cons_lex"])


def test_a_table_of_groups_is_read_as_before(tmp_path: Path) -> None:
    rows = [
        {"group": 1, "kind": "semantic", "role": role, "label": label, "bucket": 9}
        for role, label in (("original", "a"), ("variant", "b"))
    ]
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        result = unwaver.score(written(tmp_path / name, rows))
        assert result.find("tau", suite="own").value == 1.0


def test_without_wordings_rows_of_a_bucket_are_wordings(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", ROWS[:6])
    result = unwaver.score(path, bucket="q", answer="said")
    assert result.find("Cons_lex").value == pytest.approx((2 / 6 + 1) / 2)
    assert result.find("P_C").value is None
    assert result.leading()[0].metric == "Cons_lex"
    assert "right answers are not known" in str(result.run["notes"])
    assert "Without gold labels" not in str(result)


def test_without_buckets(tmp_path: Path) -> None:
    result = unwaver.score(written(tmp_path / "t.csv", ROWS), answer="said", gold="key")
    assert "every bucket has one answer" in str(result.run["notes"])
    assert result.find("A_bucket").value == pytest.approx(7 / 12)


def test_right_and_wrong_without_answers(tmp_path: Path) -> None:
    for n, values in enumerate(([True, False, True], [1, 0, 1], ["true", "False", "1"], [1.0, 0.0, 1.0])):
        rows = [{"b": "x", "ok": v} for v in values]
        for name in (f"t{n}.parquet", f"t{n}.csv"):
            result = unwaver.score(written(tmp_path / name, rows), bucket="b", metric_key="ok")
            assert result.find("P_C_pairs").value == pytest.approx(1 / 3)
            assert (result.find("P_C").unreadable, result.find("Cons_lex").value) == (0, None)
            assert "no answers" in str(result.run["notes"])


def test_partial_credit_is_wrong_and_said(tmp_path: Path) -> None:
    result = unwaver.score(
        written(tmp_path / "t.csv", [{"b": 1, "answer": "a", "f1": v} for v in (1, 0.5)]),
        bucket="b",
        metric_key="f1",
    )
    assert result.find("A_bucket").value == 0.5
    assert "1 answer" in str(result.run["notes"])


def test_right_wins_over_gold() -> None:
    rows = [
        {"group": 1, "kind": "bucket", "role": "variant", "label": label, "gold": "a", "right": right}
        for label, right in (("a", None), ("b", True), ("b", None), ("a", False))
    ]
    assert unwaver.score(rows).find("A_bucket").value == 0.5
    with pytest.raises(DataError, match="expected 1 or 0"):
        unwaver.score([{**rows[0], "right": 0.5}])


def test_nested_fields(tmp_path: Path) -> None:
    rows = [{"meta": {"q": {"id": r["q"]}}, "said": r["said"]} for r in ROWS[:6]]
    for name in ("t.parquet", "t.jsonl"):
        path = written(tmp_path / name, rows)
        found = unwaver.score(path, bucket="meta.q.id", answer="said").find("Cons_lex")
        assert found.value == pytest.approx((2 / 6 + 1) / 2)
        with pytest.raises(DataError, match=r'"meta\.q\.no"'):
            unwaver.score(path, bucket="meta.q.no", answer="said")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_buckets_by_regex_and_file(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, [{"id": f"q{r['q']}-{r['form']}", "said": r["said"]} for r in ROWS[:6]])
    value = pytest.approx((2 / 6 + 1) / 2)
    assert unwaver.score(path, answer="said", bucket_regex=r"^(.+)-").find("Cons_lex").value == value
    assert unwaver.score(path, answer="said", bucket_regex=r"q\d").find("Cons_lex").value == value
    ids = written(tmp_path / "ids.csv", [{"id": f"q{q}-{f}", "bucket": f"b{q}"} for q in (1, 2) for f in "abc"])
    assert unwaver.score(path, answer="said", bucket_file=ids).find("Cons_lex").value == value
    with pytest.raises(DataError, match=r'"q1-a" does not match \^p') as e:
        unwaver.score(path, answer="said", bucket_regex="^p")
    assert e.value.line == (2 if name == "t.csv" else 1)
    few = written(tmp_path / "few.csv", [{"id": "q1-a", "bucket": "b"}])
    with pytest.raises(DataError, match='"q1-b" is not in the bucket file'):
        unwaver.score(path, answer="said", bucket_file=few)
    two = written(tmp_path / "two.csv", [{"id": "x", "bucket": "b"}, {"id": "x", "bucket": "c"}])
    with pytest.raises(DataError, match="is in two buckets") as e:
        unwaver.score(path, answer="said", bucket_file=two)
    assert e.value.line == 3


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", ROWS)
    with pytest.raises(UsageError, match="--bucket-regex"):
        unwaver.score(path, bucket_regex="(")
    with pytest.raises(DataError, match='no field "qq"'):
        unwaver.score(path, bucket="qq", answer="said")
    with pytest.raises(DataError, match="no column for the answer") as e:
        unwaver.score(path, bucket="q")
    assert (e.value.file, e.value.line) == (str(path), 1)
    with pytest.raises(UsageError, match="no option 'buckets'"):
        unwaver.score(path, buckets="q")
    cut = tmp_path / "cut.csv"
    cut.write_text(path.read_text()[:-6])
    with pytest.raises(DataError, match="is missing: 3 cells, expected 5") as e:
        unwaver.score(cut, **NAMES)
    assert e.value.line == 13
    holes = written(tmp_path / "holes.parquet", [{"q": "1", "said": "a"}, {"q": None, "said": "a"}])
    with pytest.raises(DataError, match="found nothing in row 2"):
        unwaver.score(holes, bucket="q", answer="said")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="not a parquet table"):
        unwaver.score(tmp_path / "no.parquet", bucket="q")


def test_several_tables_are_one_log(tmp_path: Path) -> None:
    parts = [written(tmp_path / f"{n}.parquet", ROWS[n * 6 : n * 6 + 6]) for n in (0, 1)]
    result = unwaver.score(parts, task="all", **NAMES)
    assert result.find("Cons_lex_repeat").value == pytest.approx(expected()["Cons_lex_repeat"])


def test_tables_of_several_kinds_are_one_log(tmp_path: Path) -> None:
    parts = [written(tmp_path / "1.csv", ROWS[:6]), written(tmp_path / "2.parquet", ROWS[6:])]
    result = unwaver.score(parts, task="all", **NAMES)
    assert result.find("Cons_lex").value == pytest.approx(expected()["Cons_lex"])
    assert result.find("A_bucket").value == pytest.approx(expected()["A_bucket"])


def test_a_packed_file_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver import unpack

    monkeypatch.setattr(unpack, "MOST_BYTES", 1000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"bucket,answer\n" + b"1,a\n" * 1000))
    with pytest.raises(DataError, match="unpacks to more than"):
        unwaver.score(path)


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    """bench/logs.py measures it; this only sees that nothing is looped over in Python."""
    import sys

    sys.path.insert(0, str(Path(__file__).parent.parent.parent / "bench"))
    try:
        from logs import NAMED, write
    finally:
        sys.path.pop(0)
    path = tmp_path / "million.parquet"
    write(path, 1_000_000)
    with no_endless_work(120):  # it takes about one; bench/logs.py measures it
        result = unwaver.score(path, **NAMED)
    assert result.find("P_C").groups == 125_000
