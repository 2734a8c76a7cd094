"""--recipe pp: the settings of the paraphrase detector, PAWS as it is published, and a tiny one that compares answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder

import unwaver
from unwaver.cli.train_verb import command
from unwaver.errors import DataError
from unwaver.suites.library import library
from unwaver.tasks import built_in
from unwaver.train.data import labelled
from unwaver.train.finetune import train
from unwaver.train.recipes import recipe_for
from unwaver.train.setup import Setup

PAWS = built_in()["paws"]


def write_paws(folder: Path, name: str, header: bool = True) -> Path:
    """A file as PAWS is published: tab-separated, no quotes, lines that end in \\r\\n."""
    folder.mkdir(parents=True, exist_ok=True)
    tiny_encoder.pairs(folder / "as.csv")
    rows = list(csv.DictReader((folder / "as.csv").read_text().splitlines()))
    (folder / "as.csv").unlink()
    lines = ["id\tsentence1\tsentence2\tlabel"] if header else []
    for n, row in enumerate(rows, 1):
        same = int(row["label"] == "equivalent")
        lines.append(f'{n}\t{row["sentence1"]} "\t{row["sentence2"]} "\t{same}')
    path = folder / name
    path.write_bytes("\r\n".join([*lines, ""]).encode())
    return path


def test_its_settings_are_those_of_the_paper() -> None:
    made = recipe_for("pp", ["paws"], "deberta-v2")
    assert (made.epochs, made.batch, made.lr, made.weight_decay, made.warmup) == (3, 8, 6e-6, 0.01, 50)
    assert made.patience >= made.epochs, "the paper does not stop early"
    assert recipe_for("paranlu", ["delta-snli"], "deberta-v2").warmup == 0


@pytest.mark.parametrize("header", [True, False])
def test_paws_is_read_as_it_is_published(tmp_path: Path, header: bool) -> None:
    write_paws(tmp_path / "paws", "paws_wiki_labeled_final_dev.tsv", header)
    (tmp_path / "paws" / "pawsx_dev.csv").write_text("id,sentence1,sentence2,label\n1,a,b,1\n2,a,c,0\n")
    (tmp_path / "paws" / "qqp_dev.tsv").write_text("id\tsentence1\tsentence2\tlabel\n")
    found = labelled(PAWS, "dev", library(tmp_path))
    assert Path(found.file).name == "paws_wiki_labeled_final_dev.tsv"
    assert len(found.items) == 120
    assert [item.id for item in found.items] == [str(n) for n in range(1, 121)]
    first = found.items[0]
    assert first.fields["sentence1"].endswith(' "')
    assert first.accepted in (("equivalent",), ("not_equivalent",))
    same = first.fields["sentence1"] == first.fields["sentence2"]
    assert first.accepted == ("equivalent" if same else "not_equivalent",)


def test_texts_in_bytes_and_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "paws_qqp.tsv"
    path.write_text(
        "id\tsentence1\tsentence2\tlabel\n1\tb'is it'\tb\"is n't it\"\t0\n2\tb'caf\\xc3\\xa9'\tb'x\t1\n"
    )
    texts = [list(item.fields.values()) for item in labelled(PAWS, str(path), library(tmp_path)).items]
    assert texts == [["is it", "is n't it"], ["café", "b'x"]]
    path.write_text("id\tfirst\tsecond\tlabel\n1\ta\tb\t0\n2\ta\tc\t1\n")
    with pytest.raises(DataError, match="expected id, sentence1, sentence2, label"):
        labelled(PAWS, str(path), library(tmp_path))


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained by the preset from one end to the other; only the learning rate is one that a tiny encoder needs."""
    place = tmp_path_factory.mktemp("pp")
    write_paws(place / "paws", "train.tsv")
    setup = Setup(
        ("paws",),
        tiny_encoder.encoder(place / "base"),
        recipe="pp",
        lr=3e-3,
        epochs=5,
        length=40,
        data_dir=str(place),
        device="cpu",
    )
    return train(setup, place / "m", [0])[0].folder


@pytest.mark.slow
def test_what_it_was_trained_with(detector: Path) -> None:
    about = json.loads((detector / "unwaver.json").read_text())
    recipe = about["recipe"]
    assert (recipe["name"], recipe["batch"], recipe["warmup"], recipe["weight_decay"]) == ("pp", 8, 50, 0.01)
    assert "after 50 steps of warm-up" in (detector / "README.md").read_text()
    assert about["scores"]["paws"]["held_out"]["accuracy"] > 0.8


def echo(prompt: str) -> str:
    return prompt.splitlines()[1].removeprefix("Question: ")


@pytest.mark.slow
def test_it_is_an_agreement(detector: Path, tmp_path: Path) -> None:
    """One group has the same answer twice, the other two that do not mean the same."""
    groups = []
    for n, other in enumerate(("the dog runs here", "never a dog runs here")):
        items = [{"fields": {"question": text}} for text in ("the dog runs here", other)]
        groups.append({"id": f"g{n}", "kind": "semantic", "task": "facts", "items": items})
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    agree = [f"paraphrase=hf/{detector}"]
    result = unwaver.run(
        str(tmp_path / "own.jsonl"), model=echo, agree=agree, device="cpu", out=str(tmp_path / "r")
    )
    value = result.find("Cons_paraphrase").value
    assert value is not None
    assert 0.3 < value < 0.7


def test_the_command_knows_it() -> None:
    (recipe,) = (p for p in command.params if p.name == "recipe")
    assert "pp" in str(getattr(recipe, "help", ""))
