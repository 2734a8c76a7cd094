"""What others build on: the names of `unwaver`, the groups of entry points, and the optional parts of a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unwaver
from unwaver import registry
from unwaver.about_names import about_name
from unwaver.catalog import SECTIONS
from unwaver.models.parts import Parts
from unwaver.tasks import built_in

PAGE = (Path(__file__).parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")

# a change here is a change for every user: it belongs into the changelog
NAMES = [
    "Answer",
    "Bar",
    "Config",
    "Group",
    "Item",
    "Meaning",
    "Message",
    "Model",
    "Phrase",
    "Request",
    "Result",
    "Score",
    "Suite",
    "UnwaverError",
    "__version__",
    "build",
    "check",
    "compare",
    "gate",
    "report",
    "run",
    "score",
    "show",
]
GROUPS = [
    "unwaver.suites",
    "unwaver.tasks",
    "unwaver.models",
    "unwaver.variants",
    "unwaver.judges",
    "unwaver.agreements",
    "unwaver.readers",
    "unwaver.scorers",
    "unwaver.decodings",
    "unwaver.metrics",
    "unwaver.logs",
]
PARTS = [
    "answered_before",
    "batch",
    "check",
    "concurrency",
    "count_tokens",
    "decoding",
    "dialect",
    "finish",
    "form",
    "free_text",
    "meter",
    "most_tokens",
    "n_best",
    "price",
    "takes",
    "tell",
    "trained",
]


def test_public_names() -> None:
    assert unwaver.__all__ == NAMES
    assert dir(unwaver) == NAMES


def test_entry_point_groups() -> None:
    assert [f"unwaver.{section}" for section in SECTIONS] == GROUPS
    assert re.findall(r"^\| \w+ \| `(unwaver\.\w+)` \|", PAGE, re.MULTILINE) == GROUPS
    assert re.findall(r'^"(unwaver\.\w+)" = ', PAGE, re.MULTILINE) == GROUPS


@pytest.mark.parametrize("section", SECTIONS)
def test_everything_built_in_is_there_and_described(section: str) -> None:
    for name, (place, about) in SECTIONS[section].items():
        assert registry.find(section, name) is not None, place
        assert about_name(section, name) == about
        assert about.strip() == about != ""
        assert "\n" not in about


def test_descriptions_belong_to_a_section() -> None:
    """One flat table would give the log format paranlu the description of the suite."""
    assert about_name("suites", "paranlu") != about_name("logs", "paranlu")
    assert about_name("agreements", "judge") != about_name("scorers", "judge")


def test_the_page_and_the_file_have_the_same_tasks() -> None:
    assert set(SECTIONS["tasks"]) == set(built_in())


def test_optional_parts_of_a_model() -> None:
    read = set()

    class Reads:
        def __getattr__(self, name: str) -> None:
            read.add(name)

    for name, value in vars(Parts).items():
        if isinstance(value, property):
            assert value.__doc__, name
            getattr(Parts(Reads()), name)
    assert sorted(read) == PARTS
    section = PAGE.split("## A model", 1)[1].split("\n## ", 1)[0]
    assert sorted(re.findall(r"^\| `(\w+)(?:\(\w+\)|\(\))?` \|", section, re.MULTILINE)) == PARTS


def test_only_one_place_looks_for_them() -> None:
    home = Path(unwaver.__file__).parent
    found = [
        str(path.relative_to(home))
        for path in home.rglob("*.py")
        if re.search(rf"(get|has)attr\([^)]*\"({'|'.join(PARTS)})\"", path.read_text(encoding="utf-8"))
    ]
    assert found == ["models/parts.py"]
