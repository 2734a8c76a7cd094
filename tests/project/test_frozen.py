"""Groups are made once. A source that has changed since is an error that names the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from unwaver.console import Console
from unwaver.errors import DataError, UsageError
from unwaver.groups import is_plain, is_self_certified
from unwaver.project.file import Project, read_project
from unwaver.project.frozen import certified, frozen, read_frozen
from unwaver.types import Group, Item

ROWS = [f"A man number {n} walks in the park.,Somebody {n} is outside.,entailment" for n in range(12)]
TOML = """
[sources.pairs]
from = "pairs.csv"
task = "snli"
variants = ["surface_typo", "surface_case"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    write(tmp_path, ROWS)
    (tmp_path / "unwaver.toml").write_text(TOML)
    return read_project(tmp_path / "unwaver.toml")


def write(folder: Path, rows: list[str]) -> None:
    (folder / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")


def test_made_once(project: Project) -> None:
    (source,) = project.sources
    path = frozen(project, source, Console())
    first, modified = path.read_bytes(), path.stat().st_mtime_ns
    assert frozen(project, source, Console()) == path
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (first, modified)
    groups = read_frozen(project, source)
    assert {g.suite for g in groups} == {"pairs"}
    assert {g.kind for g in groups} == {"surface_typo", "surface_case"}
    assert all(item.role != "judge" for g in groups for item in g.items)
    assert not list(project.folder.glob("runs/**/*.sqlite"))  # nobody was asked


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [*rows[:3], "A man sleeps.,He is awake.,contradiction", *rows[4:]], "line 5 has changed"),
        (lambda rows: [*rows, "A,B,neutral"], "line 14 is new"),
        (lambda rows: rows[:-2], "lines 12, 13 are gone"),
        (
            lambda rows: [row.replace("park", "town") for row in rows],
            "lines 2, 3, 4, 5, 6 and 7 more have changed",
        ),
    ],
)
def test_a_changed_source_is_an_error_that_names_the_rows(
    project: Project, change: Callable[[list[str]], list[str]], told: str
) -> None:
    (source,) = project.sources
    path = frozen(project, source, Console())
    before = path.read_bytes()
    write(project.folder, change(ROWS))
    with pytest.raises(DataError, match=told) as caught:
        frozen(project, source, Console())
    assert "pairs.csv" in str(caught.value)
    assert "--rebuild" in (caught.value.hint or "")
    assert path.read_bytes() == before
    assert frozen(project, source, Console(), rebuild=True).read_bytes() != before


def test_rows_that_moved_are_no_change(project: Project) -> None:
    (source,) = project.sources
    frozen(project, source, Console())
    write(project.folder, ROWS[::-1])
    frozen(project, source, Console())


def test_other_settings_are_told(project: Project) -> None:
    (source,) = project.sources
    frozen(project, source, Console())
    (project.folder / "unwaver.toml").write_text(TOML.replace('"surface_case"', '"surface_space"'))
    changed = read_project(project.path)
    with pytest.raises(UsageError, match="another variants than when its groups were made"):
        frozen(changed, changed.sources[0], Console())


def test_a_source_that_is_gone_or_never_was(project: Project) -> None:
    (source,) = project.sources
    path = project.folder / "pairs.csv"
    text = path.read_text()
    path.unlink()
    with pytest.raises(DataError, match=r"[Nn]o such file"):
        frozen(project, source, Console())
    path.write_text(text)
    frozen(project, source, Console())
    path.unlink()
    with pytest.raises(DataError, match="is gone"):
        frozen(project, source, Console())


def test_a_record_that_was_cut(project: Project) -> None:
    (source,) = project.sources
    frozen(project, source, Console())
    record = project.folder / "unwaver.groups" / "pairs.source.json"
    for text in ("{", "[]", '{"rows": 3}', json.dumps({"rows": {"1": 2}, "made": {}})):
        record.write_text(text)
        with pytest.raises(DataError):
            frozen(project, source, Console())
    record.unlink()
    with pytest.raises(DataError, match="is gone"):
        frozen(project, source, Console())


def test_only_certified_variants_are_kept() -> None:
    original = Item("o", "question", "original", {"question": "a?"})
    kept = Item("k", "question", "variant", {"question": "k?"}, certified=True, certified_by="writer")
    refused = Item("r", "question", "variant", {"question": "r?"})
    judge = Item("j", "question", "judge", {"question": "?"}, ("yes", "no"), ("yes",), judge="hf/x", about="k")
    group = Group("g", "s", "question", "semantic", "same", (original, kept, refused, judge), keep=1)
    lost = Group("h", "s", "question", "semantic", "same", (original, refused, judge), keep=1)
    plain = Group("p", "s", "question", "semantic", "same", (original, refused))
    found = certified([group, lost, plain], {"g": ["k"]})
    assert [(g.id, [i.id for i in g.items], g.keep) for g in found] == [
        ("g", ["o", "k"], None),
        ("p", ["o", "r"], None),
    ]
    assert is_plain(found[0])
    assert is_self_certified(found[0])
