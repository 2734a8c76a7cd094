"""What unreadable answers say: in show, in the report, in a file, and never as codes for a terminal."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from click.testing import CliRunner

import unwaver
from unwaver.answers import unreadable
from unwaver.cli.main import cli
from unwaver.engine.load import load_run
from unwaver.types import Answer, Batch, Request

STEERING = "\x1b[31mred\x1b[0m \x9b2J \u202eback\x07"


class Rambles:
    """Says what it is told, by the last word of the question."""

    name, identity, method, deterministic = "rambles", "rambles", "generate", True
    settings: ClassVar[dict[str, object]] = {}
    reads = ("segments",)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        said = {"a": "yes", "b": "no", "c": "sentence2; Altria\n fell", "d": STEERING, "e": ""}
        yield [(n, Answer(text=said[r.segments[-1][-1]])) for n, r in enumerate(requests)]

    def close(self) -> None:
        pass


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Original and variant end in: a a, a c, a c, a d, a e."""
    lines = [
        {"id": f"g{n}", "kind": "semantic", "items": [
            {"text": f"question {n} a", "choices": ["yes", "no"], "accepted": ["yes"]},
            {"text": f"question {n} {last}", "choices": ["yes", "no"], "accepted": ["yes"]},
        ]}
        for n, last in enumerate("accde")
    ]  # fmt: skip
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    unwaver.run(str(path), Rambles(), out=str(tmp_path / "run"))
    return tmp_path / "run"


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def is_safe(text: str) -> bool:
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_show_has_the_text(place: Path) -> None:
    output = invoke("show", place)
    assert "unreadable: sentence2; Altria fell" in output
    assert "unreadable: �[31mred" in output
    assert "variant    empty  right: yes" in output
    assert is_safe(output)


def test_show_json_has_the_whole_text(place: Path) -> None:
    output = invoke("show", place, "--json")
    assert is_safe(output)
    answers = [a for group in json.loads(output)["groups"] for a in group["answers"]]
    said = [a["said"] for a in answers if a["status"] in ("unreadable", "empty")]
    assert said == ["sentence2; Altria\n fell"] * 2 + [STEERING, ""]
    assert all(a["said"] is None for a in answers if a["status"] == "answered")


def test_the_most_frequent_texts(place: Path) -> None:
    output = invoke("show", place, "--unreadable")
    lines = [line for line in output.splitlines() if "/semantic" in line]
    assert lines[0].split()[:2] == ["2", "4"]
    assert "sentence2; Altria fell" in lines[0]
    assert "4 unreadable answers, 3 different texts" in output
    assert is_safe(output)
    found = json.loads(invoke("show", place, "--unreadable", "--json", "--limit", 1))
    assert found["unreadable"] == 4
    assert [(t["text"], t["answers"], t["of"]) for t in found["texts"]] == [("sentence2; Altria\n fell", 2, 4)]
    assert "the first 1 are shown" in invoke("show", place, "--unreadable", "--limit", 1)


@pytest.mark.parametrize("verb", ["show", "score"])
def test_a_file_has_all(place: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "unreadable.jsonl"
    for _ in range(2):  # its own file may be replaced
        invoke(verb, place, "--unreadable-out", out)
    text = out.read_text()
    assert is_safe(text)
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["unreadable"] for row in rows] == ["sentence2; Altria\n fell"] * 2 + [STEERING, ""]
    assert rows[0]["group"].endswith("g1")
    assert (rows[0]["model"], rows[0]["role"], rows[0]["replicate"]) == ("rambles", "variant", 0)
    mine = tmp_path / "notes.txt"
    mine.write_text("do not lose me")
    done = CliRunner().invoke(cli, [verb, str(place), "--unreadable-out", str(mine)])
    assert done.exit_code != 0
    assert mine.read_text() == "do not lose me"


def test_a_run_writes_it_too(tmp_path: Path) -> None:
    out = tmp_path / "unreadable.jsonl"
    options = ("--model", "fake/constant", "--out", tmp_path / "run", "--no-report", "--unreadable-out", out)
    invoke("run", "sample/snli", "--limit", 2, *options)
    assert out.read_text() == "", "every answer could be read"
    assert "0 unreadable answers" in invoke("show", tmp_path / "run", "--unreadable")


def embedded(page: str) -> dict[str, Any]:
    packed = re.search('id="groups">([^<]+)<', page)
    assert packed
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return found


def test_the_report_has_them(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "report.html"
    invoke("report", place, "--out", out)
    page = out.read_text()
    assert "Unreadable answers" in page
    assert '<td data-label="text">sentence2; Altria fell</td>' in page
    assert is_safe(page)
    data = embedded(page)
    said = [data["texts"][n] for n in data["answer"]["said"] if n >= 0]
    assert sorted(said) == sorted(["sentence2; Altria fell"] * 2 + [unreadable.shortened(STEERING), "(empty)"])


def test_a_report_without_any_has_no_such_section(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    unwaver.run("sample/snli", "fake/constant", limit=2, out=str(tmp_path / "run"))
    out = tmp_path / "report.html"
    invoke("report", tmp_path / "run", "--out", out)
    assert "Unreadable answers" not in out.read_text()


def test_a_table_may_bring_the_texts(tmp_path: Path) -> None:
    rows = ["group,kind,role,label,said", "1,semantic,original,yes,", "1,semantic,variant,,who knows"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    out = tmp_path / "u.jsonl"
    invoke("score", tmp_path / "t.csv", "--unreadable-out", out)
    assert json.loads(out.read_text())["unreadable"] == "who knows"


def test_several_models_are_told_apart(place: Path) -> None:
    frame = load_run(place).frame
    other = frame.with_columns(model=pl.lit("other"))
    found = unreadable.frequent(pl.concat([frame, other]))
    assert {(each.model, each.of) for each in found} == {("rambles", 4), ("other", 4)}
