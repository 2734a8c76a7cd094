"""The rooms of the house: who may import whom. The folders are the architecture, and this holds their order."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unwaver

HOME = Path(unwaver.__file__).parent
# a room imports only rooms before it, also inside functions
ORDER = [
    "top",
    "stats",
    "text",
    "tasks",
    "groups",
    "answers",
    "models",
    "variants",
    "suites",
    "metrics",
    "asking",
    "logs",
    "agree",
    "engine",
    "verdicts",
    "analysis",
    "reports",
    "train",
    "study",
    "cli",
]
# faces import any room, lazily, and no room imports them
FACES = ("__init__.py", "__main__.py", "pytest_plugin.py")
# printing a result is what a notebook expects of it
ALLOWED = {("result.py", "unwaver.reports.terminal")}


def room_of(module: str) -> str:
    """room_of("unwaver.stats.paired") -> "stats"; room_of("unwaver.types") -> "top"."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (HOME / parts[1]).is_dir() else "top"


def imported(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every module of ours that a source imports, wherever it does."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.partition(".")[0] == "unwaver")
        elif isinstance(node, ast.ImportFrom) and node.module == "unwaver":
            yield from ((node.lineno, f"unwaver.{a.name}") for a in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unwaver."):
            yield node.lineno, str(node.module)


def forbidden(name: str, text: str) -> list[str]:
    """The imports of a file that point upwards: "stats/x.py:3 unwaver.engine.runs"."""
    own = name.partition("/")[0] if "/" in name else "top"
    return [
        f"{name}:{line} {module}"
        for line, module in imported(text)
        if (ORDER.index(room_of(module)) > ORDER.index(own) or module.endswith("pytest_plugin"))
        and (name, module) not in ALLOWED
    ]


def files() -> list[str]:
    return sorted(str(path.relative_to(HOME)) for path in HOME.rglob("*.py"))


def test_rooms_import_only_rooms_before_them() -> None:
    checked = [name for name in files() if name not in FACES and not name.startswith("cli/")]
    found = [line for name in checked for line in forbidden(name, (HOME / name).read_text(encoding="utf-8"))]
    assert found == []


def test_every_folder_is_a_room_in_the_order() -> None:
    rooms = {path.parent.name for path in HOME.glob("*/__init__.py")}
    assert rooms == set(ORDER) - {"top"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stats/new.py", "from unwaver.engine import runs"),
        ("types.py", "import unwaver.stats"),
        ("metrics/new.py", "def f():\n    from unwaver.reports.terminal import rows"),
        ("answers/new.py", "from unwaver import pytest_plugin"),
        ("reports/new.py", "from unwaver.cli.main import main"),
    ],
)
def test_the_law_sees_what_is_forbidden(name: str, text: str) -> None:
    assert len(forbidden(name, text)) == 1


def test_the_law_leaves_alone_what_is_allowed() -> None:
    assert (
        forbidden("engine/new.py", "from unwaver.stats import mean\nimport json\nfrom unwaver import registry")
        == []
    )


PUBLIC = """
import importlib, pkgutil
import unwaver
for module in pkgutil.walk_packages(unwaver.__path__, "unwaver."):
    if module.name != "unwaver.__main__":
        importlib.import_module(module.name)
for name in unwaver.__all__:
    value = getattr(unwaver, name)
    assert name[0].isupper() or name.startswith("_") or callable(value), (name, value)
print("fine")
"""


def test_no_module_hides_a_public_function() -> None:
    """Once imported, a submodule is an attribute of the package, and would stand before a function of its name."""
    done = subprocess.run([sys.executable, "-c", PUBLIC], capture_output=True, text=True, timeout=600)
    assert done.stdout == "fine\n", done.stderr
    names = {module.name for module in pkgutil.iter_modules(unwaver.__path__)}
    assert not names & {"run", "score", "compare", "gate", "report", "show", "build"}
    assert importlib.import_module("unwaver.stats")
