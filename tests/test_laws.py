"""The laws of the house: which room may import which, how long a file and how complex a function may be.

Each law is a function of a folder of sources, so that the tests below can show that it fails on made-up ones.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import pkgutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

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
    "people",
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
    "project",
    "train",
    "study",
    "web",
    "cli",
]
# faces import any room, lazily, and no room imports them
FACES = ("__init__.py", "__main__.py", "api.py", "pytest_plugin.py")
# printing a result is what a notebook expects of it
ALLOWED = {("result.py", "unwaver.reports.in_python")}
MOST_LINES = 400  # of code in a file: not blank, no comment, no docstring
MOST_COMPLEX = 12  # by ruff's C901


# --- imports -----------------------------------------------------------------------------------------------------


def room_of(module: str) -> str:
    """room_of("unwaver.stats.paired") -> "stats"; room_of("unwaver.types") -> "top"."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else "top"


def absolute(name: str, node: ast.ImportFrom) -> str:
    """The module of a from-import: in stats/x.py, `from ..engine import runs` -> "unwaver.engine"."""
    if not node.level:
        return node.module or ""
    folders = ["unwaver", *Path(name).parent.parts]
    return ".".join([*folders[: len(folders) + 1 - node.level], *([node.module] if node.module else [])])


def imported(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every module of ours that a source imports, wherever it does."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(name, node)
            found = [f"unwaver.{a.name}" for a in node.names] if module == "unwaver" else [module]
        else:
            continue
        yield from ((node.lineno, module) for module in found if module.partition(".")[0] == "unwaver")


def is_face(module: str) -> bool:
    """The package itself and what it offers to users; its version is no more than a text."""
    return module == "unwaver" or module.removeprefix("unwaver.") in {
        "api",
        "pytest_plugin",
        "__main__",
        *(name for name in unwaver.__all__ if name != "__version__"),
    }


def forbidden(name: str, text: str) -> list[str]:
    """The imports of a file that point upwards: "stats/x.py:3 unwaver.engine.runs"."""
    own = name.partition("/")[0] if "/" in name else "top"
    return [
        f"{name}:{line} {module}"
        for line, module in imported(name, text)
        if (ORDER.index(room_of(module)) > ORDER.index(own) or is_face(module)) and (name, module) not in ALLOWED
    ]


def sources(home: Path) -> dict[str, str]:
    """Every source by its place: "stats/paired.py"."""
    return {
        path.relative_to(home).as_posix(): path.read_text(encoding="utf-8") for path in sorted(home.rglob("*.py"))
    }


def forbidden_imports(home: Path) -> list[str]:
    rooms = {name: text for name, text in sources(home).items() if name not in FACES and name[:4] != "cli/"}
    return [line for name, text in rooms.items() for line in forbidden(name, text)]


def strange_rooms(home: Path) -> set[str]:
    """Folders with sources that have no place in the order."""
    return {name.partition("/")[0] for name in sources(home) if "/" in name} - set(ORDER)


# --- size and complexity -----------------------------------------------------------------------------------------


def lines_of_code(text: str) -> int:
    """Lines that are not blank, comment or docstring."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                told.update(range(first.lineno, (first.end_lineno or 0) + 1))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in empty:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - told)


def long_files(home: Path) -> dict[str, int]:
    """Files above the limit, with their lines of code."""
    return {name: n for name, text in sources(home).items() if (n := lines_of_code(text)) > MOST_LINES}


def complex_functions(home: Path) -> set[str]:
    """Functions above the limit: "config.py: _check_config". A `noqa` does not hide one."""
    limit = f"lint.mccabe.max-complexity={MOST_COMPLEX}"
    options = ["--isolated", "--no-cache", "--ignore-noqa", "--select", "C901", "--config", limit]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *options, "--exit-zero", "--output-format", "json", str(home)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = ((Path(hit["filename"]), hit["message"]) for hit in json.loads(done.stdout))
    return {f"{path.relative_to(home.resolve()).as_posix()}: {told.split('`')[1]}" for path, told in found}


# --- the house keeps them ----------------------------------------------------------------------------------------


def test_rooms_import_only_rooms_before_them() -> None:
    assert forbidden_imports(HOME) == []


def test_every_folder_is_a_room_in_the_order() -> None:
    assert strange_rooms(HOME) == set()
    assert {path.parent.name for path in HOME.glob("*/__init__.py")} == set(ORDER) - {"top"}


def test_no_file_is_too_long() -> None:
    assert long_files(HOME) == {}


def test_no_function_is_too_complex() -> None:
    assert complex_functions(HOME) == set()


# --- tests mirror the rooms --------------------------------------------------------------------------------------

TESTS = Path(__file__).parent
NO_ROOMS = {"e2e", "papers"}  # the command line from outside, and published numbers


def test_every_room_has_its_tests() -> None:
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert folders == set(ORDER) - {"top"} | NO_ROOMS


def misplaced(tests: Path) -> list[str]:
    """Files in a room's folder that use other rooms and neither this one nor the public face."""
    found = []
    for path in sorted(tests.glob("*/test_*.py")):
        text, own = path.read_text(encoding="utf-8"), path.parent.name
        rooms = {room_of(module) for _, module in imported("cli/x.py", text)} - {"top"}
        by_the_face = "import unwaver\n" in text or "unwaver: Any" in text
        if own not in NO_ROOMS and rooms and own not in rooms and not by_the_face:
            found.append(f"{own}/{path.name}")
    return found


def test_a_test_lies_in_the_folder_of_what_it_tests() -> None:
    assert misplaced(TESTS) == []


def test_a_misplaced_test_is_seen(tmp_path: Path) -> None:
    write(tmp_path, "stats/test_new.py", "from unwaver.text.shown import safe\n")
    write(tmp_path, "text/test_new.py", "from unwaver.text.shown import safe\nfrom unwaver.stats import mean\n")
    assert misplaced(tmp_path) == ["stats/test_new.py"]


# --- and would be caught if it did not ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stats/new.py", "from unwaver.engine import runs"),
        ("types.py", "import unwaver.stats"),
        ("metrics/new.py", "def f():\n    from unwaver.reports.terminal import rows"),
        ("answers/new.py", "from unwaver import pytest_plugin"),
        ("reports/new.py", "from unwaver.cli.main import main"),
        ("stats/new.py", "from unwaver import engine"),
        ("stats/new.py", "from ..engine import runs"),
        ("stats/new.py", "from .. import engine"),
        ("variants/rules/new.py", "from ...suites.select import cases"),
        ("reports/new.py", "import unwaver"),
        ("reports/new.py", "from unwaver import score"),
        ("logs/new.py", "if TYPE_CHECKING:\n    import unwaver.agree.nli as nli"),
    ],
)
def test_a_forbidden_import_is_seen(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, name, text)
    assert len(forbidden_imports(tmp_path)) == 1


def test_an_allowed_import_is_left_alone(tmp_path: Path) -> None:
    fine = "import json\nfrom unwaver import __version__, registry\nfrom unwaver.stats import mean\n"
    write(tmp_path, "engine/new.py", fine + "from . import folder\nfrom ..stats import paired\n")
    write(tmp_path, "cli/new_verb.py", "import unwaver")
    write(tmp_path, "__init__.py", "from unwaver.engine.runs import run")
    assert forbidden_imports(tmp_path) == []


def test_a_new_folder_is_seen(tmp_path: Path) -> None:
    write(tmp_path, "helpers/new.py", "")
    assert strange_rooms(tmp_path) == {"helpers"}


def test_a_long_file_is_seen(tmp_path: Path) -> None:
    code = "x = 1\n" * (MOST_LINES - 3) + 'y = """\n\n"""\n'
    write(tmp_path, "stats/fits.py", '"""Says\n\nwhat."""\n\n' + "# why\n" * 50 + code)
    write(tmp_path, "stats/long.py", code + "z = 1\n")
    write(tmp_path, "stats/told.py", code + 'def f():\n    """One.\n\n    Two."""\n')
    assert long_files(tmp_path) == {"stats/long.py": MOST_LINES + 1, "stats/told.py": MOST_LINES + 1}


def test_a_complex_function_is_seen(tmp_path: Path) -> None:
    def function(name: str, branches: int, after: str = "") -> str:
        return f"def {name}(x):{after}\n" + "".join(
            f"    if x == {n}:\n        return {n}\n" for n in range(branches)
        )

    write(tmp_path, "stats/new.py", function("fits", MOST_COMPLEX - 1) + function("tangled", MOST_COMPLEX))
    write(tmp_path, "variants/new.py", function("hidden", MOST_COMPLEX, "  # noqa: C901"))
    assert complex_functions(tmp_path) == {"stats/new.py: tangled", "variants/new.py: hidden"}


def write(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text, encoding="utf-8")


# --- public names ------------------------------------------------------------------------------------------------

PUBLIC = """
import importlib, pkgutil
import unwaver
for module in pkgutil.walk_packages(unwaver.__path__, "unwaver."):
    if module.name != "unwaver.__main__":
        importlib.import_module(module.name)
for name in unwaver.__all__:
    value = getattr(unwaver, name)
    assert name[0].isupper() or name.startswith("_") or callable(value), (name, value)
result = unwaver.run("sample/snli", "fake/constant", limit=2, out="run")
assert unwaver.score(result.folder).find("tau", kind="semantic").groups == 2
assert len(unwaver.show("run", everything=True)) == 8
assert unwaver.report("run", format="csv").text
assert unwaver.compare(result, result).rows
assert unwaver.gate("run", "tau<=0.1").checks
rows = [{"premise": "A man walks.", "hypothesis": "A man moves.", "label": "entailment"}]
assert unwaver.build("surface_case", rows, task="snli", out="groups.jsonl").kinds == {"surface_case": 1}
try:
    unwaver.check()
except unwaver.UnwaverError as error:
    assert "unwaver init" in str(error)
print("fine")
"""


def test_no_module_hides_a_public_function(tmp_path: Path) -> None:
    """Once imported, a submodule is an attribute of the package, and would stand before a function of its name."""
    done = subprocess.run(
        [sys.executable, "-c", PUBLIC], capture_output=True, text=True, timeout=600, cwd=tmp_path
    )
    assert done.stdout == "fine\n", done.stderr
    names = {module.name for module in pkgutil.iter_modules(unwaver.__path__)}
    assert not names & {"run", "score", "compare", "gate", "report", "show", "build", "check"}
    assert importlib.import_module("unwaver.stats")


# --- bench and torture, which tests run only in part ---------------------------------------------------------------


SCRIPTS = sorted(path for name in ("bench", "torture") for path in (TESTS.parent / name).glob("*.py"))


def unknown_names(name: str, text: str) -> list[str]:
    """Names that a script takes from unwaver and that are not there."""
    tree, modules, missing = ast.parse(text), {}, []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("unwaver"):
            continue
        for alias in node.names:
            try:
                found = getattr(importlib.import_module(str(node.module)), alias.name, None)
                found = found or importlib.import_module(f"{node.module}.{alias.name}")
            except ModuleNotFoundError as e:  # a library that is not installed here is another matter
                if str(e.name).startswith("unwaver"):
                    missing.append(f"{name}:{node.lineno}: {node.module}.{alias.name}")
                continue
            if isinstance(found, ModuleType):
                modules[alias.asname or alias.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module is not None and not hasattr(module, node.attr):
                missing.append(f"{name}:{node.lineno}: {node.value.id}.{node.attr}")
    return missing


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_bench_and_torture_use_names_that_are_there(script: Path) -> None:
    assert not unknown_names(script.name, script.read_text())


def test_an_unknown_name_is_seen() -> None:
    text = "from unwaver.variants import surface\nfrom unwaver.types import Itm\nsurface.surface_options()\n"
    found = ["x.py:2: unwaver.types.Itm", "x.py:3: surface.surface_options"]
    assert unknown_names("x.py", text) == found
