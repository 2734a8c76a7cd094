"""Adversarial training in a study: BECEL's Table 3, victims from another setting, and plans that cannot work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unwaver.errors import DataError
from unwaver.stats.seeds import Sample, welch
from unwaver.study.compared import Compared, judged
from unwaver.study.findings import Findings
from unwaver.study.lines import SeedMean
from unwaver.study.plan import read_plan
from unwaver.study.sides import Side
from unwaver.study.table3 import adversarial_tables
from unwaver.study.tables import study_markdown
from unwaver.study.victims import depth

PLAN = """
bases = ["base"]
seeds = 2
limit = 12
lr = 0.003
batch = 8
epochs = 1
length = 40
compare = [["single", "bae"]]

[tasks.mrpc]
train = "mrpc.csv"
evaluate = ["sample/mrpc/semantic"]

[settings.textfooler]
adversarial = "textfooler"
victim = "single"
vectors = "vectors.txt"
encoder = "base"
bar = -1.0
samples = 2
attack = ["sentence2"]

[settings.bae]
adversarial = "bae"
victim = "single"
masked_lm = "masked"
encoder = "base"
bar = -1.0
samples = 2

[settings.single]
"""


def plan_of(tmp_path: Path, text: str = PLAN) -> Any:
    (tmp_path / "study.toml").write_text(text)
    return read_plan(tmp_path / "study.toml")


def line(setting: str, task: str, values: list[float]) -> SeedMean:
    import statistics

    mean, sd = statistics.fmean(values), statistics.stdev(values)
    by_seed = {str(n): v for n, v in enumerate(values)}
    about = ("base", setting, 1.0, "becel", task, "semantic", "tau", "low", mean, sd, 0.9, 0.0)
    return SeedMean(*about, len(values), 100, 0, False, by_seed=by_seed)


def test_the_layout_of_the_paper(tmp_path: Path) -> None:
    """Values, differences to the victim's setting, and stars, by hand: Welch's t over seeds."""
    plan = plan_of(tmp_path)
    lines = [
        line("single", "mrpc", [0.13, 0.132, 0.134]),
        line("single", "rte", [0.128, 0.12, 0.136]),
        line("bae", "mrpc", [0.08, 0.079, 0.078]),
        line("bae", "rte", [0.117, 0.11, 0.124]),
        line("textfooler", "mrpc", [0.088, 0.089, 0.09]),
    ]
    one, other = lines[0], lines[2]
    found = welch(*(Sample(x.value or 0, x.sd, x.seeds) for x in (one, other)))
    sides = Side("base", "single", 1.0), Side("base", "bae", 1.0)
    tests = judged([Compared(*sides, "becel", "mrpc", "semantic", "tau", found, None)])
    ((title, table),) = adversarial_tables(Findings(lines, tests, [], []), plan)
    assert (
        title
        == "adversarial training: semantic τ in %, (difference in points) * p < 0.05 over seeds, ** after Holm"
    )
    assert table == [
        ["setting", "recipe", "against", "mrpc", "rte"],
        ["single", "–", "–", "13.2", "12.8"],
        ["textfooler", "textfooler", "single", "8.9 (-4.3)*", "–"],
        ["bae", "bae", "single", "7.9 (-5.3)**", "11.7 (-1.1)"],
    ]
    assert "| bae | bae | single | 7.9 (-5.3)** | 11.7 (-1.1) |" in study_markdown(
        Findings(lines, tests, [], []), plan
    )


def test_a_study_without_the_recipes_has_no_such_table(tmp_path: Path) -> None:
    text = PLAN.partition("[settings.textfooler]")[0].replace("bae", "more") + (
        '[settings.single]\n[settings.more]\nadversarial = "synonym"\nencoder = "base"\n'
    )
    lines = [line(name, "mrpc", [0.1, 0.2]) for name in ("single", "more")]
    assert list(adversarial_tables(Findings(lines, [], [], []), plan_of(tmp_path, text))) == []


def test_victims_are_trained_first(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert {name: depth(s, plan.settings) for name, s in plan.settings.items()} == {
        "textfooler": 1,
        "bae": 1,
        "single": 0,
    }
    assert plan.settings["textfooler"].attack == {"*": ("sentence2",)}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('victim = "single"\nmasked', "masked", "settings.bae.victim is missing: bae attacks a model"),
        ('victim = "single"\nmasked', 'victim = "singel"\nmasked', "did you mean single"),
        ('victim = "single"\nmasked', 'victim = "textfooler"\nmasked', "textfooler cannot be a victim"),
        ('adversarial = "bae"', 'adversarial = "bea"', "found 'bea'"),
        ('adversarial = "bae"', 'adversarial = "bae"\nseeds = 3', "single has 2 seeds of mrpc, bae 3"),
        (
            'adversarial = "bae"',
            'adversarial = "bae"\nfractions = [0.5]',
            "single is not trained on the fraction 0.5",
        ),
        ('adversarial = "bae"', 'adversarial = "bae"\nmulti_task = true', "single has a model for each task"),
        ('adversarial = "bae"', 'adversarial = "bae"\nfooling_only = "yes"', "expected true or false"),
        ('adversarial = "bae"', 'adversarial = "bae"\npos = "kept"', "found 'kept'"),
        ('adversarial = "bae"', 'adversarial = "bae"\ncandidates = 0', "expected a whole number"),
        ('attack = ["sentence2"]', 'attack = "sentence2"', "expected a list of texts or a table"),
        ('attack = ["sentence2"]', 'attack = { rte = ["sentence2"] }', "rte is not a task of this study"),
    ],
)
def test_plans_that_cannot_work(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in PLAN
    with pytest.raises(DataError) as error:
        plan_of(tmp_path, PLAN.replace(before, after))
    assert said in f"{error.value} {error.value.hint}"


def test_the_study_of_table_3_can_be_read() -> None:
    plan = read_plan(Path(__file__).parents[2] / "studies" / "becel_adversarial.toml")
    assert list(plan.tasks) == ["boolq", "mrpc", "sst2", "rte"], "the columns of the paper"
    assert [s.training.get("adversarial") for s in plan.settings.values()] == [None, "bae", "textfooler"]
    assert plan.seeds == 5


@pytest.mark.slow
def test_a_study_attacks_the_models_of_another_setting(unwaver: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("spacy")
    import tiny_encoder

    tiny_encoder.encoder(tmp_path / "base")
    tiny_encoder.trained_masked_lm(tmp_path / "masked")
    tiny_encoder.word_vectors(tmp_path / "vectors.txt")
    tiny_encoder.pairs(tmp_path / "mrpc.csv", 30)
    (tmp_path / "study.toml").write_text(PLAN.replace("seeds = 2", "seeds = 1"))
    done = unwaver("study", "study.toml", "--device", "cpu", "-q", timeout=900)
    assert done.returncode == 0, done.stderr
    assert "adversarial training: semantic τ in %" in done.stdout
    folder = tmp_path / "study" / "models" / "base" / "1"
    about = json.loads((folder / "bae" / "mrpc" / "seed0" / "unwaver.json").read_text())
    assert about["adversarial"]["mrpc"]["samples"]
    assert about["setup"]["victim"].endswith("single/mrpc/seed{seed}")
    lines = (folder / "textfooler" / "mrpc" / "seed0" / "adversarial.jsonl").read_text().splitlines()
    assert {c["field"] for each in lines for c in json.loads(each)["changed"]} == {"sentence2"}
    again = unwaver("study", "study.toml", "--device", "cpu", "-q", "--workers", "2", timeout=900)
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout, "nothing is trained or attacked again"
