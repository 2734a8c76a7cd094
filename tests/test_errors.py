"""An error says what to do next wherever it is shown: in a terminal, a traceback, a notebook, pytest."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import unwaver
from unwaver.errors import DataError, UnwaverError, UsageError


def test_an_error_carries_its_hint() -> None:
    error = DataError("found 3, expected text", hint="write it in quotes", file="my.csv", line=3)
    assert str(error) == "my.csv:3: found 3, expected text\nhint: write it in quotes"
    assert error.summary == "my.csv:3: found 3, expected text"
    assert error.hint == "write it in quotes"
    assert "hint: write it in quotes" in "".join(traceback.format_exception(error))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.hint, again.line) == (str(error), error.hint, 3)


def test_an_error_without_a_hint_is_one_line() -> None:
    assert str(UsageError("no")) == "no"


def test_secrets_are_in_neither_part(monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.secret_sources import learn

    learn("", {"api_key": "sk-0123456789abcdef"})
    assert "0123456789" not in str(UsageError("key sk-0123456789abcdef", hint="not sk-0123456789abcdef"))


def test_a_traceback_of_python_shows_the_hint(tmp_path: Path) -> None:
    code = "import unwaver; unwaver.run('sampel', 'fake/random')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "did you mean sample" in done.stderr.splitlines()[-1]


def test_the_command_line_prints_a_hint_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unwaver", "run", "sampel", "--model", "fake/random"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("did you mean sample") == 1
    assert "hint:" not in done.stderr


def test_an_error_in_a_function_names_its_place_and_no_second_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(prompt: str) -> str:
        raise UsageError("inner", hint="of the inner one")

    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnwaverError) as e:
        unwaver.run("sample/snli/semantic", failing, limit=1)
    assert e.value.summary.startswith("failing failed: UsageError: inner")
    assert str(e.value).count("hint:") == 1
    assert "test_errors.py" in str(e.value.hint)
