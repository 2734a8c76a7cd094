"""The version has one place: unwaver.__version__. Whatever else names it says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import unwaver

ROOT = Path(__file__).parent.parent


def test_pyproject_reads_the_version_from_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert source.read_text(encoding="utf-8").count(f'__version__ = "{unwaver.__version__}"') == 1


def test_the_citation_names_this_version() -> None:
    found = re.findall(r"^version: *(\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [unwaver.__version__]


def test_the_changelog_begins_with_this_version() -> None:
    found = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found[0] == unwaver.__version__
