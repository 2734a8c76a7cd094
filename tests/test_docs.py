"""The documentation, executed.

Blocks of one page run in order, in one folder that holds the page's files and nothing else:

    ```python           runs; names stay for the blocks below
    ```python name.py   is written to that file (any language with a file name is)
    ```console          lines with `$ unwaver` run; what stands below must be what comes out, `…` standing
                        for any lines; `[exit 3]` is the exit code, else it is 0
    ```sh               runs likewise, unless it begins with `# not run`
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
import shlex
import signal
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import unwaver
from unwaver import catalog, registry
from unwaver.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {
    page.name: page.read_text(encoding="utf-8")
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
}
ALL = "\n".join(TEXTS.values())
NOT_RUN = "# not run"


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    file: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w*)[ \t]*(\S*)\n(.*?)^```$", TEXTS[page], re.MULTILINE | re.DOTALL):
        line = TEXTS[page].count("\n", 0, found.start()) + 1
        yield Block(page, line, *found.groups())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, as a user's: on the path of Python, and nothing of it left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("UNWAVER_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before, on_term = set(sys.modules), signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, on_term)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    registry.names.cache_clear()


@pytest.mark.parametrize("page", [p.name for p in PAGES])
def test_blocks_run(page: str, folder: Path) -> None:
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    if (folder / "pyproject.toml").exists():
        pretend_to_install(folder)
    importlib.invalidate_caches()
    names: dict[str, object] = {"__name__": "docs"}
    for block in blocks(page):
        if block.file or block.text.startswith(NOT_RUN):
            continue
        if block.language == "python":
            code = compile("\n" * block.line + block.text, block.page, "exec")
            with redirect_stdout(io.StringIO()):
                exec(code, names)
        elif block.language in ("console", "sh"):
            for command, expected in commands(block):
                check(block, command, expected)


def pretend_to_install(folder: Path) -> None:
    """What `pip install` leaves of a pyproject.toml: the entry points."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    registry.names.cache_clear()


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines below it; in an `sh` block lines are commands, without `$`."""
    command, expected = None, list[str]()
    for line in block.text.splitlines():
        if line.startswith("$ ") or block.language == "sh":
            if command:
                yield command, expected
            command, expected = line.removeprefix("$ "), []
        else:
            expected.append(line)
    if command:
        yield command, expected


def check(block: Block, command: str, expected: list[str]) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "unwaver", f"{block.page}:{block.line}: {command} is no command of ours: mark it {NOT_RUN}"
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as left:
        main(words[1:])
    codes = [int(m[1]) for m in (re.fullmatch(r"\[exit (\d+)\]", line) for line in expected) if m]
    said = f"{block.page}:{block.line}: $ {command}\n{out.getvalue()}"
    assert left.value.code == (codes[0] if codes else 0), said
    wanted = [line for line in map(plain, expected) if line and not line.startswith("[exit ")]
    got = [line for line in map(plain, out.getvalue().splitlines()) if line]
    assert not wanted or matches(wanted, got), said


def plain(line: str) -> str:
    return re.sub(r"─+", "─", " ".join(line.split()))


def matches(wanted: list[str], got: list[str]) -> bool:
    """`…` alone stands for any lines, at the end of a line for any rest of it."""
    if not wanted:
        return not got
    if wanted[0] == "…":
        return any(matches(wanted[1:], got[i:]) for i in range(len(got) + 1))
    if not got:
        return False
    head = wanted[0].endswith("…") and got[0].startswith(wanted[0].removesuffix("…").rstrip())
    return (head or wanted[0] == got[0]) and matches(wanted[1:], got[1:])


def test_matching_is_strict() -> None:
    assert matches(["a", "…", "c"], ["a", "b", "b", "c"])
    assert matches(["a …"], ["a b"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["a", "…", "d"], ["a", "b"])


def test_few_blocks_are_not_run() -> None:
    found = [block for page in TEXTS for block in blocks(page)]
    left_out = [block for block in found if block.text.startswith(NOT_RUN)]
    assert len(left_out) <= 8
    assert len(found) - len(left_out) >= 40


def test_examples_are_short() -> None:
    for block in blocks("extending.md"):
        assert len(block.text.splitlines()) <= 30, f"{block.file} has {len(block.text.splitlines())} lines"


def test_every_option_is_described() -> None:
    for verb in ("run", "score", "show", "report", "compare", "gate"):
        command = importlib.import_module(f"unwaver.cli.{verb}_verb").command
        options = {o for p in command.params for o in p.opts if o.startswith("--")}
        missing = [o for o in sorted(options) if not re.search(rf"{o}(?![\w-])", ALL)]
        assert not missing, f"unwaver {verb}: no page mentions {', '.join(missing)}"


@pytest.mark.parametrize("provider", [p for p in catalog.MODELS if p != "demo"])
def test_every_option_of_a_model_is_described(provider: str) -> None:
    """In the section of its provider. `wait` stands in for sleeping, in tests."""
    section = TEXTS["models.md"].split(f"## {provider}", 1)[1].split("\n## ", 1)[0]
    parameters = inspect.signature(registry.find("models", provider)).parameters.values()
    options = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"wait"}
    assert not {o for o in options if f"`{o}`" not in section}


def general_name(metric: str) -> str:
    """ "Cons_exact@0.5" -> "Cons_<agreement>@t" """
    if not metric.startswith(("Cons_exact", "Cons_normalised")):
        return metric
    return re.sub(r"@[\d.]+$", "@t", re.sub(r"^Cons_(exact|normalised)", "Cons_<agreement>", metric))


def test_every_metric_is_described(folder: Path) -> None:
    result = unwaver.run("sample", "fake/random")
    described = TEXTS["methods.md"] + TEXTS["text.md"]
    assert not {s.metric for s in result if f"`{general_name(s.metric)}`" not in described}
    assert {s.metric for s in result} >= {"tau", "C_R", "C_S@0.9", "entropy_consistent"}


def test_every_field_is_described(folder: Path) -> None:
    place = unwaver.run("sample/snli", "fake/random", limit=2).folder
    assert place is not None
    run = json.loads((place / "run.json").read_text())
    score = json.loads((place / "scores.json").read_text())["scores"][0]
    group = json.loads((place / "groups.jsonl").read_text().splitlines()[0])
    from unwaver.answers.schema import SCHEMA

    fields = {*run, *run["config"], *run["models"][0], *run["spent"], *score, *group, *group["items"][0], *SCHEMA}
    assert not {f for f in fields if f"`{f}`" not in TEXTS["formats.md"]}


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page.name]):
            if re.match(r"[a-z]+://", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page.name}: {target}"


def anchors(text: str) -> set[str]:
    """As GitHub makes them: "How it is `made`, exactly" -> how-it-is-made-exactly."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


def test_public_names_are_listed() -> None:
    section = TEXTS["extending.md"].split("## Public names", 1)[1]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(unwaver.__all__)
    for name in unwaver.__all__:
        assert getattr(unwaver, name) is not None


def test_every_page_is_linked_and_speaks_to_everyone() -> None:
    for page in PAGES[1:]:
        assert f"(docs/{page.name})" in TEXTS["README.md"]
    assert not re.search(r"/(work|root|home|tmp)/", ALL)


def test_the_first_pages_are_short() -> None:
    assert TEXTS["README.md"].count("\n") <= 150
    assert TEXTS["README.md"].index("](docs/pictures/") < TEXTS["README.md"].index("\n## "), (
        "one on the first screen"
    )
    assert TEXTS["glossary.md"].count("\n") <= 60


# turns of phrase that make a reader read twice
ODD = re.compile(
    r"\b(is told|are told|told apart|so many|[Ll]ikewise|anew|at hand|held against|[Ll]ikeliest"
    r"|[Ss]tands (below|beside|there|for|in)|(?<![Tt]here )is no (?!longer|more|better|worse|less)[a-z]+)\b"
)


@pytest.mark.parametrize("page", TEXTS)
def test_prose_is_plain(page: str) -> None:
    assert [found.group() for found in ODD.finditer(TEXTS[page])] == []


def test_pictures_fetch_nothing() -> None:
    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert not re.search(r"url\(['\"]?https?:|href=['\"]https?:", text)


def test_promises_name_files_that_exist() -> None:
    named = re.findall(r"`((?:tests|torture)/[\w/]+\.py)`", TEXTS["reliability.md"])
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
