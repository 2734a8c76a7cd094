"""The command line against a real llama.cpp server, which runs SmolLM2-135M: weak, real, and not quite deterministic.

What it says is not tested. That all of it arrives, is read, stored, counted and never asked again is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import llama_cpp as llama
import pytest
from waiting import wait_for

pytestmark = pytest.mark.slow

# A label ends with its sentence. Without that a weak model goes on for hundreds of tokens.
SHORT = r"max_tokens=200,stop=.|\n"
KEY = "sk-llama-0123456789"


def model(url: str, **options: object) -> str:
    return ",".join([f"openai/{llama.NAME}", f"base_url={url}", *(f"{k}={v}" for k, v in options.items())])


def run_json(folder: Path, out: str = "r") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / out / "run.json").read_text())
    return found


def tau(out: str) -> dict[str, Any]:
    found: dict[str, Any] = next(score for score in json.loads(out)["scores"] if score["metric"] == "tau")
    return found


def stored(folder: Path, out: str = "r") -> int:
    """Answers on disk; none where there is no store yet."""
    path = folder / out / "answers.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as store:
        try:
            return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0


def test_labels_by_generate_with_more_requests_than_slots_and_a_resume(
    unwaver: Any, llama_cpp: str, tmp_path: Path
) -> None:
    command = [
        "run",
        "sample/boolq",
        "sample/snli",
        "sample/sst2",
        "sample/mnli/reverse",
        "--limit",
        1,
        "--out",
        "r",
    ]
    command += ["--model", f"{model(llama_cpp, concurrency=8 * llama.SLOTS)},{SHORT}", "--json"]
    done = unwaver(*command)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    assert {score["task"] for score in scores} == {"boolq", "snli", "sst2", "mnli"}
    for score in scores:
        assert (score["method"], score["failed"], score["cut"], score["not_asked"]) == ("generate", 0, 0, 0)
    assert sum(score["unreadable"] for score in scores) < sum(score["groups"] for score in scores)
    told = run_json(tmp_path)
    assert told["failures"] == []
    assert told["spent"]["calls"] >= stored(tmp_path) > 0
    assert told["spent"]["tokens_in"] > told["spent"]["tokens_out"] > 0, "the server counts tokens"

    again = unwaver(*command)
    assert again.returncode == 0, again.stderr
    assert run_json(tmp_path)["spent"]["calls"] == 0, "a resumed run asks nothing"
    assert json.loads(again.stdout)["scores"] == scores


def test_free_text_with_a_judge_on_the_same_server(unwaver: Any, llama_cpp: str, tmp_path: Path) -> None:
    answers, judge = model(llama_cpp, system="Answer with one word."), model(llama_cpp, max_tokens=4)
    command = ["run", "sample/facts", "--limit", 1, "--model", f"{answers},{SHORT}", "--agree", f"judge={judge}"]
    done = unwaver(*command, "--out", "r", "--json")
    assert done.returncode == 0, done.stderr
    (judged,) = (s for s in json.loads(done.stdout)["scores"] if s["metric"] == "Cons_judge")
    assert (judged["groups"], judged["counted"], judged["failed"]) == (1, 1, 0)
    assert run_json(tmp_path)["failures"] == []


def test_cut_answers_are_counted(unwaver: Any, llama_cpp: str) -> None:
    command = [
        "run",
        "sample/facts",
        "--limit",
        2,
        "--model",
        model(llama_cpp, max_tokens=1),
        "--out",
        "r",
        "--json",
    ]
    done = unwaver(*command)
    assert done.returncode == 3, done.stderr
    for score in json.loads(done.stdout)["scores"]:
        assert (score["cut"], score["counted"], score["failed"]) == (2, 0, 0)


def test_a_writer_and_its_structured_output(unwaver: Any, llama_cpp: str, tmp_path: Path) -> None:
    texts = ["The film was a wonderful surprise from start to end.", "I was bored and left the cinema early."]
    rows = [{"text": text, "label": label} for text, label in zip(texts, ["positive", "negative"], strict=True)]
    (tmp_path / "films.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    writer = model(llama_cpp)
    command = ["run", "films.jsonl", "--task", "sst2", "--variants", "paraphrase", "--k", 1, "--tries", 1]
    command += ["--writer", writer, "--judge", f"same={writer},{SHORT}", "--model", f"{writer},{SHORT}"]
    done = unwaver(*command, "--out", "r")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "r" / "audit.jsonl").read_text().splitlines()]
    assert sorted(record["original"] for record in records) == sorted(texts)
    assert all(record["variant"] and not record["variant"].startswith("{") for record in records)
    told = run_json(tmp_path)
    assert told["failures"] == []


def test_a_prompt_that_does_not_fit_is_one_failed_call(unwaver: Any, llama_cpp: str, tmp_path: Path) -> None:
    questions = [
        "Is snow cold?,Would you call snow cold?",
        f"Is this {'long ' * llama.CONTEXT}?,Is this text long?",
    ]
    (tmp_path / "q.csv").write_text("\n".join(["question,paraphrase", *questions]) + "\n")
    command = ["run", "q.csv", "--label", "yes", "--label", "no", "--model", f"{model(llama_cpp)},{SHORT}"]
    done = unwaver(*command, "--out", "r", "--json")
    assert done.returncode == 3, done.stderr
    assert (tau(done.stdout)["counted"], tau(done.stdout)["failed"]) == (1, 1)
    (failure,) = run_json(tmp_path)["failures"]
    assert "exceeds the available context size" in failure["reason"]


def test_probabilities_come_from_the_first_token_of_a_chat(unwaver: Any, llama_cpp: str, tmp_path: Path) -> None:
    command = ["run", "sample/sst2/semantic", "sample/ag_news/semantic", "--limit", 4, "--method", "logprob"]
    command += ["--model", model(llama_cpp, backoff=0.01), "--out", "r"]
    done = unwaver(*command)
    assert done.returncode == 0, done.stderr
    assert "those of the first token" in done.stdout
    assert "labels were asked for as letters: A = World; B = Sports" in done.stdout
    told = run_json(tmp_path)
    (service,) = told["services"]
    assert service["not_taken"] == ["echo"]
    assert 0 < service["first_token"]["other"] < 1
    assert service["first_token"]["answers"] == stored(tmp_path)
    scores = json.loads((tmp_path / "r" / "scores.json").read_text())["scores"]
    for task in ("sst2", "ag_news"):
        values = {s["metric"]: s["value"] for s in scores if s["task"] == task and s["value"] is not None}
        assert values.keys() & {"entropy_consistent", "entropy_inconsistent"}
    assert {s["method"] for s in scores} == {"logprob, first token"}
    shown = unwaver("show", "r", "--all")
    assert "labels were asked for as letters" in shown.stdout

    again = unwaver(*command)
    assert again.returncode == 0, again.stderr
    assert run_json(tmp_path)["spent"]["calls"] == 0, "a resumed run asks nothing"


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., llama.LlamaCpp]]:
    """Servers of one test, which may be killed."""
    if reason := llama.why_not():
        pytest.skip(reason)
    started: list[llama.LlamaCpp] = []

    def start(**options: Any) -> llama.LlamaCpp:
        try:
            started.append(llama.LlamaCpp(tmp_path / "llama", **options))
        except llama.NoServer as e:
            pytest.skip(str(e))
        return started[-1]

    yield start
    for server in started:
        server.kill()


def test_a_server_that_is_killed_in_the_middle(unwaver: Any, own_server: Any, tmp_path: Path) -> None:
    server = own_server(key=KEY)
    given = model(server.url, concurrency=4, retries=1, backoff=0.01)
    command = ["run", "sample/sst2/semantic", "--model", f"{given},{SHORT}", "--out", "r", "--json"]

    wrong = unwaver(*command, env={"OPENAI_API_KEY": "sk-wrong-0123456789"})
    assert wrong.returncode == 2
    assert "401" in wrong.stderr

    with start(command, KEY, tmp_path) as running:
        wait_for(lambda: stored(tmp_path), "an answer is stored")
        server.kill()
        out, err = running.communicate(timeout=600)
    assert running.returncode == 3, err
    score = tau(out)
    assert score["failed"] > 0
    assert score["failed"] + score["counted"] + score["not_applicable"] == score["groups"]
    reasons = [reason["reason"] for reason in run_json(tmp_path)["failures"]]
    assert reasons
    assert all("connection" in reason.lower() for reason in reasons), reasons
    had = stored(tmp_path)

    own_server(key=KEY, port=server.port)
    done = unwaver(*command, env={"OPENAI_API_KEY": KEY})
    assert done.returncode == 0, done.stderr
    assert (tau(done.stdout)["failed"], tau(done.stdout)["not_asked"]) == (0, 0)
    assert run_json(tmp_path)["failures"] == []
    assert run_json(tmp_path)["spent"]["calls"] == stored(tmp_path) - had, "only what is missing is asked"


def test_a_shared_server_ends_with_its_last_user(llama_cpp: str, tmp_path: Path) -> None:
    """Also if the one who started it is killed."""
    owner = "import sys, pathlib, llama_cpp\nwith llama_cpp.shared(pathlib.Path(sys.argv[1])): print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", owner, str(tmp_path)], cwd=llama.HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"up\n"
        with llama.shared(tmp_path) as url:
            assert url != llama_cpp
            first.kill()
            first.wait()
            assert llama.answers(url)
    wait_for(lambda: not llama.answers(url), "the server ends")


def start(command: list[object], key: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *map(str, command)], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OPENAI_API_KEY": key},
    )  # fmt: skip
