"""What a person sees while a run waits for a rate limit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console as RichConsole
from server import Raw, Server

from unwaver.cli.main import cli
from unwaver.cli.printing import _Bar
from unwaver.models import openai_server, pace

REFUSED = Raw(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.2"})


@pytest.mark.parametrize(("quiet", "lines"), [([], 1), (["-q"], 0), (["--json"], 0)])
def test_a_run_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: list[str], lines: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    for module in (pace, openai_server):
        monkeypatch.setattr(module, "PATIENCE", 0.1)
    with Server(script=lambda number, *_: REFUSED if number in (2, 5) else None) as server:
        model = f"openai/m,base_url={server.url},backoff=0.01"
        command = ["run", "sample/snli/semantic", "--model", model, "--no-report", "--out", "r", *quiet]
        done = CliRunner().invoke(cli, command, env={"COLUMNS": "200"})
    assert done.exit_code in (0, 3), done.output
    assert done.stderr.count(f"{server.url}: waiting 1 s: it asks for a pause") == lines


def seen(terminal: bool, *told: str) -> str:
    out = io.StringIO()
    bar = _Bar(RichConsole(file=out, force_terminal=terminal, width=120, highlight=False))
    with bar.track("small", 10) as progress:
        for text in told:
            bar.waiting(text)
            progress(1)
    return out.getvalue()


def test_without_a_terminal_it_is_a_line_now_and_then() -> None:
    assert seen(False, "waiting 9 s: x", "", "waiting 8 s: x", "") == "waiting 9 s: x\n"


def test_on_a_terminal_it_is_in_the_bar() -> None:
    assert "waiting 9 s: x" in seen(True, "waiting 9 s: x")
    assert "waiting" not in seen(True, "waiting 9 s: x", "").splitlines()[-1]


def test_outside_a_bar_nothing_breaks() -> None:
    out: Any = io.StringIO()
    _Bar(RichConsole(file=out, force_terminal=True, highlight=False)).waiting("waiting 9 s: x")
    assert "waiting 9 s: x" in out.getvalue()
