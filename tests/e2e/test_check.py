"""From a csv of questions to a verdict on a chat service: unwaver init, unwaver check --accept, unwaver check."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from server import Server
from waiting import wait_for

QUESTIONS = 60
FORMS = (
    "Could you tell me the price of product {n}?",
    "How much does product {n} cost?",
    "What do I pay for product {n}?",
    "Product {n}: what is its price?",
    "Please give me the cost of product {n}.",
)


class Shop:
    """A chat service that answers questions, writes paraphrases and judges. Where it `wavers`, every third product
    has another price if the question is reworded."""

    def __init__(self) -> None:
        self.wavers = False

    def __call__(self, prompt: str) -> str:
        low = prompt.lower()
        named = re.findall(r"product\s*(\d+)", low)
        if "reply with the single word" in low:
            return "ready"
        if not named:
            return "yes"
        if "paraphrase" in low or "reword" in low or "in other words" in low:
            place = hashlib.sha256(prompt.encode()).digest()[0]
            return FORMS[place % len(FORMS)].format(n=named[-1])
        if "same" in low and ("mean" in low or "answer" in low):
            alike = len(set(named)) == 1 and len(set(re.findall(r"costs (\d+)", low))) < 2
            return "yes" if alike else "no"
        number = int(named[-1])
        dearer = self.wavers and number % 3 == 0 and not low.startswith("what is the price")
        return f"Product {number} costs {10 + number + 7 * dearer} euros."


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def server(shop: Shop) -> Iterator[Server]:
    with Server(shop) as found:
        yield found


def write_questions(folder: Path, count: int = QUESTIONS) -> None:
    rows = [f"{n};What is the price of product {n}?;team {n % 3}" for n in range(count)]
    (folder / "questions.csv").write_text("\ufeffid;question;owner\n" + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, server: Server, unwaver: Any) -> Any:
    """A folder with a csv of questions, after `unwaver init`; the command line in it."""
    write_questions(tmp_path)
    (tmp_path / ".github").mkdir()
    done = unwaver("init", "--from", "questions.csv", "--model", f"openai/bot,base_url={server.url},backoff=0.01")
    assert done.returncode == 0, done.stderr
    return unwaver


def said(done: Any) -> str:
    return str(done.stdout.split()[0])


def test_three_commands_then_a_regression(
    project: Any, shop: Shop, server: Server, tmp_path: Path, unwaver: Any
) -> None:
    first = project("check", "--accept")
    assert first.returncode == 0, first.stderr
    assert said(first) == "accepted"
    assert re.search(r"60 questions, variants to write: about \d+ requests", first.stderr)
    assert re.search(r"60 questions, 180 groups to ask: about \d+ requests", first.stderr)
    groups = [json.loads(line) for line in (tmp_path / "unwaver.groups/questions.jsonl").read_text().splitlines()]
    kinds = {group["kind"] for group in groups}
    assert "semantic" in kinds
    assert any(kind.startswith("surface_") for kind in kinds)
    assert all(group.get("repeats") == 2 for group in groups)
    assert not any(item["role"] == "judge" for group in groups for item in group["items"])
    asked = len(server.bodies)

    written = files_of(tmp_path)
    again = project("check")
    assert again.returncode == 0, again.stdout + again.stderr
    assert said(again) == "pass"
    assert len(server.bodies) == asked  # nothing was asked
    assert "nothing was asked" in again.stdout
    assert "nothing was asked (--fresh asks again)" in again.stdout.splitlines()[0]
    assert files_of(tmp_path) == written  # nothing was built or written
    (tmp_path / "runs/check.json").unlink()
    anew = project("check")
    assert (anew.stdout, anew.stderr, len(server.bodies)) == (again.stdout, again.stderr, asked)

    clone = tmp_path / "clone"  # with what is committed, and nothing else
    clone.mkdir()
    for name in ("unwaver.toml", "unwaver.lock.jsonl", "questions.csv"):
        shutil.copy(tmp_path / name, clone / name)
    shutil.copytree(tmp_path / "unwaver.groups", clone / "unwaver.groups")
    there = unwaver("check", cwd=clone)
    assert there.returncode == 0, there.stdout + there.stderr
    assert "0 of" in there.stdout

    shop.wavers = True
    worse = project("check", "--fresh")
    assert worse.returncode == 1
    assert said(worse) == "fail"
    broke = re.search(r"broke +\d+ groups that held before: “What is the price of product (\d+)\?”", worse.stdout)
    assert broke
    assert int(broke[1]) % 3 == 0
    assert len(worse.stdout.splitlines()) <= 8
    assert len(list((tmp_path / "runs").glob("questions-*.1"))) == 1  # the earlier run is kept
    private = project("check", "--without-texts", "--markdown", "check.md")
    assert "What is the price" not in private.stdout + (tmp_path / "check.md").read_text()


def files_of(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("phase", ["groups are made", "groups are asked"])
def test_killed_by_the_system_it_goes_on(unwaver: Any, server: Server, tmp_path: Path, phase: str) -> None:
    """What was answered before the kill is kept: at most the requests in flight are put again."""
    write_questions(tmp_path, 12)
    in_flight = 4
    model = f"openai/bot,base_url={server.url},concurrency={in_flight}"
    assert unwaver("init", "--from", "questions.csv", "--model", model).returncode == 0
    whole, groups = tmp_path / "whole", Path("unwaver.groups/questions.jsonl")
    whole.mkdir()
    for name in ("unwaver.toml", "questions.csv"):
        shutil.copy(tmp_path / name, whole / name)
    assert unwaver("check", "--accept", cwd=whole).returncode == 0
    needed = len(server.bodies)
    with closing(sqlite3.connect(whole / "runs/groups-questions/answers.sqlite")) as db:
        ((of_groups,),) = db.execute("SELECT count(*) FROM answers")
    last = of_groups // 2 if phase == "groups are made" else of_groups + 10
    goes_on = threading.Event()
    server.bodies.clear()

    def script(number: int, *_: object) -> None:
        if number >= last:
            goes_on.wait()

    server.script = script
    command = [sys.executable, "-m", "unwaver.cli.main", "check", "--accept"]
    killed = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(server.bodies) > last, "the check is in the middle")
    finally:
        killed.kill()
        killed.wait()
        goes_on.set()
    assert not (tmp_path / "unwaver.lock.jsonl").exists()
    assert (tmp_path / groups).exists() == (phase == "groups are asked")
    done = unwaver("check", "--accept")
    assert done.returncode == 0, done.stderr
    assert len(server.bodies) <= needed + 2 * in_flight
    assert (tmp_path / groups).read_bytes() == (whole / groups).read_bytes()


def test_a_server_that_dies_in_the_middle(project: Any, server: Server, tmp_path: Path) -> None:
    server.dies_after = 150  # of some 500, while paraphrases are written
    stopped = project("check", "--accept", "--model-arg", "retries=0")
    assert stopped.returncode in (2, 3)
    assert not (tmp_path / "unwaver.lock.jsonl").exists()
    answered = dict(server.answered)
    server.dies_after = None
    done = project("check", "--accept")
    assert done.returncode == 0, done.stderr
    twice = [prompt for prompt, count in answered.items() if "price of product 1?" in prompt and count > 6]
    assert not twice


def test_what_init_writes(project: Any, tmp_path: Path, server: Server) -> None:
    text = (tmp_path / "unwaver.toml").read_text()
    assert 'from = "questions.csv"' in text
    assert 'variants = "auto"' in text
    assert "drop<=0.1" in text
    assert "runs/" in (tmp_path / ".gitignore").read_text().splitlines()
    workflow = (tmp_path / ".github/workflows/unwaver.yml").read_text()
    assert "unwaver check" in workflow
    assert "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in workflow
    yaml = pytest.importorskip("yaml", reason="comes with transformers")
    (step,) = [s for s in yaml.safe_load(workflow)["jobs"]["check"]["steps"] if "check" in s.get("run", "")]
    assert set(step["env"]) == {"FRESH", "OPENAI_API_KEY"}
    explained = project("check", "--explain")
    assert "make groups from questions.csv once: auto" in explained.stdout
    assert not server.bodies
    again = project("init", "--from", "questions.csv", "--model", "fake/random")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert (tmp_path / "unwaver.toml").read_text() == text


@pytest.mark.parametrize("model", ["opnai/bot", "openai/bot,base_ulr=http://127.0.0.1:1/v1"])
def test_init_refuses_a_model_that_cannot_be(model: str, project: Any, tmp_path: Path) -> None:
    (tmp_path / "unwaver.toml").unlink()
    refused = project("init", "--from", "questions.csv", "--model", model)
    assert refused.returncode == 2
    assert "did you mean" in refused.stderr
    assert not (tmp_path / "unwaver.toml").exists()


def test_doctor(project: Any, server: Server, tmp_path: Path) -> None:
    fit = project("doctor", env={"OPENAI_API_KEY": "sk-" + "q7Rw" * 8})
    assert fit.returncode == 0, fit.stdout
    assert "answers: ready" in fit.stdout
    assert "OPENAI_API_KEY is set" in fit.stdout
    assert "q7Rw" not in fit.stdout + fit.stderr
    assert len([line for line in fit.stdout.splitlines() if "extras" in line]) <= 2
    server.close()
    unfit = project("doctor")
    assert unfit.returncode == 2
    assert re.search(r"failed +@bot", unfit.stdout)


def test_a_model_is_replaced_without_rebuilding(project: Any, server: Server, tmp_path: Path) -> None:
    assert project("check", "--accept").returncode == 0
    before = (tmp_path / "unwaver.groups/questions.jsonl").read_bytes()
    path = tmp_path / "unwaver.toml"
    path.write_text(path.read_text().replace('"openai/bot"', '"openai/bot-2"'))
    done = project("check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "unwaver.groups/questions.jsonl").read_bytes() == before
    (tmp_path / "questions.csv").write_text("question\nWhat is the price of product 3?\n")
    changed = project("check")
    assert changed.returncode == 2
    assert "questions.csv" in changed.stderr
    assert "--rebuild" in changed.stderr


def test_a_paid_service_is_asked_only_if_somebody_agrees(project: Any, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "unwaver.toml"
    path.write_text(path.read_text().replace("backoff = 0.01", "backoff = 0.01\nprice_in = 1\nprice_out = 1"))
    write_questions(tmp_path, 200)
    refused = project("check", "--accept")
    assert refused.returncode == 2
    assert "a paid service" in refused.stderr
    assert "--yes" in refused.stderr
    assert not server.bodies
    done = project("check", "--accept", "--yes", "--max-calls", "30")
    assert "a paid service" not in done.stderr
    assert 0 < len(server.bodies) <= 30
