"""Sizes, versions and balance of core and core-mini."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from unwaver.groups.families import FAMILIES, family_of
from unwaver.suites.core.counts import with_counts
from unwaver.suites.core.families import KINDS
from unwaver.suites.core.suite import core, mini
from unwaver.suites.select import select
from unwaver.types import Group, Suite


def groups_of(suite: Suite) -> list[Group]:
    return [g for task, kinds in suite.cases.items() for kind in kinds for g in suite.groups(task, kind)]


def test_limit_and_sample_are_balanced_over_tables() -> None:
    for options in ({"limit": 9}, {"sample": 9}):
        found = Counter(g.tag for g in select(["core/yes_no/paraphrase"], {}, **options).groups)
        assert sum(found.values()) == 9
        assert max(found.values()) - min(found.values()) <= 1


def test_a_seed_gives_other_facts_and_another_version() -> None:
    assert core(core_seed=1).version != core().version
    assert core().version == core().version


@pytest.mark.parametrize("make", [core, mini])
def test_every_kind_belongs_to_a_family(make: object) -> None:
    suite = make()  # type: ignore[operator]
    assert {family_of(g.task, g.kind) for g in groups_of(suite)} <= set(FAMILIES)
    assert all(kind.reason and kind.family in FAMILIES for kind in KINDS)
    assert all(kind.name in FAMILIES[kind.family] for kind in KINDS if kind.family != "judging")


def test_core_has_what_it_promises() -> None:
    large, small = groups_of(core()), groups_of(mini())
    assert len(large) >= 2500
    assert len({g.tag for g in large}) >= 15
    assert len({g.kind for g in large}) >= 17
    languages = {i.template.rpartition(".")[2] for g in large if g.kind == "language" for i in g.items}
    assert {"de", "zh"} <= languages
    kinds = Counter(g.kind for g in small)
    families = Counter(family_of(g.task, g.kind) for g in small)
    assert set(kinds) == {kind.name for kind in KINDS}
    assert min(kinds.values()) >= 8
    assert min(families.values()) >= 20
    assert 300 <= len({item.id for g in small for item in g.items}) <= 360


def test_requests_are_shared_between_groups() -> None:
    items = [item for group in groups_of(core()) for item in group.items]
    texts = {(i.task, i.template, tuple(i.fields.values()), i.choices) for i in items}
    assert len(texts) <= len({i.id for i in items}) < len(items)


def test_docs_have_the_counts_of_today() -> None:
    page = Path(__file__).parents[2] / "docs" / "core.md"
    assert with_counts(page.read_text(encoding="utf-8")) == page.read_text(encoding="utf-8")


def test_a_table_of_ones_own_gets_groups_of_every_kind_it_allows(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "core.md").read_text(encoding="utf-8")
    file = tmp_path / "flags.toml"
    file.write_text(page.partition("```toml flags.toml\n")[2].partition("```")[0], encoding="utf-8")
    found = {(g.task, g.kind) for g in groups_of(core(tables=[str(file)])) if g.tag == "flags"}
    around = ("paraphrase", "surface", "distractor", "format", "persona", "again", "doubt")
    logic = ("negational", "inverse", "additive", "contrast")
    assert found == {
        *(("yes_no", kind) for kind in (*around, *logic)),
        *(("choice", kind) for kind in (*around, "options")),
    }
    assert core(tables=[str(file)]).version != core().version
