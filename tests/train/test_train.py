"""Training from one end to the other, with a tiny encoder that learns tables of its own."""

from __future__ import annotations

import json
import math
import re
import shutil
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

import unwaver
from unwaver.engine.stored import read_groups
from unwaver.errors import ModelError, StoreFull, UsageError
from unwaver.models.hf import open_model
from unwaver.models.hf_common import folder_identity
from unwaver.models.trained import in_form, read_trained
from unwaver.tasks import built_in
from unwaver.train import finetune
from unwaver.train.finetune import TrainedModel, train
from unwaver.train.rows import lines_of_test, training_request
from unwaver.train.setup import Setup
from unwaver.types import Item, replace

MRPC = built_in()["mrpc"]
SWAP = {"*": ("swap",)}
QUICK: dict[str, Any] = {"lr": 3e-3, "batch": 8, "epochs": 6, "length": 40, "patience": 6, "device": "cpu"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder.encoder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    tiny_encoder.pairs(place / "mrpc.csv")
    tiny_encoder.pairs(place / "mrpc_test.csv", 60, seed=7, without=place / "mrpc.csv")
    tiny_encoder.nli(place / "snli.csv")
    return place


def TEST(tables: Path) -> dict[str, str]:
    return {"*": str(tables / "mrpc_test.csv")}


def setup(base: str, tables: Path, *tasks: str, **options: Any) -> Setup:
    split = {task: str(tables / f"{task}.csv") for task in tasks}
    return Setup(tasks, base, train_split=split, **{**QUICK, **options})


@pytest.fixture(scope="module")
def trained(base: str, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> list[TrainedModel]:
    return train(setup(base, tables, "mrpc", test_split=TEST(tables)), tmp_path_factory.mktemp("out"), [0, 1])


def logprobs(folder: Path, items: list[Item], task: str = "mrpc") -> np.ndarray:
    model = open_model(str(folder), device="cpu")
    found = dict(
        pair for batch in model.answer([training_request(i, built_in()[task]) for i in items]) for pair in batch
    )
    return np.array([found[n].logprobs for n in range(len(items))])


def pair(a: str, b: str) -> Item:
    return Item("0", "mrpc", "original", {"sentence1": a, "sentence2": b}, MRPC.labels, ("equivalent",))


PAIRS = [pair(a, b) for a, b in zip(tiny_encoder.sentences(40, 3), tiny_encoder.sentences(40, 4), strict=True)]


def test_it_learns_and_the_folder_is_an_ordinary_one(trained: list[TrainedModel]) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    scores = trained[0].scores["mrpc"]
    assert scores["test"]["accuracy"] > 0.9
    assert scores["test"]["items"] == 60
    assert scores["test"]["low"] < scores["test"]["accuracy"] <= scores["test"]["high"] <= 1
    model = AutoModelForSequenceClassification.from_pretrained(trained[0].folder).eval()
    assert model.config.id2label == {0: "not_equivalent", 1: "equivalent"}
    tokenizer = AutoTokenizer.from_pretrained(trained[0].folder)
    inputs = tokenizer("the man runs here", "the man runs here", return_tensors="pt")
    expected = model(**inputs).logits.log_softmax(-1)[0].tolist()
    assert logprobs(trained[0].folder, [pair("the man runs here", "the man runs here")])[0] == pytest.approx(
        expected, rel=1e-4, abs=1e-4
    )


def test_what_lies_in_the_folder(trained: list[TrainedModel], tables: Path) -> None:
    folder = trained[0].folder
    names = {p.name for p in folder.iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "unwaver.json",
        "seen.npz",
        "README.md",
        "test.jsonl",
    } <= names
    assert not [n for n in names if n.endswith((".bin", ".pt", ".pth"))], "no pickles"
    assert [p.name for p in folder.parent.iterdir() if p.name.startswith(".")] == [], "checkpoints are gone"
    card = (folder / "README.md").read_text()
    for told in ("mrpc.csv", "plain", "seed 0", "learning rate 0.003", "batch 8", "of 60 |"):
        assert told in card
    lines = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    right = np.mean([line["label"] == line["gold"] for line in lines])
    assert right == pytest.approx(trained[0].scores["mrpc"]["test"]["accuracy"])
    summary = json.loads((folder.parent / "summary.json").read_text())
    values = [m.scores["mrpc"]["test"]["accuracy"] for m in trained]
    over = summary["over_seeds"]["mrpc"]["test"]
    assert over["accuracy"] == pytest.approx(np.mean(values))
    assert over["sd"] == pytest.approx(np.std(values, ddof=1))
    assert [s["folder"] for s in summary["seeds"]] == ["seed0", "seed1"]


def test_seeds_differ_and_the_same_command_trains_nothing(
    base: str, tables: Path, trained: list[TrainedModel]
) -> None:
    assert np.abs(logprobs(trained[0].folder, PAIRS) - logprobs(trained[1].folder, PAIRS)).max() > 1e-3
    out = trained[0].folder.parent
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.safetensors")}
    said: list[str] = []
    again = train(replace(setup(base, tables, "mrpc"), test_split=TEST(tables)), out, [0, 1], say=said.append)
    assert [m.scores for m in again] == [m.scores for m in trained]
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*.safetensors")} == before
    assert len(said) == 2
    with pytest.raises(UsageError, match="holds something else"):
        train(setup(base, tables, "mrpc", lr=1e-3), out, [0])


KILLED = """
import os, signal, sys
from contextlib import nullcontext
from pathlib import Path
from unwaver.train.finetune import train
from unwaver.train.setup import Setup
import json
steps = [0]
def step(_):
    steps[0] += 1
    if steps[0] == 31:
        os.kill(os.getpid(), signal.SIGKILL)
options = json.loads(sys.argv[1])
train(Setup(**{**options, "tasks": tuple(options["tasks"])}), Path(sys.argv[2]), [0], track=lambda *_: nullcontext(step), save_seconds=0.0)
"""


@pytest.mark.parametrize("broken", ["", "state", "weights"])
def test_a_killed_training_goes_on_as_if_nothing_had_been(
    base: str, tables: Path, trained: list[TrainedModel], tmp_path: Path, broken: str
) -> None:
    """Step 31 is in the third epoch; `broken`: the kill cut the newest checkpoint short, or its deletion."""
    asked = setup(base, tables, "mrpc")
    options = {"tasks": ["mrpc"], "base": base, "train_split": dict(asked.train_split), **QUICK}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(options), tmp_path], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    checkpoints = tmp_path / ".seed0.checkpoints"
    assert not (tmp_path / "seed0").exists()
    assert list(checkpoints.glob("checkpoint-*"))
    if broken:
        newest = max(checkpoints.glob("checkpoint-*"), key=lambda p: int(p.name.partition("-")[2]))
        cut = newest.with_name("checkpoint-31")
        shutil.copytree(newest, cut)
        if broken == "state":
            (cut / "trainer_state.json").write_text('{"epoch": 2.')
        else:
            (cut / "model.safetensors").unlink()
    said: list[str] = []
    made = train(asked, tmp_path, [0], say=said.append)
    assert "going on after 30 of" in said[0]
    assert not checkpoints.exists()
    resumed, whole = logprobs(made[0].folder, PAIRS), logprobs(trained[0].folder, PAIRS)
    np.testing.assert_allclose(resumed, whole, rtol=1e-3, atol=1e-3)
    assert (resumed.argmax(1) == whole.argmax(1)).mean() >= 0.999


def test_a_killed_training_of_several_tasks_with_pairs_goes_on_too(
    base: str, tables: Path, tmp_path: Path
) -> None:
    """Heads, batches of one task each, and variants drawn beside items: all as before."""
    more: dict[str, Any] = {"multi_task": True, "variants": SWAP, "consistency": 1.0, "epochs": 3}
    asked = setup(base, tables, "mrpc", "snli", **more)
    splits = dict(asked.train_split)
    options = {"tasks": ["mrpc", "snli"], "base": base, "train_split": splits, **QUICK, **more}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(options), tmp_path / "killed"], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    said: list[str] = []
    (resumed,) = train(asked, tmp_path / "killed", [0], say=said.append)
    assert any("going on after 30 of" in line for line in said)
    (whole,) = train(asked, tmp_path / "whole", [0])
    found, expected = logprobs(resumed.folder, PAIRS), logprobs(whole.folder, PAIRS)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_a_kill_while_it_is_measured_costs_no_training(
    base: str, tables: Path, trained: list[TrainedModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = setup(base, tables, "mrpc", test_split=TEST(tables))
    with monkeypatch.context() as patch:
        patch.setattr(finetune, "answered", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(asked, tmp_path, [0])
    assert not (tmp_path / "seed0").exists()
    monkeypatch.setattr("unwaver.train.loop.Tuner.training_step", stopped)
    (made,) = train(asked, tmp_path, [0])
    assert made.scores == trained[0].scores
    assert (logprobs(made.folder, PAIRS) == logprobs(trained[0].folder, PAIRS)).all()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def stopped(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_the_summary_keeps_seeds_that_were_not_asked_for_again(base: str, tables: Path, tmp_path: Path) -> None:
    asked = setup(base, tables, "mrpc", epochs=1)
    both = train(asked, tmp_path, [0, 1])
    (tmp_path / "seedling").mkdir()
    assert [m.seed for m in train(asked, tmp_path, [1])] == [1]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [s["seed"] for s in summary["seeds"]] == [0, 1]
    values = [m.scores["mrpc"]["held_out"]["accuracy"] for m in both]
    assert summary["over_seeds"]["mrpc"]["held_out"]["accuracy"] == pytest.approx(np.mean(values))


def test_inputs_are_cut_where_the_base_ends(base: str, tmp_path: Path) -> None:
    """The base has 64 positions."""
    long = " ".join(tiny_encoder.sentences(40, 3))
    rows = "".join(f"{long} {n},{long},{n % 2}\n" for n in range(30))
    (tmp_path / "mrpc.csv").write_text("sentence1,sentence2,label\n" + rows)
    said: list[str] = []
    (made,) = train(setup(base, tmp_path, "mrpc", epochs=1, length=1000), tmp_path / "m", [0], say=said.append)
    assert "reads 64 tokens: inputs are cut there, not at 1000" in said[0]
    assert "at most 64 tokens" in (made.folder / "README.md").read_text()


def test_clusters_of_the_test_set_mean_the_same_whatever_was_seen() -> None:
    snli = built_in()["snli"]
    items = [
        Item(str(n), "snli", "original", {"premise": p, "hypothesis": str(n)}, snli.labels, ("neutral",))
        for n, p in enumerate("aabbc")
    ]
    lines = [json.loads(x) for x in lines_of_test(items, items[2:], ["neutral"] * 3, snli)]
    assert [(x["id"], x["cluster"]) for x in lines] == [("2", 1), ("3", 1), ("4", 2)]


def test_checkpoints_of_another_training_are_not_gone_on_with(base: str, tables: Path, tmp_path: Path) -> None:
    (tmp_path / ".seed0.checkpoints" / "checkpoint-3").mkdir(parents=True)
    with pytest.raises(UsageError, match="checkpoints of another training"):
        train(setup(base, tables, "mrpc"), tmp_path, [0])
    (tmp_path / ".seed0.checkpoints" / "id").write_text("other\n")
    with pytest.raises(UsageError, match="checkpoints of another training"):
        train(setup(base, tables, "mrpc"), tmp_path, [0])


def test_early_stopping_keeps_the_best_epoch(base: str, tables: Path, tmp_path: Path) -> None:
    """With a learning rate that spoils everything the first epochs are the best, and it stops after patience."""
    made = train(setup(base, tables, "mrpc", lr=1e-9, epochs=9, patience=2), tmp_path, [0])
    assert json.loads((made[0].folder / "unwaver.json").read_text())["epochs_trained"] == 3


def test_a_finished_model_can_be_measured_on_another_set(base: str, tables: Path, tmp_path: Path) -> None:
    asked = setup(base, tables, "mrpc", epochs=1)
    assert "test" not in train(asked, tmp_path, [0])[0].scores["mrpc"]
    weights = (tmp_path / "seed0" / "model.safetensors").stat().st_mtime_ns
    (tmp_path / ".seed0.checkpoints").mkdir()  # a kill between the last two steps leaves them
    again = train(replace(asked, test_split=TEST(tables), test_rows=30), tmp_path, [0])
    assert again[0].scores["mrpc"]["test"]["items"] == pytest.approx(30, abs=3)
    assert "of 30 |" in (tmp_path / "seed0" / "README.md").read_text()
    assert (tmp_path / "seed0" / "model.safetensors").stat().st_mtime_ns == weights
    assert not (tmp_path / ".seed0.checkpoints").exists()


def test_the_base_counts_by_its_weights(base: str, tables: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "copy")
    one, other = (setup(place, tables, "mrpc").id(0) for place in (base, str(tmp_path / "copy")))
    assert one == other
    different = tiny_encoder.encoder(tmp_path / "other", "roberta")
    assert setup(different, tables, "mrpc").id(0) != one
    assert setup(base, tables, "mrpc").id(1) != one


def test_models_of_earlier_versions_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids that 0.1 gave: an option that comes later is in them only where it is used."""
    monkeypatch.setattr("unwaver.train.setup.base_identity", lambda _: "weights")
    monkeypatch.setattr(Setup, "_is_t5", False)
    monkeypatch.chdir(tmp_path)
    tiny_encoder.pairs(Path("mrpc.csv"), 30)
    by_task: dict[str, Any] = {"train_split": {"mrpc": "mrpc.csv"}, "rows": {"mrpc": 20}}
    asked = Setup(("mrpc",), "base", **by_task, variants={"mrpc": ("swap",)})
    assert [asked.id(seed) for seed in (0, 1)] == ["697e175778dbb8ea", "457d409860540d1e"]
    assert replace(asked, head="classify").id(0) != asked.id(0)


def test_seeds_draw_their_own_rows(base: str, tables: Path) -> None:
    """Or share them: models that share rows are the same as ever, and so is the first of those that do not."""
    shared, own = (setup(base, tables, "mrpc", rows={"mrpc": 40}, draw_by_seed=by) for by in (False, True))
    assert shared.at(3) is shared
    assert own.at(0) is own
    assert own.id(0) == shared.id(0)
    assert own.id(1) not in (shared.id(1), own.id(0))
    assert own.at(1).id(1) == own.id(1)
    drawn = [[tuple(item.fields.values()) for item in own.at(seed).parts[0].data.items] for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    whole = setup(base, tables, "mrpc", draw_by_seed=True)
    assert whole.at(1).parts[0].data.items == whole.parts[0].data.items
    assert whole.at(1).parts[0].divided != whole.parts[0].divided, "with all rows, the hold-out is another"
    assert whole.id(1) != setup(base, tables, "mrpc").id(1)


# --- forms --------------------------------------------------------------------------------------------------


def test_the_form_is_stored_and_used(base: str, tables: Path, tmp_path: Path) -> None:
    made = train(setup(base, tables, "mrpc", form={"*": "calm"}, epochs=1), tmp_path / "calm", [0])
    model = open_model(str(made[0].folder), device="cpu")
    item = pair("the man runs", "the man sits")
    from unwaver.asking.render import Renderer
    from unwaver.config import Config
    from unwaver.suites.select import Selection

    render = Renderer(Selection([], {}), Config(("x",), ()))
    assert render(item, model).segments == ("Sentence1: the man runs", "Sentence2: the man sits")
    assert model.name == "calm/seed0"
    target = train(setup(base, tables, "mrpc", form={"mrpc": "target-only"}, epochs=1), tmp_path / "target", [0])
    partial = open_model(str(target[0].folder), device="cpu")
    assert render(item, partial).segments == ("the man sits",)
    with pytest.raises(UsageError, match="target-only model cannot read the form calm"):
        render(in_form(item, MRPC, "calm"), partial)
    plain = open_model(base_classifier(made[0].folder, tmp_path), device="cpu")
    assert render(item, plain).segments == ("the man runs", "the man sits")


def base_classifier(folder: Path, place: Path) -> str:
    """The same weights without what unwaver knows of them."""
    shutil.copytree(folder, place / "elsewhere")
    (place / "elsewhere" / "unwaver.json").unlink()
    return str(place / "elsewhere")


def test_forms_of_tasks() -> None:
    assert built_in()["anli"].form_named("target-only").segments == ("{hyp1} {hyp2}",)
    form = built_in()["snli"].form_named("target-only")
    assert form.segments == ("{hypothesis}",)
    assert "{premise}" not in form.prompt
    assert "{hypothesis}" in form.prompt
    with pytest.raises(UsageError, match="unknown form"):
        _ = Setup(("mrpc",), "x", form={"*": "clam"}, train_split={"*": __file__}).parts
    with pytest.raises(UsageError):
        _ = Setup(("calm/wic",), "x").parts


# --- several tasks ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["bert", "roberta"])
def shared(request: Any, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    base = tiny_encoder.encoder(tmp_path_factory.mktemp("base"), request.param)
    both = setup(base, tables, "mrpc", "snli", multi_task=True, epochs=8)
    return train(both, tmp_path_factory.mktemp("multi"), [0])[0]


def test_heads_share_an_encoder(shared: TrainedModel) -> None:
    from safetensors.numpy import load_file
    from transformers import AutoModel

    assert {task: s["held_out"]["accuracy"] > 0.7 for task, s in shared.scores.items()} == {
        "mrpc": True,
        "snli": True,
    }
    heads = load_file(shared.folder / "heads.safetensors")
    assert {name.partition(".")[0] for name in heads} == {"mrpc", "snli"}
    outputs = {
        name.partition(".")[0]: w.shape[0]
        for name, w in heads.items()
        if name.endswith(("out_proj.weight", "classifier.weight"))
    }
    assert outputs == {"mrpc": 2, "snli": 3}
    AutoModel.from_pretrained(shared.folder)  # an ordinary encoder


def test_the_head_is_chosen_by_the_task(shared: TrainedModel) -> None:
    """A mixed batch gives what each task gives alone."""
    snli = built_in()["snli"]
    text = {"premise": "the man runs here 1", "hypothesis": "no man runs here 1"}
    other = Item("1", "snli", "original", text, snli.labels, ("contradiction",))
    model = open_model(str(shared.folder), device="cpu")
    asked = [training_request(PAIRS[0], MRPC), training_request(other, snli), training_request(PAIRS[1], MRPC)]
    mixed = dict(p for batch in model.answer(asked) for p in batch)
    assert [len(mixed[n].logprobs) for n in range(3)] == [2, 3, 2]
    alone = logprobs(shared.folder, [other], "snli")
    assert mixed[1].logprobs == pytest.approx(alone[0], rel=1e-4, abs=1e-4)
    assert all(np.exp(a.logprobs).sum() == pytest.approx(1) for a in mixed.values())


def test_a_task_without_a_head(shared: TrainedModel) -> None:
    model = open_model(str(shared.folder), device="cpu")
    item = Item("0", "rte", "original", {"sentence1": "a", "sentence2": "b"}, ("entailment", "not_entailment"))
    with pytest.raises(ModelError, match="has no head for rte; it has mrpc, snli"):
        model.check([training_request(item, built_in()["rte"])])


def test_a_damaged_folder_is_told(shared: TrainedModel, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(shared.folder, folder)
    (folder / "heads.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="cannot be loaded"):
        logprobs(folder, PAIRS[:1])
    (folder / "unwaver.json").write_text("{}")
    with pytest.raises(ModelError, match="not what unwaver train wrote"):
        open_model(str(folder))


def test_a_model_may_start_from_a_trained_one(
    shared: TrainedModel, trained: list[TrainedModel], tables: Path, tmp_path: Path
) -> None:
    """Of an encoder with heads the encoder is taken; of a classifier with other labels all but the head."""
    for n, start in enumerate((shared.folder, trained[0].folder)):
        made = train(setup(str(start), tables, "snli", epochs=1), tmp_path / str(n), [0])
        assert read_trained(made[0].folder).tasks["snli"]["labels"] == ["entailment", "neutral", "contradiction"]  # type: ignore[union-attr]


# --- variants -----------------------------------------------------------------------------------------------


def test_consistency_training_makes_swaps_alike(base: str, tables: Path, tmp_path: Path) -> None:
    """The weight of the loss is what does it: with pairs alone the two orders stay further apart."""
    swapped = [pair(i.fields["sentence2"], i.fields["sentence1"]) for i in PAIRS]

    def distance(name: str, **options: Any) -> float:
        made = train(setup(base, tables, "mrpc", epochs=4, variants=SWAP, **options), tmp_path / name, [0])
        about = json.loads((made[0].folder / "unwaver.json").read_text())
        assert about["pairs"] == about["tasks"]["mrpc"]["items"] == 108
        return float(
            np.abs(np.exp(logprobs(made[0].folder, PAIRS)) - np.exp(logprobs(made[0].folder, swapped))).mean()
        )

    assert distance("with", consistency=5.0) < distance("without")


def test_a_share_of_the_items_gets_a_variant(base: str, tables: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"form": {"*": "calm"}, "variants": {"mrpc": ("reverse", "signal")}, "share": 0.25}
    made = train(setup(base, tables, "mrpc", epochs=1, **options), tmp_path, [0])
    assert json.loads((made[0].folder / "unwaver.json").read_text())["pairs"] == 27
    assert "27 rows have a variant (reverse, signal)" in (made[0].folder / "README.md").read_text()


def test_variants_that_make_no_pairs_are_refused(base: str, tables: Path, tmp_path: Path) -> None:
    for options, told in (
        ({"variants": {"*": ("transitive",)}}, "transitive makes no pairs"),
        ({"variants": {"*": ("reverse",)}}, "reverse is a variant of CALM's form"),
        ({"variants": {"*": ("paraphrase",)}, "writer": "hf/x"}, "cannot write while"),
        ({"variants": SWAP, "share": 0.0}, "--share is 0"),
        ({"consistency": 1.0}, "needs pairs"),
    ):
        with pytest.raises(UsageError, match=told):
            train(setup(base, tables, "mrpc", **options), tmp_path / "x", [0])


# --- what was trained on ------------------------------------------------------------------------------------


def test_groups_that_were_trained_on_are_scored_apart(
    trained: list[TrainedModel], tables: Path, tmp_path: Path
) -> None:
    """Half of the file was trained on – in other letters –, half not; swaps of trained rows are of the same groups."""
    rows = (tables / "mrpc.csv").read_text().splitlines()[1:41]
    new = [f"a red dog sits {n},the red dog sits {n},equivalent" for n in range(40)]
    file = tmp_path / "mixed.csv"
    file.write_text(
        "\n".join(
            [
                "sentence1,sentence2,label",
                *(r.upper().replace("EQUIVALENT", "equivalent").replace("NOT_", "not_") for r in rows),
                *new,
            ]
        )
    )
    result = unwaver.run(
        str(file),
        f"hf/{trained[0].folder}",
        task="mrpc",
        variants=("swap",),
        device="cpu",
        out=str(tmp_path / "run"),
    )
    unseen = result.find("tau", kind="symmetric")
    seen = result.find("tau", kind="symmetric_seen")
    assert (unseen.groups, seen.groups) == (40, 40)
    assert seen.flags == ("seen_in_training",)
    assert "seen_in_training" not in unseen.flags
    assert "mrpc/symmetric_seen: groups with a text that" in str(result)
    again = unwaver.score(tmp_path / "run")
    assert [(s.kind, s.metric, s.value) for s in again] == [(s.kind, s.metric, s.value) for s in result]


def test_the_form_does_not_hide_what_was_seen(trained: list[TrainedModel], tables: Path, tmp_path: Path) -> None:
    file = tmp_path / "same.csv"
    shutil.copy(tables / "mrpc.csv", file)
    result = unwaver.run(
        str(file),
        f"hf/{trained[0].folder}",
        task="mrpc",
        variants=("reverse",),
        device="cpu",
        out=str(tmp_path / "run"),
    )
    assert {s.kind for s in result} == {"reverse_seen"}
    assert result.find("C_R", kind="reverse_seen").groups == 120
    assert "C_R" in str(result)


def test_swapped_variants_that_were_trained_on_count_too(base: str, tables: Path, tmp_path: Path) -> None:
    made = train(setup(base, tables, "mrpc", epochs=1, variants=SWAP), tmp_path / "m", [0])
    text = (tables / "mrpc.csv").read_text().splitlines()
    swapped = [",".join([b, a, label]) for a, b, label in (line.split(",") for line in text[1:])]
    (tmp_path / "swapped.csv").write_text("\n".join([text[0], *swapped]))
    result = unwaver.run(
        str(tmp_path / "swapped.csv"),
        f"hf/{made[0].folder}",
        task="mrpc",
        variants=("surface_case",),
        device="cpu",
        out=str(tmp_path / "run"),
    )
    kinds = {s.kind: s.groups for s in result if s.metric == "tau"}
    held = 120 - 108
    assert sum(n for kind, n in kinds.items() if kind.endswith("_seen")) > sum(kinds.values()) - 4 * held - 1


def words_of(item: Item) -> tuple[tuple[str, ...], ...]:
    """What two items have in common that were written alike but for case and signs."""
    return tuple(tuple(re.findall(r"\w+", text.casefold())) for text in item.fields.values())


def test_real_symmetric_sets(base: str, data: Path, tmp_path: Path) -> None:
    """BECEL's symmetric MRPC is its training set: the rows that were trained on stand apart. So do those of WiC's
    transitive set, and swapped validation rows do not."""
    asked = Setup(("mrpc",), base, rows={"*": 300}, data_dir=str(data), **{**QUICK, "epochs": 1})
    made = train(asked, tmp_path / "mrpc", [0])
    model = f"hf/{made[0].folder}"
    options: dict[str, Any] = {"data_dir": str(data), "device": "cpu"}
    result = unwaver.run("becel/mrpc/symmetric", model, limit=1000, out=str(tmp_path / "r1"), **options)
    groups = {s.kind: s.groups for s in result if s.metric == "tau"}
    known = {words_of(item) for item in asked.parts[0].data.items}
    asked_about = read_groups(tmp_path / "r1")
    assert sum(groups.values()) == len(asked_about) == 1000
    assert groups["symmetric_seen"] == sum(any(words_of(i) in known for i in g.items) for g in asked_about)
    assert groups["symmetric_seen"] >= sum(int(item.id) < 1000 for item in asked.parts[0].data.items) > 50
    validation = str(data / "becel/mrpc/validation.tsv")
    result = unwaver.run(
        validation, model, task="mrpc", variants=("swap",), limit=100, out=str(tmp_path / "r2"), **options
    )
    assert {s.kind for s in result} == {"symmetric"}
    asked = Setup(("wic",), base, data_dir=str(data), **{**QUICK, "epochs": 1, "batch": 256})
    made = train(asked, tmp_path / "wic", [0])
    result = unwaver.run(
        "becel/wic/transitive", f"hf/{made[0].folder}", limit=40, out=str(tmp_path / "r3"), **options
    )
    assert {s.kind for s in result} == {"transitive_seen"}


# --- text to text -------------------------------------------------------------------------------------------


def test_what_the_base_was_trained_on_stays_seen(
    base: str, tables: Path, trained: list[TrainedModel], tmp_path: Path
) -> None:
    """A model that starts from another has learnt its texts too, however few it is trained on itself."""
    first = trained[0].folder
    made = train(setup(str(first), tables, "mrpc", epochs=1, rows={"mrpc": 20}), tmp_path / "m", [0])
    known, before = read_trained(made[0].folder), read_trained(first)
    assert known is not None
    assert before is not None
    assert set(before.seen.tolist()) <= set(known.seen.tolist())


def test_rows_of_the_test_set_that_were_trained_on_are_left_out(base: str, tables: Path, tmp_path: Path) -> None:
    header, *rows = (tables / "mrpc_test.csv").read_text().splitlines()
    learnt = (tables / "mrpc.csv").read_text().splitlines()[1:11]
    fresh = [row for row in dict.fromkeys(rows) if row not in learnt]
    (tmp_path / "mixed.csv").write_text("\n".join([header, *learnt, *fresh]))
    options: dict[str, Any] = {"epochs": 1, "test_split": {"mrpc": str(tmp_path / "mixed.csv")}}
    made = train(setup(base, tables, "mrpc", **options), tmp_path / "m", [0])
    score = made[0].scores["mrpc"]["test"]
    assert score["seen_in_training"] >= 10
    assert score["items"] + score["seen_in_training"] == len(learnt) + len(fresh)
    assert len((made[0].folder / "test.jsonl").read_text().splitlines()) == score["items"]
    itself = {"epochs": 1, "test_split": {"mrpc": str(tables / "mrpc.csv")}}
    with pytest.raises(UsageError, match="all rows of the test set of mrpc were trained on"):
        train(setup(base, tables, "mrpc", **itself), tmp_path / "n", [0])


def test_measuring_again_changes_no_identity(base: str, tables: Path, tmp_path: Path) -> None:
    """What starts from a model, and what was asked of it, stay its own when only its scores are new."""
    (made,) = train(setup(base, tables, "mrpc", epochs=1), tmp_path / "m", [0])
    before = folder_identity(made.folder)
    (again,) = train(setup(base, tables, "mrpc", epochs=1, test_split=TEST(tables)), tmp_path / "m", [0])
    assert "test" in again.scores["mrpc"]
    assert folder_identity(made.folder) == before
    (third,) = train(setup(base, tables, "mrpc", epochs=1), tmp_path / "m", [0])
    assert "test" not in third.scores["mrpc"]
    assert not (made.folder / "test.jsonl").exists()


def test_each_task_has_its_own_variants(base: str, tables: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"form": {"snli": "calm"}, "variants": {"mrpc": ("swap",), "snli": ("reverse",)}}
    said: list[str] = []
    asked = setup(base, tables, "mrpc", "snli", multi_task=True, epochs=1, **options)
    train(asked, tmp_path / "m", [0], say=said.append)
    assert [line.partition(":")[0] for line in said] == ["mrpc", "snli"]
    with pytest.raises(UsageError, match="--variants: mnli is not trained here") as error:
        setup(base, tables, "snli", variants={"mnli": ("swap",)})
    assert "snli" in str(error.value.hint)


def test_a_causal_model_without_padding(tables: Path, tmp_path: Path) -> None:
    base = tiny_encoder.causal(tmp_path / "gpt")
    made = train(setup(base, tables, "mrpc", epochs=1), tmp_path / "m", [0])
    assert made[0].scores["mrpc"]["held_out"]["items"] > 0


def test_three_texts_are_refused_before_training(base: str, tmp_path: Path) -> None:
    (tmp_path / "three.toml").write_text(
        '[three]\nfields = ["a", "b", "c"]\nmodified = "c"\nlabels = ["no", "yes"]\nprompt = "{a} {b} {c}?"\n'
    )
    lines = "".join(f"x{n},y{n},z{n},{('no', 'yes')[n % 2]}\n" for n in range(30))
    (tmp_path / "t.csv").write_text("a,b,c,label\n" + lines)
    asked = Setup((str(tmp_path / "three.toml"),), base, train_split={"*": str(tmp_path / "t.csv")}, **QUICK)
    with pytest.raises(UsageError, match="reads one text or two"):
        train(asked, tmp_path / "m", [0])


def test_joined_columns_are_told_to_text_to_text_models(tmp_path: Path) -> None:
    """δ-NLI with premise and hypothesis in one column: the prompt differs from that of the groups."""
    rows = "".join(
        f"the man runs {n // 3} here,it is {n},{('strengthener', 'weakener')[n % 2]}\n" for n in range(40)
    )
    (tmp_path / "joined.csv").write_text("sentence1,sentence2,label\n" + rows)
    base, split = tiny_encoder.text_to_text(tmp_path / "t5"), {"*": str(tmp_path / "joined.csv")}
    said: list[str] = []
    options = {**QUICK, "epochs": 1, "length": 64}
    train(Setup(("paranlu/snli",), base, train_split=split, **options), tmp_path / "m", [0], say=said.append)
    assert "joined.csv has several fields in one column" in said[0]


def test_text_to_text(tables: Path, tmp_path: Path) -> None:
    base = tiny_encoder.text_to_text(tmp_path / "t5")
    made = train(setup(base, tables, "mrpc", length=64, lr=5e-3, epochs=10), tmp_path / "m", [0])
    assert made[0].scores["mrpc"]["held_out"]["accuracy"] > 0.7
    model = open_model(str(made[0].folder), device="cpu")
    assert (model.method, model.form) == ("generate", "t5")
    assert open_model(str(made[0].folder), method="logprob", device="cpu").method == "logprob"
    plain = train(setup(base, tables, "mrpc", length=64, epochs=1, form={"*": "plain"}), tmp_path / "p", [0])
    model = open_model(str(plain[0].folder), device="cpu")
    assert (model.method, model.form) == ("logprob", "plain")
    both = train(setup(base, tables, "mrpc", "snli", multi_task=True, length=64, epochs=1), tmp_path / "b", [0])
    assert set(both[0].scores) == {"mrpc", "snli"}
    assert not (both[0].folder / "heads.safetensors").exists(), "the prompt tells the task"
    with pytest.raises(UsageError, match="no distribution over labels"):
        train(setup(base, tables, "mrpc", variants=SWAP, consistency=1.0), tmp_path / "n", [0])


def test_bart_gets_a_classification_head_unless_it_shall_write(tables: Path, tmp_path: Path) -> None:
    base = tiny_encoder.bart(tmp_path / "bart")
    asked = {"length": 64, "epochs": 1, "lr": 3e-3}
    (classifier,) = train(setup(base, tables, "mrpc", **asked), tmp_path / "c", [0])
    assert open_model(str(classifier.folder), device="cpu").method == "classify"
    (writer,) = train(setup(base, tables, "mrpc", head="text", **asked), tmp_path / "w", [0])
    assert open_model(str(writer.folder), device="cpu").method == "logprob"
    (both,) = train(setup(base, tables, "mrpc", "snli", multi_task=True, **asked), tmp_path / "b", [0])
    assert (both.folder / "heads.safetensors").exists()
    (t5,) = train(
        setup(tiny_encoder.text_to_text(tmp_path / "t5"), tables, "mrpc", head="classify", **asked),
        tmp_path / "t",
        [0],
    )
    assert open_model(str(t5.folder), device="cpu").method == "classify"


def test_an_unknown_or_impossible_head_is_refused(base: str, tables: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--head sing"):
        setup(base, tables, "mrpc", head="sing")
    with pytest.raises(UsageError, match="--head text: bert is not a text-to-text model"):
        train(setup(base, tables, "mrpc", head="text"), tmp_path / "m", [0])


def test_the_card_says_where_a_model_comes_from(base: str, tables: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"epochs": 1, "form": {"*": "calm"}, "variants": {"*": ("reverse",)}, "share": 0.5}
    (first,) = train(setup(base, tables, "snli", epochs=1, fraction=0.5), tmp_path / "a", [0])
    start = str(tmp_path / "a" / "seed{seed}")
    (second,) = train(setup(start, tables, "mrpc", rows={"*": 60}, **options), tmp_path / "b", [0])
    card = (first.folder / "README.md").read_text()
    assert f"from `{Path(base).name}`." in card
    assert "Drawn from the file: a fraction of 0.5." in card
    card = (second.folder / "README.md").read_text()
    assert f"from a model of snli, seed 0, from `{Path(base).name}`." in card
    assert "Drawn from the file: about 60 rows." in card
    assert "of a share of 0.5" in card
    assert str(tmp_path) not in card, "no paths of this machine"


# --- what goes wrong ----------------------------------------------------------------------------------------


def test_unknown_bases(tables: Path, tmp_path: Path) -> None:
    for base, told in (("./nowhere", "no model folder"), ("package/no_such_package_here", "there is no package")):
        with pytest.raises(ModelError, match=told):
            train(setup(base, tables, "mrpc"), tmp_path, [0])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match=r"no config\.json"):
        train(setup(str(empty), tables, "mrpc"), tmp_path, [0])
    with pytest.raises(ModelError, match="the package numpy has no model in it"):
        train(setup("package/numpy", tables, "mrpc"), tmp_path, [0])


def test_a_folder_of_seeds_says_which_are_in_it(trained: list[TrainedModel]) -> None:
    with pytest.raises(ModelError, match=r"no config\.json") as error:
        open_model(str(trained[0].folder.parent), device="cpu")
    assert str(trained[0].folder) in str(error.value.hint)


@pytest.mark.parametrize("options", [{"lr": 1e30}, {"variants": SWAP, "consistency": 1e6, "lr": 1e20}])
def test_a_training_that_goes_astray_is_told(
    base: str, tables: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match="training diverged") as error:
        train(setup(base, tables, "mrpc", **options), tmp_path, [0])
    assert "a lower --lr" in str(error.value.hint)
    assert not (tmp_path / "seed0").exists()


def test_a_model_that_gives_no_numbers_has_no_accuracy(
    trained: list[TrainedModel], tables: Path, tmp_path: Path
) -> None:
    """Such a folder, from wherever, is no base: its first loss is no number."""
    from safetensors.numpy import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(trained[0].folder, broken)
    weights = load_file(broken / "model.safetensors")
    save_file({name: np.full_like(w, np.nan) for name, w in weights.items()}, broken / "model.safetensors")
    with pytest.raises(ModelError, match="training diverged"):
        train(setup(str(broken), tables, "mrpc"), tmp_path / "m", [0])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"consistency": math.nan, "variants": SWAP}, "--consistency is nan"),
        ({"consistency": math.inf, "variants": SWAP}, "--consistency is inf"),
        ({"consistency": -1.0, "variants": SWAP}, "--consistency is -1"),
        ({"share": 1.5}, "--share is 1.5"),
        ({"share": math.nan}, "--share is nan"),
        ({"bar": 7.0}, "--bar is 7"),
        ({"test_rows": 0}, "--test-rows is 0"),
        ({"lr": math.inf}, "--lr is inf"),
        ({"lr": math.nan}, "--lr is nan"),
    ],
)
def test_numbers_that_mean_nothing(base: str, tables: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        setup(base, tables, "mrpc", **options).check()


def test_a_device_that_is_not_there_is_told_at_once(base: str, tables: Path) -> None:
    with pytest.raises(ModelError, match="device nonsense cannot be used here"):
        setup(base, tables, "mrpc", device="nonsense").check()


@pytest.mark.parametrize("told", ["basic_ios::clear: iostream error", "No space left on device (os error 28)"])
def test_libraries_have_many_words_for_a_full_disk(tmp_path: Path, told: str) -> None:
    with pytest.raises(StoreFull, match="the disk is full"), finetune._disk(tmp_path):
        raise RuntimeError(told)
