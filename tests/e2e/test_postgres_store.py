"""--store postgresql://…: a run with a database of a team, from outside."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'unwaver[postgres]'")

import postgres_server

if told := postgres_server.missing():
    pytest.skip(told, allow_module_level=True)

PASSWORD = "Vq83hTz0LmXw"
RUN = ("run", "sample/snli", "--model", "fake/random", "--json")


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.PostgresServer]:
    with postgres_server.server() as started:
        started.sql(f"CREATE ROLE team LOGIN PASSWORD '{PASSWORD}'", "CREATE DATABASE answers OWNER team")
        started.trust("scram-sha-256")
        started.reload()
        yield started


@pytest.fixture
def url(server: Any) -> str:
    server.sql("DROP SCHEMA IF EXISTS unwaver CASCADE", database="answers")
    return str(server.url("answers", "team"))


ENV = {"PGPASSWORD": PASSWORD}


def test_what_one_asked_another_does_not_ask(unwaver: Any, tmp_path: Path, url: str) -> None:
    first = unwaver(*RUN, "--store", url, "--out", "a", env=ENV)
    assert first.returncode == 0, first.stderr
    second = unwaver(*RUN, "--store", url, "--out", "b", env=ENV)
    file = unwaver(*RUN, "--store", "all.sqlite", "--out", "c")
    found = [json.loads(done.stdout) for done in (first, second, file)]
    assert [run["run"]["spent"]["calls"] for run in found] == [66, 0, 66]
    assert found[0]["scores"] == found[1]["scores"] == found[2]["scores"]
    # the folder is complete without the server
    again = unwaver("score", "b", "--json", env={"PGHOST": "nowhere.invalid"})
    assert json.loads(again.stdout)["scores"] == found[0]["scores"], again.stderr
    for name in "ac":
        with closing(sqlite3.connect(tmp_path / name / "answers.sqlite")) as db:
            assert db.execute("SELECT count(*) FROM answers").fetchone() == (66,)
            assert db.execute("SELECT count(*) FROM asked").fetchone() == (66,)
    planned = unwaver(*RUN, "--store", url, "--out", "d", "--dry-run", env=ENV)
    assert json.loads(planned.stdout)["dry_run"][0]["already_answered"] == 66, planned.stdout


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        yield str(path.relative_to(folder)), path.read_bytes()


def test_the_password_is_found_nowhere(unwaver: Any, tmp_path: Path, server: Any, url: str) -> None:
    given = server.url("answers", "team", PASSWORD)
    done = [
        unwaver(*RUN[:-1], "--store", given, "--out", "a"),
        unwaver(*RUN, f"--store={given}", "--out", "b"),
        unwaver(*RUN, "--store", f"{url}?password={PASSWORD}", "--out", "c"),
        unwaver(*RUN, "--store", server.url("answers", "team", f"not-{PASSWORD}"), "--out", "d"),
        unwaver(*RUN, "--store", server.url("none", "team", PASSWORD), "--out", "e"),
        unwaver("show", "a"),
        unwaver("report", "a"),
    ]
    assert [each.returncode for each in done] == [0, 0, 0, 2, 2, 0, 0], [each.stderr for each in done]
    assert [each for each in done if PASSWORD in each.stdout + each.stderr] == []
    assert [name for name, data in everything(tmp_path) if PASSWORD.encode() in data] == []
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert record["config"]["store"] == url
    assert url in record["command"]
    again = unwaver("run", "--from", "a", "--out", "f", "--json", env=ENV)
    assert json.loads(again.stdout)["run"]["spent"]["calls"] == 0
    tables = server.sql(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'unwaver'", database="answers"
    )
    for (table,) in tables:
        assert PASSWORD not in repr(server.sql(f"SELECT * FROM unwaver.{table}", database="answers"))


def test_a_weak_password_too(unwaver: Any, tmp_path: Path, server: Any) -> None:
    """One that is a word, or the name of the role, cannot be masked: it is not kept in the first place."""
    server.sql("DROP DATABASE IF EXISTS weak", "DROP ROLE IF EXISTS test")
    server.sql("CREATE ROLE test LOGIN PASSWORD 'test'", "CREATE DATABASE weak OWNER test")
    done = unwaver(*RUN, "--store", server.url("weak", "test", "test"), "--out", "a")
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, done.stderr, (tmp_path / "a" / "run.json").read_text()):
        assert ":test@" not in text
    assert json.loads(done.stdout)["run"]["config"]["store"] == server.url("weak", "test")


def test_several_processes_and_other_verbs(unwaver: Any, tmp_path: Path, url: str) -> None:
    commands = [
        [sys.executable, "-m", "unwaver.cli.main", "run", suite, "--model", "fake/random", "--store", url, "--out", f"r{n}", "--json"]
        for n, suite in enumerate(["sample/snli", "sample/snli/semantic", "sample/snli"])
    ]  # fmt: skip
    env = {**os.environ, **ENV}
    running = [
        subprocess.Popen(c, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        for c in commands
    ]
    ended = [p.communicate(timeout=600) for p in running]
    assert [p.returncode for p in running] == [0, 0, 0], [e[1] for e in ended]
    found = [json.loads(out) for out, _ in ended]
    assert sum(run["run"]["spent"]["calls"] for run in found) == 66
    assert found[0]["scores"] == found[2]["scores"]
    analysed = [
        unwaver(
            "analyse", "entailment", "sample/snli", "--model", "fake/random", "--store", place, "--json", env=ENV
        )
        for place in (url, url, "x.sqlite")
    ]
    assert [each.returncode for each in analysed] == [0, 0, 0], analysed[0].stderr
    assert analysed[0].stdout == analysed[1].stdout == analysed[2].stdout


@pytest.mark.parametrize(
    ("verb", "address", "told"),
    [
        ("run", "postgresql://nowhere.invalid/x", "unknown host"),
        ("run", "mysql://me:pw@127.0.0.1/x", "does not support mysql"),
        ("analyse", "postgresql://me:p/w@127.0.0.1/x", "not percent-encoded"),
        *(
            (verb, "postgresql://127.0.0.1:1/x", "cannot be reached")
            for verb in ("run", "build", "analyse", "dry")
        ),
    ],
)
def test_errors_have_three_parts(unwaver: Any, tmp_path: Path, address: str, told: str, verb: str) -> None:
    (tmp_path / "s.csv").write_text("text\nIt is good.\nIt is bad.\n")
    calls: dict[str, tuple[str, ...]] = {
        "run": (*RUN, "--out", "a"),
        "dry": (*RUN, "--dry-run"),
        "build": ("build", "paraphrase", "--from", "s.csv", "--task", "sst2", "--k", "1", "--tries", "1",
                  "--writer", "fake/random", "--out", "g.jsonl", "--json"),
        "analyse": ("analyse", "entailment", "sample/snli", "--model", "fake/random", "--json"),
    }  # fmt: skip
    done = unwaver(*calls[verb], "--store", address)
    assert done.returncode == 2, done.stderr
    error = json.loads(done.stdout)["error"]
    assert told in error["message"]
    assert error["hint"]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "a" / "run.json").exists()
