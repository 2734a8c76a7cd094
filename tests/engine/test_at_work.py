"""One process at a time in a run folder; a killed one leaves it free, and readers do not wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from unwaver.engine.at_work import LOCK, at_work
from unwaver.errors import UsageError

RUN = ("run", "sample/snli/semantic", "--model", "fake/random", "--model-arg", "delay=0.2", "--out", "r")


def test_it_is_held_by_one_and_gone_afterwards(tmp_path: Path) -> None:
    said = rf"another process is using.*process {os.getpid()} on \S+, since"
    for _ in range(2):
        with at_work(tmp_path), pytest.raises(UsageError, match=said), at_work(tmp_path):
            pass
        assert list(tmp_path.iterdir()) == []


def test_an_old_file_does_not_matter(tmp_path: Path) -> None:
    for text in ("", '{"pid": 1, "host": "x", "since": "never"}', "\0\0"):
        (tmp_path / LOCK).write_text(text)
        with at_work(tmp_path):
            assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


def test_a_second_process_a_reader_and_a_kill(unwaver: Any, tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *RUN], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not (tmp_path / "r" / "run.json").exists():
            assert first.poll() is None
            time.sleep(0.02)
        first.send_signal(signal.SIGSTOP)  # it shall not end while others look
        second = unwaver(*RUN)
        assert second.returncode == 2
        assert f"process {first.pid} on " in second.stderr
        assert "--store" in second.stderr
        for reader in (("score", "r"), ("show", "r"), ("report", "r"), (*RUN, "--dry-run")):
            assert unwaver(*reader).returncode in (0, 3), reader
    finally:
        first.kill()
        first.wait()
    done = unwaver(*RUN, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"][0]["not_asked"] == 0
    assert not (tmp_path / "r" / LOCK).exists()
