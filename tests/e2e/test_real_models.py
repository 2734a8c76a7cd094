"""A real classifier on the real data, killed at many moments."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def start(tmp_path: Path, *args: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *map(str, args)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def stored(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_at_many_moments(unwaver: Any, data: Path, nli_model: Path, tmp_path: Path) -> None:
    # small batches, so that there is something to kill in the middle of
    command = ["run", "becel/snli", "--model", f"hf/{nli_model}", "--data-dir", data, "--limit", 40]
    command += ["--model-arg", "batch_tokens=256"]
    whole = unwaver(*command, "--out", "whole", "--json")
    assert whole.returncode == 0, whole.stderr
    total = json.loads((tmp_path / "whole" / "run.json").read_text())["spent"]["calls"]
    chosen = random.Random(5)
    path = tmp_path / "killed" / "answers.sqlite"
    for attempt in range(6):
        before = stored(path)
        process = start(tmp_path, *command, "--out", "killed")
        until = before + chosen.choice([0, 1, 3, 20, 40])
        while process.poll() is None and stored(path) <= until:
            time.sleep(0.01)
        time.sleep(chosen.random() * 0.1 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert stored(path) >= before
    kept = stored(path)
    assert kept > 0
    last = unwaver(*command, "--out", "killed", "--json")
    assert last.returncode == 0, last.stderr
    record = json.loads((tmp_path / "killed" / "run.json").read_text())
    assert record["spent"]["calls"] == total - kept, "what had arrived was asked again"
    assert_same(json.loads(whole.stdout)["scores"], json.loads(last.stdout)["scores"])


def assert_same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    """Label metrics identical; padding changes the last digits of probabilities."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        if a["metric"].startswith(("entropy", "max_prob")):
            assert {k: v for k, v in a.items() if k not in ("value", "low", "high")} == {
                k: v for k, v in b.items() if k not in ("value", "low", "high")
            }
            assert a["value"] == pytest.approx(b["value"], rel=1e-4, abs=1e-4)
        else:
            assert a == b


def test_snli_all_four_relations(scores: Any, data: Path, nli_model: Path) -> None:
    found = scores("run", "becel/snli", "--model", f"hf/{nli_model}", "--data-dir", data, "--limit", 80)
    taus = {s["kind"]: s for s in found if s["metric"] == "tau" and s["given"] is None}
    assert list(taus) == ["semantic", "negational", "symmetric", "transitive"]
    for score in taus.values():
        assert score["accuracy"] > 0.65  # the model is at 0.82 on the whole test set
        assert 0 < score["value"] < 0.7
        assert score["low"] < score["value"] < score["high"]


def test_calm_mnli(scores: Any, data: Path, nli_model: Path) -> None:
    found = scores("run", "calm/mnli", "--model", f"hf/{nli_model}", "--data-dir", data, "--limit", 40)
    values = {s["metric"]: s for s in found if s["metric"].startswith("C_")}
    assert set(values) >= {"C_R", "C_S", "C_S@0.9", "C_S@0.5"}
    assert values["C_S"]["value"] <= values["C_S@0.9"]["value"] <= values["C_S@0.5"]["value"]
    assert values["C_R"]["groups"] == values["C_S"]["groups"] == 40


@pytest.mark.parametrize("task", ["kornli", "klue-nli", "klue-sts"])
def test_korean_suites_load_and_render(unwaver: Any, data: Path, tmp_path: Path, task: str) -> None:
    done = unwaver("run", f"calm/{task}", "--dry-run", "--out", "d", "--data-dir", data, "--limit", 3)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "d" / "groups.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    reverse, signal_group = json.loads(lines[0]), json.loads(lines[3])
    first, second = ("문장1", "문장2") if task == "klue-sts" else ("전제", "가설")
    assert reverse["items"][0]["segments"][0].startswith(f"{first}: ")
    assert reverse["items"][1]["segments"][0].startswith(f"{second}: ")
    assert signal_group["items"][1]["segments"][0].startswith(f"[{first}] ")
    assert "답:" in reverse["items"][0]["prompt"]
