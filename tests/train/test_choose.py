"""--head choose: α-NLI as multiple choice, both hypotheses scored by one head."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder
import torch
import transformers

import unwaver
from unwaver.errors import ModelError, UsageError
from unwaver.models.hf import open_model
from unwaver.models.trained import in_form
from unwaver.tasks import built_in, open_task
from unwaver.tasks.choice import CHOICE, alternatives
from unwaver.train.finetune import train
from unwaver.train.rows import training_request
from unwaver.train.setup import Setup
from unwaver.types import Answer, Item, replace

ANLI = built_in()["anli"]
QUICK: dict[str, Any] = {"lr": 3e-3, "batch": 8, "epochs": 8, "length": 40, "patience": 8, "device": "cpu"}


def stories(path: Path, count: int = 120, seed: int = 0) -> Path:
    """The right hypothesis is the one without "never", at either place."""
    draw = random.Random(seed)
    with path.open("w", newline="") as f:
        write = csv.writer(f)
        write.writerow(["obs1", "obs2", "hyp1", "hyp2", "label"])
        for n, text in enumerate(tiny_encoder.sentences(count, seed)):
            right, wrong = text, text.replace("the", "never a")
            first = draw.random() < 0.5
            two = [right, wrong] if first else [wrong, right]
            write.writerow([f"a man is here {n}", "the cat sits", *two, 1 if first else 2])
    return path


def items_of(path: Path) -> list[Item]:
    with path.open() as f:
        rows = list(csv.DictReader(f))
    return [
        Item(str(n), "anli", "original", {k: r[k] for k in ANLI.fields}, ANLI.labels, (r["label"],))
        for n, r in enumerate(rows)
    ]


def swapped(item: Item) -> Item:
    a, b = item.fields["hyp1"], item.fields["hyp2"]
    return replace(item, fields={**item.fields, "hyp1": b, "hyp2": a})


def asked(model: Any, items: list[Item]) -> list[Answer]:
    requests = [training_request(in_form(item, ANLI, CHOICE), ANLI) for item in items]
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[n] for n in range(len(items))]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("choose")
    stories(place / "train.csv")
    stories(place / "test.csv", 40, seed=9)
    tiny_encoder.encoder(place / "base")
    return place


def setup(place: Path, **options: Any) -> Setup:
    split = {"train_split": {"*": str(place / "train.csv")}, "test_split": {"*": str(place / "test.csv")}}
    return Setup(("paranlu/anli",), str(place / "base"), **{"head": "choose", **split, **QUICK, **options})


@pytest.fixture(scope="module")
def chooser(place: Path) -> Path:
    return train(setup(place), place / "m", [0])[0].folder


def test_each_alternative_has_its_texts() -> None:
    assert alternatives(["a", "x", "b", "x"], 2) == [("a", "x"), ("b", "x")]
    assert alternatives(["a", "b", "c"], 3) == [("a",), ("b",), ("c",)]
    item = Item("0", "anli", "original", {"obs1": "O.", "obs2": "P.", "hyp1": "A.", "hyp2": "B."}, ANLI.labels)
    assert training_request(in_form(item, ANLI, CHOICE), ANLI).segments == ("O. A.", "P.", "O. B.", "P.")


@pytest.mark.slow
def test_it_learns_with_one_number_for_each_alternative(chooser: Path) -> None:
    about = json.loads((chooser / "unwaver.json").read_text())
    assert about["tasks"]["anli"]["form"] == "choice"
    assert about["scores"]["anli"]["test"]["accuracy"] > 0.9
    assert json.loads((chooser / "config.json").read_text())["id2label"] == {"0": "score"}
    assert "scores each alternative" in (chooser / "README.md").read_text()


@pytest.mark.slow
def test_swapped_hypotheses_give_the_swapped_answer_exactly(place: Path, chooser: Path) -> None:
    model = open_model(str(chooser), device="cpu")
    items = items_of(place / "test.csv")
    both = asked(model, [*items, *map(swapped, items)])
    plain, turned = both[: len(items)], both[len(items) :]
    assert [a.logprobs for a in plain] == [b.logprobs[::-1] for b in turned]
    apart = [b.logprobs for b in asked(model, list(map(swapped, items)))]
    assert np.allclose(apart, [b.logprobs for b in turned], rtol=1e-4, atol=1e-4), "whatever else is asked beside"
    assert np.allclose(np.exp([a.logprobs for a in plain]).sum(axis=1), 1)


@pytest.mark.slow
def test_the_numbers_are_those_of_transformers(place: Path, chooser: Path) -> None:
    item = items_of(place / "test.csv")[0]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(chooser).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(chooser)
    pairs = [(f"{item.fields['obs1']} {item.fields[name]}", item.fields["obs2"]) for name in ("hyp1", "hyp2")]
    with torch.no_grad():
        scores = torch.cat([model(**tokenizer(*pair, return_tensors="pt")).logits[0] for pair in pairs])
    (answer,) = asked(open_model(str(chooser), device="cpu"), [item])
    assert answer.logprobs == pytest.approx(scores.log_softmax(-1).tolist(), rel=1e-4, abs=1e-4)


@pytest.mark.slow
def test_a_run_evaluates_it(place: Path, chooser: Path, tmp_path: Path) -> None:
    items = items_of(place / "test.csv")[:6]
    groups = [
        {
            "id": f"g{n}",
            "kind": "bucket",
            "task": "anli",
            "expect": "bucket",
            "items": [
                {"role": "variant", "fields": i.fields, "accepted": list(i.accepted)},
                {
                    "role": "variant",
                    "fields": {**i.fields, "obs1": "a man is here 77"},
                    "accepted": list(i.accepted),
                },
            ],
        }
        for n, i in enumerate(items)
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    path = str(tmp_path / "own.jsonl")
    result = unwaver.run(path, model=f"hf/{chooser}", device="cpu", out=str(tmp_path / "r"))
    found = result.find("A_paraphrase")
    assert found.value is not None
    assert found.value > 0.8
    assert json.loads((tmp_path / "r" / "run.json").read_text())["models"][0]["method"] == "choose"


@pytest.mark.slow
def test_variants_and_the_consistency_loss_go_with_it(place: Path, tmp_path: Path) -> None:
    more = {"variants": {"*": ("surface_case",)}, "consistency": 1.0, "epochs": 2}
    made = train(setup(place, **more), tmp_path / "m", [0])
    assert made[0].scores["anli"]["held_out"]["items"] > 0


@pytest.mark.slow
def test_a_model_for_multiple_choice_from_elsewhere_is_asked_in_the_same_way(place: Path, tmp_path: Path) -> None:
    tokenizer = tiny_encoder.tokenizer()
    torch.manual_seed(3)
    model = transformers.BertForMultipleChoice(
        transformers.BertConfig(**tiny_encoder.sizes(len(tokenizer)))
    ).eval()
    model.save_pretrained(tmp_path / "mc")
    tokenizer.save_pretrained(tmp_path / "mc")
    item = items_of(place / "test.csv")[0]
    firsts = [f"{item.fields['obs1']} {item.fields[name]}" for name in ("hyp1", "hyp2")]
    inputs = tokenizer(firsts, [item.fields["obs2"]] * 2, return_tensors="pt", padding=True)
    with torch.no_grad():
        expected = model(**{k: v.unsqueeze(0) for k, v in inputs.items()}).logits.log_softmax(-1)[0].tolist()
    opened = open_model(str(tmp_path / "mc"), device="cpu")
    (answer,) = asked(opened, [item])
    assert answer.logprobs == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert getattr(opened, "form", "") == CHOICE


@pytest.mark.slow
def test_it_says_what_it_cannot_answer(chooser: Path, tmp_path: Path) -> None:
    mrpc = built_in()["mrpc"]
    item = Item("0", "mrpc", "original", {"sentence1": "a", "sentence2": "b"}, mrpc.labels)
    model = open_model(str(chooser), device="cpu")
    requests = [replace(training_request(item, mrpc), segments=("a", "b", "c"))]
    with pytest.raises(ModelError, match="chooses between alternatives"):
        list(model.answer(requests))
    with pytest.raises(UsageError, match="mrpc has no alternatives"):
        unwaver.run("sample/mrpc", model=f"hf/{chooser}", limit=2, device="cpu", out=str(tmp_path / "r"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "labels", "head"),
    [("single_label_classification", 3, "choose"), ("regression", 1, "classify"), ("regression", 1, "choose")],
)
def test_the_base_may_be_a_classifier_of_any_kind(
    place: Path, tmp_path: Path, kind: str, labels: int, head: str
) -> None:
    """Its configuration says what its head was for, and transformers holds that against the number of labels."""
    tokenizer = tiny_encoder.tokenizer()
    config = transformers.BertConfig(**tiny_encoder.sizes(len(tokenizer)), num_labels=labels, problem_type=kind)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    made = train(replace(setup(place, head=head, epochs=1), base=str(tmp_path / "base")), tmp_path / "m", [0])
    assert made[0].scores["anli"]["held_out"]["items"] > 0


@pytest.mark.parametrize(
    ("tasks", "more", "says"),
    [
        (("anli",), {"form": {"*": "target-only"}}, "--head choose and --form"),
        (("anli", "mrpc"), {"multi_task": True}, "--head choose and --multi-task"),
    ],
)
def test_what_does_not_go_with_it(tasks: tuple[str, ...], more: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Setup(tasks, "BASE", head="choose", **more)


def test_a_task_without_alternatives_is_refused(place: Path) -> None:
    table = tiny_encoder.pairs(place / "mrpc.csv")
    with pytest.raises(UsageError, match="mrpc has no alternatives to choose between"):
        Setup(("mrpc",), str(place / "base"), head="choose", train_split={"*": str(table)}).check()


OWN = """
[copa]
fields = ["premise", "one", "two"]
labels = ["1", "2"]
prompt = "{premise} {one} {two}"
segments = ["{premise}", "{one} {two}"]
[copa.forms.choice]
segments = ["{premise} {one}", "{premise} {two}"]
"""


def test_a_task_of_your_own_has_alternatives(tmp_path: Path) -> None:
    (tmp_path / "copa.toml").write_text(OWN)
    task = open_task(str(tmp_path / "copa.toml"))
    item = Item("0", "copa", "original", {"premise": "P", "one": "a", "two": "b"}, task.labels)
    assert training_request(in_form(item, task, CHOICE), task).segments == ("P a", "P b")
    (tmp_path / "copa.toml").write_text(OWN.replace(', "{premise} {two}"]', ', "{two}", "x"]'))
    task = open_task(str(tmp_path / "copa.toml"))
    with pytest.raises(UsageError, match="2 labels need 2 segments, or 4 for pairs"):
        in_form(item, task, CHOICE)
