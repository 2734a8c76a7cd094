"""Builder and published file agree: what is made of BECEL's base files is what BECEL published."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from unwaver.files import read_rows
from unwaver.suites.common import gold, task_fields
from unwaver.tasks import task_named
from unwaver.types import Group, Item
from unwaver.variants.source import Source
from unwaver.variants.swap import swap
from unwaver.variants.transitive import transitive


@cache
def rows_of(data: Path, task: str, name: str):
    path = data / "becel" / task / f"{name}.tsv"
    return read_rows(path if path.exists() else path.with_name(f"{name}.tsv.gz"))


@cache
def source_of(data: Path, task_name: str, name: str) -> Source:
    task = task_named(task_name)
    items = (
        Item(str(n), task_name, "original", task_fields(row, task), task.labels, gold(row, "label", task.labels))
        for n, row in enumerate(rows_of(data, task_name, name))
    )
    return Source("own", task, tuple(items))


def groups_of(build, source: Source) -> list[Group]:
    return [made for made in build(source) if isinstance(made, Group)]


@pytest.mark.parametrize(
    ("task", "base", "count", "strays"),
    [
        ("mrpc", "train", 3668, []),
        ("wic", "train", 5428, []),
        ("rte", "train", 1241, []),
        ("snli", "test", 3237, [1352]),
    ],
)
def test_symmetric_sets_row_for_row(data, task, base, count, strays):
    entry = task_named(task)
    made = [(dict(g.items[1].fields), g.items[1].accepted) for g in groups_of(swap(), source_of(data, task, base))]
    published = [(task_fields(r, entry), gold(r, "label", entry.labels)) for r in rows_of(data, task, "symmetric")]
    assert len(made) == len(published) == count
    assert [n for n in range(count) if made[n] != published[n]] == strays  # one ends in a stray "/"
    for n in strays:
        assert (
            published[n][0]["premise"] == made[n][0]["premise"] + "/"
            or published[n][0]["hypothesis"] == made[n][0]["hypothesis"] + "/"
        )


def test_wic_transitive_set_with_labels_and_rows(data):
    made = groups_of(transitive(), source_of(data, "wic", "train"))
    entry = task_named("wic")
    published = {
        (*task_fields(r, entry).values(), *gold(r, "label", entry.labels), r.cells["originated_idx"])
        for r in rows_of(data, "wic", "transitive")
    }
    found = {
        (*g.items[2].fields.values(), *g.items[2].accepted, g.id.rsplit("/", 1)[1].replace("+", "|")) for g in made
    }
    assert len(made) == len(found) == len(published) == 3162
    assert found == published
    rules = Counter((g.items[0].accepted[0], g.items[1].accepted[0]) for g in made)
    assert rules == {("same", "same"): 806, ("same", "different"): 1127, ("different", "same"): 1229}
    assert Counter(g.tag for g in made) == {"new": 2467, "swapped": 695}


def test_snli_candidates_contain_the_published_ones(data):
    made = groups_of(transitive(how="shared"), source_of(data, "snli", "test"))
    assert Counter(g.tag for g in made) == {"shared_contradiction_candidate": 3247, "shared_not_entailment": 2951}
    entry = task_named("snli")
    found = {g.id.rsplit("/", 1)[1].replace("+", "|"): g.items[2] for g in made}
    strays = []
    for row in rows_of(data, "snli", "transitive"):
        item = found[row.cells["originated_idx"]]
        assert item.accepted == (("contradiction",) if row.cells["label"] == "2" else ("neutral", "contradiction"))
        if dict(item.fields) != task_fields(row, entry):
            strays.append((item.fields["premise"], row.cells["premise"]))
            assert item.fields["hypothesis"] == row.cells["hypothesis"]
    assert len(strays) == 2
    assert all(abs(len(a) - len(b)) == 1 and (a in b or b in a) for a, b in strays)  # "/" added, a space dropped


def test_snli_chains_are_few(data):
    made = groups_of(transitive(how="chained"), source_of(data, "snli", "test"))
    shared = groups_of(transitive(how="shared"), source_of(data, "snli", "test"))
    assert groups_of(transitive(), source_of(data, "snli", "test")) == shared + made
    assert Counter(g.tag for g in made) == {"chained_entailment": 1, "chained_contradiction": 1}
    assert all(a.fields["hypothesis"] == b.fields["premise"] for g in made for a, b in [g.items[:2]])


@pytest.mark.parametrize(
    ("task", "tags"), [("mrpc", {"same": 141, "different": 66}), ("rte", {"chained_entailment": 1})]
)
def test_own_rules_of_two_labels(data, task, tags):
    source = source_of(data, task, "train")
    made = groups_of(transitive(), source)
    assert Counter(g.tag for g in made) == tags
    asked = {tuple(item.fields.values()) for item in source.items}
    assert all(tuple(g.items[2].fields.values()) not in asked for g in made)
    assert len({g.id for g in made}) == len(made)
