"""What services send beside a text: thoughts, tool calls, refusals; and a run that stops when nothing comes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server
from waiting import FOR_EVER

import unwaver as package

Body = dict[str, Any]
THOUGHTS = 500  # tokens


def reply(message: Body, finish: str = "stop", **more: Any) -> Raw:
    usage = {"prompt_tokens": 9, "completion_tokens": 9}
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish}
    return Raw(200, {"choices": [choice], "usage": usage, **more})


def thinking(form: str) -> Callable[[int, Body, object], Raw]:
    """A model that spends 500 tokens on a thought before it says True, which it gives in one of several forms."""

    def script(_number: int, body: Body, _headers: object) -> Raw:
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 10**6
        thought = " ".join(["hm"] * min(limit, THOUGHTS))
        whole = limit > THOUGHTS
        text = "True" if whole else ""
        if form == "tags":
            message: Body = {"content": f"<think>{thought}</think>\nTrue" if whole else f"<think>{thought}"}
        elif form == "parts":
            parts = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]
            message = {"content": [*parts, {"type": "text", "text": text}]}
        elif form == "hidden":
            message = {"content": text or None}
        else:
            message = {"content": text or None, form: thought}
        return reply(message, "stop" if whole else "length", model="small-1")

    return script


def command(server: Server, *args: object) -> list[object]:
    return ["run", *args, "--model", "openai/small", "--model-arg", f"base_url={server.url}", "--no-report"]


def stored(place: Path) -> list[Body]:
    db = sqlite3.connect(place)
    db.row_factory = sqlite3.Row
    beside = {row["key"]: dict(row) for row in db.execute("SELECT * FROM beside")}
    nothing: Body = dict.fromkeys(("reasoning", "refusal", "tool_calls", "cached_tokens", "served"))
    return [{**nothing, **beside.get(row["key"], {}), **dict(row)} for row in db.execute("SELECT * FROM answers")]


def scores(done: Any) -> dict[str, Any]:
    return {s["metric"]: s for s in json.loads(done.stdout)["scores"]}


@pytest.mark.parametrize("form", ["reasoning_content", "reasoning", "tags", "parts", "hidden"])
def test_a_thinking_model(unwaver: Any, tmp_path: Path, form: str) -> None:
    with Server(script=thinking(form)) as server:
        done = unwaver(*command(server, "sample/snli/semantic"), "--limit", 5, "--out", "r", "--json")
        assert done.returncode == 0, done.stderr
        assert (scores(done)["tau"]["value"], scores(done)["tau"]["cut"]) == (0.0, 0)
        rows = stored(tmp_path / "r" / "answers.sqlite")
        assert {row["text"] for row in rows} == {"True"}
        assert all((row["reasoning"] or "").count("hm") == (0 if form == "hidden" else THOUGHTS) for row in rows)


def test_too_few_tokens_stop_the_run_after_the_first_fifty(unwaver: Any, tmp_path: Path) -> None:
    with Server(script=thinking("reasoning_content")) as server:
        few = ("--model-arg", "max_tokens=16", "--out", "r")
        done = unwaver(*command(server, "sample/snli"), *few)
        assert done.returncode == 3, done.stderr
        assert len(server.bodies) == 50
        said = " ".join(done.stdout.split())
        assert "Stopped early: of the first 50 answers of small at max_tokens=16, 50 were cut" in said
        assert "Set --model-arg max_tokens=2048" in said
        again = unwaver(*command(server, "sample/snli"), *few)
        assert (again.returncode, len(server.bodies)) == (3, 50), "the same command asks nothing"
        assert len(stored(tmp_path / "r" / "answers.sqlite")) == 50
        more = unwaver(*command(server, "sample/snli"), "--model-arg", "max_tokens=2048", "--out", "r", "--json")
        assert more.returncode == 0, more.stderr
        assert (scores(more)["tau"]["value"], scores(more)["tau"]["cut"]) == (0.0, 0)
        other = unwaver(*command(server, "sample/snli"), "--model-arg", "max_tokens=4096", "--out", "r")
        assert other.returncode == 2, "a run that was not stopped is another run"


def strict(think: Callable[[int, Body, object], Raw]) -> Callable[[int, Body, object], Raw]:
    """A model as newer services have it: another name for the limit, no temperature, no seed."""

    def script(number: int, body: Body, headers: object) -> Raw:
        for name in ("max_tokens", "temperature", "seed"):
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return Raw(400, {"error": {"message": said, "param": name, "code": "unsupported_parameter"}})
        return think(number, body, headers)

    return script


def test_writer_certifier_model_and_judge_on_one_strict_server(unwaver: Any, tmp_path: Path) -> None:
    """All of them are models that think first; each model of the server is learned and told once."""
    rows = [{"question": f"Who sold {n} apples?"} for n in range(4)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    think = thinking("reasoning_content")

    def script(number: int, body: Body, headers: object) -> Raw:
        found = think(number, body, headers)
        assert isinstance(found.body, dict)
        message = found.body["choices"][0]["message"]
        if message["content"] and body["model"] == "w":
            apples = body["messages"][-1]["content"].split("apples")[-2].split()[-1]
            message["content"] = json.dumps({"text": f"By whom have {apples} pieces of fruit been given away?"})
        elif message["content"] and body["model"] == "m":
            message["content"] = "Yes"
        return found

    with Server(script=strict(script)) as server:
        here = f"base_url={server.url}"
        case = (
            "run",
            "q.jsonl",
            "--variants",
            "paraphrase",
            "--task",
            "truthfulqa",
            "--model",
            f"openai/m,{here}",
        )
        asked = ("--writer", f"openai/w,{here}", "--judge", f"entail=openai/c,{here}", "--no-report")
        judge = ("--agree", f"judge=openai/m,{here}", "--out", "r")
        done = unwaver(*case, *asked, *judge)
        assert done.returncode == 0, done.stderr
        said = " ".join(done.stderr.split())
        assert [said.count(f"does not take max_tokens for {name}:") for name in "wcm"] == [1, 1, 1]
        sent = len(server.bodies)
        again = unwaver(*case, *asked, *judge)
        assert (again.returncode, len(server.bodies)) == (0, sent)
        assert "does not take" not in again.stderr
    found = json.loads((tmp_path / "r" / "scores.json").read_text())["scores"]
    assert next(s for s in found if s["metric"] == "Cons_judge")["value"] == 1.0
    services = json.loads((tmp_path / "r" / "run.json").read_text())["services"]
    assert all({"max_tokens", "temperature"} <= set(service["not_taken"]) for service in services)
    assert len(services) == 4


def test_a_judge_with_too_few_tokens_is_named(unwaver: Any, tmp_path: Path) -> None:
    groups = [{"items": [{"text": f"question {n} wording {w}"} for w in range(2)]} for n in range(40)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    with Server(script=thinking("reasoning")) as server:
        judge = ("--agree", f"judge=openai/j,base_url={server.url},max_tokens=16", "--compare-questions")
        done = unwaver(*command(server, "own.jsonl"), *judge, "--out", "r")
    said = " ".join(done.stdout.split())
    assert done.returncode == 3
    assert "Stopped early: of the first 50 answers of j at max_tokens=16, 50 were cut" in said
    assert "Set --agree judge=openai/j,max_tokens=2048" in said


def test_a_writer_with_too_few_tokens_stops_build(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        "\n".join(json.dumps({"question": f"Who sold {n} apples?"}) for n in range(60))
    )
    with Server(script=thinking("reasoning")) as server:
        writer = ("--writer", f"openai/w,base_url={server.url}", "--writer-arg", "max_tokens=16")
        case = ("build", "paraphrase", "--from", "q.jsonl", "--task", "truthfulqa", "--out", "g.jsonl")
        done = unwaver(*case, *writer)
        assert done.returncode == 3
        assert len(server.bodies) <= 50
    assert "were cut: a model that thinks before it answers needs more tokens" in done.stderr
    assert "Set --writer-arg max_tokens=2048" in done.stderr


def test_cached_tokens_cost_less(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 400}}
    with Server(script=lambda *_: reply({"content": "True"}, usage=usage)) as server:
        model = f"openai/m,base_url={server.url},price_in=1,price_out=1,price_cached=0.5"
        spent = package.run("sample/snli/semantic", model, limit=2, out=str(tmp_path / "r")).run["spent"]
    assert spent["cost"] == pytest.approx(4 * (600 + 200) / 1e6)


def test_a_limit_in_the_name_of_the_model(unwaver: Any) -> None:
    with Server(script=thinking("reasoning")) as server:
        case = ("run", "sample/snli", "--no-report", "--out", "r", "--model")
        done = unwaver(*case, f"openai/small,base_url={server.url},max_tokens=16")
        assert (done.returncode, len(server.bodies)) == (3, 50)
        more = unwaver(*case, f"openai/small,base_url={server.url},max_tokens=2048")
        assert more.returncode == 0, more.stderr
        other = unwaver(*case, f"openai/large,base_url={server.url},max_tokens=2048")
        assert other.returncode == 2, "another model is another run"


def test_a_run_that_was_killed_has_learned(unwaver: Any, tmp_path: Path) -> None:
    """Nothing is asked twice after a kill, and what the server does not take is not tried again."""
    think = strict(thinking("reasoning"))
    wait = threading.Event()

    def script(number: int, body: Body, headers: object) -> Raw:
        if number == 20:
            wait.set()
        return think(number, body, headers)

    with Server(script=script, slow=0.0) as server:
        case = [str(part) for part in command(server, "sample/snli")]
        process = subprocess.Popen([sys.executable, "-m", "unwaver.cli.main", *case, "--out", "r"], cwd=tmp_path,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        assert wait.wait(FOR_EVER)
        process.kill()
        process.wait()
        answered = {row["key"] for row in stored(tmp_path / "r" / "answers.sqlite")}
        assert answered
        server.bodies.clear()
        done = unwaver(*case, "--out", "r")
        assert done.returncode == 0, done.stderr
        rows = stored(tmp_path / "r" / "answers.sqlite")
        assert len(server.bodies) == len(rows) - len(answered)
        assert not any({"max_tokens", "temperature"} & body.keys() for body in server.bodies)
    assert "does not take" not in done.stderr
    assert "generate, sample temperature of the server" in done.stdout


@pytest.mark.parametrize(("lost", "stops"), [(24, False), (25, True)])
def test_half_of_the_first_fifty(unwaver: Any, lost: int, stops: bool) -> None:
    def script(number: int, _body: Body, _headers: object) -> Raw:
        return reply({"content": "" if number < lost else "True"})

    with Server(script=script) as server:
        done = unwaver(*command(server, "sample/snli"), "--out", "r")
    assert (done.returncode == 3) == stops, done.stdout
    assert (len(server.bodies) == 50) == stops
    assert ("25 are empty" in " ".join(done.stdout.split())) == stops


def test_labels_in_cut_answers_do_not_stop_a_run(unwaver: Any) -> None:
    with Server(script=lambda *_: reply({"content": "True, since the"}, "length")) as server:
        done = unwaver(*command(server, "sample/snli"), "--out", "r", "--json")
        assert done.returncode == 0, done.stderr
        assert len(server.bodies) > 50


def test_free_text_that_is_cut_stops_unless_it_is_kept(unwaver: Any, tmp_path: Path) -> None:
    groups = [{"items": [{"text": f"question {n} wording {w}"} for w in range(2)]} for n in range(40)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    with Server(script=lambda *_: reply({"content": "Paris is"}, "length")) as server:
        done = unwaver(*command(server, "own.jsonl"), "--out", "r")
        assert (done.returncode, len(server.bodies)) == (3, 50)
        kept = unwaver(*command(server, "own.jsonl"), "--out", "r", "--cut", "keep")
        assert (kept.returncode, len(server.bodies)) == (0, 80), kept.stdout


def test_tool_calls_and_empty_answers_have_names_of_their_own(unwaver: Any, tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    replies = [
        lambda: reply({"content": None, "tool_calls": [call]}, "tool_calls"),
        lambda: reply({"content": "", "tool_calls": [call]}, "stop"),
        lambda: reply({"content": ""}),
        lambda: reply({"content": "hm"}),
        lambda: reply({"content": None, "refusal": "I will not."}),
        lambda: reply({"content": "True"}),
    ]
    (tmp_path / "own.jsonl").write_text(
        "\n".join(
            json.dumps({"items": [{"text": f"q{n} {w}", "choices": ["true", "false"]} for w in range(2)]})
            for n in range(6)
        )
    )

    def script(_number: int, body: Body, _headers: object) -> Raw:
        return replies[int(body["messages"][-1]["content"].split("q")[-1][0])]()

    with Server(script=script) as server:
        done = unwaver(*command(server, "own.jsonl"), "--out", "r", "--json")
        assert len(server.bodies) == 12, "nothing is asked twice"
    score = scores(done)["tau"]
    counts = {name: score[name] for name in ("unreadable", "empty", "tool_call", "refused", "cut", "failed")}
    assert counts == {"unreadable": 4, "empty": 1, "tool_call": 2, "refused": 1, "cut": 0, "failed": 0}
    rows = stored(tmp_path / "r" / "answers.sqlite")
    assert sum(json.loads(row["tool_calls"]) == [call] for row in rows if row["tool_calls"]) == 4
    assert {row["refusal"] for row in rows} == {None, "I will not."}
    assert {row["finish"] for row in rows} == {"stop", "tool_calls"}, "as they came"
    table = unwaver("score", "r").stdout
    assert "tool call" in table
    assert "empty" in table
    shown = unwaver("show", "r", "--all").stdout
    assert "tool call" in shown or "tool_call" in shown
    assert unwaver("report", "r", "--out", "r.html").returncode == 0
    check = json.loads(unwaver("gate", "r", "--max", "tau=0.9", "--json").stdout)["checks"][0]
    assert (check["tool_call"], check["empty"]) == (2, 1)


def test_a_store_without_services_has_no_table_for_them(unwaver: Any, tmp_path: Path) -> None:
    """So it is what it was before there was such a table, and goes on to be read."""
    assert unwaver("run", "sample/snli", "--model", "fake/random", "--store", "all.sqlite").returncode == 0
    db = sqlite3.connect(tmp_path / "all.sqlite")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not names & {"beside", "dialects"}
    db.close()
    with Server(script=thinking("reasoning")) as server:
        case = ("sample/snli/semantic", "--limit", 3, "--store", "all.sqlite")
        assert unwaver(*command(server, *case), "--out", "r").returncode == 0
    assert len([row for row in stored(tmp_path / "all.sqlite") if row["reasoning"]]) == 6


@pytest.mark.parametrize("statement", ["UPDATE beside SET refusal = 7", "UPDATE beside SET cached_tokens = 'x'"])
def test_a_damaged_table_is_an_error_with_the_place(unwaver: Any, tmp_path: Path, statement: str) -> None:
    with Server(script=thinking("reasoning")) as server:
        assert unwaver(*command(server, "sample/snli/semantic"), "--limit", 3, "--out", "r").returncode == 0
    db = sqlite3.connect(tmp_path / "r" / "answers.sqlite")
    db.execute("PRAGMA writable_schema = ON")
    db.execute(
        "UPDATE sqlite_master SET sql = replace(replace(sql, ' TEXT', ''), ' INTEGER', '') WHERE name = 'beside'"
    )
    db.commit()
    db.close()
    db = sqlite3.connect(tmp_path / "r" / "answers.sqlite")
    db.execute(statement)
    db.commit()
    db.close()
    done = unwaver("score", "r")
    assert done.returncode == 2
    assert "in beside: found" in " ".join(done.stderr.split())
