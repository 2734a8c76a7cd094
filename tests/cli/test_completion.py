"""Completion, driven as shells drive it: words in the environment, one offer a line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unwaver.cli.completion import by_parts

CODE = """
import sys
from unwaver.cli.main import main
try:
    main([])
except SystemExit:
    pass
heavy = [m for m in ("numpy", "polars", "scipy", "torch", "transformers", "rich", "httpx") if m in sys.modules]
assert not heavy, heavy
"""


def offered(line: str, folder: Path, shell: str = "bash") -> list[str]:
    """What the shell is told at the end of a line; a space at its end begins a new word."""
    words = shlex.split(line) + [""] * line.endswith(" ")
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"COMP_WORDS": line, "COMP_CWORD": place, "_UNWAVER_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **asked},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def plain(line: str, folder: Path) -> list[str]:
    return [value for kind, _, value in (x.partition(",") for x in offered(line, folder)) if kind == "plain"]


@pytest.mark.parametrize(
    ("line", "expected"),
    {
        "unwaver re": ["report", "review"],
        "unwaver run becel/s": ["becel/snli", "becel/sst2"],
        "unwaver run sample calm/mnli/": ["calm/mnli/reverse", "calm/mnli/signal"],
        "unwaver run sens": ["sensitivity", *(f"sensitivity/{t}" for t in ("snli", "mnli", "anli-r1", "anli-r2", "anli-r3"))],
        "unwaver run sample --model fak": ["fake/constant", "fake/random", "fake/keyword", "fake/oracle"],
        "unwaver run sample --model hf/mod": ["hf/models", "hf/models/mrpc", "hf/models/snli"],
        "unwaver run sample --model h": ["hf/", "human/"],
        "unwaver run --max-": ["--max-calls", "--max-cost"],
        "unwaver run mine.csv --variants surface_s": ["surface_space", "surface_spelling"],
        "unwaver build ne": ["negate"],
        "unwaver analyse s": ["series", "sizes", "split"],
        "unwaver analyse distance paranlu/": ["paranlu/anli", "paranlu/snli", "paranlu/atomic", "paranlu/social"],
        "unwaver list var": ["variants"],
        "unwaver run --cut ": ["exclude", "keep"],
        "unwaver run unknown/": [],
    }.items(),
)  # fmt: skip
def test_offers(line: str, expected: list[str], tmp_path: Path) -> None:
    for name in ("mrpc", "snli"):
        (tmp_path / "models" / name).mkdir(parents=True)
    assert plain(line, tmp_path) == expected


def test_suites_and_files_are_offered_together(tmp_path: Path) -> None:
    """bash forgets what came before a file item: it must be the first."""
    assert offered("unwaver run bec", tmp_path)[:2] == ["file,bec", "plain,becel"]
    assert offered("unwaver show ru", tmp_path) == ["file,ru"]


def test_zsh_and_fish_are_told_the_same(tmp_path: Path) -> None:
    assert offered("unwaver run becel/sn", tmp_path, "zsh")[3:6] == ["plain", "becel/snli", "_"]
    assert "plain,becel/snli" in offered("unwaver run becel/sn", tmp_path, "fish")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_real_bash_completes(tmp_path: Path) -> None:
    (tmp_path / "unwaver").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m unwaver "$@"\n')
    (tmp_path / "unwaver").chmod(0o755)
    script = """
eval "$(_UNWAVER_COMPLETE=bash_source unwaver)"
COMP_WORDS=(unwaver run becel/s) COMP_CWORD=2
_unwaver_completion unwaver 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=600)
    if "Shell completion is not supported for Bash" in done.stderr:
        pytest.skip("bash is older than 4.4")
    assert done.stdout.split() == ["becel/snli", "becel/sst2"], done.stderr


def test_parts() -> None:
    tree = {"a": {"b": {"c": {}}, "d": {}}, "ab": {}}
    assert by_parts(tree, "") == ["a", "ab"]
    assert by_parts(tree, "a/") == ["a/b", "a/d"]
    assert by_parts(tree, "a/b") == ["a/b", "a/b/c"]
    assert by_parts(tree, "x/y") == []
