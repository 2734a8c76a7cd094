"""The command `unwaver view`: what it refuses before it serves, and how it ends."""

from __future__ import annotations

import importlib.util
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from unwaver.cli.main import main
from unwaver.engine.at_work import at_work
from unwaver.web.view_runs import Runs


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(["view", *arguments])
    assert left.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("unwaver: ")
    assert len(said.err.splitlines()) == 2  # what is wrong, and what to do next
    return said.err


def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert "unwaver view FOLDER" in refused([], capsys)
    (tmp_path / "runs").mkdir()
    assert "did you mean runs?" in refused(["rusn"], capsys)
    assert "there is no such folder" in refused(["runs", "runs/nothing"], capsys)
    (tmp_path / "answers.csv").write_text("group\n")
    assert "this is a file" in refused(["answers.csv"], capsys)


@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_no_machine_has(port: str, tmp_path: Path, capsys: Any) -> None:
    assert "expected 0 to 65535" in refused([str(tmp_path), "--port", port], capsys)


def test_a_port_that_is_taken(tmp_path: Path, capsys: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = refused([str(tmp_path), "--port", str(taken.getsockname()[1])], capsys)
    assert "cannot be used" in said
    assert "leave --port out for a free one" in said


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name))
    said = refused([str(tmp_path)], capsys)
    assert "uvicorn is not installed" in said
    assert "pip install 'unwaver[web]'" in said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_when_it_is_told_to(how: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unwaver.cli.main", "view", str(tmp_path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    assert re.match(r"0 runs in .*: http://127\.0\.0\.1:\d+/in/[\w-]{43}$", first)
    process.send_signal(how)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert out.endswith("Stopped.\n")
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_run_says_that_it_is_under_way(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with at_work(tmp_path):
        (run,) = Runs([tmp_path]).find().runs.values()
        assert run.state == "under way"
    (run,) = Runs([tmp_path]).find().runs.values()
    assert run.state == "unreadable"
