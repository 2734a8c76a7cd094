"""The attacks of `make torture` in their short form."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from browser import launched

FOLDER = Path(__file__).parent.parent / "torture"


@pytest.mark.parametrize("attack", ["intervals", "money", "postgres"])
def test_short_form(attack: str) -> None:
    if attack == "postgres":
        pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'unwaver[postgres]'")
        if importlib.util.find_spec("pgserver") is None:
            pytest.skip("pgserver is not installed, which brings a PostgreSQL server")
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{attack}.py"), "--short"], capture_output=True, text=True, timeout=600
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    assert [line for line in lines if not line["ok"]] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["kills", "hostile_server", "bad_days", "batches"])
def test_short_form_with_runs_of_its_own(attack: str) -> None:
    test_short_form(attack)


@pytest.mark.slow
def test_short_form_in_a_browser() -> None:
    pytest.importorskip("starlette", reason="the extra web is not installed")
    with launched():  # or it is skipped, with the reason
        pass
    test_short_form("hostile_strings")


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["annotate", "crowd"])
def test_short_form_with_a_server(attack: str) -> None:
    pytest.importorskip("starlette", reason="the extra web is not installed")
    test_short_form(attack)


def test_a_node_of_a_ray_cluster_is_killed() -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    test_short_form("ray_nodes")
