from __future__ import annotations

from pathlib import Path

import pytest
import tiny_encoder
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError, UsageError
from unwaver.suites.from_table import read_source
from unwaver.suites.library import Library
from unwaver.tasks import built_in
from unwaver.train.data import Labelled, drawn, held_out, key_of, labelled
from unwaver.train.recipes import NAMES, recipe_for
from unwaver.types import Item

SNLI, MRPC = built_in()["snli"], built_in()["mrpc"]


def files(folder: Path) -> Library:
    return Library((folder,), folder / "cache")


def nli(premises: list[int]) -> Labelled:
    def item(n: int, premise: int) -> Item:
        fields = {"premise": f"p{premise}", "hypothesis": f"h{n}"}
        return Item(str(n), "snli", "original", fields, SNLI.labels, (SNLI.labels[n % 3],))

    return Labelled(SNLI, tuple(item(n, p) for n, p in enumerate(premises)), "made")


def test_published_parts_without_a_header(data: Path) -> None:
    """By the README of the data: 1 neutral, 2 contradiction, 3 entailment; labels of AG News are names."""
    found = labelled(SNLI, "train", files(data))
    assert len(found.items) == 18_000
    first = found.items[0]
    assert first.fields["hypothesis"] == "The man is gazing over the water thinking about his life."
    assert first.accepted == ("neutral",)
    news = labelled(built_in()["ag_news"], "train", files(data))
    assert {item.accepted for item in news.items} == {(label,) for label in built_in()["ag_news"].labels}
    assert all(item.fields["text"] for item in news.items)


def test_a_part_without_a_header_that_is_cut_says_where(tmp_path: Path) -> None:
    path = tmp_path / "snli_train_part_18k_cat.tsv"
    path.write_text("1\t1\tA man sleeps.\tHe rests.\n2\t2\tA man\n")
    with pytest.raises(DataError, match=r"cat\.tsv:2: found 3 cells, expected 4"):
        labelled(SNLI, str(path), files(tmp_path))


@given(st.lists(st.integers(0, 40), min_size=60, max_size=120))
def test_no_premise_is_on_both_sides(premises: list[int]) -> None:
    premises = [*range(5), *premises]
    data = nli(premises)
    train, held = held_out(data)
    assert sorted(int(i.id) for i in [*train, *held]) == list(range(len(premises)))
    assert not {i.fields["premise"] for i in train} & {i.fields["premise"] for i in held}
    distinct = len(set(premises))
    assert len({i.fields["premise"] for i in held}) == max(1, round(0.1 * distinct))


def test_no_passage_is_on_both_sides() -> None:
    boolq = built_in()["boolq"]
    items = tuple(
        Item(
            str(n),
            "boolq",
            "original",
            {"passage": f"p{n // 3}", "question": f"q{n}"},
            boolq.labels,
            (boolq.labels[n % 2],),
        )
        for n in range(90)
    )
    train, held = held_out(Labelled(boolq, items, "made"))
    assert len(held) == 9
    assert not {i.fields["passage"] for i in train} & {i.fields["passage"] for i in held}
    assert len(drawn(Labelled(boolq, items, "made"), rows=10).items) == 10, "a draw is by row"


@given(st.lists(st.integers(0, 40), min_size=20, max_size=120), st.floats(0.05, 1), st.floats(0.05, 1))
def test_a_smaller_fraction_is_part_of_a_larger_one(premises: list[int], one: float, other: float) -> None:
    few, many = (drawn(nli(premises), fraction=f) for f in sorted((one, other)))
    assert {i.id for i in few.items} <= {i.id for i in many.items}
    whole = {p: premises.count(p) for p in {int(i.fields["premise"][1:]) for i in few.items}}
    assert sum(whole.values()) == len(few.items), "all rows of a premise come, or none"


def test_keys_follow_the_task() -> None:
    delta = built_in()["delta-snli"]
    fields = {"premise": "p", "hypothesis": "h", "update": "u"}
    assert key_of(Item("0", "delta-snli", "original", fields), delta) == ("p", "h")
    pair = {"sentence1": "a", "sentence2": "b"}
    assert key_of(Item("0", "mrpc", "original", pair), MRPC) == ("a", "b"), "by row"
    assert key_of(Item("0", "rte", "original", pair), built_in()["rte"]) == "a"


def test_splits_are_found_by_name(tmp_path: Path) -> None:
    for folder in ("becel/mrpc", "mnli", "snli", "becel/snli", "defeasible_nli"):
        (tmp_path / folder).mkdir(parents=True)
    tiny_encoder.pairs(tmp_path / "becel/mrpc/train.csv")
    tiny_encoder.nli(tmp_path / "becel/snli/validation.csv")
    (tmp_path / "mnli/derived_nondev.tsv").write_text(
        'premise\thypothesis\tlabel\n"Quoted\tnot read as csv\tneutral\nb\tc\tentailment\n'
    )
    (tmp_path / "defeasible_nli/snli_train.csv").write_text("sentence1,sentence2,label\nA b.,U.,0\nA b.,V.,1\n")
    (tmp_path / "defeasible_nli/atomic_train.csv").write_text(
        "sentence1,sentence2,label\nother,U.,0\nother,V.,1\n"
    )
    assert len(labelled(MRPC, "train", files(tmp_path)).items) == 120
    found = labelled(built_in()["mnli"], "train", files(tmp_path))
    assert [i.fields["premise"] for i in found.items] == ['"Quoted', "b"]
    assert labelled(SNLI, "dev", files(tmp_path)).file.endswith("validation.csv")
    delta = labelled(built_in()["delta-snli"], "train", files(tmp_path)).items[0]
    assert delta.fields == {"premise": "A b.", "hypothesis": "", "update": "U."}
    assert delta.accepted == ("weakener",)
    with pytest.raises(DataError, match="snli has no file of the split train") as told:
        labelled(SNLI, "train", files(tmp_path))
    assert "--train-split validation" in str(told.value.hint)
    with pytest.raises(DataError, match="not found"):
        labelled(built_in()["wic"], "train", files(tmp_path))


def test_files_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("left,right,same\na b,a c,1\nd,e,0\nf,g,\n")
    columns = {"sentence1": "left", "sentence2": "right", "gold": "same"}
    found = labelled(MRPC, str(path), files(tmp_path), columns)
    assert [i.accepted[0] for i in found.items] == ["equivalent", "not_equivalent"], "no label, nothing to learn"
    with pytest.raises(DataError, match='no column "sentence1"; found: "left"') as told:
        labelled(MRPC, str(path), files(tmp_path))
    assert "--column sentence1=NAME" in str(told.value.hint)
    with pytest.raises(DataError, match="no such file"):
        labelled(MRPC, "missing.csv", files(tmp_path))
    path.write_text("sentence1,sentence2,label\na,b,1\nc,d,1\n")
    with pytest.raises(DataError, match="fewer than two labels"):
        labelled(MRPC, str(path), files(tmp_path))


def test_real_files(data: Path) -> None:
    """The sets that the documentation trains on."""
    library = files(data)
    sizes = {
        ("snli", "validation"): 9842, ("mnli", "train"): 15829, ("mrpc", "train"): 3668, ("wic", "train"): 5428,
        ("rte", "train"): 2490, ("sst2", "train"): 67349, ("anli", "dev"): 1532, ("delta-snli", "test"): 1837,
    }  # fmt: skip
    for (task, split), count in sizes.items():
        assert len(labelled(built_in()[task], split, library).items) == count, task
    korean = read_source(data / "kornli" / "xnli.dev.ko.tsv", built_in()["kornli"])
    assert len(korean.items) == 2490, "as it is published: without csv quoting"


def test_recipes() -> None:
    rte = recipe_for("becel", ["rte"], "roberta")
    assert (rte.batch, rte.length, rte.lr, rte.epochs) == (8, 256, 1e-5, 10)
    small = recipe_for("small", ["snli"], "bert")
    assert (small.batch, small.lr, small.epochs) == (32, 1e-4, 3)
    assert recipe_for("paranlu", ["anli"], "deberta-v2").lr == 5e-6
    both = recipe_for("becel", ["boolq", "snli"], "bert")
    assert (both.batch, both.length, both.lr) == (64, 512, 1e-5)
    assert recipe_for("calm", ["mnli"], "bert", lr=3e-5, batch=None).lr == 3e-5
    for name in NAMES:
        assert recipe_for(name, ["mrpc"], "bert").epochs >= 2
    with pytest.raises(UsageError, match="has no values for mnli"):
        recipe_for("becel", ["mnli"], "bert")
    with pytest.raises(UsageError, match="unknown recipe"):
        recipe_for("bcel", ["mnli"], "bert")
    with pytest.raises(UsageError, match="--batch is 0"):
        recipe_for("small", ["mnli"], "bert", batch=0)


def test_similarity_scores_are_cut_at_three(tmp_path: Path) -> None:
    """Klue-STS comes with a binary label in one file and with scores from 0 to 5 in another."""
    task, file = built_in()["klue-sts"], tmp_path / "klue_sts" / "train.csv"
    file.parent.mkdir()
    file.write_text("sentence1,sentence2,label\n가,나,2.99\n다,라,3.0\n마,바,0\n")
    found = labelled(task, "train", files(tmp_path))
    assert [item.accepted for item in found.items] == [("not_equivalent",), ("equivalent",), ("not_equivalent",)]
    file.write_text("sentence1,sentence2,label\n가,나,7\n")
    with pytest.raises(DataError, match="expected a score from 0 to 5"):
        labelled(task, "train", files(tmp_path))
