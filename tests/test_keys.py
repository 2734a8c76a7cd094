"""No key in anything that is written or printed, however it is given: the cases of torture/keys.py."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import sys
from pathlib import Path

import pytest

from unwaver import secrets
from unwaver.cli.main import main

_spec = importlib.util.spec_from_file_location("torture_keys", Path(__file__).parents[1] / "torture" / "keys.py")
keys = importlib.util.module_from_spec(_spec)
sys.modules["torture_keys"] = keys
_spec.loader.exec_module(keys)
CASES = list(keys.cases())


def test_there_are_at_least_thirty_ways():
    assert len({case.name for case in CASES}) == len(CASES) >= 30


@pytest.fixture
def in_process(monkeypatch):
    """A call without a process of its own: what stands before the streams must do without their mask."""

    def call(args, env, folder):
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setattr(sys, "argv", ["unwaver", *args])
        monkeypatch.chdir(folder)
        secrets.forget()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as e:
            main(list(args))
        return int(e.value.code or 0), out.getvalue().encode()

    before = sys.excepthook
    yield call
    sys.excepthook = before


@pytest.mark.parametrize("case", [c for c in CASES if "DEBUG" not in c.name], ids=lambda case: case.name)
def test_a_key_is_found_nowhere(case, tmp_path, in_process):
    told = keys.attack(case, tmp_path, in_process)
    assert told["ok"], told


@pytest.mark.parametrize(("name", "after"), [("extra: header", True), ("echo with UNWAVER_DEBUG", False)])
def test_a_key_is_found_nowhere_by_processes(name, after, tmp_path):
    case = next(c for c in CASES if c.name == name)
    told = keys.attack(case, tmp_path, after=after)
    assert told["ok"], told


def test_a_folder_of_an_earlier_version_shows_its_secret_no_more(tmp_path, in_process):
    with keys.Server(lambda prompt: f"It is {len(prompt)}.") as server:
        keys.prepare(tmp_path, "")
        given = ["--model", "openai/m", "--model-arg", f"base_url={server.url}", "--out", "r", "--agree"]
        judge = f"judge=openai/j,base_url={server.url}"
        assert in_process(["run", *keys.TEXTS, *given, judge], {}, tmp_path)[0] == 0
    path = tmp_path / "r" / "run.json"
    path.write_text(path.read_text().replace(judge, judge.replace("http://", f"http://me:{keys.KEY}@")))
    assert keys.KEY in path.read_text()
    for verb in (["show", "r"], ["score", "r", "--json"], ["report", "r"], ["report", "r", "--format", "md"]):
        code, said = in_process(verb, {}, tmp_path)
        assert code == 0, said
        assert keys.KEY.encode() not in said
    assert keys.KEY not in (tmp_path / "r" / "report.html").read_text()
    assert keys.KEY not in (tmp_path / "r" / "scores.json").read_text()


def test_a_run_is_repeated_with_its_secret_given_again(tmp_path, in_process):
    extra = "extra=" + json.dumps({"api_key": keys.KEY})
    with keys.Server(lambda _: "True") as server:
        given = ["--model", "openai/small", "--model-arg", f"base_url={server.url}", "--model-arg", extra]
        code, _ = in_process(["run", *keys.LABELS, *given, "--out", "r", "--no-report"], {}, tmp_path)
        assert code == 0
        assert server.bodies[0]["api_key"] == keys.KEY
        asked = len(server.bodies)
        record = json.loads((tmp_path / "r" / "run.json").read_text())
        assert record["config"]["model_args"]["extra"] == '{"api_key": "[key]"}'
        assert record["models"][0]["settings"]["api_key"] == "[key]"
        code, said = in_process(["run", "--from", "r/run.json", "--out", "r"], {}, tmp_path)
        assert code == 2
        assert b"this run.json lacks a secret" in said
        again = ["run", "--from", "r/run.json", "--out", "r", "--no-report", *given[2:]]
        code, said = in_process(again, {}, tmp_path)
        assert code == 0, said
        assert len(server.bodies) == asked  # found by the same key: the secret itself is part of it
    assert os.environ.get("OPENAI_API_KEY") is None
