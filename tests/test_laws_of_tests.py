"""Tests that hold on any machine: none measures time, none compares what a model computed to the last digit.

A busy machine is slow and another CPU rounds in another way. See waiting.py for what to do instead of a stopwatch.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLOCKS = {
    "time",
    "monotonic",
    "perf_counter",
    "process_time",
    "thread_time",
    "getloadavg",
    "time_ns",
    "monotonic_ns",
}
SHORTEST = (
    120.0  # seconds that a process of a test may take at least: it imports torch on a machine with other work
)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _reads_a_clock(node: ast.AST, known: set[str]) -> bool:
    for part in ast.walk(node):
        called = part.func if isinstance(part, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in CLOCKS and _name(called.value) in ("time", "os"):
            return True
        if isinstance(part, ast.Name) and part.id in known:
            return True
    return False


def clock_assertions(tree: ast.AST) -> Iterator[int]:
    """Lines that assert something of a clock, or of what was computed from one."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        known: set[str] = set()
        for node in ast.walk(
            function
        ):  # breadth first: an assignment before the assertions that are nested deeper
            if isinstance(node, ast.Assign) and _reads_a_clock(node.value, known):
                known |= {_name(target) for target in node.targets}
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and _reads_a_clock(node.test, known):
                yield node.lineno


def _keywords(call: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _is_number(node: ast.AST) -> bool:
    return all(
        isinstance(part, ast.Constant | ast.List | ast.Tuple | ast.UnaryOp | ast.USub | ast.Load)
        for part in ast.walk(node)
    )


def bare_tolerances(tree: ast.AST) -> Iterator[int]:
    """Lines that compare computed values within an absolute distance alone, whatever their size."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given, called = _keywords(node), _name(node.func)
            if called == "approx" and "abs" in given and "rel" not in given and not _is_number(node.args[0]):
                yield node.lineno
            zero = isinstance(given.get("rtol"), ast.Constant) and getattr(given["rtol"], "value", None) == 0
            if called in ("allclose", "assert_allclose", "isclose") and zero:
                yield node.lineno
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            limit = node.test.comparators[-1]
            small = isinstance(limit, ast.Constant) and isinstance(limit.value, float) and 0 < limit.value < 0.01
            less = isinstance(node.test.ops[-1], ast.Lt | ast.LtE)
            if (
                small
                and less
                and any(_name(p.func) == "abs" for p in ast.walk(node.test) if isinstance(p, ast.Call))
            ):
                yield node.lineno


def short_timeouts(tree: ast.AST) -> Iterator[int]:
    """Lines that give a process of a test less time than a busy machine needs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_process = node.func.attr == "communicate" or _name(node.func.value) == "subprocess"
            limit = _keywords(node).get("timeout")
            if of_process and isinstance(limit, ast.Constant) and float(limit.value) < SHORTEST:  # type: ignore[arg-type]
                yield node.lineno


def _is_about_models(path: Path, text: str) -> bool:
    folder = path.relative_to(HERE).parts[0]
    words = ("import torch", "transformers", "nli_model", "safetensors")
    return folder in ("models", "agree", "train") or any(word in text for word in words)


FILES = sorted(p for p in HERE.rglob("*.py") if p.name != "waiting.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HERE)))
def test_no_test_depends_on_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = [f"{path}:{line}: asserts on the clock: use waiting.py" for line in clock_assertions(tree)]
    found += [f"{path}:{line}: timeout below {SHORTEST:g} s" for line in short_timeouts(tree)]
    if _is_about_models(path, text):
        found += [f"{path}:{line}: add rel=1e-4: sums round by their size" for line in bare_tolerances(tree)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("start = time.monotonic()\nwork()\nassert time.monotonic() - start < 5", clock_assertions),
        ("start = time.time()\ntook = 1000 * (time.time() - start)\nassert took < 5", clock_assertions),
        ("assert time.process_time() < 1", clock_assertions),
        ("assert work() < 15 * os.getloadavg()[0]", clock_assertions),
        ("assert found == pytest.approx(slow(model), abs=1e-4)", bare_tolerances),
        ("assert np.allclose(a, b, rtol=0, atol=1e-5)", bare_tolerances),
        ("assert np.abs(a - b).max() <= 1e-4", bare_tolerances),
        ("assert abs(a - b) < 1e-6", bare_tolerances),
        ("process.communicate(timeout=10)", short_timeouts),
        ("subprocess.run(command, timeout=30)", short_timeouts),
    ],
)
def test_the_laws_see(code: str, rule: object) -> None:
    tree = ast.parse("def test():\n" + textwrap.indent(code, "    "))
    assert list(rule(tree))  # type: ignore[operator]


@pytest.mark.parametrize(
    "code",
    [
        "until = time.monotonic() + 5\nwhile not done() and time.monotonic() < until:\n    pass\nassert done()",
        "assert retry_after('3', 0.0) == 3",
        "assert found == pytest.approx(slow(model), rel=1e-4, abs=1e-4)",
        "assert share == pytest.approx(0.44, abs=0.01)",
        "assert np.allclose(a, b, atol=1e-5)",
        "assert p < 1e-6",
        "event.wait(timeout=5)\nmodel = opened(url, timeout=0.3)",
    ],
)
def test_the_laws_are_no_nuisance(code: str) -> None:
    tree = ast.parse("def test():\n" + textwrap.indent(code, "    "))
    assert not [*clock_assertions(tree), *bare_tolerances(tree), *short_timeouts(tree)]


def test_no_two_files_have_one_name() -> None:
    """pytest imports them by their name alone: it finds the second one only if both are in one run."""
    names = [path.name for path in HERE.rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)
