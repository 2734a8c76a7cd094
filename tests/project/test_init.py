"""unwaver init: what it makes of a file, and what it refuses."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli.main import cli
from unwaver.errors import UnwaverError, UsageError
from unwaver.project.file import read_project
from unwaver.project.init import Choices, bar_for, look_at, toml_text


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*options: str) -> None:
    cli.main(["init", *options], standalone_mode=False)


def test_the_bar_that_so_many_questions_can_tell() -> None:
    assert [bar_for(n) for n in (5000, 1000, 200, 60, 30, 10)] == [0.02, 0.02, 0.05, 0.10, 0.15, 0.40]


@pytest.mark.parametrize(
    ("name", "text", "is_questions"),
    [
        ("q.csv", "question\nWho wrote Hamlet?\nWhere is Rome?\n", True),
        ("pairs.csv", "question,paraphrase\nWho wrote Hamlet?,Hamlet is by whom?\n", False),
        ("groups.jsonl", '{"items": [{"text": "a?"}, {"text": "b?"}]}\n', False),
    ],
)
def test_what_a_file_is(name: str, text: str, is_questions: bool) -> None:
    Path(name).write_text(text)
    found = look_at(Path(name))
    assert (found.is_log, found.is_questions) == (False, is_questions)
    Path("unwaver.toml").write_text(toml_text(Choices(found, "fake/random")))
    (source,) = read_project(Path("unwaver.toml")).sources
    assert source.given == name
    assert ("variants" in source.settings) == is_questions


def test_a_log_needs_no_model() -> None:
    Path("answers.csv").write_text("group,kind,role,label\na,semantic,original,x\na,semantic,variant,x\n")
    init("--from", "answers.csv")
    (source,) = read_project(Path("unwaver.toml")).sources
    assert source.is_log


@pytest.mark.parametrize(
    "model", ['openai/a "b"', 'openai/m,base_url=http://h/v1,temperature=0.5,extra={"a": [1]}']
)
def test_any_model_and_name_is_valid_toml(model: str) -> None:
    Path('my "odd" file.csv').write_text("question\nWho wrote Hamlet?\n")
    found = look_at(Path('my "odd" file.csv'))
    text = toml_text(Choices(found, model))
    read: dict[str, Any] = tomllib.loads(text)
    assert read["models"]["bot"]["model"] == model.partition(",")[0]
    assert next(iter(read["sources"].values()))["from"] == 'my "odd" file.csv'


def test_no_key_in_the_file() -> None:
    Path("q.csv").write_text("question\nWho wrote Hamlet?\n")
    key = "sk-" + "a1B2" * 10
    for model in (f"openai/m,api_key={key}", f"openai/m,base_url=http://user:{key}@host/v1"):
        with pytest.raises(UsageError, match="holds a key"):
            init("--from", "q.csv", "--model", model)
    assert not Path("unwaver.toml").exists()


@pytest.mark.parametrize("options", [(), ("--from", "q.csv"), ("--model", "fake/random")])
def test_without_a_terminal_it_never_asks(options: tuple[str, ...]) -> None:
    Path("q.csv").write_text("question\nWho wrote Hamlet?\n")
    with pytest.raises(UsageError, match="is missing"):
        init(*options)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UnwaverError, match="there is no such file"):
        init("--from", "none.csv", "--model", "fake/random")


def test_gitignore_keeps_what_it_has() -> None:
    Path("q.csv").write_text("question\nWho wrote Hamlet?\n")
    Path(".gitignore").write_text("*.pyc")
    init("--from", "q.csv", "--model", "fake/random")
    assert Path(".gitignore").read_text() == "*.pyc\nruns/\n"
    init("--from", "q.csv", "--model", "fake/random", "--force")
    assert Path(".gitignore").read_text() == "*.pyc\nruns/\n"


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    init("--schema")
    assert json.loads(capsys.readouterr().out)["title"] == "unwaver.toml"
