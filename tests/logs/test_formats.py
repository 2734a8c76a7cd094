"""Which format a file has, what is said when it has none, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver import registry
from unwaver.errors import DataError, UsageError
from unwaver.logs import LogOptions, format_of

LM_EVAL = {
    "doc_id": 0,
    "doc": {"q": "Q"},
    "target": "yes",
    "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": []}}},
    "resps": [["yes"]],
    "filtered_resps": ["yes"],
    "filter": "none",
    "metrics": ["exact_match"],
    "exact_match": 1.0,
}
FILES = {
    "samples_x_2026-01-01T00-00-00.jsonl": ("lm-eval", json.dumps(LM_EVAL)),
    "renamed.jsonl": ("lm-eval", json.dumps(LM_EVAL)),
    "a.eval": ("inspect", "PK"),
    "a.json": ("inspect", '{\n "version": 2,\n "status": "success",\n "eval": {}}'),
    "out.json": ("promptfoo", '{\n "evalId": "eval-x",\n "results": {"version": 3, "results": []}}'),
    "scenario_state.json": ("helm", "{}"),
    "p.json": ("paranlu", '{"snli.1": {"original_prediction": 0, "bucket_confidences": []}}'),
    "t.csv": ("table", "bucket,answer\n1,a\n"),
    "t.json": ("table", "[]"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_told_apart(tmp_path: Path, name: str) -> None:
    format, text = FILES[name]
    (tmp_path / name).write_text(text)
    assert format_of(tmp_path / name) == format


def test_folders_are_told_apart(tmp_path: Path) -> None:
    for file, format in (("samples_x.jsonl", "lm-eval"), ("x.eval", "inspect"), ("scenario_state.json", "helm")):
        place = tmp_path / format / "deep"
        place.mkdir(parents=True)
        (place / file).touch()
        assert format_of(tmp_path / format) == format


def test_every_format_reads_and_looks() -> None:
    for name in registry.names("logs"):
        read = registry.find("logs", name)
        assert callable(read)
        assert callable(getattr(__import__(read.__module__, fromlist=["looks_like"]), "looks_like", None))


@pytest.mark.parametrize(("name", "text"), [("notes.txt", "hello"), ("x.log", "{}"), ("x.bin", "\x00\x01")])
def test_an_unknown_log(scored: Any, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = scored(name, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["file"], error["line"]) == (2, name, 1)
    assert "expected a run folder, samples_*.jsonl" in error["message"]
    assert "--format lm-eval, inspect" in error["hint"]


@pytest.fixture
def scored(unwaver: Any) -> Any:
    return lambda *args: unwaver("score", *args)


def test_an_empty_folder_is_no_run(scored: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = scored("empty")
    assert done.returncode == 2
    assert "there is no run here" in done.stderr


def test_mixed_logs(scored: Any, tmp_path: Path) -> None:
    (tmp_path / "samples_a.jsonl").write_text(json.dumps(LM_EVAL) + "\n")
    (tmp_path / "t.csv").write_text("bucket,answer\n1,a\n")
    done = scored("samples_a.jsonl", "t.csv", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["file"], error["line"]) == (2, "t.csv", 1)
    assert "this file has the format table, but samples_a.jsonl has the format lm-eval" in error["message"]


def test_a_run_folder_is_scored_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = unwaver.run("sample/snli", "fake/random", limit=2, out="run").folder
    assert [s.value for s in unwaver.score("run")] == [s.value for s in unwaver.score("run", format="run")]
    assert [s.value for s in unwaver.score(Path("run/run.json"))] == [s.value for s in unwaver.score(place)]
    (tmp_path / "t.csv").write_text("bucket,answer\n1,a\n1,a\n")
    with pytest.raises(UsageError, match="cannot be scored together"):
        unwaver.score(["run", "t.csv"])


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("bucket,answer\n1,a\n")
    with pytest.raises(UsageError, match="unknown log 'lm-evall'") as e:
        unwaver.score(tmp_path / "t.csv", format="lm-evall")
    assert e.value.hint == "did you mean lm-eval?"


def test_a_wrong_format_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"bucket": 1, "answer": "a"}\n')
    with pytest.raises(DataError, match='no column "doc_id"') as e:
        unwaver.score(tmp_path / "t.jsonl", format="lm-eval")
    assert e.value.line == 1


def test_the_table_of_the_terminal(scored: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("b,answer,gold\n1,a,a\n1,b,a\n2,a,a\n2,a,a\n")
    done = scored("t.csv", "--bucket", "b")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    shown = [line[1] for line in lines if line[:1] == ["t/paraphrase"]]
    assert shown[:2] == ["P_C", "P_C_pairs"]
    assert "Cons_lex" in shown


def test_options_of_logs_are_frozen_and_compared() -> None:
    assert LogOptions(bucket="a", say=print) == LogOptions(bucket="a")
    assert not LogOptions().names_columns


def test_texts_in_logs_cannot_steer_the_terminal(scored: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("bucket,answer,task\n1,a,\x1b[31mred\n1,a,\x1b[31mred\n")
    done = scored("t.csv")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout


WRONG = [
    {**LM_EVAL, "filtered_resps": 7},
    {**LM_EVAL, "arguments": 7},
    {**LM_EVAL, "resps": None, "filtered_resps": [None]},
    {**LM_EVAL, "doc": [1], "target": {"a": []}},
    {**LM_EVAL, "metrics": {"x": 1}},
    {**LM_EVAL, "exact_match": {"x": 1}},
    {
        **LM_EVAL,
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " yes"}, "gen_args_1": {"arg_0": 1, "arg_1": " no"}},
    },
    {**LM_EVAL, "doc": {"q": "x" * 3_000_000}},
]


@pytest.mark.parametrize("row", WRONG, ids=range(len(WRONG)))
def test_wrong_types_are_no_bug(tmp_path: Path, row: Any) -> None:
    path = tmp_path / "samples_x.jsonl"
    path.write_text(json.dumps(row) + "\n")
    error = None
    try:
        unwaver.score(path)
    except DataError as e:
        error = e
    assert error is None or (error.file, error.line) == (str(path), 1)
