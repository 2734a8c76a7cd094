"""--pool: several sets with the same labels in one model with one head."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder

import unwaver
from unwaver.errors import UsageError
from unwaver.models.hf import open_model
from unwaver.models.trained import read_trained
from unwaver.study.plan import read_plan
from unwaver.tasks import built_in
from unwaver.train.finetune import train
from unwaver.train.rows import training_request
from unwaver.train.setup import Setup
from unwaver.types import Item

SETS = ("delta-snli", "delta-atomic", "delta-social")
QUICK: dict[str, Any] = {"lr": 3e-3, "batch": 8, "epochs": 8, "length": 40, "patience": 8, "device": "cpu"}


def delta(path: Path, seed: int, social: bool) -> Path:
    """An update that repeats the hypothesis strengthens it; one with "never" weakens it. δ-SOCIAL has no premise."""
    draw = random.Random(seed)
    with path.open("w", newline="") as f:
        write = csv.writer(f)
        write.writerow([*([] if social else ["premise"]), "hypothesis", "update", "label"])
        for text in [f"{t} {n}" for n, t in enumerate(tiny_encoder.sentences(60, seed))]:
            before = [text] if social else ["a man is here", text]
            weak = draw.random() < 0.5
            write.writerow([*before, text.replace("the", "never a") if weak else text, "weakener" if weak else 1])
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pool")
    for n, name in enumerate(SETS):
        delta(place / f"{name}.csv", n, social=name == "delta-social")
    tiny_encoder.encoder(place / "base")
    return place


def setup(place: Path, *tasks: str, **options: Any) -> Setup:
    split = {name: str(place / f"{name}.csv") for name in tasks}
    return Setup(tasks, str(place / "base"), pool=True, train_split=split, **{**QUICK, **options})


@pytest.fixture(scope="module")
def unified(place: Path) -> Path:
    return train(setup(place, *SETS), place / "m", [0])[0].folder


@pytest.mark.slow
def test_one_head_answers_all_sets(unified: Path) -> None:
    about = json.loads((unified / "unwaver.json").read_text())
    assert list(about["tasks"]) == list(SETS)
    assert not about["heads"]
    assert not (unified / "heads.safetensors").exists()
    assert all(about["scores"][name]["held_out"]["accuracy"] > 0.8 for name in SETS)
    assert about["rows"] == sum(entry["items"] for entry in about["tasks"].values())
    assert "pooled" in (unified / "README.md").read_text()
    model = open_model(str(unified), device="cpu")
    texts = {"hypothesis": "the big dog runs here 3", "update": "never a big dog runs here 3"}
    for name in SETS:
        task = built_in()[name]
        fields = {"premise": "a man is here", **texts} if "premise" in task.fields else texts
        (batch,) = model.answer([training_request(Item("0", name, "original", fields, task.labels), task)])
        weak, strong = batch[0][1].logprobs
        assert weak > strong
    known = read_trained(unified)
    assert known is not None
    assert len(known.seen) == 3 * 60, "what was seen of every set is known"


@pytest.mark.slow
def test_it_is_run_on_each_set(unified: Path, tmp_path: Path) -> None:
    items = [
        {"fields": {"hypothesis": f"the red {who} eats here 5", "update": "never a red cat eats here 5"}}
        for who in ("cat", "dog")
    ]
    group = {"id": "g", "kind": "semantic", "task": "delta-social", "items": items}
    (tmp_path / "own.jsonl").write_text(json.dumps(group))
    result = unwaver.run(str(tmp_path / "own.jsonl"), model=f"hf/{unified}", device="cpu", out=str(tmp_path / "r"))
    assert result.find("tau").value == 0


def test_labels_in_another_order_are_the_same_labels(place: Path, tmp_path: Path) -> None:
    own = tmp_path / "turned.toml"
    own.write_text(
        '[turned]\ntype = "similarity"\nfields = ["sentence1", "sentence2"]\nlabels = ["equivalent", "not_equivalent"]\n'
        'prompt = "{sentence1} {sentence2}"\nsegments = ["{sentence1}", "{sentence2}"]\n'
    )
    table = tiny_encoder.pairs(tmp_path / "mrpc.csv")
    named = ("mrpc", str(own))
    split = {"mrpc": str(table), "turned": str(table)}
    made = train(Setup(named, str(place / "base"), pool=True, train_split=split, **QUICK), tmp_path / "m", [0])
    scores = made[0].scores
    assert scores["mrpc"]["held_out"]["accuracy"] > 0.8
    assert scores["turned"]["held_out"]["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("tasks", "more", "says"),
    [
        (("mrpc", "snli"), {}, "labels differ: mrpc has not_equivalent, equivalent and snli has entailment"),
        (("mrpc",), {}, "--pool needs several sets"),
        (("mrpc", "paws"), {"multi_task": True}, "--pool and --multi-task cannot be combined"),
    ],
)
def test_what_is_no_pool(tasks: tuple[str, ...], more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Setup(tasks, "BASE", pool=True, **more)
    assert caught.value.hint


def test_without_pool_several_tasks_say_what_there_is() -> None:
    with pytest.raises(UsageError, match="heads of their own") as caught:
        Setup(("mrpc", "paws"), "BASE")
    assert "--pool" in str(caught.value.hint)


def test_a_study_pools_too(place: Path, tmp_path: Path) -> None:
    tasks = "".join(f'[tasks.{name}]\ntrain = "{place / name}.csv"\n' for name in SETS)
    path = tmp_path / "s.toml"
    path.write_text(f'bases = ["{place / "base"}"]\n{tasks}[settings.single]\n[settings.unified]\npool = true\n')
    plan = read_plan(path)
    jobs = list(plan.jobs(tmp_path / "out", None, "cpu"))
    assert [job.tasks for job in jobs] == [(name,) for name in SETS] + [SETS]
    assert [job.setup.pool for job in jobs] == [False] * 3 + [True]
    assert not plan.settings["unified"].is_plain, "it is no single-task model, which ρ needs"
