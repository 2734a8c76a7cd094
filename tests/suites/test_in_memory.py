"""Tables in memory and columnar files are read like tables in text files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.errors import UnwaverError
from unwaver.suites.in_memory import as_file, rows_of

ROWS = [
    {"question": "Is it late?", "paraphrase": "Has it got late?", "label": "yes"},
    {"question": "Is it early?", "paraphrase": "Is it early now?", "label": "no"},
]
LOG = [{"problem": p, "reply": r} for p, r in (("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"))]


class Arrow:
    """What an Arrow table has."""

    column_names = tuple(ROWS[0])

    def to_pylist(self) -> list[dict[str, str]]:
        return ROWS


class Dataset:
    """What a Dataset of Hugging Face has: rows by iteration."""

    column_names = tuple(ROWS[0])

    def __iter__(self) -> Any:
        return iter(ROWS)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pandas() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


TABLES = {
    "rows": lambda: ROWS,
    "tuple": lambda: tuple(ROWS),
    "columns": lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "pandas": pandas,
    "arrow": Arrow,
    "dataset": Dataset,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_the_same_rows(table: str) -> None:
    assert rows_of(TABLES[table]()) == ROWS  # type: ignore[no-untyped-call]


def test_a_table_in_memory_is_run_like_a_file() -> None:
    Path("table.jsonl").write_text("".join(f"{row}\n".replace("'", '"') for row in ROWS))
    by_file = unwaver.run("table.jsonl", "fake/random", out="a")
    by_rows = unwaver.run(ROWS, "fake/random", out="b")
    assert [(s.metric, s.value) for s in by_rows] == [(s.metric, s.value) for s in by_file]
    assert as_file(ROWS) == as_file(pl.DataFrame(ROWS))  # the same table goes on where it stopped


@pytest.mark.parametrize("name", ["q.parquet", "q.arrow", "q.feather", "stream.arrow"])
def test_columnar_files_are_run(name: str) -> None:
    frame = pl.DataFrame(ROWS)
    writes = {"q.parquet": frame.write_parquet, "stream.arrow": frame.write_ipc_stream}
    writes.get(name, frame.write_ipc)(name)  # type: ignore[operator]
    assert unwaver.run(name, "fake/random")[0].groups == 2


def test_a_broken_columnar_file_is_named() -> None:
    Path("q.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(UnwaverError, match=r"q\.parquet: cannot be read as parquet"):
        unwaver.run("q.parquet", "fake/random")


@pytest.mark.parametrize("odd", [3, None, [1, 2], {"a": 3}, {"a": [1], "b": [1, 2]}, object()])
def test_what_is_not_a_table_is_refused_with_what_is(odd: Any) -> None:
    with pytest.raises(UnwaverError) as e:
        unwaver.run(odd, "fake/random")
    assert "Polars or pandas" in str(e.value.hint)


def as_pandas(rows: list[dict[str, str]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


def as_columns(rows: list[dict[str, str]]) -> Any:
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("make", [list, tuple, pl.DataFrame, as_pandas, as_columns])
def test_score_takes_names_of_columns_for_tables_in_memory(make: Any) -> None:
    Path("log.csv").write_text("\n".join(["problem,reply", *(f"{r['problem']},{r['reply']}" for r in LOG)]))
    by_file = unwaver.score("log.csv", bucket="problem", answer="reply")
    found = unwaver.score(make(LOG), bucket="problem", answer="reply")
    assert [(s.metric, s.value, s.groups) for s in found] == [(s.metric, s.value, s.groups) for s in by_file]
    with pytest.raises(UnwaverError, match='no field "problm"') as e:
        unwaver.score(make(LOG), bucket="problm", answer="reply")
    assert "did you mean problem?" in str(e.value.hint)


# --- functions ------------------------------------------------------------------------------------------------


def of_a_prompt(prompt: str) -> str:
    return "True" if "not" in prompt else "False"


def of_requests(requests: list[dict[str, Any]]) -> list[str]:
    return [request["choices"][0] for request in requests]


def test_functions_are_models() -> None:
    for number, function in enumerate((of_a_prompt, of_requests)):
        result = unwaver.run("sample/snli/semantic", function, limit=2, out=f"r{number}")  # type: ignore[arg-type]
        assert result[0].model == function.__name__
        assert result[0].failed == 0


def test_what_is_not_a_model_is_refused() -> None:
    for odd in (3, None, object()):
        with pytest.raises(UnwaverError, match="is not a model") as e:
            unwaver.run("sample/snli/semantic", odd)  # type: ignore[arg-type]
        assert "a function" in str(e.value.hint)
    with pytest.raises(UnwaverError, match="does not say whether it takes one prompt or a list") as e:
        unwaver.run("sample/snli/semantic", lambda prompt: "yes")
    assert "def answer(prompt: str) -> str" in str(e.value.hint)
