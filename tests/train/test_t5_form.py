"""A tiny T5 trained on "rte sentence1: … sentence2: …" answers in that form; one that was not is unreadable."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import tiny_encoder

import unwaver
from unwaver.engine.folder import ANSWERS
from unwaver.errors import UsageError
from unwaver.train.finetune import train
from unwaver.train.setup import Setup


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rte.csv to learn from and own.csv to ask about; a random T5 in `base`, a trained one in `m/seed0`."""
    place = tmp_path_factory.mktemp("t5")
    tiny_encoder.pairs(place / "mrpc.csv")
    rows = tiny_encoder.rte(place)
    groups = [
        {
            "id": f"g{n}",
            "kind": "symmetric",
            "task": "rte",
            "items": [
                {"fields": {"sentence1": r["sentence1"], "sentence2": r["sentence2"]}},
                {"fields": {"sentence1": r["sentence2"], "sentence2": r["sentence1"]}},
            ],
        }
        for n, r in enumerate(rows[:12])
    ]
    (place / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    base = tiny_encoder.text_to_text(place / "base")
    learnt = Setup(
        ("rte",),
        base,
        train_split={"*": str(place / "rte.csv")},
        lr=5e-3,
        batch=8,
        epochs=6,
        length=64,
        device="cpu",
    )
    train(learnt, place / "m", [0])
    return place


def said(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / ANSWERS)) as store:
        return [text for (text,) in store.execute("SELECT text FROM answers")]


def test_trained_it_answers_in_that_form(place: Path, tmp_path: Path) -> None:
    model = f"hf/{place / 'm' / 'seed0'}"
    result = unwaver.run([str(place / "own.jsonl")], model=model, device="cpu", out=str(tmp_path / "r"))
    texts = {text.replace(" ", "") for text in said(tmp_path / "r")}
    assert texts <= {"entailment", "not_entailment", "notentailment"}
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    assert record["prompts"]["rte/t5"]["prompt"] == "rte sentence1: {sentence1} sentence2: {sentence2}"
    assert record["models"][0]["method"] == "generate, T5's form"
    tau = next(s for s in result.scores if s.metric == "tau")
    assert tau.unreadable == 0
    again = unwaver.score(str(tmp_path / "r"))
    assert [(s.metric, s.value) for s in again.scores] == [(s.metric, s.value) for s in result.scores]


def test_a_random_one_is_unreadable(place: Path, tmp_path: Path) -> None:
    model = f"hf/{place / 'base'}"
    result = unwaver.run([str(place / "own.jsonl")], model=model, device="cpu", out=str(tmp_path / "r"))
    tau = next(s for s in result.scores if s.metric == "tau")
    assert tau.unreadable == tau.groups == 12
    assert any(said(tmp_path / "r"))
    chosen = unwaver.run([str(place / "own.jsonl")], model=model, device="cpu", form="plain")
    tau = next(s for s in chosen.scores if s.metric == "tau")
    assert tau.unreadable == 0, "it chooses among the labels"


def test_form_and_template_exclude_one_another(place: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("{sentence1} {sentence2}?")
    with pytest.raises(UsageError, match="--form and --template"):
        unwaver.run([str(place / "own.jsonl")], model="fake/random", form="t5", template=str(tmp_path / "t.txt"))
    with pytest.raises(UsageError, match="unknown form 't6'"):
        unwaver.run([str(place / "own.jsonl")], model="fake/random", form="t6")
