"""`unwaver run --until`: what is asked, what is saved, what happens in between."""

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
from waiting import FOR_EVER

from unwaver.asking.until import in_order

# breaks about 4 % of the pairs, or 30 %, by a hash of the question; every call is written down
MODEL = """
import hashlib, os, time
def answers(requests, share):
    time.sleep(float(os.environ.get("SLOW", 0)) * len(requests))
    with open("asked.txt", "a") as f:
        f.writelines(r["prompt"].split("?")[0].split("Text: ")[-1].strip() + "\\n" for r in requests)
    hashes = [int(hashlib.sha256(r["prompt"].encode()).hexdigest(), 16) % 1000 for r in requests]
    return ["no" if h < share * 500 else "yes" for h in hashes]
def good(requests):
    return answers(requests, 0.04)
def bad(requests):
    return answers(requests, 0.40)
def lost(requests):
    return [None if "number 3" in r["prompt"] else a for r, a in zip(requests, good(requests))]
"""
LABELS = ("--label", "yes", "--label", "no")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models.py").write_text(MODEL)
    lines = ["question,paraphrase,gold"]
    lines += [f"Is number {i} a number?,Would you call number {i} one?,yes" for i in range(800)]
    (tmp_path / "q.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def until_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_text())["until"])


def asked(folder: Path) -> list[str]:
    return (folder / "asked.txt").read_text().splitlines()


def test_it_stops_when_the_verdict_is_certain(unwaver: Any, folder: Path) -> None:
    run = ("run", "q.csv", *LABELS, "--model", "python/models:good", "--until", "tau<=0.10", "--out", "r")
    done = unwaver(*run)
    assert done.returncode == 0, done.stderr
    until = until_of(folder / "r")
    (case,) = until["cases"]
    assert (until["bar"], until["alpha"], case["verdict"]) == ("tau <= 0.1", 0.05, "pass")
    assert case["asked"] < 400
    assert len(asked(folder)) == 2 * case["asked"] == until["requests"] - until["saved"]
    assert until["requests"] == 1600
    assert f"q/own/semantic: tau <= 0.1? yes, after {case['asked']} of 800 groups" in done.stdout
    assert f"{until['saved']:,} of 1,600 requests were not needed" in done.stdout
    tau = json.loads((folder / "r" / "scores.json").read_text())["scores"][0]
    assert (tau["metric"], tau["counted"], tau["failed"]) == ("tau", case["asked"], 0)
    assert tau["not_asked"] == tau["not_needed"] == 800 - case["asked"]
    assert (tau["interval"], tau["low"] < 0.04 < tau["high"]) == ("sequence", True)
    again = unwaver(*run, "--json")
    assert json.loads(again.stdout)["run"]["until"] == until
    assert len(asked(folder)) == 2 * case["asked"]  # nothing was asked again
    assert json.loads(unwaver("score", "r", "--json").stdout)["scores"] == json.loads(again.stdout)["scores"]


def test_the_order_is_random_and_follows_from_the_seed(unwaver: Any, folder: Path) -> None:
    for seed in (0, 1):
        bar = ("--until", "tau<=0.10", "--seed", seed)
        unwaver("run", "q.csv", *LABELS, "--model", "python/models:good", *bar, "--out", seed)
    groups = {seed: _answered(folder / str(seed)) for seed in (0, 1)}
    assert groups[0] != groups[1]
    rows = sorted(int(g.rsplit("/", 1)[-1]) for g in groups[0])
    assert rows[-1] > 600  # not the first of the file


def _answered(folder: Path) -> set[str]:
    from unwaver.engine.load import load_run

    frame = load_run(folder).frame
    return set(frame.filter(frame["status"] == "answered")["group"].to_list())


def test_it_fails_early(unwaver: Any, folder: Path) -> None:
    done = unwaver("run", "q.csv", *LABELS, "--model", "python/models:bad", "--until", "tau<=0.10", "--out", "r")
    assert done.returncode == 1
    assert "tau <= 0.1? no" in done.stdout
    assert until_of(folder / "r")["saved"] > 1200


def test_undecided_after_everything(unwaver: Any, folder: Path) -> None:
    args = (
        "run",
        "q.csv",
        *LABELS,
        "--model",
        "python/models:good",
        "--until",
        "tau<=0.10",
        "--limit",
        20,
        "--out",
        "r",
    )
    done = unwaver(*args)
    assert (done.returncode, "undecided, after 20 of 20 groups" in done.stdout) == (1, True)
    tau = json.loads((folder / "r" / "scores.json").read_text())["scores"][0]
    assert (tau["not_asked"], tau["interval"]) == (0, "sequence")  # it was looked at on the way


def test_the_budget_ends_it_too(unwaver: Any, folder: Path) -> None:
    run = ("run", "q.csv", *LABELS, "--model", "python/models:good", "--until", "tau<=0.10", "--out", "r")
    done = unwaver(*run, "--max-calls", 61)
    assert (done.returncode, "Stopped early: the limit of 61 calls" in done.stdout) == (3, True)
    (case,) = until_of(folder / "r")["cases"]
    assert (case["verdict"], case["asked"]) == ("undecided", 30)
    tau = json.loads((folder / "r" / "scores.json").read_text())["scores"][0]
    assert (tau["not_needed"], tau["not_asked"]) == (0, 770)
    assert unwaver(*run).returncode == 0  # goes on
    whole = unwaver(*run[:-1], "other", "--json")
    assert json.loads(whole.stdout)["run"]["until"] == until_of(folder / "r")


def test_failed_calls_help_no_verdict(unwaver: Any, folder: Path) -> None:
    """One in nine groups fails: were they all broken, the bar would be missed."""
    done = unwaver("run", "q.csv", *LABELS, "--model", "python/models:lost", "--until", "tau<=0.10", "--out", "r")
    assert done.returncode == 3
    (case,) = until_of(folder / "r")["cases"]
    assert (case["verdict"], case["asked"]) == ("undecided", 800)


def test_a_file_that_does_not_answer_everything(unwaver: Any, folder: Path) -> None:
    """Of 800 groups 500 are answered, all of them holding: too many are missing for a yes, and it ends."""
    unwaver("run", "q.csv", *LABELS, "--dry-run", "--out", "todo")
    groups = [json.loads(line) for line in (folder / "todo" / "groups.jsonl").read_text().splitlines()]
    ids = [item["id"] for group in groups[:500] for item in group["items"]]
    (folder / "p.jsonl").write_text("".join(json.dumps({"id": i, "label": "yes"}) + "\n" for i in ids))
    done = unwaver("run", "q.csv", *LABELS, "--model", "predictions/p.jsonl", "--until", "tau<=0.10", "--out", "r")
    assert (done.returncode, "undecided, after 800 of 800 groups" in done.stdout) == (3, True)


def test_without_until_the_same_folder_is_completed(unwaver: Any, folder: Path) -> None:
    run = ("run", "q.csv", *LABELS, "--model", "python/models:good", "--out", "r")
    unwaver(*run, "--until", "tau<=0.10")
    before = len(asked(folder))
    done = unwaver(*run, "--json")
    tau = json.loads(done.stdout)["scores"][0]
    assert (tau["counted"], tau["not_needed"], tau["interval"]) == (800, 0, "exact")
    assert before < len(asked(folder)) == 1600
    back = json.loads(unwaver(*run, "--until", "tau<=0.10", "--json").stdout)["scores"][0]
    assert back["counted"] == before / 2  # what is known already does not count, or the order would not be random


def test_interrupted_it_goes_on_as_it_would_have(unwaver: Any, folder: Path) -> None:
    run = ["run", "q.csv", *LABELS, "--model", "python/models:good", "--until", "tau<=0.10"]
    whole = unwaver(*run, "--out", "whole")
    assert whole.returncode == 0
    (folder / "asked.txt").unlink()
    command = [sys.executable, "-m", "unwaver.cli.main", *run, "--out", "cut"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "SLOW": "0.005"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "asked.txt").exists() or len(asked(folder)) < 100:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=FOR_EVER)
    assert process.returncode == 130
    assert "run the same command again to continue" in said
    before = len(asked(folder))
    assert unwaver(*run, "--out", "cut").returncode == 0
    assert until_of(folder / "cut") == until_of(folder / "whole")
    (case,) = until_of(folder / "cut")["cases"]
    assert before < len(asked(folder)) <= 2 * case["asked"] + 64  # at most the batch in flight twice
    scores = [json.loads((folder / name / "scores.json").read_text())["scores"] for name in ("cut", "whole")]
    assert scores[0] == scores[1]


def test_every_case_and_model_stops_by_itself(unwaver: Any, folder: Path) -> None:
    models = ("--model", "fake/constant", "--model", "fake/random")
    done = unwaver("run", "sample/snli", "sample/mnli", *models, "--until", "tau<=0.6", "--out", "r", "--json")
    cases = json.loads(done.stdout)["run"]["until"]["cases"]
    assert {(c["model"], c["case"]) for c in cases} >= {
        ("fake/constant", "sample/mnli/signal"),
        ("fake/random", "sample/snli/semantic"),
    }
    assert len(cases) == 2 * 6
    gated = unwaver("gate", "r", "--max", "tau=0.6", "--json")
    verdicts = {(c["model"], c["kind"]): c["verdict"] for c in json.loads(gated.stdout)["checks"]}
    assert all(verdicts[c["model"], c["case"].split("/")[2]] in (c["verdict"], "fail") for c in cases)


def test_gate_on_a_stopped_run_says_the_same(unwaver: Any, folder: Path) -> None:
    unwaver("run", "q.csv", *LABELS, "--model", "python/models:good", "--until", "tau<=0.10", "--out", "r")
    done = unwaver("gate", "r", "--max", "tau=0.10", "--json")
    (check,) = json.loads(done.stdout)["checks"]
    assert (done.returncode, check["verdict"], check["interval"], check["missing"]) == (0, "pass", "sequence", 0)
    compared = unwaver("compare", "r", "r")
    assert "was asked until a verdict was certain" in compared.stdout


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("--until", "tau"), "is not a valid bar", "tau<=0.10"),
        (("--until", "tau=0.1"), "--until 'tau=0.1' is not a valid bar: use tau<=0.10 or tau>=0.10", "in quotes"),
        (("--until", "tau<=10"), "is not a valid bar", "fraction"),
        (("--until", "my-metric<=1e-1"), "has no my-metric", "known: "),
        (("--until", "drop(tau)<=0.1"), "a drop needs a baseline", "unwaver gate RUN --baseline OTHER"),
        (("--until", "*<=0.1"), "name one metric", "tau<=0.10"),
        (("--until", "tua<=0.1"), "has no tua", "did you mean tau"),
        (("--until", "tau_independent<=0.1"), "not the mean of one value", "possible here: accuracy"),
        (("--until", "tau<=0.1", "--alpha", "1"), "--alpha is 1", "0.05"),
    ],
)
def test_what_cannot_be_is_refused(
    unwaver: Any, folder: Path, args: tuple[str, ...], message: str, hint: str
) -> None:
    done = unwaver("run", "q.csv", *LABELS, "--model", "python/models:good", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr
    assert not (folder / "asked.txt").exists()


def test_a_writing_model_is_refused(unwaver: Any, folder: Path) -> None:
    (folder / "items.csv").write_text("text,label\nIt is late.,positive\n")
    options = ("--task", "sst2", "--variants", "paraphrase", "--writer", "fake/random", "--until", "tau<=0.1")
    done = unwaver("run", "items.csv", *options, "--model", "fake/random")
    assert done.returncode == 2
    assert "does not work with a model that writes variants" in done.stderr


def test_groups_of_a_cluster_are_asked_together() -> None:
    from unwaver.types import Group

    groups = [Group(f"g{n}", "s", "t", "semantic", "same", (), cluster=f"c{n % 5}") for n in range(20)]
    order = in_order(groups, seed=0)
    assert sorted(len(cluster) for cluster in order) == [4] * 5
    assert all(len({group.cluster for group in cluster}) == 1 for cluster in order)
    assert [c[0].cluster for c in in_order(groups[:18], seed=0)] == [c[0].cluster for c in order]
    assert len({tuple(c[0].cluster for c in in_order(groups, seed=s)) for s in range(20)}) > 10
