"""A check of which nothing has changed says what the last one said; whatever changes, it is computed again."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli.main import cli
from unwaver.engine import unchanged
from unwaver.errors import UnwaverError
from unwaver.project import checking, remembered
from unwaver.project.file import open_project

TOML = """
[run]
model = "fake/random"
template = "prompt.txt"
[sources.q]
from = "q.csv"
variants = "surface_case"
[bars]
"*" = ["drop<=0.05"]
"""


class Checks:
    """The command line in a project, and how often a verdict was computed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]):
        self.computed = 0
        self._capsys = capsys

    def __call__(self, *options: str) -> tuple[int, str]:
        self._capsys.readouterr()
        code = cli.main(["check", *options], standalone_mode=False)
        return int(code or 0), self._capsys.readouterr().out


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checks:
    monkeypatch.chdir(tmp_path)
    Path("unwaver.toml").write_text(TOML)
    Path("prompt.txt").write_text("Answer: {question}")
    Path("q.csv").write_text("question\n" + "".join(f"What is number {n}?\n" for n in range(8)))
    monkeypatch.setattr(remembered, "is_closed", lambda: True)  # pytest has loaded all kinds of modules
    monkeypatch.setattr(unchanged, "_package_folders", list)  # somebody may install a package meanwhile
    found, real = Checks(capsys), checking.check_project

    def counted(*arguments: Any, **options: Any) -> Any:
        found.computed += 1
        return real(*arguments, **options)

    monkeypatch.setattr(checking, "check_project", counted)
    return found


def test_a_second_check_computes_and_writes_nothing(check: Checks, tmp_path: Path) -> None:
    assert check("--accept")[0] == 0
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    check.computed = 0
    code, out = check()
    assert (code, check.computed) == (0, 0)
    assert out.startswith("pass")
    assert "nothing was asked" in out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == written
    Path("runs/check.json").unlink()
    assert check() == (code, out)  # computed, it is the same
    assert check.computed == 1


def test_a_check_in_which_something_is_missed_stays_so(check: Checks) -> None:
    Path("unwaver.toml").write_text(TOML.replace("drop<=0.05", "tau<=0.0001"))
    first = check()
    assert first[0] == 1
    check.computed = 0
    code, out = check("-q")
    assert (code, check.computed) == (1, 0)
    assert out.splitlines()[0] == first[1].splitlines()[0]


def edit(name: str, old: str, new: str) -> Callable[[], None]:
    def change() -> None:
        (path,) = Path().glob(name)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def forget_an_answer() -> None:
    (store,) = Path().glob("runs/q-*/answers.sqlite")
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM answers WHERE key = (SELECT key FROM answers LIMIT 1)")
    db.close()


def lose(name: str) -> Callable[[], None]:
    def change() -> None:
        (path,) = Path().glob(name)
        path.unlink()

    return change


CHANGES = {
    "config": edit("unwaver.toml", "drop<=0.05", "drop<=0.07"),
    "model": edit("unwaver.toml", "fake/random", "fake/keyword"),
    "source": edit("q.csv", "number 3", "number three"),
    "groups": edit("unwaver.groups/q.jsonl", "WHAT IS NUMBER 3", "WHAT IS NUMBER THREE"),
    "lock": edit("unwaver.lock.jsonl", '"broken": 1.0', '"broken": 0.0'),
    "no lock": lose("unwaver.lock.jsonl"),
    "answers": forget_an_answer,
    "no answers": lose("runs/q-*/answers.sqlite"),
    "scores": edit("runs/q-*/scores.json", '"tau"', '"tua"'),
    "report": lose("runs/q-*/report.html"),
    "template": edit("prompt.txt", "Answer", "Reply"),
    "remembered": edit("runs/check.json", '"version": 1', '"version": 0'),
    "damaged": lambda: Path("runs/check.json").write_text("{"),
    "data": lambda: os.environ.update(UNWAVER_DATA="elsewhere"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changes_it_is_computed_again(check: Checks, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWAVER_DATA", "here")
    check("--accept")
    check.computed = 0
    CHANGES[what]()
    try:
        check()
    except UnwaverError:
        assert what == "source"  # the groups were made from other rows
    assert check.computed


def test_other_code_computes_again(check: Checks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("1")
    monkeypatch.setattr(unchanged, "_HOME", package)
    check("--accept")
    check.computed = 0
    check()
    assert check.computed == 0
    (package / "a.py").write_text("12")
    check()
    assert check.computed == 1


@pytest.mark.parametrize(
    "options", ["--allow-undecided", "--json", "--no-report", "--fresh", "--model-arg seed=3"]
)
def test_options_compute_again(check: Checks, options: str) -> None:
    check("--accept")
    check.computed = 0
    check(*options.split())
    assert check.computed


def test_missing_answers_are_not_remembered(check: Checks) -> None:
    code, _ = check("--max-calls", "5")
    assert code == 3
    assert not Path("runs/check.json").exists()


def test_what_is_remembered_holds_no_key(check: Checks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef0123456789")
    check("--accept")
    text = Path("runs/check.json").read_text()
    assert "sk-0123456789abcdef0123456789" not in text
    assert {"q.csv", "unwaver.toml", "unwaver.lock.jsonl", "prompt.txt"} <= set(json.loads(text)["files"])


@pytest.mark.parametrize("option", ["model", "agree"])
def test_a_model_folder_is_part_of_the_state(check: Checks, option: str) -> None:
    folder = Path("models/mine")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    named = {
        "model": f'model = "hf/{folder}"',
        "agree": f'model = "fake/random"\nagree = ["entail=hf/{folder}@0.7"]',
    }
    Path("unwaver.toml").write_text(TOML.replace('model = "fake/random"', named[option]))
    before = remembered.state_of(open_project())
    assert before is not None
    assert remembered.state_of(open_project()) == before
    (folder / "weights").write_text("1")
    after = remembered.state_of(open_project())
    assert after is not None
    assert not remembered.same_inputs(before, after)


@pytest.mark.parametrize("model", ["hf/owner/name", "@hub"])
def test_a_model_of_the_hub_is_not_remembered(check: Checks, model: str) -> None:
    more = '[models.hub]\nmodel = "hf/owner/name"\n' if model == "@hub" else ""
    Path("unwaver.toml").write_text(TOML.replace("fake/random", model) + more)
    assert remembered.state_of(open_project()) is None


def test_a_suite_in_a_data_folder_is_not_remembered(check: Checks) -> None:
    Path("unwaver.toml").write_text(
        TOML.replace('from = "q.csv"\nvariants = "surface_case"', 'from = "becel/snli"')
    )
    assert remembered.state_of(open_project()) is None


def test_code_of_ones_own_is_not_remembered(
    check: Checks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a process of its own: here, the tests themselves are such code."""
    (tmp_path / "mine.py").write_text("def answer(prompts):\n    return ['yes' for _ in prompts]\n")
    for model, kept in (("fake/random", True), ("python/mine:answer", False)):
        Path("unwaver.toml").write_text(TOML.replace("fake/random", model))
        command = [sys.executable, "-m", "unwaver.cli.main", "check", "--accept"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert Path("runs/check.json").exists() is kept
        shutil.rmtree("runs")
