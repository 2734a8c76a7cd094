"""BAE-R and TextFooler as recipes of a training: samples, counts, files, resuming, and what is said if something is
missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("spacy")

import tiny_encoder

from unwaver.console import untracked
from unwaver.errors import DataError, ModelError, UsageError
from unwaver.tasks import built_in
from unwaver.train import attack as attacks
from unwaver.train import attack_search
from unwaver.train.attack import Attack, attacked, check_attack, fields_of
from unwaver.train.attack_words import word_text
from unwaver.train.finetune import train
from unwaver.train.masked_lm import MaskedLM
from unwaver.train.neighbours import FromVectors, FromWordNet, vectors_of
from unwaver.train.samples import Attacked, Kept, Sample, counted, told
from unwaver.train.setup import Setup
from unwaver.train.tagger import Tagger
from unwaver.variants import lexicon

MRPC, SNLI, WIC, RTE = (built_in()[name] for name in ("mrpc", "snli", "wic", "rte"))
QUICK: dict[str, Any] = {"lr": 3e-3, "batch": 8, "epochs": 2, "length": 40, "device": "cpu"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attack")


@pytest.fixture(scope="module")
def encoder(here: Path) -> str:
    return tiny_encoder.encoder(here / "encoder")


@pytest.fixture(scope="module")
def masked(here: Path) -> str:
    return tiny_encoder.trained_masked_lm(here / "masked")


@pytest.fixture(scope="module")
def vectors(here: Path) -> str:
    return tiny_encoder.word_vectors(here / "vectors.txt")


@pytest.fixture(scope="module")
def table(here: Path) -> str:
    return str(tiny_encoder.pairs(here / "mrpc.csv", 60))


@pytest.fixture(scope="module")
def victim(here: Path, encoder: str, table: str) -> str:
    setup = Setup(("mrpc",), encoder, train_split={"*": table}, **QUICK)
    return str(train(setup, here / "victim", [0])[0].folder)


@pytest.fixture
def textfooler(encoder: str, victim: str, vectors: str) -> Attack:
    return Attack("textfooler", encoder=encoder, victim=victim, vectors=vectors, bar=-1.0)


def items_of(table: str, count: int) -> list[Any]:
    return Setup(("mrpc",), "x", train_split={"*": table}, head="classify").parts[0].data.items[:count]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "adversarial.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_bae_replaces_words_by_what_a_masked_lm_expects(
    here: Path, encoder: str, masked: str, table: str, victim: str
) -> None:
    setup = Setup(
        ("mrpc",),
        encoder,
        train_split={"*": table},
        adversarial="bae",
        masked_lm=masked,
        encoder=encoder,
        victim=victim,
        bar=-1.0,
        **{**QUICK, "epochs": 1},
    )
    said = list[str]()
    bars = list[str]()

    def track(what: str, total: int) -> Any:
        bars.append(what)
        return untracked(what, total)

    folder = train(setup, here / "bae", [0], say=said.append, track=track)[0].folder
    about = json.loads((folder / "unwaver.json").read_text())
    counts, lines = about["adversarial"]["mrpc"], lines_of(folder)
    assert counts["samples"] == len(lines) == about["added"]
    assert counts["complete"] + sum(counts["fewer"].values()) == counts["items"] == about["tasks"]["mrpc"]["items"]
    assert counts["complete"] > counts["items"] / 2
    assert "adversarial samples" in bars
    assert [f"mrpc: {line}" for line in told(counts)] == said[:2]
    assert "; ".join(told(counts)) in (folder / "README.md").read_text()
    assert not (here / "bae" / ".seed0.attack.jsonl").exists()
    kinds = [{"man", "woman", "dog", "cat"}, {"runs", "sleeps", "eats", "sits"}, {"big", "small", "red", "blue"}]
    alike = [_kind(c["from"], kinds) == _kind(c["to"], kinds) for line in lines for c in line["changed"]]
    assert sum(alike) / len(alike) > 0.8, "it has learnt which words stand where"
    assert {c["field"] for line in lines for c in line["changed"]} == {"sentence1", "sentence2"}
    assert all(line["label"] in ("equivalent", "not_equivalent") for line in lines)


def _kind(word: str, kinds: Sequence[set[str]]) -> int:
    return next((n for n, kind in enumerate(kinds) if word in kind), -1)


def test_a_trained_masked_lm_knows_what_stands_where(masked: str) -> None:
    model = MaskedLM(masked, "cpu")
    text = word_text("the big man runs here")
    found = model.guesses([(text, n) for n in (2, 3)], 4)
    assert set(found[0]) == {"man", "woman", "dog", "cat"}
    assert set(found[1]) == {"runs", "sleeps", "eats", "sits"}
    long = word_text("the big man runs here " * 200)
    assert model.guesses([(long, 500)], 4)[0], "a mask far beyond what the model reads is not cut off"


def test_neighbours_are_near_and_of_another_spelling(vectors: str) -> None:
    known = FromVectors(vectors_of(vectors, lambda _: None), 50)
    found = known.of([(word_text(w), 0) for w in ("man", "Man", "runs", "unknown", "the")])
    assert found == [["woman", "dog", "cat"], ["woman", "dog", "cat"], ["sleeps", "eats", "sits"], [], []]
    assert FromVectors(vectors_of(vectors, lambda _: None), 1).of([(word_text("man"), 0)]) == [["woman"]]


def test_synonyms_of_wordnet_take_the_form_of_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {("dog", "n"): ["hound", "domestic dog"], ("run", "v"): ["race", "operate"]}
    monkeypatch.setattr(lexicon, "synonyms_of_senses", lambda lemma, pos: known.get((lemma, pos), []))
    text = word_text("The dogs runs here quickly.")
    found = FromWordNet(Tagger(), 50).of([(text, n) for n in text.places()])
    assert found == [["hounds"], ["races", "operates"], []], "single words, in the plural and the third person"


@pytest.mark.slow
def test_textfooler_takes_neighbours_from_vectors(textfooler: Attack, table: str) -> None:
    items = items_of(table, 12)
    check_attack(textfooler, [MRPC])
    found = attacked(textfooler, MRPC, items, seed=0, track=untracked)
    near = FromVectors(vectors_of(str(textfooler.vectors), lambda _: None), 50)
    tagger = Tagger()
    made = 0
    for item, of_item in zip(items, found, strict=True):
        assert len(of_item.samples) <= 5
        assert (len(of_item.samples) < 5) == bool(of_item.reason)
        for sample in of_item.samples:
            made += 1
            for name, before, after in sample.changed:
                assert after in near.of([(word_text(before), 0)])[0]
                places = [word_text(t.fields[name]) for t in (item, sample)]  # type: ignore[attr-defined]
                n = places[1].words.index(after)
                one, other = tagger.tagged([(places[0], n), (places[1], n)])
                assert one
                assert other
                assert one.tag == other.tag
            assert sample.fooled == (sample.answer not in item.accepted and sample.before >= 0.5)
    assert made > 12
    only = attacked(replace(textfooler, fooling_only=True), MRPC, items, seed=0, track=untracked)
    assert all(s.fooled for a in only for s in a.samples)


@pytest.mark.slow
def test_an_interrupted_attack_goes_on(
    textfooler: Attack, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack_search, "SIDE_BY_SIDE", 4)
    items = items_of(table, 12)
    whole = attacked(textfooler, MRPC, items, seed=0, track=untracked)
    path = tmp_path / ".seed0.attack.jsonl"
    asked = list[int]()
    usual = attack_search.Search._side_by_side

    def interrupted(self: Any, some: Any, done: Any) -> Any:
        asked.append(len(some))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return usual(self, some, done)

    monkeypatch.setattr(attack_search.Search, "_side_by_side", interrupted)
    with pytest.raises(KeyboardInterrupt):
        attacked(textfooler, MRPC, items, seed=0, track=untracked, kept=Kept(path, "one"))
    with path.open("a") as f:
        f.write('{"task": "mrpc", "item": 8, "sam')  # as a kill leaves it
    again = attacked(textfooler, MRPC, items, seed=0, track=untracked, kept=Kept(path, "one"))
    assert again == whole
    assert asked == [4, 4, 4, 4], "the first eight were not attacked again"
    assert attacked(textfooler, MRPC, items, seed=0, track=untracked, kept=Kept(path, "one")) == whole
    assert len(asked) == 4, "a finished one is only read"
    attacked(textfooler, MRPC, items[:4], seed=0, track=untracked, kept=Kept(path, "another"))
    assert len(asked) == 5, "what another training left is not taken"


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    sample = Sample({"sentence": "é\n"}, (("sentence", "a", "b"),), 0.5, 0.9, 0.1, "negative", True)
    found = [Attacked((sample,), "similarity"), Attacked(())]
    kept = Kept(tmp_path / "new" / "k.jsonl", "id")
    kept.add("sst2", 0, found)
    kept.add("mrpc", 0, found[1:])
    kept.add("sst2", 2, found[:1])
    assert kept.read("sst2") == [*found, found[0]]
    assert kept.read("mrpc") == found[1:]
    for broken in ("", "[]\n", "nonsense"):
        (tmp_path / "new" / "k.jsonl").write_text(broken)
        assert kept.read("sst2") == []
    assert Kept(None).read("sst2") == []


def test_counts_say_why() -> None:
    sample = Sample({}, (), fooled=True)
    found = [Attacked((sample, sample)), Attacked((sample,), "similarity"), Attacked((), "similarity")]
    counts = counted(found, 2)
    assert counts == {
        "items": 3, "samples": 3, "wanted": 2, "complete": 1, "fooled": 3, "fewer": {"similarity": 2},
    }  # fmt: skip
    assert told(counts) == [
        "3 samples of 3 items, 3 fool the victim",
        "all 2 samples: 1 items; fewer: 2 (similarity 2)",
    ]
    assert told(counted([Attacked((Sample({}, ()),))], 1)) == ["1 samples of 1 items", "all 1 samples: 1 items"]


def test_which_fields_a_recipe_attacks() -> None:
    assert [fields_of(Attack(way), MRPC) for way in ("synonym", "bae", "textfooler")] == [
        ("sentence2",),
        ("sentence1", "sentence2"),
        ("sentence1", "sentence2"),
    ]
    assert fields_of(Attack("bae"), SNLI) == ("premise", "hypothesis")
    assert fields_of(Attack("textfooler"), SNLI) == ("hypothesis",), "TextFooler leaves the premise alone"
    assert fields_of(Attack("textfooler", fields={"snli": ("all",)}), SNLI) == ("premise", "hypothesis")
    assert fields_of(Attack("textfooler", fields={"*": ("premise",)}), SNLI) == ("premise",)
    assert fields_of(Attack("bae"), WIC) == ("sentence1", "sentence2"), "the word in question is no text"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"way": "baer"}, "did you mean bae"),
        ({"victim": None}, "needs --victim, a model of mrpc to attack"),
        ({"encoder": None}, "needs an encoder"),
        ({"way": "bae"}, "--adversarial bae needs --masked-lm"),
        ({"candidates": 0}, "--candidates is 0"),
        ({"pos": "kep"}, "did you mean keep"),
        ({"fields": {"*": ("sentence3",)}}, "mrpc has no such text"),
        ({"fields": {"*": ("sentence3",)}}, "did you mean sentence"),
    ],
)
def test_what_is_missing_is_said(textfooler: Attack, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        check_attack(replace(textfooler, **change), [MRPC])
    assert said in f"{error.value} {error.value.hint}"


def test_the_word_in_question_is_not_attacked(textfooler: Attack) -> None:
    with pytest.raises(UsageError, match="the word that wic asks about cannot be replaced"):
        check_attack(replace(textfooler, fields={"*": ("word",)}), [WIC])


def test_without_vectors_and_wordnet(textfooler: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWAVER_WORDNET", "none")
    with pytest.raises(UsageError, match="needs word vectors or WordNet") as error:
        check_attack(replace(textfooler, vectors=None), [MRPC])
    assert "--vectors FILE" in str(error.value.hint)


def test_broken_vectors_are_noticed_before_the_training(textfooler: Attack, tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("man one two\n")
    with pytest.raises(DataError, match="expected a number"):
        check_attack(replace(textfooler, vectors=str(path)), [MRPC])


def test_without_spacy(textfooler: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise UsageError("no spaCy", hint="pip install spacy")

    monkeypatch.setattr(attacks, "pipeline", missing)
    with pytest.raises(UsageError, match="keeps parts of speech, which needs spaCy") as error:
        check_attack(textfooler, [MRPC])
    assert "--pos any" in str(error.value.hint)
    check_attack(replace(textfooler, pos="any"), [MRPC])


def test_models_that_cannot_mask(textfooler: Attack, encoder: str, masked: str, tmp_path: Path) -> None:
    bae = replace(textfooler, way="bae", vectors=None)
    with pytest.raises(ModelError, match="not a masked language model"):
        check_attack(replace(bae, masked_lm=encoder), [MRPC])
    folder = tmp_path / "unmasked"
    tiny_encoder.causal(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["GPT2ForMaskedLM"]}))
    with pytest.raises(ModelError, match="has no mask token"):
        check_attack(replace(bae, masked_lm=str(folder)), [MRPC])
    bare = tmp_path / "bare"
    tiny_encoder.encoder(bare)
    config = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(ModelError, match=r"lacks .* of its weights"):
        MaskedLM(str(bare), "cpu")


def test_a_victim_of_another_task(textfooler: Attack, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="was trained on mrpc, not on rte") as error:
        check_attack(textfooler, [RTE])
    assert "unwaver train rte" in str(error.value.hint)
    with pytest.raises(ModelError, match="no model folder"):
        check_attack(replace(textfooler, victim=str(tmp_path / "none" / "seed0")), [MRPC])
    check_attack(replace(textfooler, victim=str(tmp_path / "none" / "seed{seed}")), [MRPC])


def test_nothing_to_attack(textfooler: Attack, encoder: str, vectors: str, victim: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"he is {n},she is {n},{'equivalent' if n % 2 else 'not_equivalent'}\n" for n in range(30)]
    table.write_text("sentence1,sentence2,label\n" + "".join(rows))
    setup = Setup(
        ("mrpc",), encoder, train_split={"*": str(table)}, adversarial="textfooler", vectors=vectors,
        encoder=encoder, victim=victim, **QUICK,
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"no word of mrpc could be substituted \(no word to attack 27\)"):
        train(setup, tmp_path / "out", [0])


def test_the_id_follows_what_the_samples_depend_on(
    encoder: str, vectors: str, victim: str, masked: str, table: str, tmp_path: Path
) -> None:
    plain = Setup(("mrpc",), encoder, train_split={"*": table}, **QUICK)
    setup = replace(plain, adversarial="textfooler", vectors=vectors, encoder=encoder, victim=victim)
    ids = {setup.id(0), replace(setup, candidates=9).id(0), replace(setup, attack={"mrpc": ("sentence1",)}).id(0)}
    assert len(ids | {plain.id(0), replace(setup, victim=encoder).id(0)}) == 5
    moved = tmp_path / "moved.txt"
    moved.write_bytes(Path(vectors).read_bytes())
    assert replace(setup, vectors=str(moved)).id(0) == setup.id(0), "wherever the file lies"
    moved.write_text(moved.read_text().replace("0.9", "0.8"))
    assert replace(setup, vectors=str(moved)).id(0) != setup.id(0)
