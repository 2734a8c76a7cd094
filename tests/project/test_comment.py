"""The comment on a pull request and the steps of action.yml, against a GitHub API on the loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from unwaver.project.comment import MARK, main

ROOT = Path(__file__).parents[2]
TOKEN = "t0k3n-of-the-job"


class Api:
    """Comments on one pull request. Who may not write gets 403."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [{"id": n, "body": "of a person"} for n in range(130)]
        self.may_write = True
        self.calls: list[str] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = int(re.search(r"[?&]page=(\d+)", self.path)[1])  # type: ignore[index]
                self.reply(200, api.comments[100 * (page - 1) : 100 * page])

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not api.may_write or self.headers["Authorization"] != f"Bearer {TOKEN}":
                    self.reply(403, {"message": "Resource not accessible by integration"})
                elif self.command == "PATCH":
                    found = next(c for c in api.comments if c["id"] == int(self.path.rsplit("/", 1)[1]))
                    found["body"] = body["body"]
                    self.reply(200, found)
                else:
                    api.comments.append({"id": len(api.comments), "body": body["body"]})
                    self.reply(201, api.comments[-1])

            do_PATCH = do_POST

            def reply(self, status: int, value: object) -> None:
                api.calls.append(f"{self.command} {status}")
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def ours(self) -> list[str]:
        return [c["body"] for c in self.comments if c["body"].startswith(MARK)]


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()
    yield found
    found.http.shutdown()
    found.http.server_close()


@pytest.fixture
def environment(api: Api, tmp_path: Path) -> dict[str, str]:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "someone/something",
        "GITHUB_API_URL": api.url,
        "GITHUB_EVENT_PATH": str(event),
    }


def test_one_comment_that_is_updated(api: Api, environment: dict[str, str], tmp_path: Path) -> None:
    text = tmp_path / "check.md"
    for said in ("fail", "pass"):
        text.write_text(f"## unwaver check\n{said}\n")
        assert main([str(text)], environment) == 0
    assert api.ours == [f"{MARK}\n## unwaver check\npass\n"]
    assert len(api.comments) == 131


def test_a_token_that_may_not_write(
    api: Api, environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "check.md").write_text("x")
    api.may_write = False
    assert main([str(tmp_path / "check.md")], environment) == 0
    out = capsys.readouterr().out
    assert "may not write here (403)" in out
    assert TOKEN not in out
    assert not api.ours


def test_no_pull_request(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text('{"ref": "refs/heads/main"}')
    assert main([str(tmp_path / "check.md")], environment) == 0


def test_a_server_that_is_not_there(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "check.md").write_text("x")
    assert main([str(tmp_path / "check.md")], {**environment, "GITHUB_API_URL": "http://127.0.0.1:9"}) == 1


# --- action.yml ---------------------------------------------------------------------------------------------


def steps() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return found


def run_action(folder: Path, environment: dict[str, str]) -> int:
    """Every step with a script but the installation, as GitHub runs it: its outputs are given to later steps."""
    outputs, env = folder / "outputs", {**os.environ, **environment}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "OPTIONS": ""}
    outputs.touch()
    code = 0
    for step in steps():
        if "run" not in step or step["name"] == "Install":
            continue
        found = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={**env, "CODE": found.get("code", "")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert TOKEN not in done.stdout + done.stderr
        code = done.returncode
        assert code == 0 or step["name"] == "Verdict", done.stderr
    return code


def test_the_steps_of_the_action(api: Api, environment: dict[str, str], tmp_path: Path) -> None:
    rows = [f"q{n},semantic,{role},yes" for n in range(100) for role in ("original", "variant")]
    (tmp_path / "answers.csv").write_text("\n".join(["group,kind,role,label", *rows]) + "\n")
    (tmp_path / "unwaver.toml").write_text("bars = ['drop<=0.05']\n[sources.answers]\nlog = 'answers.csv'\n")
    accept = [sys.executable, "-m", "unwaver.cli.main", "check", "--accept"]
    subprocess.run(accept, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert run_action(tmp_path, environment) == 0
    broken = [row.replace("variant,yes", "variant,no") if n < 60 else row for n, row in enumerate(rows)]
    (tmp_path / "answers.csv").write_text("\n".join(["group,kind,role,label", *broken]) + "\n")
    assert run_action(tmp_path, environment) == 1
    assert len(api.ours) == 1
    assert "**fail**" in api.ours[0]
    summary = (tmp_path / "summary.md").read_text()
    assert summary.index("**pass**") < summary.index("**fail**")  # appended
    assert "verdict=fail" in (tmp_path / "outputs").read_text()
