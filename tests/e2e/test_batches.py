"""Batches: written and read by hand, and submitted to a server that is asked for them later."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer, completion
from waiting import wait_for

ITEMS = 20


def write_questions(folder: Path, items: int = ITEMS) -> None:
    rows = [f"Is {n} an even number?,Would you call {n} even?" for n in range(items)]
    (folder / "q.csv").write_text("\n".join(["question,paraphrase", *rows]) + "\n")


def command(url: str = "http://127.0.0.1:9/v1", *more: object) -> list[str]:
    start = ["run", "q.csv", "--kind", "semantic", "--label", "Yes", "--label", "No", "--out", "r"]
    return [*start, "--model", f"openai/m,base_url={url}", *map(str, more)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_json(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "r" / "run.json").read_text())
    return found


def counts(folder: Path) -> tuple[int, dict[str, int]]:
    """Stored answers, and failed calls by their reason."""
    with closing(sqlite3.connect(folder / "r" / "answers.sqlite")) as store:
        (answers,) = store.execute("SELECT count(*) FROM answers").fetchone()
        failures = dict(store.execute("SELECT error, count(*) FROM failures GROUP BY error"))
    return answers, failures


def result(id: str, text: str) -> dict[str, Any]:
    return {"custom_id": id, "response": {"status_code": 200, "body": completion(text)}, "error": None}


def expired(id: str) -> dict[str, Any]:
    return {"custom_id": id, "response": None, "error": {"code": "batch_expired", "message": "late"}}


def failed(id: str) -> dict[str, Any]:
    body = {"error": {"message": "too long"}}
    return {"custom_id": id, "response": {"status_code": 400, "body": body}, "error": None}


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


# --- by hand


def test_written_read_in_any_order_and_what_is_missing_written_again(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path)
    code, out, err = call(*command(), "--batch-out", "todo.jsonl")
    assert code == 3, err
    assert "40 requests are in todo.jsonl" in " ".join(out.split())
    todo = lines(tmp_path / "todo.jsonl")
    ids = [line["custom_id"] for line in todo]
    assert len(set(ids)) == 2 * ITEMS
    assert all(len(id) == 64 for id in ids), "the longest that Anthropic takes"
    assert (todo[0]["method"], todo[0]["url"]) == ("POST", "/v1/chat/completions")
    assert todo[0]["body"]["messages"][-1]["content"].startswith("Is 0 an even number?")

    came = [*(result(id, "Yes") for id in ids[:-4]), failed(ids[-4]), failed(ids[-3]), expired(ids[-2])]
    write(tmp_path / "done.jsonl", came[::-1])  # the last one is missing
    code, out, err = call(*command(), "--batch-in", "done.jsonl", "--batch-out", "rest.jsonl")
    assert code == 3, err
    assert counts(tmp_path) == (
        36,
        {"the batch answered 400: too long": 2, "the batch expired before this request was answered": 1},
    )
    assert {line["custom_id"] for line in lines(tmp_path / "rest.jsonl")} == set(ids[-4:])

    write(tmp_path / "last.jsonl", [result(id, "Yes") for id in ids[-4:]])
    code, out, err = call(*command(), "--batch-in", "last.jsonl")
    assert code == 0, err
    assert counts(tmp_path) == (40, {})
    asking = run_json(tmp_path)["asking"]
    assert (asking["tokens_in"], asking["tokens_out"]) == (400, 80)


def test_results_of_another_run_and_files_that_are_none_are_refused(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path)
    write(tmp_path / "other.jsonl", [result("ab" * 32, "Yes")])
    code, _, err = call(*command(), "--batch-in", "other.jsonl")
    assert code == 2
    assert "none of its 1 results belongs to this run" in err
    call(*command(), "--batch-out", "todo.jsonl")
    code, _, err = call(*command(), "--batch-in", "todo.jsonl")
    assert code == 2
    assert "these are the requests" in err
    code, _, err = call(*command(), "--batch-in", "nothing.jsonl")
    assert code == 2
    assert "no such file" in err
    code, _, err = call(*command(), "--batch-out", "q.csv")
    assert code == 2
    assert "an input of the command" in err
    code, _, err = call(*command(), "--batch", "--batch-out", "x.jsonl")
    assert code == 2


def test_anthropic(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path, 2)
    more = ["--system", "Be short."]
    call(*command(), *more, "--batch-out", "todo.anthropic.jsonl")
    todo = lines(tmp_path / "todo.anthropic.jsonl")
    params = todo[0]["params"]
    assert (params["model"], params["max_tokens"], params["system"]) == ("m", 2048, "Be short.")
    assert [message["role"] for message in params["messages"]] == ["user"]
    ids = [line["custom_id"] for line in todo]
    usage = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes"}]
    message = {"content": parts, "stop_reason": "end_turn", "usage": usage, "model": "c-1"}
    cut = {"content": [], "stop_reason": "max_tokens", "usage": usage}
    came = [
        {"custom_id": ids[0], "result": {"type": "succeeded", "message": message}},
        {"custom_id": ids[1], "result": {"type": "succeeded", "message": cut}},
        {"custom_id": ids[2], "result": {"type": "errored", "error": {"error": {"message": "overloaded"}}}},
        {"custom_id": ids[3], "result": {"type": "expired"}},
    ]
    write(tmp_path / "done.jsonl", came)
    code, _, err = call(*command(), *more, "--batch-in", "done.jsonl")
    assert code == 3, err
    answers, failures = counts(tmp_path)
    assert answers == 2
    assert failures == {
        "the batch failed: overloaded": 1,
        "the batch expired before this request was answered": 1,
    }
    assert run_json(tmp_path)["spent"]["tokens_in"] == 14


def test_results_as_predictions(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path, 3)
    call(*command(), "--batch-out", "todo.jsonl")
    ids = [line["custom_id"] for line in lines(tmp_path / "todo.jsonl")]
    write(tmp_path / "done.jsonl", [*(result(id, "No") for id in ids[:5]), expired(ids[5])][::-1])
    start = ["run", "q.csv", "--kind", "semantic", "--label", "Yes", "--label", "No", "--out", "p", "--json"]
    code, out, err = call(*start, "--model", "predictions/done.jsonl")
    assert code == 3, err
    (tau,) = (s for s in json.loads(out)["scores"] if s["metric"] == "tau")
    assert (tau["groups"], tau["counted"], tau["failed"], tau["value"]) == (3, 2, 1, 0.0)
    write(tmp_path / "other.jsonl", [result("cd" * 32, "No")])
    code, _, err = call(*start, "--model", "predictions/other.jsonl")
    assert code == 2
    assert "none of its 1" in err


def test_a_judge_and_a_writer_by_hand(call: Any, tmp_path: Path) -> None:
    """The results of one step bring the requests of the next."""
    (tmp_path / "films.csv").write_text("text,label\nThe film was a wonderful surprise.,positive\n")
    start = ["run", "films.csv", "--task", "sst2", "--variants", "paraphrase", "--k", "1", "--tries", "1"]
    url = "base_url=http://127.0.0.1:9/v1"
    start += ["--writer", f"openai/w,{url}", "--judge", f"same=openai/j,{url}", "--model", f"openai/m,{url}"]
    start += ["--out", "r"]
    given: list[str] = []
    asked: list[str] = []
    for step in range(6):
        code, _, err = call(*start, *given, "--batch-out", f"todo{step}.jsonl")
        if code == 0:
            break
        assert code == 3, err
        todo = lines(tmp_path / f"todo{step}.jsonl")
        replies = {"w": '{"paraphrase": "That movie was a lovely surprise."}', "j": "Yes", "m": "Positive"}
        write(tmp_path / f"done{step}.jsonl", [result(t["custom_id"], replies[t["body"]["model"]]) for t in todo])
        asked += [t["custom_id"] for t in todo]
        given += ["--batch-in", f"done{step}.jsonl"]
    assert code == 0
    assert len(asked) == len(set(asked)), "nothing is asked twice"
    assert len((tmp_path / "r" / "audit.jsonl").read_text().splitlines()) == 1


# --- submitted


def test_submitted_waited_for_and_collected(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path)
    with BatchServer(failing=0.1, expiring=0.1, polls=1) as server:
        code, out, err = call(*command(server.url), "--batch")
        assert code == 3, err
        assert "batch_0 with 40 requests was submitted" in " ".join(out.split())
        code, out, err = call(*command(server.url), "--batch")
        assert code == 3
        assert "batch_0 is not finished" in " ".join(out.split())
        code, out, err = call(*command(server.url), "--batch")
        assert code == 3, "some failed"
        answers, failures = counts(tmp_path)
        assert answers + sum(failures.values()) == 40
        assert failures.keys() == {
            "the batch answered 500: overloaded",
            "the batch expired before this request was answered",
        }
        assert set(server.submitted.values()) == {1}
        server.failing = server.expiring = 0.0
        call(*command(server.url), "--batch")  # submits what failed
        call(*command(server.url), "--batch")
        code, out, err = call(*command(server.url), "--batch")
        assert code == 0, err
    assert counts(tmp_path) == (40, {})
    assert run_json(tmp_path)["asking"]["tokens_in"] == 400


@pytest.mark.parametrize("state", ["failed", "cancelled", "expired"])
def test_a_batch_that_ends_without_results(call: Any, tmp_path: Path, state: str) -> None:
    write_questions(tmp_path, 2)
    with BatchServer(polls=0, state=state, failing=0) as server:
        server._results = lambda file: {}  # type: ignore[method-assign]
        call(*command(server.url), "--batch")
        code, _, _ = call(*command(server.url), "--batch")
    assert code == 3
    answers, failures = counts(tmp_path)
    assert (answers, sum(failures.values())) == (0, 4)
    assert all("batch" in reason for reason in failures)


def test_a_batch_that_was_not_confirmed_is_found_and_not_submitted_again(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path, 2)
    with BatchServer(lost=1, polls=0) as server:
        code, out, _ = call(*command(server.url), "--batch")
        assert code == 3
        assert "has not confirmed" in " ".join(out.split())
        code, _, err = call(*command(server.url), "--batch")
        assert code == 0, err
        assert len(server.batches) == 1


def test_the_whole_batch_counts_against_the_cap(call: Any, tmp_path: Path) -> None:
    write_questions(tmp_path)
    money = ["--price-in", "1", "--price-out", "1", "--max-cost", "0.02"]
    with BatchServer(polls=0) as server:
        code, _, err = call(*command(server.url), "--batch", *money)
        assert code == 3, err
        first = sum(server.submitted.values())
        assert 0 < first < 40
        call(*command(server.url), "--batch", *money)
    assert set(server.submitted.values()) == {1}


def test_a_server_without_batches(call: Any, tmp_path: Path) -> None:
    from server import Server

    write_questions(tmp_path, 2)
    with Server() as server:
        code, _, err = call(*command(server.url), "--batch")
    assert code == 2
    assert "--batch-out FILE" in err


@pytest.mark.slow
def test_batches_of_a_store_in_postgresql(unwaver: Any, tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'unwaver[postgres]'")
    import postgres_server

    if told := postgres_server.missing():
        pytest.skip(told)
    write_questions(tmp_path)
    with postgres_server.server() as postgres, BatchServer(failing=0.2, polls=0) as server:
        store = postgres.new("batches")
        for _ in range(2):
            done = unwaver(*command(server.url, "--batch", "--store", store))
            assert done.returncode == 3, done.stderr
        answers, failures = counts(tmp_path)
    assert answers + sum(failures.values()) == 2 * ITEMS
    assert failures
    assert set(server.submitted.values()) == {1}


def killed_after_submitting(folder: Path, server: BatchServer, *more: object) -> None:
    """Start the command and kill it when the server has made the batch, before it has said so."""
    arguments = [sys.executable, "-m", "unwaver.cli.main", *command(server.url, "--batch", *more)]
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(server.made.is_set, "the batch")
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_killed_between_submitting_and_collecting(unwaver: Any, tmp_path: Path) -> None:
    items = 1000
    write_questions(tmp_path, items)
    with BatchServer(failing=0.05, expiring=0.05, polls=1, slow=60) as server:
        killed_after_submitting(tmp_path, server)
        server.slow = 0
        for _ in range(2):
            done = unwaver(*command(server.url, "--batch"))
            assert done.returncode == 3, done.stderr
    answers, failures = counts(tmp_path)
    assert answers + sum(failures.values()) == 2 * items
    assert len(failures) == 2
    assert min(failures.values()) > 50
    assert len(server.submitted) == 2 * items
    assert set(server.submitted.values()) == {1}
