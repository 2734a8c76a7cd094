"""A model on a server as the writer: what it is sent, what survives of its replies, who certifies them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

import unwaver as package
from unwaver.config import Config
from unwaver.engine.build_groups import build
from unwaver.verdicts.gates import gate

LETTER = "Sehr geehrte Frau Maier,\nIhr Paket kommt erst morgen an.\n\nMit freundlichen Grüßen"
OTHER = "Guten Tag Frau Maier,\nmorgen erst wird Ihre Sendung da sein.\n\nViele Grüße"
TASK = '[letters]\nfields = ["about", "letter"]\nlabels = ["good", "bad"]\nprompt = "{about}: {letter}"\n'


def is_question(prompt: str) -> bool:
    """Whether the writer is asked if two texts mean the same."""
    return prompt.startswith("Text 1:")


def writes(*texts: str, certifies: str = "Yes", structured: bool = False) -> Callable[..., Raw | None]:
    """Replies with the nth text to the nth request of a text (by its seed)."""

    def script(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw | None:
        if is_question(body["messages"][-1]["content"]):
            text = certifies
        else:
            text = texts[body["seed"] % len(texts)]
            text = json.dumps({"text": text}) if structured else text
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return Raw(200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    return script


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("letters.toml").write_text(TASK)
    rows = [{"about": f"Paket {n}", "letter": f"Nummer {n}. {LETTER}", "label": "good"} for n in range(25)]
    Path("letters.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(server: Server, **options: Any) -> Any:
    common: dict[str, Any] = {"task": "letters.toml", "variants": ("paraphrase",), "k": 1, "tries": 2}
    writer = {"writer": "openai/w", "writer_args": {"base_url": server.url}}
    return package.run("letters.jsonl", "fake/constant", **{**common, **writer, "out": "r", **options})


def records(place: str = "r") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(place) / "audit.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("structured", [False, True])
def test_several_lines_survive_with_context_and_schema(letters: Path, structured: bool) -> None:
    with Server(script=writes(OTHER, structured=structured)) as server:
        run(server)
        asked = [body for body in server.bodies if not is_question(body["messages"][-1]["content"])]
    assert {record["variant"] for record in records()} == {OTHER}
    assert "about: Paket 0" in asked[0]["messages"][-1]["content"]
    assert asked[0]["messages"][-1]["content"].endswith(f"Nummer 0. {LETTER}")
    assert asked[0]["max_tokens"] >= 1024
    schema = asked[0]["response_format"]["json_schema"]
    assert (schema["strict"], schema["schema"]["required"]) == (True, ["text"])
    (told,) = json.loads(Path("r/run.json").read_text())["writer"]["prompts"]
    assert told["template"] == "paraphrase@2"


def test_a_long_text_gets_a_higher_limit(letters: Path) -> None:
    row = {"about": "x", "letter": "Wir haben alles versucht. " * 200, "label": "good"}
    Path("letters.jsonl").write_text(json.dumps(row) + "\n")
    with Server(script=writes(OTHER)) as server:
        run(server)
        run(server, writer_args={"base_url": server.url, "max_tokens": "99"}, out="s")
        limits = [b["max_tokens"] for b in server.bodies if not is_question(b["messages"][-1]["content"])]
    assert limits[0] >= 4096
    assert limits[-1] == 99


def test_a_server_without_structured_output_answers_in_plain_text(letters: Path) -> None:
    plain = writes(OTHER)

    def script(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw | None:
        if "response_format" in body:
            return Raw(400, {"error": {"message": "'response_format.type' must be 'text'"}})
        return plain(number, body, headers)

    with Server(script=script) as server:
        result = run(server)
        refused = sum("response_format" in body for body in server.bodies)
    assert {record["standing"] for record in records()} == {"kept"}
    assert result.is_complete
    assert 1 <= refused < 25, "it is not tried again and again"


def test_a_prompt_of_ones_own(letters: Path) -> None:
    Path("mine.txt").write_text("Schreibe um ({language}).\n{context}\n---\n{text}\n")
    with Server(script=writes(OTHER)) as server:
        run(server, writer_prompt="mine.txt", lang="de")
        sent = len(server.bodies)
        prompt = server.bodies[0]["messages"][-1]["content"]
        run(server, writer_prompt="mine.txt", lang="de")
        assert len(server.bodies) == sent, "nothing is asked twice"
        Path("mine.txt").write_text("Anders: {text}")
        run(server, writer_prompt="mine.txt", lang="de")
        assert len(server.bodies) > sent, "another prompt is another question"
    assert prompt == f"Schreibe um (German).\nabout: Paket 0\n---\nNummer 0. {LETTER}"
    (told,) = json.loads(Path("r/run.json").read_text())["writer"]["prompts"]
    assert (told["file"], told["prompt"]) == ("mine.txt", "Anders: {text}")
    assert told["template"].startswith("mine@")


def test_copies_are_rejected_and_counted(letters: Path) -> None:
    row = {"about": "x", "letter": LETTER, "label": "good"}
    Path("letters.jsonl").write_text(json.dumps(row) + "\n")
    replies = (LETTER.upper(), LETTER.replace("Paket", "Pakett"), "", OTHER)
    with Server(script=writes(*replies)) as server:
        result = run(server, tries=4)
    assert [(r["standing"], r["reasons"][:1]) for r in records() if r["standing"] != "kept"] == [
        ("copy", ["a copy of the original"]),
        ("copy", [r["reasons"][0] for r in records() if "near-copy" in str(r["reasons"])]),
        ("empty", ["the writer wrote nothing"]),
    ]
    (found,) = result.run["certification"]
    assert (found["copies"], found["empty"], found["kept"]) == (2, 1, 1)
    assert "2 copies or near-copies" in str(result)


def test_nobody_said_how_to_certify(letters: Path) -> None:
    """The writer certifies itself; the score is flagged, the table says so, and no gate passes."""
    with Server(script=writes(OTHER)) as server:
        result = run(server)
        questions = [b for b in server.bodies if is_question(b["messages"][-1]["content"])]
    assert len(questions) == 25
    assert all(OTHER in question["messages"][-1]["content"] for question in questions)
    assert questions[0]["temperature"] == 0
    assert "self_certified" in result.find("tau").flags
    assert "self-certified" in str(result)
    outcome = gate("r", ["tau<=0.5"])
    (check,) = outcome.checks
    assert (check.verdict, outcome.is_met) == ("undecided", False)
    assert "self-certified" in check.reason
    assert "--judge" in check.reason


def test_with_a_judge_a_gate_passes(letters: Path) -> None:
    with Server(script=writes(OTHER)) as server:
        result = run(server, judges=("length=0.1:5",))
        assert not any(is_question(b["messages"][-1]["content"]) for b in server.bodies)
    assert "self_certified" not in result.find("tau").flags
    assert gate("r", ["tau<=0.5"]).verdict == "pass"


def test_a_writer_may_reject_what_it_wrote(letters: Path) -> None:
    with Server(script=writes(OTHER, certifies="No")) as server:
        result = run(server, tries=1)
    assert {record["standing"] for record in records()} == {"rejected"}
    assert result.find("tau").counted == 0


def test_what_was_built_stays_self_certified(letters: Path) -> None:
    """The file needs neither writer nor certifier, and no gate passes on it until a person has looked."""
    common: dict[str, Any] = {"task": "letters.toml", "variants": ("paraphrase",), "k": 1, "tries": 1}
    with Server(script=writes(OTHER)) as server:
        writer = {"writer": "openai/w", "writer_args": {"base_url": server.url}}
        built = build(Config(("letters.jsonl",), (), **common, **writer), Path("groups.jsonl"))
    assert built.certification[0]["self_certified"] is True
    result = package.run("groups.jsonl", "fake/constant", out="g")
    assert "self_certified" in result.find("tau").flags
    assert gate("g", ["tau<=0.5"]).verdict == "undecided"
    variants = [item.id for group in built.groups for item in group.items if item.role == "variant"]
    Path("sheet.tsv").write_text("id\tverdict\n" + "".join(f"{id}\tok\n" for id in variants))
    reviewed = package.run("groups.jsonl", "fake/constant", out="h", review="sheet.tsv")
    assert "self_certified" not in reviewed.find("tau").flags
    assert gate("h", ["tau<=0.5"]).verdict == "pass"


def test_the_prompt_is_checked_before_anything_is_asked(unwaver: Any, letters: Path) -> None:
    Path("bad.txt").write_text("Umschreiben: {satz}")
    with Server(script=writes(OTHER)) as server:
        options = ("--writer", "openai/w", "--writer-arg", f"base_url={server.url}", "--writer-prompt", "bad.txt")
        common = ("--task", "letters.toml", *options)
        done = unwaver("run", "letters.jsonl", "--variants", "paraphrase", "--model", "fake/random", *common)
        assert (done.returncode, len(server.bodies)) == (2, 0)
        assert "{satz}" in done.stderr
        done = unwaver("build", "paraphrase", "--from", "letters.jsonl", "--out", "g.jsonl", *common)
        assert (done.returncode, len(server.bodies)) == (2, 0)
