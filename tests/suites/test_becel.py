"""BECEL: the published counts and rules on the real files, and the rest on small ones."""

import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from unwaver.errors import DataError, UsageError
from unwaver.files import read_rows
from unwaver.suites import becel
from unwaver.tasks import built_in

DATA = os.environ.get("UNWAVER_DATA")
real_data = pytest.mark.skipif(not DATA, reason="UNWAVER_DATA is not set")

# Table 1 of the paper; for WiC the two parts of the transitive set beside it
COUNTS = {
    "boolq": {"semantic": 1076, "negational": 401},
    "snli": {"semantic": 4406, "negational": 2204, "symmetric": 3237, "transitive": 2375},
    "rte": {"semantic": 248, "negational": 153, "symmetric": 1241},
    "mrpc": {"semantic": 202, "negational": 290, "symmetric": 3668},
    "wic": {"semantic": 140, "semantic_negated": 536, "symmetric": 5428, "transitive": 3162, "transitive_new": 2467, "transitive_swapped": 695},
    "sst2": {"semantic": 187},
    "ag_news": {"semantic": 540},
}  # fmt: skip
PUBLISHED = [(task, kind) for task, kinds in COUNTS.items() for kind in kinds]


@cache
def real_groups(task, kind):
    return list(becel.suite(Path(DATA)).groups(task, kind))


def fields_and_labels(task, name):
    """The base rows in the way of the items, straight from the file."""
    stem = Path(DATA) / "becel" / task / name
    path = stem.with_suffix(".tsv")
    rows = read_rows(path if path.exists() else stem.with_suffix(".tsv.gz"))
    entry = built_in()[task]
    return [({f: r.cells[f] for f in entry.fields}, entry.labels[int(r.cells["label"])]) for r in rows]


@real_data
@pytest.mark.parametrize(("task", "kind"), PUBLISHED)
def test_published_counts_and_shape(task, kind):
    groups = real_groups(task, kind)
    assert len(groups) == COUNTS[task][kind]
    assert len({g.id for g in groups}) == len(groups)
    ids = {g.id for g in groups}
    entry = built_in()[task]
    for group in groups:
        assert group.cluster in ids
        assert all(item.choices == entry.labels for item in group.items)
        assert all(tuple(item.fields) == entry.fields for item in group.items)
        assert all(item.accepted for item in group.items)


@real_data
@pytest.mark.parametrize(
    ("task", "kind"), [c for c in PUBLISHED if c[1] in ("semantic", "semantic_negated", "negational")]
)
def test_only_the_modified_field_changes_and_labels_obey_the_relation(task, kind):
    entry = built_in()[task]
    for group in real_groups(task, kind):
        original, variant = group.items
        changed = {f for f in entry.fields if original.fields[f] != variant.fields[f]}
        assert changed <= {entry.modified}
        if kind == "negational":
            assert group.expect == "different"
            assert original.accepted == entry.relations[kind].labels
            assert variant.accepted == (entry.relations[kind].to,)
            assert group.tag in ("negation", "antonym", "rm_negation")
        else:
            assert group.expect == "same"
            assert original.accepted == variant.accepted


@real_data
@pytest.mark.parametrize(
    ("task", "kind", "others"), [("wic", "semantic", 0), ("boolq", "negational", 0), ("snli", "negational", 3)]
)
def test_originals_are_rows_of_the_base_split(task, kind, others):
    """Up to spaces and accents, and the question mark of boolq/semantic: none, or few, are others."""
    base = {
        (*f.values(), label) for f, label in fields_and_labels(task, "test" if task == "snli" else "validation")
    }
    originals = [(*g.items[0].fields.values(), *g.items[0].accepted) for g in real_groups(task, kind)]
    assert sum(o not in base for o in originals) == others


@real_data
@pytest.mark.parametrize(
    ("task", "split", "strays"),
    [("mrpc", "train", 0), ("wic", "train", 0), ("rte", "train", 0), ("snli", "test", 1)],
)
def test_symmetric_originals_are_base_rows_in_order(task, split, strays):
    labels = built_in()[task].relations["symmetric"].labels
    base = [(f, label) for f, label in fields_and_labels(task, split) if not labels or label in labels]
    originals = [(dict(g.items[0].fields), g.items[0].accepted[0]) for g in real_groups(task, "symmetric")]
    assert len(originals) == len(base)
    other = [n for n, (a, b) in enumerate(zip(originals, base, strict=True)) if a != b]
    assert len(other) == strays
    assert other in ([], [1352])  # ends in a stray "/"


@real_data
def test_transitive_wic_obeys_its_rule():
    rules = Counter()
    for group in real_groups("wic", "transitive"):
        assert [i.role for i in group.items] == ["original", "original", "conclusion"]
        assert group.expect == "implied"
        first, second, conclusion = (item.accepted[0] for item in group.items)
        rules[first, second] += 1
        assert conclusion == ("same" if (first, second) == ("same", "same") else "different")
    assert rules == {("same", "same"): 806, ("same", "different"): 1127, ("different", "same"): 1229}


@real_data
def test_new_and_swapped_are_the_transitive_set_in_two():
    def texts(kind):
        return Counter(tuple(i.fields.values()) for g in real_groups("wic", kind) for i in g.items[2:])

    assert texts("transitive_new") + texts("transitive_swapped") == texts("transitive")
    swapped_back = {(w, b, a) for w, a, b in texts("transitive_swapped")}
    assert swapped_back <= {tuple(f.values()) for f, _ in fields_and_labels("wic", "train")}


@real_data
def test_transitive_snli_obeys_its_rules():
    rules = {
        ("contradiction",): (("contradiction",), ("entailment",)),
        ("neutral", "contradiction"): (("neutral",), ("contradiction",)),
    }
    for group in real_groups("snli", "transitive"):
        a, b, conclusion = group.items
        assert a.fields["premise"] == b.fields["premise"]
        assert rules[conclusion.accepted] == (a.accepted, b.accepted)


@real_data
@pytest.mark.parametrize(("task", "limit"), [("sst2", "26 tokens"), ("ag_news", "35 tokens")])
def test_additive_sets_are_built_of_disjoint_pairs(task, limit):
    suite = becel.suite(Path(DATA))
    groups = list(suite.groups(task, "additive"))
    assert len(groups) > 150
    assert len({g.cluster for g in groups}) == len(groups)
    field = built_in()[task].modified
    for group in groups:
        first, second, merged = group.items
        assert first.accepted == second.accepted == merged.accepted
        assert merged.fields[field] == f"{first.fields[field].strip()} {second.fields[field].strip()}"
    assert groups == list(becel.suite(Path(DATA)).groups(task, "additive"))
    assert groups != list(becel.suite(Path(DATA), seed=1).groups(task, "additive"))
    note = suite.notes(task, "additive")[0]
    assert limit in note
    assert "itself, as there is no training file" in note


@real_data
def test_all_additive_pairs_with_a_cap():
    suite = becel.suite(Path(DATA), additive="all", additive_cap=500)
    assert len(list(suite.groups("sst2", "additive"))) == 500
    assert "500 of " in suite.notes("sst2", "additive")[0]


@real_data
def test_quotes_in_cells_survive():
    first = real_groups("mrpc", "symmetric")[0].items[0].fields["sentence1"]
    assert first.startswith('Amrozi accused his brother , whom he called " the witness " ,')


@real_data
def test_clusters_join_the_negations_of_one_original():
    groups = real_groups("snli", "negational")
    by_cluster = Counter(g.cluster for g in groups)
    originals = Counter(tuple(g.items[0].fields.values()) for g in groups)
    assert sorted(by_cluster.values()) == sorted(originals.values())
    assert len(by_cluster) == 1854


@real_data
def test_examples_come_from_the_train_file_else_validation_else_the_base():
    suite = becel.suite(Path(DATA))
    origin = {task: next(suite.examples(task)).id.rsplit("/", 1)[0] for task in becel.CASES}
    assert origin == {
        "boolq": "becel/boolq/validation",
        "snli": "becel/snli/validation",
        "rte": "becel/rte/train",
        "mrpc": "becel/mrpc/train",
        "wic": "becel/wic/train",
        "sst2": "becel/sst2/validation",
        "ag_news": "becel/ag_news/validation",
    }


# --- small files ----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, name: str, *rows: str) -> Path:
    path = folder / "becel" / f"{name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row.replace("|", "\t").replace("¦", "|") + "\n" for row in rows), encoding="utf-8")
    return path


def test_an_invalid_relation_is_refused_with_the_reason(tmp_path):
    with pytest.raises(UsageError, match="additive does not hold for snli: merging two pairs breaks entailment"):
        becel.suite(tmp_path).groups("snli", "additive")
    with pytest.raises(UsageError, match="negational does not hold for wic") as raised:
        becel.suite(tmp_path).groups("wic", "negational")
    assert "semantic_negated" in raised.value.message


def test_unknown_names_have_near_names(tmp_path):
    suite = becel.suite(tmp_path)
    with pytest.raises(UsageError, match="becel has no task sst") as raised:
        suite.groups("sst", "semantic")
    assert raised.value.hint == "did you mean sst2?"
    with pytest.raises(UsageError, match="becel/snli has no semantik") as raised:
        suite.groups("snli", "semantik")
    assert raised.value.hint == "did you mean semantic?"
    with pytest.raises(UsageError, match="becel/rte has no transitive"):  # valid, but not published
        suite.notes("rte", "transitive")
    with pytest.raises(UsageError, match="additive=some is not known"):
        becel.suite(tmp_path, additive="some")
    with pytest.raises(UsageError, match="additive_cap=0 leaves no pairs"):
        becel.suite(tmp_path, additive="all", additive_cap=0)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="not found: becel/snli/semantic"):
        becel.suite(tmp_path).groups("snli", "semantic")


def test_a_published_additive_file_is_read(tmp_path):
    put(tmp_path, "sst2/additive", "index|sentence_1|sentence_2|merged_sentence|label", "0|a|b|a b|1")
    suite = becel.suite(tmp_path)
    (group,) = suite.groups("sst2", "additive")
    assert [i.fields["sentence"] for i in group.items] == ["a", "b", "a b"]
    assert group.items[2].accepted == ("positive",)
    assert suite.notes("sst2", "additive") == ["the published additive file"]


def test_the_training_file_gives_the_limit(tmp_path):
    put(tmp_path, "sst2/validation", "sentence|label", "a b|1", "c d|1", "e f g|0", "h|0")
    put(tmp_path, "sst2/train", "sentence|label", *["a b c|1"] * 4)
    suite = becel.suite(tmp_path)
    assert list(suite.groups("sst2", "additive")) == []
    assert (
        "at most 3 tokens (white space), the 75 % quantile of lengths in becel/sst2/train"
        in suite.notes("sst2", "additive")[0]
    )
    put(tmp_path, "sst2/train", "sentence|label", *["a b c d|1"] * 4)
    assert [g.id for g in becel.suite(tmp_path).groups("sst2", "additive")] == [
        "becel/sst2/additive/0+1",
        "becel/sst2/additive/2+3",
    ]


@pytest.mark.parametrize("label", ["-", "", "-1"])
def test_a_row_without_gold(tmp_path, label):
    put(tmp_path, "snli/semantic", "premise|hypothesis|hypothesis_paraphrase|label", f"p|h|h2|{label}")
    (group,) = becel.suite(tmp_path).groups("snli", "semantic")
    assert [i.accepted for i in group.items] == [(), ()]


SNLI = "premise|hypothesis|label"
TRANSITIVE = "premise|hypothesis|label|originated_idx"
BASE = (SNLI, "p|h|0", "p|z|2")
BAD = {
    "number too great": ("snli/symmetric", (SNLI, "a|b|2", "a|b|3"), 3, 'column "label": found "3", expected 0 entailment, 1 neutral, 2 contradiction', "number or its name"),
    "not an integer": ("snli/symmetric", (SNLI, "a|b|1.5"), 2, 'column "label": found "1.5", expected 0 entailment', "number or its name"),
    "a word": ("snli/symmetric", (SNLI, "a|b|maybe"), 2, 'column "label": found "maybe"', "number or its name"),
    "no variant column": ("snli/semantic", (SNLI, "a|b|0"), 1, 'no column "hypothesis_paraphrase"; found: "premise", "hypothesis", "label"', "did you mean hypothesis"),
    "no neg_label": ("snli/negational", (SNLI + "|hypothesis_neg", "a|b|0|c"), 1, 'no column "neg_label"', "did you mean label"),
    "one origin": ("snli/transitive", (TRANSITIVE, "z|h|2|1"), 2, 'column "originated_idx": found "1", expected i|j with 0 ≤ i, j ≤ 1', "becel/snli/test.tsv"),
    "origin no number": ("snli/transitive", (TRANSITIVE, "z|h|2|1¦x"), 2, 'found "1|x", expected i|j', "rows, from 0"),
    "negative origin": ("snli/transitive", (TRANSITIVE, "z|h|2|1¦-1"), 2, 'found "1|-1", expected i|j', "rows, from 0"),
    "origin beyond the end": ("snli/transitive", (TRANSITIVE, "z|h|2|1¦0", "z|h|2|2¦0"), 3, 'found "2|0", expected i|j with 0 ≤ i, j ≤ 1', "rows, from 0"),
    "another edition": ("snli/transitive", (TRANSITIVE, "y|x|2|1¦0"), 2, 'column "hypothesis": found "x", expected a text of the base rows 1|0', "is not the edition"),
    "label 4": ("snli/transitive", (TRANSITIVE, "z|h|4|1¦0"), 2, 'column "label": found "4"', "number or its name"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_rows(tmp_path, case):
    name, rows, line, message, hint = BAD[case]
    put(tmp_path, "snli/test", *BASE)
    path = put(tmp_path, name, *rows)
    with pytest.raises(DataError) as raised:
        list(becel.suite(tmp_path).groups("snli", name.split("/")[1]))
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.file, raised.value.line) == (str(path), line)


def test_not_entailment_accepts_two_labels(tmp_path):
    put(tmp_path, "snli/test", SNLI, "p|h|1", "p|z|2")
    put(tmp_path, "snli/transitive", TRANSITIVE, "h|z|3|0¦1")
    (group,) = becel.suite(tmp_path).groups("snli", "transitive")
    assert [i.accepted for i in group.items] == [("neutral",), ("contradiction",), ("neutral", "contradiction")]
    assert [i.id for i in group.items] == [f"becel/snli/transitive/0/{n}" for n in range(3)]


@real_data
def test_published_pairs_are_those_of_the_evaluation_sets():
    """Together 52,661: most likely what the paper calls 53K."""
    suite = becel.suite(Path(DATA), additive="published")
    notes = [suite.notes(task, "additive")[0] for task in ("sst2", "ag_news")]
    assert "all 30,572 pairs" in notes[0]
    assert "all 22,089 pairs" in notes[1]


def test_published_pairs_do_not_look_at_the_training_file(tmp_path):
    put(tmp_path, "sst2/validation", "sentence|label", "a b|1", "c d|1", "e f|1", "one two three four five six|0")
    put(tmp_path, "sst2/train", "sentence|label", "a|1", "b|1", "c|1")
    assert list(becel.suite(tmp_path, additive="all").groups("sst2", "additive")) == []
    suite = becel.suite(tmp_path, additive="published")
    assert "itself, --additive published" in suite.notes("sst2", "additive")[0]
    limit = 3.0  # the quantile of 2, 2, 2, 6: no two texts of two words fit
    assert f"at most {limit:g} tokens" in suite.notes("sst2", "additive")[0]
    put(tmp_path, "sst2/validation", "sentence|label", "a|1", "b|1", "c|1", "one two three four five six|1")
    assert len(list(becel.suite(tmp_path, additive="published").groups("sst2", "additive"))) == 3
