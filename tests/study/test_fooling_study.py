"""Fooling rates of a model and its distilled one, by a plan: sizes of one family, sets in and out of domain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unwaver.errors import UnwaverError
from unwaver.study.plan import read_plan

PLAN = """
bases = ["whole", "part"]
seeds = 1
epochs = 1
batch = 16
compare = [{ sizes = ["large", "distilled"] }]
[families.one]
large = "whole"
distilled = "part"
[tasks.snli]
train = "snli.csv"
evaluate = [{ suite = "sensitivity/mnli", writer = "bank/bank.jsonl", k = 1, domain = "mnli=in" }, %s]
[settings.single]
"""
OTHER = '{ suite = "sensitivity/snli", writer = "bank/bank.jsonl" }'


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('{ suite = "sensitivity/snli", split = "test" }', "suite and split cannot be combined"),
        ('{ suite = "sensitivity/snli", writter = "rules" }', 'expected a table without "writter"'),
        ('{ suite = "sensitivity/snli", k = 0 }', 'k": found 0'),
        ('{ suite = "sensitivity/snli", writer = 3 }', 'writer": found 3'),
        ('{ suite = "sensitivity/snli", domain = "snli=near" }', "expected snli=in or snli=out"),
    ],
)
def test_what_an_evaluation_may_hold(tmp_path: Path, entry: str, says: str) -> None:
    (tmp_path / "s.toml").write_text(PLAN % entry)
    with pytest.raises(UnwaverError, match=says):
        read_plan(tmp_path / "s.toml")


@pytest.mark.slow
def test_a_study_of_fooling_rates(unwaver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import tiny_encoder

    monkeypatch.chdir(tmp_path)
    for name in ("whole", "part"):
        tiny_encoder.encoder(tmp_path / name)
    tiny_encoder.nli(tmp_path / "snli.csv")
    rows = [json.dumps({"sentence1": f"the man {n} runs", "sentence2": f"the dog {n} sits", "gold_label": label})
            for n, label in enumerate(["entailment", "neutral", "contradiction"] * 8)]  # fmt: skip
    for place in ("data/snli/snli_1.0_test.jsonl", "data/mnli/dev_matched.jsonl"):
        Path(place).parent.mkdir(parents=True)
        Path(place).write_text("\n".join(rows))
    bank = [
        json.dumps({"hypothesis": f"the dog {n} sits", "variants": [f"there sits the dog {n}"]}) for n in range(24)
    ]
    Path("bank.jsonl").write_text("\n".join(bank))
    Path("s.toml").write_text(PLAN % OTHER)

    def study() -> dict[str, Any]:
        done = unwaver(
            "study", "s.toml", "--out", "out", "--data-dir", "data", "--device", "cpu", "-q", timeout=600
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(Path("out/study.json").read_text())
        return found

    lines = study()["lines"]
    cases = {(line["base"], line["task"], line["metric"]) for line in lines if line["kind"] == "fooling"}
    tasks = ("mnli", "snli", "average_in")
    assert cases == {(b, t, f"{r}@1") for b in ("whole", "part") for t in tasks for r in ("r_r", "r_s")}
    Path("s.toml").write_text((PLAN % OTHER).replace('domain = "mnli=in"', 'domain = "mnli=out"'))
    assert "average_out" in {line["task"] for line in study()["lines"]}, "other domains, the same answers"
