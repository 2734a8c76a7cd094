"""One road from answers to scores: nothing is computed or read twice, and a run of labels runs little code."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.config import Config
from unwaver.engine import folder, runs
from unwaver.engine.load import load, load_run
from unwaver.engine.runs import go
from unwaver.secrets import BASE_URL, KEY_VARIABLES, PROXIES

MOST_FILES, MOST_LINES = 45, 7500
HOLD_KEYS = {*KEY_VARIABLES, BASE_URL, *PROXIES}  # what they hold is looked into, by more code

TRACE = """
import json, sys
from pathlib import Path
import unwaver
from unwaver.cli.main import main
package = str(Path(unwaver.__file__).parent) + "/"
files, calls = {}, {}
def called(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
        if code.co_flags & 2:  # the body of a class is no function
            files.setdefault(code.co_filename, len(Path(code.co_filename).read_text().splitlines()))
        name = code.co_filename.removeprefix(package) + ":" + code.co_name
        calls[name] = calls.get(name, 0) + 1
sys.argv = ["unwaver", *sys.argv[1:]]
sys.setprofile(called)
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.setprofile(None)
Path("trace.json").write_text(json.dumps({"files": files, "calls": calls}))
"""


def traced(place: Path, *arguments: object) -> tuple[dict[str, int], dict[str, int]]:
    """(lines of each file in which a function ran, calls of each function)"""
    command = [sys.executable, "-c", TRACE, *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if name.upper() not in HOLD_KEYS}
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, env={**kept, "COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    found = json.loads((place / "trace.json").read_text())
    return found["files"], found["calls"]


def test_a_run_of_labels_runs_few_files(tmp_path: Path) -> None:
    files, calls = traced(tmp_path, "run", "sample/snli", "--model", "fake/random", "--no-report")
    listed = "\n".join(f"{lines:5} {name}" for name, lines in sorted(files.items(), key=lambda f: f[1]))
    assert len(files) <= MOST_FILES, listed
    assert sum(files.values()) <= MOST_LINES, listed
    assert calls["answers/table.py:table_of"] == 1
    assert "engine/stored.py:read_groups" not in calls


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    questions = [
        {"id": f"g{n}", "kind": "semantic", "items": [{"text": f"Who is {n}?"}, {"text": f"Tell me who {n} is"}]}
        for n in range(6)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, questions)))
    return path


def test_a_report_is_made_of_what_the_run_has(tmp_path: Path, texts: Path) -> None:
    options = ("--agree", "rouge1", "--agree", "judge=fake/random", "--scorer", "judge=fake/random")
    _, calls = traced(tmp_path, "run", texts, "--model", "fake/random", *options)
    assert calls["answers/table.py:table_of"] == 1
    assert calls["agree/comparison.py:_compared"] == 1, "rouge1, once"
    assert calls["agree/comparison.py:read"] == 1, "the judge, once"
    assert calls["models/helpers.py:open_consulted"] == 2, "the judge and the scorer, each opened once"
    assert not {"engine/stored.py:read_groups", "engine/stored.py:read_run", "engine/load.py:load_run"} & set(
        calls
    )


def test_what_a_run_scores_is_what_its_folder_scores(tmp_path: Path, texts: Path) -> None:
    out = str(tmp_path / "r")
    config = Config((str(texts), "sample"), ("fake/random",), out=out, agree=("rouge1", "judge=fake/random"))
    outcome = go(config)
    found = load_run(Path(out))
    assert found.frame.equals(outcome.frame)
    assert list(found.groups) == list(outcome.groups)
    assert list(unwaver.score(out)) == list(outcome.result)
    assert found.scored().run["agreements"] == outcome.result.run["agreements"]
    assert load(out).frame.equals(outcome.frame)


def test_two_models_are_two_frames(tmp_path: Path) -> None:
    unwaver.run("sample/snli", ["fake/random", "fake/keyword"], out=str(tmp_path / "r"))
    found = load_run(tmp_path / "r")
    assert [frame["model"].unique().to_list() for frame in found.frames] == [["fake/random"], ["fake/keyword"]]
    assert found.frame.equals(pl.concat(found.frames))


@pytest.mark.parametrize("name", ["run.json", "groups.jsonl", "scores.json", "seen.json", "audit.jsonl"])
def test_a_disk_that_fills_up_costs_no_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The second run finds its answers in the folder; one of its files cannot be written."""
    place = tmp_path / "r"
    first = unwaver.run("sample/snli", "fake/random", out=str(place))
    real = folder.write_parts

    def full(path: Path, parts: Any) -> None:
        if path.name == name:
            raise folder._unwritable(path, OSError(errno.ENOSPC, "No space left on device"))
        real(path, parts)

    monkeypatch.setattr(folder, "write_parts", full)
    again = unwaver.run("sample/snli", "fake/random", out=str(place))
    assert list(again) == list(first)
    assert again.run["versions"]["unwaver"]
    if name in ("run.json", "groups.jsonl", "scores.json"):
        assert "the disk is full" in str(again.run["spent"]["stopped"])


def test_a_disk_that_is_full_from_the_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, parts: Any) -> None:
        raise folder._unwritable(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(folder, "write_parts", full)
    with pytest.raises(unwaver.UnwaverError, match="the disk is full"):
        unwaver.run("sample/snli", "fake/random", out=str(tmp_path / "r"))


def test_a_run_closes_every_model_it_opened(tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.models import fake

    closed: list[str] = []
    monkeypatch.setattr(fake.Fake, "close", lambda self: closed.append(self.name), raising=False)
    go(Config((str(texts),), ("fake/random",), out=str(tmp_path / "r"), agree=("judge=fake/keyword",)))
    assert {"fake/random", "fake/keyword"} <= set(closed)
    closed.clear()
    with pytest.raises(unwaver.UnwaverError):  # another run is there
        go(Config((str(texts),), ("fake/constant",), out=str(tmp_path / "r")))
    assert closed == ["fake/constant"]


def test_the_steps_hand_over_frozen_values(tmp_path: Path) -> None:
    from dataclasses import FrozenInstanceError

    from unwaver.engine.prepare import prepare

    prepared = prepare(Config(("sample/snli",), ("fake/random",), out=str(tmp_path / "r")))
    assert not (tmp_path / "r").exists(), "nothing is written yet"
    with pytest.raises(FrozenInstanceError):
        prepared.agreements = ()  # type: ignore[misc]
    assert runs.Outcome.__dataclass_params__.frozen  # type: ignore[attr-defined]
