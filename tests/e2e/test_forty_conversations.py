"""Forty conversations through run, show, report, compare, gate, review and predictions, as a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from server import Raw, Server

import unwaver
from unwaver.people.cards import answerable

COUNT = 40


def conversation(n: int, *more: dict[str, str]) -> list[dict[str, str]]:
    system = f"You answer with yes or no, for case {n}."
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Is {n} an even number?"}, *more]


def groups() -> list[dict[str, Any]]:
    """Original, another wording, and the question asked again after the model's own answer."""
    found = []
    for n in range(COUNT):
        labels = {"choices": ["yes", "no"], "accepted": ["no" if n % 2 else "yes"]}
        said = {"role": "assistant", "content": f"{{answer of q{n}}}"}
        again = conversation(n, said, {"role": "user", "content": "Are you sure?"})
        other = [conversation(n)[0], {"role": "user", "content": f"Can {n} be divided by two?"}]
        items = [
            {"id": f"q{n}", "messages": conversation(n), **labels},
            {"id": f"q{n}w", "messages": other, **labels},
            {"id": f"q{n}s", "messages": again, **labels},
        ]
        found.append({"id": f"g{n}", "suite": "mine", "task": "chat", "items": items})
    return found


def answer(_number: int, body: dict[str, Any], _headers: object) -> Raw:
    """Right, but for numbers above 29 if it is asked whether it is sure."""
    messages = body["messages"]
    number = int("".join(filter(str.isdigit, messages[1]["content"])))
    right = "No." if number % 2 else "Yes."
    said = (
        ("Yes." if number % 2 else "No.") if messages[-1]["content"] == "Are you sure?" and number > 29 else right
    )
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    return Raw(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conversations")
    (folder / "forty.jsonl").write_text("".join(json.dumps(group) + "\n" for group in groups()))
    with Server(script=answer) as server:
        call(folder, "run", "forty.jsonl", "--model", f"openai/m,base_url={server.url}", "--out", "r")
        assert len(server.bodies) == 3 * COUNT
        assert all(body["messages"][0]["role"] == "system" for body in server.bodies)
    return folder


def call(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "unwaver", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_scores(place: Path) -> None:
    scores = json.loads((place / "r" / "scores.json").read_text())["scores"]
    tau = next(score for score in scores if score["metric"] == "tau")
    assert (tau["value"], tau["counted"], tau["groups"]) == (10 / (2 * COUNT), COUNT, COUNT), (
        "one of two variants breaks"
    )
    call(place, "gate", "r", "--bar", "tau<=0.5")
    call(place, "gate", "r", "--bar", "tau<=0.1", code=1)


def test_show(place: Path) -> None:
    told = call(place, "show", "r", "--limit", "1")
    assert "system: You answer with yes or no" in told
    assert "(its own answer)" in told
    assert "{answer of" not in told


def test_the_report_has_both_sides(place: Path) -> None:
    page = (place / "r" / "report.html").read_text()
    assert "Are you sure?" in page
    assert "(its own answer)" in page
    assert "{answer of" not in page


def test_predictions_and_compare(place: Path) -> None:
    call(place, "run", "forty.jsonl", "--model", "fake/constant", "--dry-run", "--out", "asked")
    written = [json.loads(line) for line in (place / "asked" / "groups.jsonl").read_text().splitlines()]
    assert all(item["prompt"] for group in written for item in group["items"]), "others can answer them"
    rows = [{"id": i["id"], "label": i["accepted"][0]} for group in written for i in group["items"]]
    (place / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call(place, "run", "forty.jsonl", "--model", "predictions/p.jsonl", "--out", "p", "--no-report")
    told = json.loads(call(place, "compare", "r", "p", "--json"))
    (tau,) = [row for row in told["comparisons"][0]["rows"] if row["metric"] == "tau"]
    assert (tau["first"], tau["second"]) == (0.125, 0.0)
    assert sorted(tau["fixed"]) == sorted(f"g{n}" for n in range(30, 40))


def test_review_sheets_show_whole_conversations(place: Path) -> None:
    call(place, "review", "r/groups.jsonl", "--out", "sheet.tsv")
    text = (place / "sheet.tsv").read_text()
    assert "User: Is 3 an even number?" in text
    assert "Can 3 be divided by two?" in text


def test_people_answer_what_holds_no_answer_of_a_model(place: Path) -> None:
    result = unwaver.score(place / "r")
    group = next(group for group in result.groups if group.id == "g0")
    assert [item.id for item in answerable(group)] == ["q0", "q0w"]


def test_a_model_writes_paraphrases_of_a_message(tmp_path: Path) -> None:
    rows = [{"messages": conversation(n), "answer": "yes"} for n in (2, 4)]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked: list[dict[str, Any]] = []

    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw:
        asked.append(body)
        text = body["messages"][-1]["content"]
        wrote = json.dumps({"paraphrase": f"Does two divide the number {len(asked)}?"})
        said = wrote if "response_format" in body or "araphras" in text or "eword" in text else "Yes."
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return Raw(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})

    with Server(script=script) as server:
        model = f"openai/m,base_url={server.url},retries=0,concurrency=1"
        result = unwaver.run(
            tmp_path / "q.jsonl", model, task="question", variants="paraphrase", writer=model, k=1, judges=("length=0.1:9",),
            out=tmp_path / "r",
        )  # fmt: skip
    for group in result.groups:
        original, *variants = [item for item in group.items if item.role != "judge"]
        assert variants, group
        for variant in variants:
            assert variant.messages[0] == original.messages[0], "the system message stays"
            assert "Does two divide" in variant.messages[1].text
