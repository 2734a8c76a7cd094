"""The fixture for tests of models, in a pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = """
import pytest

def steady(requests):
    return ["yes"] * len(requests)

def by_length(requests):
    return ["yes" if len(r["prompt"]) % 2 else "no" for r in requests]

OPTIONS = {"labels": ("yes", "no")}

def test_steady(unwaver):
    result = unwaver.assert_consistent(steady, "q.csv", max_tau=0.1, **OPTIONS)
    assert result.find("tau").value == 0.0

def test_unsteady(unwaver):
    unwaver.assert_consistent(by_length, "q.csv", max_tau=0.1, **OPTIONS)

def test_too_few(unwaver):
    unwaver.assert_consistent("fake/constant", "q.csv", max_tau=0.1, limit=5, max_calls=100, **OPTIONS)

def test_too_few_but_allowed(unwaver):
    unwaver.assert_consistent("fake/constant", "q.csv", max_tau=0.1, limit=5, allow_undecided=True, **OPTIONS)

def test_missing_metric(unwaver):
    unwaver.assert_consistent(steady, "q.csv", min_P_C=0.85, **OPTIONS)

def test_until(unwaver):
    result = unwaver.assert_consistent(steady, "q.csv", max_tau=0.1, until="tau<=0.1", **OPTIONS)
    assert result.run["until"]["saved"] > 0

def test_bars_of_a_file_and_a_baseline(unwaver, tmp_path):
    first = unwaver.assert_consistent(steady, "q.csv", bars="bars.toml", out=str(tmp_path / "a"), **OPTIONS)
    unwaver.assert_consistent(steady, "q.csv", baseline=first.folder, max_drop=0.05, out=str(tmp_path / "b"), **OPTIONS)

def test_bars_as_they_are_written(unwaver):
    from unwaver import Bar
    for bars in ("tau<=0.10", ["tau <= 10 %"], [Bar("tau", "<=", 0.1)]):
        unwaver.assert_consistent(steady, "q.csv", bars=bars, **OPTIONS)

def test_a_bar_that_is_missed(unwaver):
    unwaver.assert_consistent(by_length, "q.csv", bars=["tau<=0.1"], **OPTIONS)

def test_typo(unwaver):
    from unwaver.errors import UnwaverError
    with pytest.raises((TypeError, UnwaverError)):
        unwaver.assert_consistent(steady, "q.csv", maximum_tau=0.1, **OPTIONS)

def test_nonsense_is_no_verdict(unwaver):
    from unwaver.errors import UsageError
    for bars in ({"max_tua": 0.1}, {"max_tau": "low"}, {"max_tau<": 0.1}, {"max_": 0.1}, {"max_drop": "tau>0.1"},
                 {"bars": ["tau=0.1"]}, {"bars": "tau=0.1"}, {"bars": [0.1]}, {}):
        with pytest.raises(UsageError):
            unwaver.assert_consistent(steady, "q.csv", **bars, **OPTIONS)
"""


@pytest.fixture
def inner(tmp_path: Path) -> Any:
    """pytest in a folder of its own, with what an installation leaves: an entry point."""
    info = tmp_path / "site" / "unwaver_entry-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unwaver-entry\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nunwaver = unwaver.pytest_plugin\n")
    place = tmp_path / "project"
    place.mkdir()
    (place / "bars.toml").write_text('["*"]\nmax = {tau = 0.1}\n')
    lines = [f"Is {i} a number?,Would you call {'number ' * (i % 2)}{i} one?" for i in range(80)]
    (place / "q.csv").write_text("\n".join(["question,paraphrase", *lines]) + "\n")

    def call(text: str, *args: str) -> Any:
        (place / "test_models.py").write_text(text)
        path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rA", *args]
        env = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, capture_output=True, text=True, cwd=place, env=env, timeout=600)

    return call


def test_the_fixture(inner: Any) -> None:
    done = inner(TESTS)
    results = {
        line.split("::")[1].split(" ")[0]: line.split(" ")[0]
        for line in done.stdout.splitlines()
        if line.startswith(("PASSED", "FAILED", "ERROR"))
    }
    assert results == {
        "test_steady": "PASSED",
        "test_unsteady": "FAILED",
        "test_too_few": "FAILED",
        "test_too_few_but_allowed": "PASSED",
        "test_missing_metric": "FAILED",
        "test_until": "PASSED",
        "test_bars_of_a_file_and_a_baseline": "PASSED",
        "test_bars_as_they_are_written": "PASSED",
        "test_a_bar_that_is_missed": "FAILED",
        "test_typo": "PASSED",
        "test_nonsense_is_no_verdict": "PASSED",
    }, done.stdout
    assert "not consistent enough: fail" in done.stdout
    assert "tau <= 0.1: tau is" in done.stdout
    assert "more groups would decide" in done.stdout
    assert "nothing here has P_C" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # the failure is about the model, not about our code


def test_the_page_about_gates(inner: Any, tmp_path: Path) -> None:
    """Its example is run here: a pytest inside a pytest would find the fixtures of the outer one."""
    page = (Path(__file__).parent.parent / "docs" / "gate.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^```python (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    (tmp_path / "project" / "models.py").write_text(files["models.py"])
    lines = [f"Is shop {n} open today?,Can one visit shop {n} today?,yes" for n in range(1000)]
    (tmp_path / "project" / "questions.csv").write_text("\n".join(["question,paraphrase,gold", *lines]) + "\n")
    done = inner(files["test_consistency.py"])
    assert "1 passed" in done.stdout, done.stdout


FUNCTIONS = """
import asyncio
import pytest

OPTIONS = {"labels": ("yes", "no"), "bars": "tau<=0.1"}

def plain(prompt: str) -> str:
    return "yes"

async def waiting(prompt: str) -> str:
    await asyncio.sleep(0)
    return "yes"

def unsaid(prompt):
    raise AssertionError("called to find out")

def torn(prompt: str) -> str:
    return "no" if "call" in prompt else "yes"

def test_plain(unwaver):
    unwaver.assert_consistent(plain, "q.csv", **OPTIONS)

def test_a_lambda(unwaver):
    unwaver.assert_consistent(lambda p: "yes", "q.csv", per_item=True, **OPTIONS)

def test_waiting(unwaver):
    unwaver.assert_consistent(waiting, "q.csv", **OPTIONS)

def test_in_a_running_loop(unwaver):
    async def inside():
        unwaver.assert_consistent(waiting, "q.csv", **OPTIONS)
    asyncio.run(inside())

def test_two_models_in_one_test(unwaver):
    assert unwaver.assert_consistent(plain, "q.csv", **OPTIONS).folder != unwaver.assert_consistent(waiting, "q.csv", **OPTIONS).folder
    assert unwaver.assert_consistent(plain, "q.csv", **OPTIONS).folder.name == "unwaver"

def test_rows_in_memory(unwaver):
    rows = [{"question": f"Is it {n}?", "paraphrase": f"Would it be {n}?"} for n in range(60)]
    unwaver.assert_consistent(plain, rows, **OPTIONS)

def test_unsaid(unwaver):
    unwaver.assert_consistent(unsaid, "q.csv", **OPTIONS)

def test_broken(unwaver):
    unwaver.assert_consistent(torn, "q.csv", **OPTIONS)

def test_base_url(unwaver):
    from unwaver import UnwaverError
    with pytest.raises(UnwaverError, match="127.0.0.1:9"):
        unwaver.assert_consistent("openai/m", "q.csv", base_url="http://127.0.0.1:9/v1", model_args={"retries": 0}, **OPTIONS)
"""


def test_functions_and_what_a_failure_shows(inner: Any) -> None:
    done = inner(FUNCTIONS)
    failed = re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)
    assert failed == ["test_unsaid", "test_broken"], done.stdout
    assert "2 failed, 7 passed" in done.stdout
    assert "called to find out" not in done.stdout
    assert "def answer(prompt: str) -> str or add per_item=True" in done.stdout
    assert "broken groups:" in done.stdout
    assert "Is 0 a number?  →  yes" in done.stdout
    assert "Would you call 0 one?  →  no" in done.stdout
    assert "and 77 more broken groups: result.broken() has all of them" in done.stdout


def test_it_costs_nothing_where_it_is_not_used(inner: Any) -> None:
    done = inner("import sys\ndef test_it():\n    assert not {'polars', 'torch', 'scipy'} & set(sys.modules)\n")
    assert done.returncode == 0, done.stdout
