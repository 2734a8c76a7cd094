"""unwaver train as a user has it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import FOR_EVER, wait_for

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder

QUICK = ("--lr", "0.003", "--batch", "8", "--epochs", "4", "--length", "40", "--device", "cpu")


@pytest.fixture
def here(unwaver: Any, tmp_path: Path) -> Any:
    tiny_encoder.encoder(tmp_path / "base")
    tiny_encoder.pairs(tmp_path / "mrpc.csv")
    tiny_encoder.pairs(tmp_path / "new.csv", 40, seed=9)
    tiny_encoder.nli(tmp_path / "snli.csv")
    return unwaver


def test_train_then_run(here: Any, tmp_path: Path) -> None:
    command = ("train", "mrpc", "snli", "--base", "base", "--out", "models", "--seeds", "2", *QUICK)
    splits = ("--train-split", "mrpc=mrpc.csv", "--train-split", "snli=snli.csv", "--test-split", "mrpc=new.csv")
    done = here(*command, *splits)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no chatter of libraries"
    assert "models/mrpc ×2" in done.stdout
    assert "mean (s.d.)" in done.stdout
    assert "unwaver run becel/mrpc --model hf/models/mrpc/seed0" in done.stdout
    again = here(*command, *splits, "--json")
    assert again.returncode == 0
    assert [m["setup"]["tasks"] for m in json.loads(again.stdout)["models"]] == [["mrpc"], ["snli"]]
    asked = ("run", "new.csv", "--task", "mrpc", "--variants", "swap", "--device", "cpu")
    ran = here(*asked, "--model", "hf/models/mrpc/seed0", "--model", "hf/models/mrpc/seed1")
    assert ran.returncode == 0, ran.stderr
    assert "mrpc/seed0 (classify)" in ran.stdout
    assert "mrpc/seed1 (classify)" in ran.stdout


def test_heads_by_the_command_line(here: Any) -> None:
    command = ("train", "mrpc", "snli", "--multi-task", "--base", "base", "--out", "m", *QUICK)
    done = here(*command, "--train-split", "mrpc=mrpc.csv", "--train-split", "snli=snli.csv")
    assert done.returncode == 0, done.stderr
    ran = here("run", "sample/snli", "sample/mrpc", "--limit", "3", "--model", "hf/m/seed0", "--device", "cpu")
    assert ran.returncode == 0, ran.stderr
    ran = here("run", "sample/sst2", "--limit", "3", "--model", "hf/m/seed0", "--device", "cpu")
    assert ran.returncode == 2
    assert "has no head for sst2; it has mrpc, snli" in ran.stderr


def test_what_is_wrong_is_told(here: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("left,sentence2,label\na,b,1\nc,d,0\n")
    (tmp_path / "odd.csv").write_text("sentence1,sentence2,label\na,b,1\nc,d,7\n")
    base = ("--base", "base", "--out", "m")
    for arguments, told, hint in (
        (
            ("mrpc", *base, "--train-split", "bad.csv"),
            'bad.csv:1: no column "sentence1"',
            "--column sentence1=NAME",
        ),
        (("mrpc", *base, "--train-split", "odd.csv"), 'odd.csv:3: column "label": found "7"', "as its number"),
        (("mrpc", *base, "--train-split", "none.csv"), "none.csv: there is no such file", "check the path"),
        (("mrcp", *base), "unknown task 'mrcp'", "did you mean mrpc"),
        (
            ("mrpc", "--base", "./nowhere", "--out", "m", "--train-split", "mrpc.csv"),
            "no model folder",
            "check the path",
        ),
        (("mrpc", *base, "--train-split", "mrpc.csv", "--recipe", "bcel"), "unknown recipe", "becel"),
        (("mrpc", *base, "--train-split", "mrpc.csv", "--form", "cal"), "unknown form", "calm"),
        (("mrpc", "becel/mrpc", *base, "--train-split", "mrpc.csv"), "mrpc is named twice", "name each task once"),
        (("mrpc", "mrpc", *base, "--train-split", "mrpc.csv"), "mrpc is named twice", "name each task once"),
        (("mrpc", *base, "--train-split", "mrpc.csv", "--test-split", "mrpc.csv"), "were trained on", "a split"),
        (
            ("mrpc", *base, "--train-split", "mrpc.csv", "--device", "cuda:99"),
            "cannot be used here",
            "--device cpu",
        ),
        (("mrpc", *base, "--train-split", "mrpc.csv", "--seeds", "0"), "--seeds is 0", "omit it"),
        (("sst2", *base, "--train-split", "mrpc.csv", "--variants", "swap"), "no column", "sentence"),
    ):
        done = here("train", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert told in done.stderr
        assert hint in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "m").exists() or not list((tmp_path / "m").rglob("*.safetensors"))


def test_a_task_of_ones_own(here: Any, tmp_path: Path) -> None:
    """What is said to be next works when a file is named."""
    (tmp_path / "own.toml").write_text(tiny_encoder.OWN_TASK)
    splits = ("--train-split", "mrpc.csv", "--test-split", "new.csv")
    done = here("train", "own.toml", "--base", "base", "--out", "m", *splits, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Next: unwaver run FILE --task own.toml --model hf/m/seed0" in done.stdout
    ran = here("run", "new.csv", "--task", "own.toml", "--variants", "swap", "--model", "hf/m/seed0")
    assert ran.returncode == 0, ran.stderr


def test_full_disk(here: Any, tmp_path: Path) -> None:
    """No file may grow beyond 60 kB: the weights have more. With room the same command does it."""
    command = ("train", "mrpc", "--base", "base", "--out", "m", "--train-split", "mrpc.csv", *QUICK)
    limit = 60_000
    done = here(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 3, done.stderr
    assert "the disk is full" in done.stderr
    assert "run the same command again" in done.stderr
    assert here(*command).returncode == 0


def test_interrupted_by_hand(here: Any, tmp_path: Path) -> None:
    command = [
        "train",
        "mrpc",
        "--base",
        "base",
        "--out",
        "m",
        "--train-split",
        "mrpc.csv",
        *QUICK,
        "--epochs",
        "400",
        "--patience",
        "400",
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    saved = ".seed0.checkpoints/checkpoint-*/trainer_state.json"
    wait_for(lambda: list((tmp_path / "m").glob(saved)), "it saves a checkpoint")
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=FOR_EVER)
    assert running.returncode == 130
    assert "run the same command again to continue" in stderr
    assert "Traceback" not in stderr
    other = here(*command[:-4], "--epochs", "2", "--patience", "9")
    assert other.returncode == 2
    assert "checkpoints of another training" in other.stderr
