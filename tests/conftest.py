"""Where tests find data and models. What is not there is skipped, and the skip says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# what rules write depends on a WordNet if there is one: tests that are about it name theirs
os.environ["UNWAVER_WORDNET"] = "none"
# a busy machine is no reason to fail
settings.register_profile("unwaver", deadline=None)
settings.load_profile("unwaver")


HEAVY = ("torch", "transformers", "spacy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--light", action="store_true", help="fail where torch, transformers or spaCy is imported")


def _heavy(config: pytest.Config) -> list[str]:
    return [name for name in HEAVY if config.getoption("--light") and name in sys.modules]


def pytest_collection_finish(session: pytest.Session) -> None:
    if found := _heavy(session.config):
        raise pytest.UsageError(f"--light: a test file imports {', '.join(found)} when it is collected")


@pytest.fixture(autouse=True)
def light(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --light, the first test that imports something heavy fails."""
    before = _heavy(request.config)
    yield
    if found := [name for name in _heavy(request.config) if name not in before]:
        pytest.fail(f"--light: this test imported {', '.join(found)}")


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        pytest.skip(f"{variable} is not set to a folder")
    return Path(value)


@pytest.fixture(scope="session")
def data() -> Path:
    return _folder("UNWAVER_DATA")


@pytest.fixture(scope="session")
def nli_model() -> Path:
    folder = _folder("UNWAVER_MODELS") / "nli-minilm"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real llama.cpp server, one for all workers of a test run."""
    import llama_cpp

    if reason := llama_cpp.why_not():
        pytest.skip(reason)
    base = tmp_path_factory.getbasetemp()
    try:
        with llama_cpp.shared((base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "llama") as url:
            yield url
    except llama_cpp.NoServer as e:
        pytest.skip(str(e))


@pytest.fixture(autouse=True)
def no_secrets_left() -> Iterator[None]:
    """What one test gave as a key is no secret to the next."""
    yield
    if "unwaver.secrets" in sys.modules:
        sys.modules["unwaver.secrets"].forget()


@pytest.fixture
def unwaver(tmp_path: Path) -> Any:
    """The command line as a user has it: unwaver("run", "sample") -> CompletedProcess, in an empty folder."""

    def call(*args: object, env: dict[str, str] | None = None, timeout: float = 600, **options: Any) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "unwaver.cli.main", *map(str, args)],
            capture_output=True,
            text=True,
            cwd=options.pop("cwd", tmp_path),
            env={**os.environ, "COLUMNS": "100", **(env or {})},
            timeout=timeout,
            **options,
        )

    return call


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line without a process of its own: call("run", "x") -> (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: str) -> tuple[int, str, str]:
        from unwaver.cli.main import main

        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return called


@pytest.fixture
def scores(unwaver: Any) -> Any:
    """The scores of a call that must succeed."""

    def call(*args: object, **options: Any) -> list[dict[str, Any]]:
        done = unwaver(*args, "--json", **options)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["scores"]
        return found

    return call
