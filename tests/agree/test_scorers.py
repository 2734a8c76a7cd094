"""Accuracy of free text by models: a regressor trained here, and a judge."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unwaver.agree.scorers import pair_request, parse_scorer, parse_scorers
from unwaver.errors import ModelError, UsageError

ROOT = Path(__file__).parents[2]
QUESTIONS = [
    {
        "items": [
            {"text": f"What is the shape of the earth, way {n}?", "accepted": ["The earth is round."],
             "rejected": ["The earth is flat.", "The earth is a cube."]}
            for n in range(2)
        ]
    },
    {
        "items": [
            {"text": f"What do cows drink, way {n}?", "accepted": ["Cows drink water."],
             "rejected": ["Cows drink milk."]}
            for n in range(2)
        ]
    },
]  # fmt: skip
SAID = """
def answer(items):
    said = {"shape": "A ball is what our planet looks like, it is round.", "cows": "Milk is what they drink."}
    return [said["shape"] if "shape" in item["prompt"] else said["cows"] for item in items]


def judge(items):
    return ["Yes" if "round" in item["prompt"].split("judged:")[1] else "No" for item in items]
"""


@pytest.fixture(scope="session")
def regressor(data: Path, nli_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one, trained on a part of STS-B by the script of the docs."""
    spec = importlib.util.spec_from_file_location("pair_models", ROOT / "studies" / "pair_models.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    out = tmp_path_factory.mktemp("models") / "similarity"
    script.train("similarity", str(nli_model), data, out, rows=640, epochs=1)
    return out


def test_a_regressor_says_what_transformers_says(regressor: Path, data: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from unwaver.files import read_text
    from unwaver.models.regression import open_model

    rows = [line.rsplit(",", 1) for line in read_text(data / "stsb" / "stsb-en-test.csv").splitlines()[:400]]
    pairs = [(text.split(",", 1), float(score)) for text, score in rows if text.count(",") == 1]
    requests = [pair_request(b, a) for (a, b), _ in pairs]
    model = open_model(str(regressor), device="cpu")
    found = {i: float(answer.text or "nan") for batch in model.answer(requests) for i, answer in batch}
    values = [found[i] for i in range(len(requests))]
    tokenizer = AutoTokenizer.from_pretrained(regressor)
    plain = AutoModelForSequenceClassification.from_pretrained(regressor, dtype="float32").eval()
    for (a, b), value in [(p, v) for (p, _), v in zip(pairs, values, strict=True)][:8]:
        with torch.inference_mode():
            assert value == pytest.approx(
                float(plain(**tokenizer(a, b, return_tensors="pt")).logits), rel=1e-4, abs=1e-4
            )
    from scipy.stats import spearmanr

    assert spearmanr(values, [score for _, score in pairs]).statistic > 0.6


def test_accuracy_by_a_regressor_and_by_a_judge(unwaver: Any, regressor: Path, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tmp_path / "said.py").write_text(SAID)
    command = ["run", "own.jsonl", "--model", "python/said:answer", "--scorer", f"sts={regressor}",
               "--scorer", "judge=python/said:judge", "--device", "cpu", "--out", "run"]  # fmt: skip
    done = unwaver(*command, "--json")
    assert done.returncode == 0, done.stderr
    scores = {s["metric"]: s for s in json.loads(done.stdout)["scores"]}
    assert scores["accuracy_judge"]["value"] == 0.5
    assert scores["accuracy_sts"]["counted"] == 2
    # two answers, five references: each pair of distinct texts once, and the judge once a question and wording
    assert json.loads(done.stdout)["run"]["spent"]["calls"] == 4 + (3 + 2) + 4
    direct = {text: direct_values(regressor, text, refs) for text, refs in held()}
    right = [max(v[: len(t)]) > max(v[len(t) :]) for (_, t), v in zip(truths(), direct.values(), strict=True)]
    assert scores["accuracy_sts"]["value"] == np.mean(right)
    again = unwaver("score", "run", "--json")
    assert json.loads(again.stdout)["scores"] == json.loads(done.stdout)["scores"]
    shown = unwaver("score", "run")
    assert "accuracy_judge" in shown.stdout
    assert "accuracy_sts" in shown.stdout
    assert json.loads(unwaver(*command, "--json").stdout)["run"]["spent"]["calls"] == 0


def truths() -> list[tuple[str, list[str]]]:
    said = ["A ball is what our planet looks like, it is round.", "Milk is what they drink."]
    return [(text, q["items"][0]["accepted"]) for text, q in zip(said, QUESTIONS, strict=True)]  # type: ignore[misc]


def held() -> list[tuple[str, list[str]]]:
    every = [[*q["items"][0]["accepted"], *q["items"][0]["rejected"]] for q in QUESTIONS]
    return [(text, refs) for (text, _), refs in zip(truths(), every, strict=True)]


def direct_values(folder: Path, text: str, references: list[str]) -> list[float]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype="float32").eval()
    with torch.inference_mode():
        return [float(model(**tokenizer(r, text, return_tensors="pt")).logits) for r in references]


def test_empty_answers_are_wrong_and_never_reach_a_model(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tmp_path / "said.py").write_text(
        "def answer(items):\n    return ['' for _ in items]\n\n\ndef judge(items):\n    raise RuntimeError\n"
    )
    done = unwaver(
        "run", "own.jsonl", "--model", "python/said:answer", "--scorer", "judge=python/said:judge", "--json"
    )
    scores = {s["metric"]: s for s in json.loads(done.stdout)["scores"]}
    assert scores["accuracy_judge"]["value"] == 0.0
    assert scores["accuracy_judge"]["unreadable"] == 2


@pytest.mark.parametrize("text", ["bleurt", "bleurt=", "=x", "by=x", "a b=x"])
def test_a_scorer_is_a_name_and_a_model(text: str) -> None:
    with pytest.raises(UsageError, match="expected NAME=MODEL"):
        parse_scorer(text)


def test_names_of_scorers() -> None:
    assert parse_scorer("bleurt=owner/name").model == "regression/owner/name"
    assert parse_scorer("bleurt=hf/owner/name").model == "regression/owner/name"
    assert parse_scorer("judge=openai/x").model == "openai/x"
    with pytest.raises(UsageError, match="named twice"):
        parse_scorers(["a=x", "a=y"])
    with pytest.raises(UsageError, match="accuracy_rouge1 is unwaver's own"):
        parse_scorers(["rouge1=x"])
    local = parse_scorer("judge=openai/x,base_url=http://localhost:8000/v1,timeout=5")
    assert (local.model, local.options) == ("openai/x", {"base_url": "http://localhost:8000/v1", "timeout": 5.0})
    with pytest.raises(UsageError, match="nor openai/x has an option 'base_ulr'"):
        parse_scorer("judge=openai/x,base_ulr=http://localhost")


def test_a_classifier_is_no_scorer(nli_model: Path) -> None:
    from unwaver.models.regression import open_model

    with pytest.raises(ModelError, match="3 outputs, expected one number"):
        open_model(str(nli_model))
    with pytest.raises(ModelError, match="no model folder"):
        open_model("/nowhere/at/all")
