"""--base ngrams and --base bilstm: bases that need no weights, trained, saved without pickles, and asked."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder
import torch

import unwaver
from unwaver.cli.train_verb import command
from unwaver.errors import DataError, ModelError, UsageError
from unwaver.models.bilstm import Words
from unwaver.models.bilstm_net import BiLstm
from unwaver.models.bow import features
from unwaver.models.hf import open_model
from unwaver.models.ngrams import MEAN, Descent, fit_ngrams
from unwaver.models.trained import in_form, read_trained
from unwaver.tasks import built_in, segments_of
from unwaver.train.bilstm_base import beginning
from unwaver.train.finetune import train
from unwaver.train.own_bases import OWN, model_name, open_trained
from unwaver.train.recipes import recipe_for
from unwaver.train.rows import training_request
from unwaver.train.setup import Setup
from unwaver.types import Item, replace

DELTA = built_in()["delta-snli"]
LEARN: dict[str, dict[str, Any]] = {
    "ngrams": {"epochs": 40, "lr": 1.0},
    "bilstm": {"epochs": 12, "patience": 12, "batch": 16, "device": "cpu"},
}


def updates(path: Path, count: int = 200, seed: int = 0) -> Path:
    """An update with "never" weakens, any other strengthens."""
    draw = random.Random(seed)
    with path.open("w", newline="") as f:
        write = csv.writer(f)
        write.writerow(["premise", "hypothesis", "update", "label"])
        for n, text in enumerate(tiny_encoder.sentences(count, seed)):
            weak = draw.random() < 0.5
            update = text.replace("the", "never a") if weak else text
            write.writerow([f"a man is here {seed} {n}", text, update, "weakener" if weak else "strengthener"])
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    updates(place / "train.csv")
    updates(place / "test.csv", 60, seed=5)
    return place


def setup(base: str, tables: Path, **options: Any) -> Setup:
    split = {"train_split": {"*": str(tables / "train.csv")}, "test_split": {"*": str(tables / "test.csv")}}
    return Setup(("paranlu/snli",), base, **{**split, **LEARN[base], **options})


@pytest.fixture(scope="module")
def trained(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("m")
    return {base: train(setup(base, tables), place / base, [0])[0].folder for base in OWN}


def item(update: str, premise: str = "a man is here") -> Item:
    fields = {"premise": premise, "hypothesis": "the big dog runs here", "update": update}
    return Item("0", "delta-snli", "original", fields, DELTA.labels)


def answers(model: Any, items: list[Item], form: str = "plain") -> np.ndarray:
    requests = [training_request(in_form(i, DELTA, form), DELTA) for i in items]
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return np.array([found[n].logprobs for n in range(len(items))])


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_it_learns_and_says_so_in_its_folder(trained: dict[str, Path], base: str) -> None:
    folder = trained[base]
    about = json.loads((folder / "unwaver.json").read_text())
    scores = about["scores"]["delta-snli"]
    assert scores["test"]["accuracy"] > 0.9
    assert scores["test"]["items"] == 60
    assert not [p for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth", ".pkl")], "no pickles"
    assert not [p for p in folder.parent.iterdir() if p.name.startswith(".")], "nothing is left over"
    card = (folder / "README.md").read_text()
    assert {"ngrams": "unwaver's own, trained as fastText", "bilstm": "random word vectors"}[base] in card
    assert "library_name: unwaver" in card
    known = read_trained(folder)
    assert known is not None
    assert len(known.seen) == 200


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_a_run_asks_it_and_knows_what_it_was_trained_on(
    trained: dict[str, Path], tables: Path, tmp_path: Path, base: str
) -> None:
    read = [(tables / f"{name}.csv").read_text().splitlines() for name in ("train", "test")]
    rows = [row for lines in read for row in list(csv.DictReader(lines))[:3]]
    groups = []
    for n, row in enumerate(rows):
        texts = {name: row[name] for name in DELTA.fields}
        items = [{"fields": texts, "accepted": [row["label"]]}, {"fields": {**texts, "premise": f"a man {n}"}}]
        groups.append({"id": f"g{n}", "kind": "semantic", "task": "delta-snli", "items": items})
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    name = model_name(trained[base])
    assert name.startswith({"ngrams": "bow/", "bilstm": "hf/"}[base])
    result = unwaver.run(str(tmp_path / "own.jsonl"), model=name, out=str(tmp_path / "r"))
    assert {s.kind for s in result.scores} == {"semantic", "semantic_seen"}
    assert all(s.groups == 3 for s in result.scores)


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_the_seed_decides(trained: dict[str, Path], tables: Path, tmp_path: Path, base: str) -> None:
    made = train(setup(base, tables), tmp_path / "again", [0, 1])
    same, other = (open_trained(m.folder, "cpu") for m in made)
    first = open_trained(trained[base], "cpu")
    assert same.identity == first.identity
    assert other.identity != first.identity
    items = [item("never a cat sits there"), item("the cat sits there")]
    assert np.array_equal(answers(same, items), answers(first, items))


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_a_partial_input_reads_only_the_target(tables: Path, tmp_path: Path, base: str) -> None:
    folder = train(setup(base, tables, form={"*": "target-only"}), tmp_path / "m", [0])[0].folder
    model = open_trained(folder, "cpu")
    items = [item("never a cat sits there", premise) for premise in ("a man is here", "the dog eats")]
    first, second = answers(model, items, "target-only")
    assert np.allclose(first, second, rtol=1e-6)
    scores = json.loads((folder / "unwaver.json").read_text())["scores"]
    assert scores["delta-snli"]["test"]["accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_sets_are_pooled(tables: Path, tmp_path: Path, base: str) -> None:
    both = replace(setup(base, tables), tasks=("paranlu/snli", "paranlu/atomic"), pool=True)
    folder = train(both, tmp_path / "m", [0])[0].folder
    about = json.loads((folder / "unwaver.json").read_text())
    assert {task: s["test"]["accuracy"] > 0.9 for task, s in about["scores"].items()} == {
        "delta-snli": True,
        "delta-atomic": True,
    }


# --- the bag --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_bag_is_the_one_of_the_plain_descent(trained: dict[str, Path], tables: Path) -> None:
    """What was trained equals fit_ngrams on the texts of the training rows, which is tested against plain Python."""
    part = setup("ngrams", tables).parts[0]
    items = part.divided[0]
    texts = [" ".join(segments_of(i, DELTA.form)) for i in items]
    matrix = features(texts, MEAN)
    used = np.unique(matrix.indices)
    classes = np.array([DELTA.labels.index(i.accepted[0]) for i in items])
    found = fit_ngrams(matrix[:, used].tocsr(), classes, 2, Descent(40, 1.0), 0)
    logs = found.log_probabilities(features(texts[:5], MEAN)[:, used])
    asked = answers(open_trained(trained["ngrams"], None), list(items[:5]))
    assert np.allclose(asked, logs, rtol=1e-4, atol=1e-5)


def test_variants_are_rows_of_the_bag(tables: Path, tmp_path: Path) -> None:
    made = train(setup("ngrams", tables, variants={"*": ("surface_case",)}, epochs=1), tmp_path / "m", [0])
    about = json.loads((made[0].folder / "model.json").read_text())
    assert about["examples"] > 180
    assert about["like"] == "fasttext"


def test_its_recipe_is_that_of_the_paper() -> None:
    bag, lstm = (recipe_for("small", ["delta-snli"], base) for base in OWN)
    assert (bag.epochs, bag.lr, Descent().dimension) == (5, 0.1, 100)
    assert (lstm.epochs, lstm.batch) == (10, 64)
    with pytest.raises(UsageError, match="the recipe becel is for pretrained models"):
        recipe_for("becel", ["snli"], "bilstm")


# --- the BiLSTM -----------------------------------------------------------------------------------------------


def test_texts_become_numbers_of_words() -> None:
    words = Words(["dog", "runs", "."])
    assert len(words) == 5
    found = words("A dog runs.", "Dog cat", max_length=8)
    assert found["input_ids"] == [1, 2, 3, 4, 2, 1]
    assert found["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    assert words("dog " * 9, "runs", max_length=4)["input_ids"] == [2, 2, 3], "each text has its share"
    assert words("", "", max_length=4)["input_ids"] == [1]


def net(pair: bool = True) -> Any:
    torch.manual_seed(0)
    return BiLstm(words=9, labels=3, dimension=4, hidden=5, pair=pair).eval()


def row(first: list[int], second: list[int], width: int) -> dict[str, Any]:
    ids = [*first, *second]
    padding = [0] * (width - len(ids))
    return {
        "input_ids": [ids + padding],
        "attention_mask": [[1] * len(ids) + padding],
        "token_type_ids": [[0] * len(first) + [1] * len(second) + padding],
    }


def logits(model: Any, inputs: dict[str, Any]) -> np.ndarray:
    with torch.no_grad():
        found = model(**{name: torch.tensor(value) for name, value in inputs.items()}).logits
    return np.asarray(found)[0]


def test_the_network_is_that_of_conneau() -> None:
    """Against the same numbers, put together from torch's own LSTM run on each text alone."""
    model = net()
    first, second = [2, 3, 4], [5, 6]
    with torch.no_grad():
        u, v = (model.lstm(model.embedding(torch.tensor([ids])))[0].amax(1) for ids in (first, second))
        expected = model.head(torch.cat([u, v, (u - v).abs(), u * v], 1))[0].numpy()
    assert np.allclose(logits(model, row(first, second, 5)), expected, rtol=1e-5, atol=1e-6)


def test_padding_and_empty_texts_change_nothing() -> None:
    model = net()
    bare = logits(model, row([2, 3], [4], 3))
    assert np.allclose(bare, logits(model, row([2, 3], [4], 9)), rtol=1e-5, atol=1e-6)
    assert np.isfinite(logits(model, row([2, 3], [], 4))).all()
    assert np.isfinite(logits(model, row([], [4], 4))).all()
    assert not np.allclose(bare, logits(model, row([4], [2, 3], 3))), "the order of the texts counts"


def vectors(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_it_starts_from_the_vectors_of_the_user(tables: Path, tmp_path: Path) -> None:
    file = vectors(tmp_path / "v.txt", ["never 1 2 3", "dog 4 5 6", "zebra 7 8 9"])
    started = beginning(setup("bilstm", tables, vectors=file), 128, chooses=False)
    assert started.dimension == 3
    assert "zebra" in started.words.words, "a word of the file that no training row has can be read"
    weights = started.start(0).embedding.weight.detach().numpy()
    place = {word: n for n, word in enumerate(started.words.words, 2)}
    spread = np.std(np.arange(1.0, 10.0))
    assert np.allclose(weights[place["never"]] * spread, [1, 2, 3], rtol=1e-5)
    assert np.allclose(weights[place["zebra"]] * spread, [7, 8, 9], rtol=1e-5)
    again = beginning(setup("bilstm", tables, vectors=file), 128, chooses=False).start(0)
    assert np.array_equal(weights, again.embedding.weight.detach().numpy())


@pytest.mark.slow
def test_a_model_with_vectors_is_another_one(tables: Path, tmp_path: Path) -> None:
    file = vectors(tmp_path / "v.txt", [f"{word} {n} {n % 3}" for n, word in enumerate(tiny_encoder.WORDS)])
    chosen = setup("bilstm", tables, vectors=file, epochs=1)
    before = chosen.id(0)
    (tmp_path / "moved.txt").write_bytes(Path(file).read_bytes())
    assert replace(chosen, vectors=str(tmp_path / "moved.txt")).id(0) == before, (
        "the content counts, not its place"
    )
    Path(file).write_text(Path(file).read_text() + "more 1 2\n")
    assert replace(chosen).id(0) != before
    folder = train(replace(chosen), tmp_path / "m", [0])[0].folder
    assert "the word vectors of v.txt" in (folder / "README.md").read_text()
    assert json.loads((folder / "config.json").read_text())["dimension"] == 2


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["never 1 2 3", "dog 4 5"], "v.txt:2: found 2 numbers, expected 3"),
        (["zebra 1 2", "gnu 3 4"], "no word of the training rows has a vector"),
    ],
)
def test_vectors_that_do_not_fit(tables: Path, tmp_path: Path, lines: list[str], says: str) -> None:
    file = vectors(tmp_path / "v.txt", lines)
    with pytest.raises(DataError, match=says):
        beginning(setup("bilstm", tables, vectors=file), 128, chooses=False)


def test_a_file_that_is_not_there_is_said_before_training(tables: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        setup("bilstm", tables, vectors=str(tmp_path / "none.txt")).check()


KILLED = """
import os, signal, sys
from pathlib import Path
from unwaver.train import tuning
from unwaver.train.finetune import train
from unwaver.train.setup import Setup
if sys.argv[3] == "kill":
    import unwaver.train.loop as loop
    plain = loop.Watch.on_step_end
    def step(self, args, state, control, **more):
        if state.global_step >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(self, args, state, control, **more)
    loop.Watch.on_step_end = step
split = {"*": sys.argv[1]}
setup = Setup(("paranlu/snli",), "bilstm", train_split=split, epochs=4, patience=4, batch=16, device="cpu")
train(setup, Path(sys.argv[2]), [0], say=print)
"""


@pytest.mark.slow
def test_a_bilstm_goes_on_after_a_kill(tables: Path, tmp_path: Path) -> None:
    def call(place: str, how: str) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-c", KILLED, str(tables / "train.csv"), str(tmp_path / place), how]
        return subprocess.run(arguments, capture_output=True, text=True)

    assert call("m", "kill").returncode == -signal.SIGKILL
    done = call("m", "go")
    assert done.returncode == 0, done.stderr
    assert "going on after" in done.stdout
    assert call("whole", "go").returncode == 0
    items = [item("never a cat sits there"), item("the cat sits there")]
    one, two = (answers(open_trained(tmp_path / name / "seed0", "cpu"), items) for name in ("m", "whole"))
    assert np.allclose(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_bilstm_chooses_too(tmp_path: Path) -> None:
    draw = random.Random(0)
    with (tmp_path / "anli.csv").open("w", newline="") as f:
        write = csv.writer(f)
        write.writerow(["obs1", "obs2", "hyp1", "hyp2", "label"])
        for n, text in enumerate(tiny_encoder.sentences(160)):
            two, first = [text, text.replace("the", "never a")], draw.random() < 0.5
            write.writerow(
                [f"a man is here {n}", "the cat sits", *(two if first else two[::-1]), 1 if first else 2]
            )
    split = {"*": str(tmp_path / "anli.csv")}
    made = train(
        Setup(("anli",), "bilstm", head="choose", train_split=split, **LEARN["bilstm"]), tmp_path / "m", [0]
    )
    assert made[0].scores["anli"]["held_out"]["accuracy"] > 0.9
    model: Any = open_model(str(made[0].folder), device="cpu")
    anli = built_in()["anli"]
    texts = {"obs1": "a man is here", "obs2": "the cat sits", "hyp1": "never a dog runs", "hyp2": "the dog runs"}
    turned = {**texts, "hyp1": texts["hyp2"], "hyp2": texts["hyp1"]}
    items = [Item("0", "anli", "original", fields, anli.labels) for fields in (texts, turned)]
    (batch,) = model.answer([training_request(in_form(i, anli, "choice"), anli) for i in items])
    (_, first_answer), (_, second_answer) = batch
    assert first_answer.logprobs == second_answer.logprobs[::-1]


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "more", "says"),
    [
        ("ngrams", {"batch": 8}, "--batch has no effect with --base ngrams"),
        ("ngrams", {"head": "choose"}, "--head has no effect with --base ngrams"),
        ("ngrams", {"consistency": 1.0, "variants": {"*": ("swap",)}}, "--consistency has no effect"),
        ("bilstm", {"dimension": 0}, "--dimension: found 0"),
        ("bilstm", {"dimension": 50, "vectors": "v.txt"}, "the word vectors decide it"),
        ("bilstm", {"tasks": ("mrpc", "snli"), "multi_task": True}, "--base bilstm has one head"),
        ("gpt2", {"dimension": 50}, "--dimension is for --base ngrams and --base bilstm"),
    ],
)
def test_options_that_do_not_fit(base: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Setup(**{"tasks": ("mrpc",), "base": base, **more})
    assert caught.value.hint


@pytest.mark.slow
def test_a_bilstm_is_no_base_and_a_bag_is_no_hf_model(trained: dict[str, Path], tables: Path) -> None:
    chosen = replace(setup("bilstm", tables), base=str(trained["bilstm"]))
    with pytest.raises(UsageError, match="a BiLSTM cannot be trained further"):
        chosen.check()
    with pytest.raises(ModelError, match=r"config\.json") as caught:
        open_model(str(trained["ngrams"]))
    assert f"bow/{trained['ngrams']}" in str(caught.value.hint)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["words.json", "config.json", "model.safetensors"])
def test_a_damaged_folder_is_an_error_in_words(trained: dict[str, Path], tmp_path: Path, name: str) -> None:
    import shutil

    for n, damage in enumerate((b"", b"[]", b'{"architectures": ["UnwaverBiLstm"]}', b"\xff\x00 7")):
        folder = tmp_path / str(n)
        shutil.copytree(trained["bilstm"], folder)
        (folder / name).write_bytes(damage)
        with pytest.raises(ModelError):
            answers(open_model(str(folder), device="cpu"), [item("the cat sits there")])


@pytest.mark.slow
def test_it_says_what_it_cannot_answer(trained: dict[str, Path]) -> None:
    snli = built_in()["snli"]
    asked = Item("0", "snli", "original", {"premise": "a", "hypothesis": "b"}, snli.labels)
    for base in OWN:
        with pytest.raises(ModelError, match="snli"):
            open_trained(trained[base], "cpu").check([training_request(asked, snli)])  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("base", OWN)
def test_the_command_says_how_to_go_on(tables: Path, tmp_path: Path, capsys: Any, base: str) -> None:
    out = tmp_path / "m"
    options = [
        "--train-split",
        str(tables / "train.csv"),
        "--epochs",
        "1",
        "--base",
        base,
        "--out",
        str(out),
        "-q",
    ]
    with pytest.raises(SystemExit) as end:
        command.main(["paranlu/snli", *options])
    assert end.value.code == 0
    provider = {"ngrams": "bow", "bilstm": "hf"}[base]
    assert f"Next: unwaver run paranlu/snli --model {provider}/{out}/seed0" in capsys.readouterr().out
