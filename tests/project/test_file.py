"""unwaver.toml is read as a whole; a slip of the pen gets a message with the place and what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unwaver.errors import DataError, UsageError
from unwaver.project.file import open_project, read_project
from unwaver.project.schema import schema
from unwaver.project.settings import FIELD_OF

WHOLE = """
alpha = 0.1
runs = "out"
[run]
model = "@bot"
agree = ["normalised", "exact"]
max-cost = 2
[models.bot]
model = "fake/random"
[sources.faq]
from = "faq.csv"
column = {question = "Frage"}
k = 3
agree = "exact"
[sources.other]
from = "sample"
[sources.log]
log = "results.json"
bucket = "vars.id"
[bars]
"*" = ["drop<=0.05", "accuracy>=80 %"]
"faq/question/semantic" = "tau<=0.1"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "unwaver.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_whole_file(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, WHOLE))
    faq, other, log = project.sources
    shared = {"models": ("@bot",), "max_cost": 2}
    assert faq.settings == {**shared, "agree": ("exact",), "columns": {"question": "Frage"}, "k": 3}
    assert other.settings == {**shared, "agree": ("normalised", "exact")}
    assert (log.given, log.is_log, log.settings) == ("results.json", True, {"bucket": "vars.id"})
    assert [(p.where, str(p.bar)) for p in project.bars] == [
        ("*", "drop <= 0.05"),
        ("*", "accuracy >= 0.8"),
        ("faq/question/semantic", "tau <= 0.1"),
    ]
    assert (project.alpha, project.runs) == (0.1, Path("out"))


def test_bars_may_be_one_list(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, 'bars = ["drop<=0.05"]\n[sources.a]\nfrom = "a.csv"\n'))
    assert [(p.where, str(p.bar)) for p in project.bars] == [("*", "drop <= 0.05")]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "it has no source", "from ="),
        ("[source.a]\nfrom = 'x'\n", 'a table without "source"', "sources"),
        ("[sources.a]\nform = 'x'\n", "neither from nor log", "from ="),
        ("[sources.a]\nfrom = 'x'\nlog = 'y'\n", "both from and log", "from ="),
        ("[sources.a]\nfrom = ''\n", "expected a text that is not empty", "from ="),
        ("sources = 3\n", '"sources": found 3, expected a table', r"\[sources"),
        ("[sources]\na = 3\n", "found 3, expected a table", "from ="),
        ("[sources.a]\nfrom = 'x'\nmodle = 'y'\n", '"modle" is not known', "model"),
        (
            "[sources.a]\nfrom = 'x'\nk = 'three'\n",
            '"\\[sources.a\\] k": found "three", expected a whole number',
            "--k",
        ),
        ("[sources.a]\nfrom = 'x'\nout = 'y'\n", '"out" is not known', "known|mean"),
        ("[run]\nmodel = 3\n[sources.a]\nfrom = 'x'\n", "found 3, expected a text", "--model"),
        ("[sources.a]\nlog = 'x'\nmodel = 'y'\n", '"model" is not known for a log', "known|mean"),
        ("alpha = 0.7\n[sources.a]\nfrom = 'x'\n", "alpha is 0.7", "0.05"),
        ("runs = 3\n[sources.a]\nfrom = 'x'\n", '"runs": found 3, expected a text', "source"),
        ("[bars]\nb = ['tau<=0.1']\n[sources.a]\nfrom = 'x'\n", "matches no source", "a"),
        ("[bars]\na = 3\n[sources.a]\nfrom = 'x'\n", "expected a text or a list of texts", "source"),
        ("[sources.a\nfrom = 'x'\n", "no TOML", "source"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_project(write(tmp_path, text))
    assert str(tmp_path) in str(caught.value)
    assert re.search(hint, caught.value.hint or ""), caught.value.hint


@pytest.mark.parametrize("bar", ["tau<0.1x", "drop(tau)>=0.1", "nothing"])
def test_a_bar_that_is_none(tmp_path: Path, bar: str) -> None:
    with pytest.raises(UsageError, match=r"unwaver.toml: bars:"):
        read_project(write(tmp_path, f"bars = ['{bar}']\n[sources.a]\nfrom = 'x'\n"))


KEY = "sk-" + "a1B2" * 10


@pytest.mark.parametrize(
    "text",
    [
        f"[run]\nmodel_arg = {{api_key = '{KEY}'}}\n[sources.a]\nfrom = 'x'\n",
        f"[sources.a]\nfrom = 'x'\nwriter = 'openai/m,api_key={KEY}'\n",
        f"[sources.a]\nfrom = 'x'\nmodel = 'openai/m,base_url=http://u:{KEY}@h/v1'\n",
    ],
)
def test_a_key_is_refused_wherever_it_stands(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="holds a key or a password") as caught:
        read_project(write(tmp_path, text))
    assert KEY not in str(caught.value) + str(caught.value.hint)


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"there is no unwaver.toml") as caught:
        open_project()
    assert "unwaver init" in (caught.value.hint or "")


def test_the_schema_knows_what_the_reader_knows() -> None:
    found = schema()
    assert set(found["properties"]["run"]["properties"]) == set(FIELD_OF)
    assert set(found["properties"]) == {"run", "models", "sources", "bars", "runs", "alpha"}
