"""Logs that Inspect wrote (run_inspect.py), read where inspect_ai is installed, against what `eval` returned."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from counting import Answer, counted

import unwaver
from unwaver.errors import DataError


@pytest.fixture(scope="session")
def logs(made_by: Any) -> Path:
    return made_by("run_inspect")


def told(logs: Path, name: str, bucket: str = "problem") -> list[Answer]:
    entries = json.loads((logs / f"{name}.json").read_text())
    return [
        (e[bucket], e["id"] + name * (name == "other"), e["epoch"] - 1, e["answer"] or None, float(e["right"]))
        for e in entries
    ]


def values(done: Any, **fields: Any) -> dict[str, float | None]:
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    return {s["metric"]: s["value"] for s in scores if all(s[k] == v for k, v in fields.items())}


@pytest.mark.parametrize("format", ["eval", "json"])
def test_epochs_are_replicates(logs: Path, tool_scores: Any, format: str) -> None:
    (path,) = (logs / format).glob("*")
    expected = counted(told(logs, format))
    done = tool_scores(path, "--bucket", "problem", "--json")
    found = values(done, suite="inspect", task="letters", kind="paraphrase")
    for name in ("P_C", "A_bucket", "Cons_lex", "Cons_lex_repeat", "tau"):
        assert found[name] == pytest.approx(expected[name], abs=1e-12), name
    assert expected["A_bucket"] not in (0.0, 1.0)
    assert "scorer includes" in done.stdout
    assert "hf/local" in done.stdout


def test_without_buckets_there_are_repeats(logs: Path, tool_scores: Any) -> None:
    (path,) = (logs / "eval").glob("*")
    found = values(tool_scores(path, "--metric-key", "includes", "--json"), kind="repeat")
    expected = counted(told(logs, "eval", "id"))
    assert found["Cons_lex_repeat"] == pytest.approx(expected["Cons_lex_repeat"])
    assert found["P_C"] == pytest.approx(expected["P_C"])
    assert found["Cons_lex"] is None


def test_two_prompts_are_two_wordings(logs: Path, tool_scores: Any) -> None:
    answers = told(logs, "eval", "id") + told(logs, "other", "id")
    found = values(tool_scores(logs / "eval", logs / "other", "--json"), kind="paraphrase")
    for name in ("P_C", "Cons_lex", "Cons_lex_repeat"):
        assert found[name] == pytest.approx(counted(answers)[name], abs=1e-12), name


def test_buckets_by_field_regex_and_file(logs: Path, tool_scores: Any, tmp_path: Path) -> None:
    (path,) = (logs / "eval").glob("*")
    by_file = tmp_path / "buckets.csv"
    ids = {e["id"]: e["problem"] for e in json.loads((logs / "eval.json").read_text())}
    by_file.write_text("id,bucket\n" + "".join(f"{i},{b}\n" for i, b in ids.items()))
    ways = (
        ("--bucket", "metadata.problem"),
        ("--bucket-regex", "p[0-9]+"),
        ("--bucket-file", by_file),
    )
    found = [values(tool_scores(path, *way, "--json")) for way in ways]
    assert found[0] == found[1] == found[2]
    done = tool_scores(path, "--bucket", "metadata.problen")
    assert done.returncode == 2
    assert "did you mean problem?" in done.stderr


def test_a_scorer_that_is_not_there(logs: Path, tool_scores: Any) -> None:
    done = tool_scores(logs / "eval", "--metric-key", "inclued")
    assert done.returncode == 2
    assert "no scorer 'inclued'; found: includes, match" in done.stderr


def test_damaged_logs(logs: Path, tool_scores: Any, tmp_path: Path) -> None:
    (packed,), (plain,) = (logs / "eval").glob("*"), (logs / "json").glob("*")
    cut = tmp_path / "cut.eval"
    cut.write_bytes(packed.read_bytes()[:-2000])
    text = plain.read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as archive:
        archive.writestr("holiday.txt", "no log")
    for name, said, line in (
        ("cut.eval", "expected a zip archive", 1),
        ("cut.json", "broken JSON", None),
        ("other.eval", "inspect_ai cannot read it", 1),
    ):
        done = tool_scores(tmp_path / name, "--json")
        error = json.loads(done.stdout)["error"]
        assert done.returncode == 2
        assert said in error["message"]
        assert error["file"].endswith(name)
        assert error["line"] == line if line else error["line"] > 100
        assert error["hint"]


def test_a_log_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from unwaver.logs import inspect

    path = tmp_path / "big.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", " " * 1_000_000)
    monkeypatch.setattr(inspect, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="it unpacks to"):
        inspect._check_zip(path)


def test_without_inspect_ai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    path = tmp_path / "a.eval"
    path.write_bytes(b"")
    with pytest.raises(DataError, match="not installed") as e:
        unwaver.score(path)
    assert e.value.hint == "pip install 'unwaver[inspect]'"
