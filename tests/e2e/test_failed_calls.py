"""Why calls failed is said everywhere a reader looks: on screen, in JSON, in the report, by show and gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

WORDS = "the prompt has too many tokens"
QUICK = ["--model-arg", "timeout=5", "--model-arg", "backoff=0.001", "--model-arg", "retries=1"]


def refusing(share: int) -> Any:
    """Refuses every nth request, each with another number in its words."""

    def script(number: int, _body: object, _headers: object) -> Raw | None:
        refused = Raw(400, {"error": {"message": f"{WORDS}: {1000 + number}"}})
        return refused if number and number % share == 0 else None

    return script


def run(unwaver: Any, server: Server, *args: object) -> Any:
    given = ["--model", "openai/small", "--model-arg", f"base_url={server.url}", "--out", "r", *QUICK]
    return unwaver("run", *(args or ["sample/snli/semantic"]), *given)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_reasons_are_grouped_on_screen_in_json_in_the_report_and_by_show(unwaver: Any, tmp_path: Path) -> None:
    # one call at a time: side by side, two refusals may fall on the two items of one group
    with Server(lambda _: "True", script=refusing(5)) as server:
        done = run(unwaver, server, "sample/snli/semantic", "--model-arg", "concurrency=1")
    assert done.returncode == 3, done.stderr
    assert f"small: 3 calls failed: {server.url} answered 400: {WORDS}: 10" in one_line(done.stdout)
    scored = json.loads((tmp_path / "r" / "scores.json").read_text())
    [reason] = scored["run"]["failures"]
    assert (reason["calls"], reason["model"], reason["role"]) == (3, "small", "model")
    assert reason["reason"] == f"{server.url} answered 400: {WORDS}: #"
    assert reason["example"].startswith(f"{server.url} answered 400: {WORDS}: 1")
    tau = next(s for s in scored["scores"] if s["metric"] == "tau")
    assert tau["failed"] == 3
    assert tau["counted"] + tau["not_applicable"] + tau["failed"] + tau["not_asked"] == tau["groups"] == 10
    assert f"answered 400: {WORDS}: 10" in (tmp_path / "r" / "report.html").read_text()
    assert json.loads(unwaver("score", "r", "--json").stdout)["run"]["failures"] == [reason]

    failed = unwaver("show", "r", "--failed")
    assert failed.returncode == 0, failed.stderr
    assert f"small: 3 × {server.url} answered 400: {WORDS}: #" in failed.stdout
    assert f"for example {reason['item']}: {reason['example']}" in failed.stdout
    assert "3 calls failed" in failed.stdout
    listed = json.loads(unwaver("show", "r", "--failed", "--json").stdout)
    assert (listed["failed"], listed["failures"]) == (3, [reason])
    assert json.loads(unwaver("show", "r", "--failed", "--only", "sample/snli/x", "--json").stdout)["failed"] == 0

    shown = unwaver("show", "r")
    assert "3 groups were not scored: calls failed" in shown.stdout
    assert f"small: 3 calls failed: {reason['example']}" in shown.stdout
    document = json.loads(unwaver("show", "r", "--json").stdout)
    assert (document["missing"]["failed"], document["failures"]) == (3, [reason])

    gate = unwaver("gate", "r", "--max", "tau=0.99")
    assert f"3 calls failed: {reason['example']}" in one_line(gate.stdout)


@pytest.mark.parametrize(("status", "sent"), [(400, 3), (500, 4), (401, 1)])
def test_a_refusal_at_the_first_contact_ends_the_run_with_the_servers_words(
    unwaver: Any, tmp_path: Path, status: int, sent: int
) -> None:
    with Server(script=lambda *_: Raw(status, {"error": {"message": "unknown field max_tokens"}})) as server:
        done = run(unwaver, server)
    assert done.returncode == 2, done.stdout
    assert f"{server.url} answered {status}: unknown field max_tokens" in done.stderr
    assert len(server.bodies) == sent
    for verb in (["show", "r"], ["show", "r", "--failed"], ["gate", "r", "--max", "tau=0.5"]):
        told = unwaver(*verb)
        assert f"failed: {server.url} answered {status}" in one_line(told.stdout) or (
            f"× {server.url} answered {status}" in told.stdout
        ), told.stdout + told.stderr
        assert "0 groups\n" not in told.stdout
    assert unwaver("gate", "r", "--max", "tau=0.5", "--allow-undecided").returncode == 1


def test_a_run_whose_remaining_requests_are_all_refused_is_still_scored(unwaver: Any) -> None:
    def too_long(_number: int, body: dict[str, Any], _headers: object) -> Raw | None:
        long = "cat" in body["messages"][-1]["content"].lower() or "dog" in body["messages"][-1]["content"].lower()
        return Raw(400, {"error": {"message": WORDS}}) if long else None

    with Server(lambda _: "True", script=too_long) as server:
        first = run(unwaver, server, "sample/snli")
        assert first.returncode == 3, first.stderr
        before = len(server.bodies)
        again = run(unwaver, server, "sample/snli")
    assert again.returncode == 3, again.stderr
    assert before < len(server.bodies) < 2 * before
    assert WORDS in again.stdout


def test_judges_and_scorers_that_fail_are_named(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(
        "id,question,paraphrase\n" + "".join(f"{n},What is {n}?,Say what {n} is.\n" for n in range(4))
    )

    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw | None:
        judged = "consistent" in body["messages"][-1]["content"]
        odd = judged and "What is 2" in body["messages"][-1]["content"]
        return Raw(400, {"error": {"message": "no judging today"}}) if odd else None

    columns = ["--column", "original=question", "--column", "variant=paraphrase"]
    with Server(lambda prompt: "Yes" if "consistent" in prompt else prompt[:12], script=script) as server:
        judge = f"judge=openai/j,base_url={server.url},retries=0"
        done = run(unwaver, server, "q.csv", *columns, "--agree", judge, "--no-report")
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"failed: {server.url} answered 400: no judging today" in one_line(done.stdout)
    assert "judge (agreement)" in done.stdout
    told = unwaver("show", "r", "--failed")
    assert f"judge (agreement): 2 × {server.url} answered 400: no judging today" in told.stdout


def test_a_judge_that_refuses_from_the_start_ends_the_run_and_loses_nothing(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,question,paraphrase\n1,What is 1?,Say what 1 is.\n2,What is 2?,Say 2.\n")
    columns = ["--column", "original=question", "--column", "variant=paraphrase"]

    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw | None:
        return Raw(400, {"error": "no judging"}) if body["model"] == "j" else None

    with Server(lambda prompt: prompt[:9], script=script) as server:
        judge = f"judge=openai/j,base_url={server.url},retries=0"
        done = run(unwaver, server, "q.csv", *columns, "--agree", judge)
        assert done.returncode == 2
        assert "answered 400: no judging" in done.stderr
        answered = sum(body["model"] == "small" for body in server.bodies)
        run(unwaver, server, "q.csv", *columns, "--agree", judge)
        assert sum(body["model"] == "small" for body in server.bodies) == answered == 4
