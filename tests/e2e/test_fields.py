"""Forty questions as conversations, with system prompts, tools and JSON answers: from the file to every command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "price": {"type": "number"}, "tags": {"type": "array"}},
    "required": ["city", "price"],
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}}
TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": {}}}}]
GROUPS, WORDINGS = 10, 4
AGREE = "json,fields=city+price+tags,price=0.01,tags=set"
FIELDS = ("city", "price", "tags")


def answer(model: str, group: int, wording: int) -> dict[str, Any] | str:
    """What the server says: the group decides which field wavers, and model `b` wavers in the city more often."""
    said: dict[str, Any] = {"city": "Rome", "price": 10.0, "tags": ["sun", "sea"]}
    if wording == 2:
        said["tags"] = ["sea", "sun"]  # the same set
        said["price"] = 10.004  # within the tolerance
    if group in (1, 2, 3) and wording == 1:
        said["city"] = "Roma"
    if group in (3, 4) and wording == 3:
        said["price"] = 11
    if group == 5 and wording == 3:
        del said["tags"]
    if group == 6 and wording == 0:
        return "I would go to Rome."
    if model == "b" and group in (7, 8):
        said["city"] = f"City {wording}"
    return said


def line(group: int) -> dict[str, Any]:
    def item(wording: int) -> dict[str, Any]:
        asked = [
            {"role": "system", "content": f"You plan trips. Rule {group}."},
            {"role": "user", "content": "What do I like?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sun and sea"},
            {"role": "user", "content": f"Trip {group}, wording {wording}?"},
        ]
        return {"id": f"g{group}-{wording}", "messages": asked, "tools": TOOLS, "response_format": FORMAT}

    return {"id": f"g{group}", "items": [item(w) for w in range(WORDINGS)]}


def script(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw:
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert body["messages"][3]["tool_call_id"] == "c1"
    assert (body["tools"], body["response_format"]) == (TOOLS, FORMAT)
    words = body["messages"][-1]["content"].rstrip("?").replace(",", "").split()
    said = answer(body["model"], int(words[1]), int(words[3]))
    content = said if isinstance(said, str) else json.dumps(said)
    return Raw(body={"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    path = tmp_path / "trips.jsonl"
    path.write_text("".join(json.dumps(line(g)) + "\n" for g in range(GROUPS)))
    with Server(script=script) as server:
        yield path, server.url


def differs(field: str, a: Any, b: Any) -> bool:
    """A second implementation of the rules."""
    if isinstance(a, str) or isinstance(b, str) or (field in a) != (field in b):
        return True
    if field == "price":
        return abs(a["price"] - b["price"]) > 0.01
    return set(a.get(field, ())) != set(b.get(field, ())) if field == "tags" else a[field] != b[field]


def broken(model: str, field: str) -> list[int]:
    said = [[answer(model, g, w) for w in range(WORDINGS)] for g in range(GROUPS)]
    return [g for g, answers in enumerate(said) if any(differs(field, a, b) for a, b in combinations(answers, 2))]


def scores_in(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    found = json.loads((folder / "scores.json").read_text())
    return {(s["model"], s["metric"]): s for s in found["scores"]}


@pytest.mark.slow
def test_forty_conversations_go_through_every_command(
    asked: tuple[Path, str], tmp_path: Path, unwaver: Any
) -> None:
    path, url = asked
    folders = {}
    for model in "ab":
        folders[model] = tmp_path / model
        spec = f"openai/{model},base_url={url}"
        done = unwaver("run", path, "--model", spec, "--agree", AGREE, "--agree", "tool", "--out", folders[model])
        assert "json: 1 answer is not JSON and agrees with nothing" in " ".join(
            done.stderr.split() + done.stdout.split()
        )
        found = scores_in(folders[model])
        for field in FIELDS:
            score = found[model, f"tau_json.{field}"]
            assert (score["value"], score["counted"]) == (len(broken(model, field)) / GROUPS, GROUPS)
            assert f"tau_json.{field}" in done.stdout
        whole = {g for field in FIELDS for g in broken(model, field)}
        assert found[model, "tau"]["value"] == len(whole) / GROUPS
        assert found[model, "format_kept"]["value"] == pytest.approx(1 - 1 / (GROUPS * WORDINGS))
        assert found[model, "format_kept_all"]["value"] == 1 - 1 / GROUPS
        assert found[model, "tau_tool.functions"]["value"] == 0

    shown = unwaver("show", folders["a"], "--limit", 20).stdout
    assert "Trip 3, wording *1?*" in shown
    assert "Roma" in shown
    assert "differs in: json.city, json.price" in shown
    [third] = [
        g for g in json.loads(unwaver("show", folders["a"], "--json").stdout)["groups"] if g["group"] == "g3"
    ]
    assert third["fields"] == ["json.city", "json.price"]
    unwaver("report", folders["a"], "--out", tmp_path / "page.html")
    assert "tau_json.price" in (tmp_path / "page.html").read_text()

    both = (folders["a"], folders["b"], "--metric", "tau_json.city", "--json")
    [compared] = json.loads(unwaver("compare", *both).stdout)["comparisons"]
    assert (compared["rows"][0]["metric"], compared["rows"][0]["broken"]) == ("tau_json.city", ["g7", "g8"])

    passing = ("--bar", "tau_json.tags<=0.9", "--bar", "format_kept_all>=0.5")
    assert unwaver("gate", folders["a"], *passing).returncode == 0
    assert unwaver("gate", folders["a"], "--bar", "tau_json.city<=0.01").returncode == 1

    answers = tmp_path / "answers.jsonl"
    rows_of = ((g, w, answer("a", g, w)) for g in range(GROUPS) for w in range(WORDINGS))
    answers.write_text(
        "".join(
            json.dumps({"id": f"g{g}-{w}", "text": said if isinstance(said, str) else json.dumps(said)}) + "\n"
            for g, w, said in rows_of
        )
    )
    again = tmp_path / "again"
    unwaver("run", path, "--model", f"predictions/{answers}", "--agree", AGREE, "--agree", "tool", "--out", again)
    first, second = scores_in(folders["a"]), scores_in(again)
    assert {m: s["value"] for (_, m), s in first.items()} == {m: s["value"] for (_, m), s in second.items()}


@pytest.mark.slow
def test_calls_of_tools_are_answers_where_tools_are_offered(tmp_path: Path, unwaver: Any) -> None:
    """--tools offers them with every item; without it, a call is unreadable."""

    def script(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw:
        asked = body["messages"][-1]["content"]
        said: dict[str, Any] = {"content": "I cannot."}
        if "cannot" not in asked:
            city = "Oslo" if "Oslo" in asked else "Rome"
            arguments = {"city": city} if "odd" not in asked else {"town": city}
            said = {
                "content": None,
                "tool_calls": [{"function": {"name": "book", "arguments": json.dumps(arguments)}}],
            }
        return Raw(body={"choices": [{"message": said, "finish_reason": "tool_calls"}]})

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "book", "parameters": parameters}}]))
    asked = [
        ("Book.", "Book it."),
        ("Book Rome.", "Book Oslo."),
        ("You cannot.", "Book."),
        ("cannot a", "cannot b"),
    ]
    asked.append(("Book odd.", "Book it, odd."))
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps({"items": [{"text": t} for t in texts]}) + "\n" for texts in asked))
    with Server(script=script) as server:
        spec = ("run", path, "--model", f"openai/m,base_url={server.url}", "--agree", "tool")
        done = unwaver(*spec, "--tools", tools, "--out", "with")
        assert done.returncode == 0, done.stderr
        unwaver(*spec, "--out", "without")
        assert [("tools" in body) for body in server.bodies].count(True) == len(server.bodies) // 2
    found = {metric: s for (_, metric), s in scores_in(tmp_path / "with").items()}
    assert (found["tau"]["value"], found["tau"]["counted"], found["tau"]["tool_call"]) == (2 / 5, 5, 0)
    assert (found["tau_tool.functions"]["value"], found["tau_tool.book.city"]["value"]) == (1 / 5, 2 / 3)
    kept = found["format_kept"]
    assert (kept["value"], kept["counted"]) == (pytest.approx((1 + 1 + 0.5 + 0) / 4), 4)
    without = {metric: s for (_, metric), s in scores_in(tmp_path / "without").items()}
    assert without["tau"]["tool_call"] == 4
    assert "format_kept" not in without


@pytest.mark.slow
def test_a_schema_for_the_run_is_sent_and_checked(tmp_path: Path, unwaver: Any) -> None:
    path, schema = tmp_path / "q.jsonl", tmp_path / "schema.json"
    path.write_text(json.dumps({"items": [{"text": "plain"}, {"text": "fenced"}]}) + "\n")
    schema.write_text(json.dumps(SCHEMA))
    right = json.dumps({"city": "Rome", "price": 1})
    with Server(lambda prompt: right if prompt == "plain" else f"```json\n{right}\n```") as server:
        spec = f"openai/m,base_url={server.url}"
        done = unwaver("run", path, "--model", spec, "--response-format", schema, "--agree", "json", "--out", "r")
        assert done.returncode == 0, done.stderr
        assert server.bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    found = {metric: s["value"] for (_, metric), s in scores_in(tmp_path / "r").items()}
    assert (found["tau"], found["format_kept"], found["format_kept_all"]) == (0, 0.5, 0)
    wrong = unwaver("run", path, "--model", "fake/constant", "--tools", "nowhere.json")
    assert wrong.returncode == 2
    assert "nowhere.json" in wrong.stderr
    odd = unwaver("run", path, "--model", "fake/constant", "--tools", schema)
    assert "expected a list" in odd.stderr
    noted = unwaver("run", path, "--model", "fake/constant", "--response-format", schema, "--out", "n")
    assert "takes no response format" in noted.stderr + noted.stdout


@pytest.mark.slow
def test_a_model_may_compare_one_field(tmp_path: Path, unwaver: Any) -> None:
    """It is asked about values that differ, and its reply decides the field and the whole; nothing is asked twice."""
    (tmp_path / "said.py").write_text(
        "import json\n"
        'WHY = {"a": ["near", "close by"], "b": ["near", "far away"], "c": ["sun", "sun"]}\n'
        "def answer(items):\n"
        '    asked = [i["prompt"].strip() for i in items]\n'
        '    return [json.dumps({"city": "Rome", "why": WHY[p[0]][int(p[1])]}) for p in asked]\n'
        "def judge(items):\n"
        '    with open("judged.txt", "a") as file:\n'
        '        file.writelines("x\\n" for _ in items)\n'
        '    return ["No" if "far away" in i["prompt"] else "Yes" for i in items]\n'
    )
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"items": [{"text": f"{g}{n}"} for n in (0, 1)]}) + "\n" for g in "abc"))
    spec = (
        "run",
        path,
        "--model",
        "python/said:answer",
        "--agree",
        "json,why=judge=python/said:judge",
        "--out",
        "r",
    )
    for _ in range(2):
        assert unwaver(*spec).returncode == 0
        found = {metric: s["value"] for (_, metric), s in scores_in(tmp_path / "r").items()}
        assert (found["tau"], found["tau_json.why"], found["tau_json.city"]) == (1 / 3, 1 / 3, 0)
    assert (tmp_path / "judged.txt").read_text().count("x") == 4, "two pairs in both orders"
    scored = json.loads(unwaver("score", "r", "--json").stdout)["scores"]
    assert {s["metric"]: s["value"] for s in scored} == found


def test_a_field_that_no_answer_has_is_said(tmp_path: Path, unwaver: Any) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"items": [{"text": "a"}, {"text": "b"}]}) + "\n")
    with Server(lambda prompt: '{"price": 1}') as server:
        done = unwaver("run", path, "--model", f"openai/m,base_url={server.url}", "--agree", "json,prize=0.01")
    assert "json.prize: no answer has this field" in " ".join(done.stdout.split())
