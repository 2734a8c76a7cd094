"""Answers that a server did not finish or refused, end to end: counted, left out, said with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

Body = dict[str, Any]
COUNTS = ("failed", "refused", "cut", "not_asked")


def served(say: Callable[[Body], tuple[str | None, str]], **message: Any) -> Server:
    """A server that answers with (text, finish_reason); further fields go into the message."""

    def script(_number: int, body: Body, _headers: dict[str, str]) -> Raw:
        text, finish = say(body)
        answer = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        return Raw(200, {"choices": [answer], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    return Server(script=script)


def limit(body: Body) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 10**6)


def thinks(body: Body) -> tuple[str, str]:
    """A thinking model: all of its tokens go into a thought that is not shown, unless there are enough."""
    return ("", "length") if limit(body) < 100 else ("True", "stop")


def rambles(body: Body) -> tuple[str, str]:
    """300 words, the first 64 of them the same whatever is asked."""
    asked = body["messages"][-1]["content"]
    words = [*("word " * 200).split(), *(asked.split() * 100)][:300]
    return " ".join(words[: limit(body)]), "length" if limit(body) < 300 else "stop"


def command(server: Server, *args: object) -> list[object]:
    return ["run", *args, "--model", "openai/small", "--model-arg", f"base_url={server.url}", "--no-report"]


def tau(done: Any) -> dict[str, Any]:
    return next(s for s in json.loads(done.stdout)["scores"] if s["metric"] == "tau")


def own(folder: Path) -> Path:
    groups = [{"items": [{"text": f"question {n} wording {w}"} for w in range(2)]} for n in range(6)]
    path = folder / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, groups)))
    return path


def test_a_thinking_model_at_a_low_limit(unwaver: Any, tmp_path: Path) -> None:
    case = ("sample/snli/semantic", "--limit", 5)
    few = ("--model-arg", "max_tokens=16")
    with served(thinks) as server:
        done = unwaver(*command(server, *case), *few, "--out", "r", "--json")
        assert done.returncode == 3, done.stderr
        score = tau(done)
        assert (score["value"], score["accuracy"], score["cut"], score["unreadable"]) == (None, None, 5, 0)
        assert score["counted"] + score["not_applicable"] + sum(score[c] for c in COUNTS) == score["groups"] == 5
        sent = len(server.bodies)
        again = unwaver(*command(server, *case), *few, "--out", "r")
        assert again.returncode == 3
        assert len(server.bodies) == sent, "the same command asks nothing"
        said = " ".join(again.stdout.split())
        assert "5 groups were not scored: an answer was cut at max_tokens=16." in said
        assert "--model-arg max_tokens=2048" in said
        assert "every paraphrase" not in said
        # another limit asks again, and the usual one is enough
        more = unwaver(*command(server, *case), "--out", "more", "--json")
        assert more.returncode == 0, more.stderr
        assert (tau(more)["value"], tau(more)["cut"]) == (0.0, 0)
        assert len(server.bodies) == 2 * sent
    shown = unwaver("show", "r")
    assert "an answer was cut at max_tokens=16" in shown.stdout
    assert json.loads(unwaver("show", "r", "--json").stdout)["missing"]["cut"] == 5
    assert "cut" in unwaver("show", "r", "--all").stdout
    gate = unwaver("gate", "r", "--max", "tau=0.5")
    assert gate.returncode == 1
    assert "5 groups have no answer (5 cut): ask again with a higher token limit" in " ".join(gate.stdout.split())
    check = json.loads(unwaver("gate", "r", "--max", "tau=0.5", "--json").stdout)["checks"][0]
    assert (check["verdict"], check["cut"], check["missing"]) == ("fail", 5, 5)
    kept = unwaver("score", "r", "--cut", "keep", "--json")
    assert (tau(kept)["unreadable"], tau(kept)["cut"], tau(kept)["value"]) == (5, 0, 1.0)
    assert kept.returncode == 0
    report = unwaver("report", "r", "--out", "r.html")
    assert report.returncode == 0, report.stderr
    assert "cut at max_tokens=16" in (tmp_path / "r.html").read_text()
    assert "answers are missing (5 cut)" in (tmp_path / "r.html").read_text()


def test_the_limit_of_a_service_with_another_name(unwaver: Any) -> None:
    extra = ["--model-arg", "max_tokens=none", "--model-arg"]
    case = ("sample/snli/semantic", "--limit", 2, "--store", "all.sqlite")
    with served(thinks) as server:
        done = unwaver(*command(server, *case), *extra, 'extra={"max_completion_tokens": 50}', "--out", "r")
        assert done.returncode == 3
        said = " ".join(done.stdout.split())
        assert "an answer was cut at max_completion_tokens=50" in said
        assert """--model-arg extra='{"max_completion_tokens": 2048}'""" in said
        sent = len(server.bodies)
        more = unwaver(*command(server, *case), *extra, 'extra={"max_completion_tokens": 1024}', "--out", "m")
        assert more.returncode == 0, more.stderr
        assert len(server.bodies) == 2 * sent


def test_free_text_that_was_cut(unwaver: Any, tmp_path: Path) -> None:
    path = own(tmp_path)
    few = ("--model-arg", "max_tokens=64")
    with served(rambles) as server:
        done = unwaver(*command(server, path), *few, "--out", "r", "--json")
        assert done.returncode == 3, done.stderr
        scores = {s["metric"]: s for s in json.loads(done.stdout)["scores"]}
        assert (scores["Cons_exact"]["value"], scores["Cons_exact"]["cut"]) == (None, 6)
        shown = unwaver(*command(server, path), *few, "--out", "r")
        assert "an answer was cut at max_tokens=64" in " ".join(shown.stdout.split())
        more = unwaver(*command(server, path), "--out", "more", "--json")
        assert more.returncode == 0, more.stderr
        scores = {s["metric"]: s for s in json.loads(more.stdout)["scores"]}
        assert (scores["Cons_exact"]["value"], scores["Cons_exact"]["cut"]) == (0.0, 0)
        sent = len(server.bodies)
        kept = unwaver(*command(server, path), *few, "--out", "r", "--cut", "keep", "--json")
        assert kept.returncode == 0, kept.stderr
        assert len(server.bodies) == sent, "how cut answers are read asks nothing"
        scores = {s["metric"]: s for s in json.loads(kept.stdout)["scores"]}
        assert (scores["Cons_exact"]["value"], scores["Cons_exact"]["cut_read"]) == (1.0, 6)


def test_a_label_in_a_cut_answer_counts(unwaver: Any) -> None:
    def says(body: Body) -> tuple[str, str]:
        return "True. The hypothesis follows, since the", "length"

    with served(says) as server:
        done = unwaver(*command(server, "sample/snli/semantic", "--limit", 4), "--out", "r", "--json")
        assert done.returncode == 0, done.stderr
        score = tau(done)
        assert (score["value"], score["counted"], score["cut"], score["cut_read"]) == (0.0, 4, 0, 4)
    assert "cut, read" in unwaver("score", "r").stdout


def test_a_thought_left_open_is_no_label(unwaver: Any) -> None:
    def says(body: Body) -> tuple[str, str]:
        return "<think>The text says True, so the answer is True", "length"

    with served(says) as server:
        done = unwaver(*command(server, "sample/snli/semantic", "--limit", 2), "--out", "r", "--json")
    assert (done.returncode, tau(done)["cut"]) == (3, 2)


@pytest.mark.parametrize(
    ("text", "finish", "message"),
    [
        (None, "stop", {"refusal": "I can't help with that."}),
        ("", "stop", {"refusal": "I can't help with that."}),
        (None, "content_filter", {}),
        ("True", "content_filter", {}),
    ],
)
def test_refusals(unwaver: Any, text: str | None, finish: str, message: Body) -> None:
    with served(lambda _: (text, finish), **message) as server:
        done = unwaver(*command(server, "sample/snli/semantic", "--limit", 3), "--out", "r", "--json")
        assert done.returncode == 3, done.stderr
        score = tau(done)
        assert (score["value"], score["refused"], score["cut"], score["failed"]) == (None, 3, 0, 0)
        sent = len(server.bodies)
        again = unwaver(*command(server, "sample/snli/semantic", "--limit", 3), "--out", "r")
        assert len(server.bodies) == sent
        assert "the service refused an answer" in " ".join(again.stdout.split())


def test_empty_text_that_ended_by_itself(unwaver: Any, tmp_path: Path) -> None:
    """Unreadable where there are labels; dropped and counted in free text."""
    with served(lambda _: ("", "stop")) as server:
        done = unwaver(*command(server, "sample/snli/semantic", "--limit", 3), "--out", "labels", "--json")
        assert done.returncode == 0, done.stderr
        assert (tau(done)["value"], tau(done)["unreadable"], tau(done)["empty"], tau(done)["cut"]) == (
            1.0,
            3,
            3,
            0,
        )
        done = unwaver(*command(server, own(tmp_path)), "--out", "text", "--json")
        assert done.returncode == 0, done.stderr
        score = next(s for s in json.loads(done.stdout)["scores"] if s["metric"] == "Cons_exact")
        assert (score["value"], score["not_applicable"], score["unreadable"], score["cut"]) == (None, 6, 6, 0)


def judges(text: str, finish: str) -> Callable[[Body], tuple[str, str]]:
    """Answers every question with Paris, and what a judge is asked with this."""

    def says(body: Body) -> tuple[str, str]:
        asked = body["messages"][-1]["content"]
        if "Yes or No" in asked or "Hypothesis" in asked:
            return text, finish
        return f"Paris{len(asked) % 2}", "stop"

    return says


def test_a_comparison_that_was_cut_is_no_verdict(unwaver: Any, tmp_path: Path) -> None:
    rows = [{"original": f"where {n}", "variant": f"in what place is {n}", "gold": "Paris1"} for n in range(4)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ["--agree", "judge=openai/judge", "--agree", "exact", "--scorer", "judge=openai/judge"]
    with served(judges("", "length")) as server:
        env = {"OPENAI_BASE_URL": server.url}
        done = unwaver(*command(server, "own.jsonl"), *options, "--out", "r", "--json", env=env)
        assert done.returncode == 3, done.stderr
        document = json.loads(done.stdout)
        scores = {s["metric"]: s for s in document["scores"]}
        assert scores["Cons_judge"]["value"] is None
        assert "accuracy_judge" not in scores
        assert scores["Cons_exact"]["counted"] == 4
        told = document["run"]["agreements"][0]
        assert (told["name"], told["failed"], told["refused"]) == ("judge", 0, 0)
        assert told["cut"] == told["pairs"] > 0
        rated = document["run"]["scorers"][0]
        assert rated["cut"] == rated["asked"] > 0
        sent = len(server.bodies)
        again = unwaver(*command(server, "own.jsonl"), *options, "--out", "r", env=env)
        assert again.returncode == 3
        assert len(server.bodies) == sent
        said = " ".join(again.stdout.split())
        assert f"pairs were not compared ({told['cut']} cut)" in said
        assert f"no verdict in {rated['asked']} of {rated['asked']} cases ({rated['asked']} cut)" in said
    scored = unwaver("score", "r", "--json")
    assert scored.returncode == 3, scored.stderr
    assert json.loads(scored.stdout)["scores"] == document["scores"]


def test_a_judge_that_was_cut_certifies_and_rejects_nothing(unwaver: Any, tmp_path: Path) -> None:
    rows = [{"text": f"a man with {n} dogs walks", "gold": "positive"} for n in range(3)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    makes = [
        "--task",
        "sst2",
        "--variants",
        "paraphrase",
        "--writer",
        "rules",
        "--judge",
        "entail=openai/judge",
        "--k",
        1,
    ]
    with served(judges("Well, as to", "length")) as server:
        env = {"OPENAI_BASE_URL": server.url}
        done = unwaver("run", "own.jsonl", *makes, "--model", "fake/random", "--out", "r", "--json", env=env)
        assert done.returncode == 3, done.stderr
    document = json.loads(done.stdout)
    score = next(s for s in document["scores"] if s["metric"] == "tau")
    assert (score["cut"], score["counted"], score["not_applicable"]) == (3, 0, 0)
    (found,) = document["run"]["certification"]
    assert (found["accepted"], found["judged"]) == (0, 0)
    assert found["no_verdict"]["cut"] > 0
    standings = {
        json.loads(line)["standing"] for line in (tmp_path / "r" / "audit.jsonl").read_text().splitlines()
    }
    assert "rejected" not in standings


def test_paraphrases_that_a_writer_did_not_finish(unwaver: Any, tmp_path: Path) -> None:
    rows = [{"text": f"a man with {n} dogs walks", "gold": "positive"} for n in range(3)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tries = [("A man who has dogs", "length"), (None, "content_filter"), ("A dog owner is walking.", "stop")]

    def says(body: Body) -> tuple[str | None, str]:
        assert body["messages"][-1]["content"].startswith("Rephrase")
        return tries[(body["seed"] - 7) % 3]

    makes = [
        "--task",
        "sst2",
        "--kind",
        "semantic",
        "--variants",
        "paraphrase",
        "--k",
        1,
        "--tries",
        3,
        "--seed",
        7,
        "--judge",
        "length=0:9",
    ]
    with served(says) as server:
        writer = ["--writer", "openai/writer", "--writer-arg", f"base_url={server.url}"]
        run = ["run", "own.jsonl", *makes, *writer, "--model", "fake/random", "--out", "r"]
        done = unwaver(*run, "--json")
        assert done.returncode == 0, done.stderr
        sent = len(server.bodies)
        assert sent == 9
        shown = unwaver(*run)
        assert len(server.bodies) == sent
    (found,) = json.loads(done.stdout)["run"]["certification"]
    assert (found["unfinished"], found["refused"], found["candidates"], found["kept"]) == (3, 3, 3, 3)
    assert "3 cut at the writer's token limit" in " ".join(shown.stdout.split())
    records = [json.loads(line) for line in (tmp_path / "r" / "audit.jsonl").read_text().splitlines()]
    assert [r["standing"] for r in records].count("unfinished") == 3
    assert "A man who has dogs" in {r["variant"] for r in records}
    assert "A man who has dogs" not in (tmp_path / "r" / "groups.jsonl").read_text()


def test_a_filter_that_answers_with_an_error(unwaver: Any) -> None:
    """Some services refuse with a status: no failed call, and no reason to stop at the first request."""

    def script(_number: int, body: Body, _headers: dict[str, str]) -> Raw | None:
        filtered = "nurse" in body["messages"][-1]["content"] or _number == 0
        error = {"message": "The response was filtered", "code": "content_filter", "status": 400}
        return Raw(400, {"error": error}) if filtered else None

    with Server(lambda _: "True", script=script) as server:
        done = unwaver(*command(server, "sample/snli/semantic", "--limit", 5), "--out", "r", "--json")
        assert done.returncode == 3, done.stderr
        score = tau(done)
        assert score["refused"] >= 1
        assert (score["failed"], score["cut"], score["counted"]) == (0, 0, 5 - score["refused"])
        sent = len(server.bodies)
        unwaver(*command(server, "sample/snli/semantic", "--limit", 5), "--out", "r")
        assert len(server.bodies) == sent
    table = unwaver("report", "r", "--format", "md").stdout
    assert "| unreadable | refused |" in table.splitlines()[0]


def test_until_counts_cut_answers_as_missing(unwaver: Any) -> None:
    """They may have held or not: no verdict rests on them."""
    with served(lambda body: ("", "length")) as server:
        options = ["--until", "tau<=0.5", "--out", "r"]
        done = unwaver(*command(server, "sample/snli/semantic"), *options, "--json")
    assert done.returncode == 3, done.stderr
    assert [case["verdict"] for case in json.loads(done.stdout)["run"]["until"]["cases"]] == ["undecided"]


def test_a_table_with_the_new_statuses(unwaver: Any, tmp_path: Path) -> None:
    rows = ["group,kind,role,label,gold,status", "1,semantic,original,a,a,", "1,semantic,variant,a,a,cut_read",
            "2,semantic,original,a,a,", "2,semantic,variant,b,a,cut", "3,semantic,original,,a,refused",
            "3,semantic,variant,a,a,"]  # fmt: skip
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    done = unwaver("score", "a.csv", "--json")
    assert done.returncode == 3, done.stderr
    score = tau(done)
    assert (score["value"], score["counted"], score["cut"], score["refused"], score["cut_read"]) == (
        0.0,
        1,
        1,
        1,
        1,
    )
    kept = tau(unwaver("score", "a.csv", "--cut", "keep", "--json"))
    assert (kept["value"], kept["cut"], kept["cut_read"]) == (0.5, 0, 2)
    report = unwaver("report", "a.csv", "--cut", "keep", "--out", "a.html")
    assert report.returncode == 0, report.stderr
    buckets = ["bucket,variant,answer,status", "1,x,a,", "1,y,a,", "2,x,a,", "2,y,b,cut"]
    (tmp_path / "b.csv").write_text("\n".join(buckets) + "\n")
    found = {s["metric"]: s for s in json.loads(unwaver("score", "b.csv", "--json").stdout)["scores"]}
    assert (found["Cons_lex"]["value"], found["Cons_lex"]["cut"]) == (1.0, 1)
    kept = json.loads(unwaver("score", "b.csv", "--cut", "keep", "--json").stdout)["scores"]
    assert next(s for s in kept if s["metric"] == "Cons_lex")["value"] == 0.5
    wrong = unwaver("score", "b.csv", "--cut", "drop")
    assert wrong.returncode == 2
