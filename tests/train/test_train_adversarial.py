"""Words substituted at random: the mechanics, with a tiny masked language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("spacy")

import tiny_encoder

from unwaver.console import untracked
from unwaver.errors import ModelError, UsageError
from unwaver.models.embedding import cosines, open_model
from unwaver.tasks import Task, built_in
from unwaver.train import adversarial
from unwaver.train.adversarial import by_synonyms
from unwaver.train.attack import Attack, attacked, check_attack
from unwaver.train.samples import as_items
from unwaver.types import Item

SST2, MRPC = built_in()["sst2"], built_in()["mrpc"]


def review(text: str) -> Item:
    return Item("0", "sst2", "original", {"sentence": text}, SST2.labels, ("positive",))


def substituted(items: list[Item], task: Task, way: str, seed: int = 0, **options: Any) -> list[Item]:
    attack = Attack(way, **options)
    check_attack(attack, [task])
    return as_items(items, attacked(attack, task, items, seed=seed, track=untracked))


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder.encoder(tmp_path_factory.mktemp("masked"), masked=True)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder.encoder(tmp_path_factory.mktemp("encoder"))


def test_synonyms_fit_the_sentence() -> None:
    """Their part of speech is that of the word here, in its form: nobody sat is "Saturday"; the rest stays."""
    texts = ["He sat on the couch.", "Two kids  watch movies.", "zzz qqq", "The couch and the movie were big."]
    made = by_synonyms(np.random.default_rng(0), 5)(texts)
    assert made[0] == ["He sat on the sofa."]
    assert "Two children watch films." in made[1]
    assert made[2] == [], "no word with a synonym"
    assert {"The sofa and the movie were big.", "The sofa and the film were large."} <= set(made[3])
    assert all(
        len(set(others)) == len(others) <= 10 and text not in others
        for text, others in zip(texts, made, strict=True)
    )


def test_the_word_in_context_stays(encoder: str) -> None:
    wic = built_in()["wic"]
    fields = {
        "word": "couch",
        "sentence1": "a couch of leather",
        "sentence2": "The couch and the movie were big.",
    }
    item = Item("0", "wic", "original", fields, wic.labels, (wic.labels[0],))
    made = substituted([item], wic, "synonym", encoder=encoder, bar=-1.0)
    assert made
    assert all("couch" in i.fields["sentence2"] for i in made)


def test_the_bar(encoder: str) -> None:
    others = ["the man sits here", "no cat never eats there", "the man runs here"]
    found = cosines(open_model(encoder), [("the man runs here", other) for other in others])
    assert found[2] == pytest.approx(1), "a text is as similar to itself as can be"
    assert max(found[:2]) < 1
    items = [review("The movie has a big couch.")]
    made_of = [len(substituted(items, SST2, "synonym", encoder=encoder, bar=bar)) for bar in (-1.0, 1.01)]
    assert made_of[0] > made_of[1] == 0


def test_fields_take_turns(masked: str) -> None:
    fields = {"sentence1": "the big man runs here", "sentence2": "the small dog sits there"}
    item = Item("0", "mrpc", "original", fields, MRPC.labels, ("equivalent",))
    made = substituted([item], MRPC, "masked-lm", masked_lm=masked, samples=4, fields={"mrpc": ("all",)})
    changed = [[name for name in fields if new.fields[name] != fields[name]] for new in made]
    assert changed == [["sentence1"], ["sentence2"], ["sentence1"], ["sentence2"]]
    one = substituted([item], MRPC, "masked-lm", masked_lm=masked, samples=2, fields={"*": ("sentence1",)})
    assert {new.fields["sentence2"] for new in one} == {fields["sentence2"]}


def test_five_samples_an_item(encoder: str) -> None:
    items = [review("The movie has a big couch and a small photo, and the kid is mad at the trash.")]
    made = substituted(items, SST2, "synonym", encoder=encoder, bar=-1.0, seed=1)
    assert len(made) == 5
    assert {i.accepted for i in made} == {("positive",)}
    assert len({i.fields["sentence"] for i in made}) == 5
    assert made == substituted(items, SST2, "synonym", encoder=encoder, bar=-1.0, seed=1)
    assert made != substituted(items, SST2, "synonym", encoder=encoder, bar=-1.0, seed=2)


def test_masked_lm_takes_the_likeliest_other_word(masked: str) -> None:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    fields = {"sentence1": "the big man runs here", "sentence2": "the big man sits there"}
    item = Item("0", "mrpc", "original", fields, MRPC.labels, ("equivalent",))
    made = substituted([item], MRPC, "masked-lm", masked_lm=masked, samples=3)
    assert 1 <= len(made) <= 3
    tokenizer = AutoTokenizer.from_pretrained(masked)
    model = AutoModelForMaskedLM.from_pretrained(masked).eval()
    for new in made:
        assert new.fields["sentence1"] == fields["sentence1"], "only what variants change"
        old_words, new_words = fields["sentence2"].split(), new.fields["sentence2"].split()
        changed = [k for k, (a, b) in enumerate(zip(old_words, new_words, strict=True)) if a != b]
        assert len(changed) == 1
        hidden = [tokenizer.mask_token if k == changed[0] else w for k, w in enumerate(old_words)]
        ids = tokenizer(" ".join(hidden), return_tensors="pt")
        place = ids["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.inference_mode():
            order = model(**ids).logits[0, place].argsort(descending=True).tolist()
        words = [tokenizer.convert_ids_to_tokens(n) for n in order[: adversarial.GUESSES]]
        whole = [w for w in words if w.isalpha() and len(w) > 1 and w != old_words[changed[0]]]
        assert new_words[changed[0]] == whole[0]


def test_what_is_missing_is_told(masked: str, encoder: str) -> None:
    for options, told in (
        ({"way": "synonym"}, "needs an encoder"),
        ({"way": "masked-lm"}, "needs --masked-lm"),
        ({"way": "masked"}, "did you mean masked-lm"),
        ({"way": "masked-lm", "masked_lm": masked, "fields": {"*": ("sentense",)}}, "did you mean sentence"),
        ({"way": "synonym", "encoder": encoder, "samples": 0}, "--samples is 0"),
    ):
        with pytest.raises(UsageError) as error:
            substituted([review("a couch")], SST2, **options)  # type: ignore[arg-type]
        assert told in f"{error.value} {error.value.hint}"
    with pytest.raises(ModelError, match="not a masked language model"):
        substituted([review("a couch")], SST2, "masked-lm", masked_lm=encoder)


def test_training_with_substituted_words(masked: str, encoder: str, tmp_path: Path) -> None:
    import json

    from unwaver.train.finetune import train
    from unwaver.train.setup import Setup

    table = tiny_encoder.pairs(tmp_path / "mrpc.csv", 60)
    quick: dict[str, Any] = {"lr": 1e-3, "batch": 8, "epochs": 1, "length": 40, "device": "cpu"}
    asked = Setup(
        ("mrpc",),
        encoder,
        train_split={"*": str(table)},
        adversarial="masked-lm",
        masked_lm=masked,
        samples=2,
        **quick,
    )
    made = train(asked, tmp_path / "out", [0])
    about = json.loads((made[0].folder / "unwaver.json").read_text())
    assert about["tasks"]["mrpc"]["items"] < about["rows"] <= 3 * about["tasks"]["mrpc"]["items"]
    assert "masked-lm" in (made[0].folder / "README.md").read_text()
    counts = about["adversarial"]["mrpc"]
    assert counts["samples"] == about["added"] == about["rows"] - about["tasks"]["mrpc"]["items"]
    assert counts["complete"] + sum(counts["fewer"].values()) == counts["items"]
    lines = [json.loads(line) for line in (made[0].folder / "adversarial.jsonl").read_text().splitlines()]
    assert len(lines) == about["added"]
    for line in lines:
        (change,) = line["changed"]
        before, after = line["original"][change["field"]], line["fields"][change["field"]]
        assert change["from"] in before
        assert change["to"] in after
        assert before != after
