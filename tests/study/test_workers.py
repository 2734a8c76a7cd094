"""Processes side by side: errors, kills, and nothing left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from waiting import FOR_EVER

pytest.importorskip("torch")

from unwaver.errors import DataError, ModelError
from unwaver.study.workers import side_by_side


def note(place: Path, name: str, seconds: float = 0.0) -> None:
    import torch

    time.sleep(seconds)
    (place / name).write_text(f"{os.getpid()} {torch.get_num_threads()}")


def fail(place: Path, name: str, seconds: float = 0.0) -> None:
    if name == "bad":
        raise DataError("a bad row", hint="mend it", file="x.csv", line=3)
    note(place, name, seconds)


def die(place: Path, name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_all_are_done_each_in_a_process_of_its_own(tmp_path: Path) -> None:
    heard: list[str] = []
    calls = [(tmp_path, name) for name in "abc"]
    side_by_side(note, calls, 2, lambda arguments: heard.append(arguments[1]))
    assert sorted(heard) == ["a", "b", "c"]
    told = [(tmp_path / name).read_text().split() for name in "abc"]
    assert len({pid for pid, _ in told} | {str(os.getpid())}) == 4
    assert {threads for _, threads in told} == {str(max(1, (os.cpu_count() or 1) // 2))}


def test_an_error_ends_the_others_and_keeps_its_hint(tmp_path: Path) -> None:
    calls = [(tmp_path, "late", FOR_EVER), (tmp_path, "bad"), (tmp_path, "never")]
    with pytest.raises(DataError, match=r"x\.csv:3: a bad row") as error:
        side_by_side(fail, calls, 2, lambda _: None)
    assert error.value.hint == "mend it"
    assert not list(tmp_path.iterdir()), "the one that is late was not waited for"


def test_a_killed_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="ended with -9") as error:
        side_by_side(die, [(tmp_path, "a")], 1, lambda _: None)
    assert "fewer --workers" in str(error.value.hint)
