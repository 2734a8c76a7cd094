"""Logs made by the real tools, in the environment that `make test` sets up for them, on a tiny model.

Making them takes half a minute, so that the processes of one test run share them.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TOOLS = Path(os.environ.get("UNWAVER_TOOLS", HERE.parent.parent / ".venv-lm-eval")) / "bin" / "python"


@pytest.fixture(scope="session")
def tools() -> Path:
    if not TOOLS.exists():
        pytest.skip(f"there is no {TOOLS}: `make test` sets it up")
    return TOOLS


@pytest.fixture(scope="session")
def made_by(tools: Path, tmp_path_factory: Any) -> Callable[[str], Path]:
    """The folder that a script beside this file has filled, run by the tools' Python, once for all processes."""

    def made(script: str) -> Path:
        base = tmp_path_factory.getbasetemp()
        shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / script
        shared.mkdir(exist_ok=True)
        with (shared / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / "done").exists():
                env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(shared / "hf"), "OMP_NUM_THREADS": "1"}
                command = [str(tools), str(HERE / f"{script}.py"), str(shared)]
                done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=shared, timeout=600)
                assert done.returncode == 0, done.stderr[-4000:]
                (shared / "done").touch()
        return shared

    return made


@pytest.fixture
def tool_scores(tools: Path, tmp_path: Path) -> Any:
    """`unwaver score …` in the tools' environment, where inspect_ai is installed."""

    def call(*args: object) -> Any:
        command = [str(tools), "-m", "unwaver.cli.main", "score", *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)

    return call
