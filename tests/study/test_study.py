"""A whole study with a tiny encoder; its statistics against SciPy, statsmodels and hand-worked numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unwaver.console import Console
from unwaver.engine.stored import read_scores
from unwaver.errors import DataError
from unwaver.study.compared import group_test
from unwaver.study.findings import Findings, from_document
from unwaver.study.lines import SeedMean, lines_of
from unwaver.study.plan import StudyPlan, read_plan
from unwaver.study.sizes import rho, rho_of
from unwaver.study.tables import study_markdown, study_remarks, study_tables
from unwaver.study.work import work


def test_difference_by_hand() -> None:
    """Seeds are averaged first; a group that does not apply in some seed counts by the others; c is in one only."""
    nan = float("nan")
    x, y, z = ("x",), ("y",), ("z",)
    first = {"a": (x, [1.0, 1.0]), "b": (y, [nan, 1.0]), "c": (z, [1.0, 1.0]), "d": (y, [nan, nan])}
    second = {"a": (x, [0.0, 1.0]), "b": (y, [0.0, 0.0]), "d": (y, [1.0, 1.0])}
    found = group_test(first, second)
    assert found is not None
    assert (found.first, found.second, found.groups, found.clusters) == (1.0, 0.25, 2, 2)
    assert found.difference == -0.75
    assert found.p == pytest.approx(0.5), "of four ways of flipping -0.5 and -1, two are as far from 0"
    assert group_test({"a": (x, [1.0])}, {"b": (x, [1.0])}) is None


def test_rho() -> None:
    assert rho(0.6, 0.2, 0.4) == pytest.approx(2.0)
    assert rho(0.4, 0.2, 0.4) is None, "does not apply to the best"
    assert rho(0.3, 0.2, 0.4) is None, "nor to what is better: T5, and models of several tasks, set no best"


@pytest.mark.parametrize(
    ("tau", "snli", "best", "published"),
    [
        (87.2, 15.9, 43.5, 1.63),  # BERT-base: BoolQ, MRPC, RTE
        (90.3, 15.9, 79.6, 6.95),
        (76.9, 15.9, 32.8, 1.38),
        (89.5, 13.9, 62.7, 2.82),  # GPT2-large: MRPC
        (71.2, 10.9, 43.5, 2.18),  # BART-base: BoolQ
        (84.4, 10.9, 79.6, 15.31),
    ],
)
def test_rho_of_the_paper(tau: float, snli: float, best: float, published: float) -> None:
    assert rho(tau, snli, best) == pytest.approx(published, rel=0, abs=0.005)


# --- a whole one --------------------------------------------------------------------------------------------

STUDY = """
bases = ["base"]
seeds = 2
limit = 12
lr = 0.003
batch = 8
epochs = 3
length = 40
compare = [["single", "multi"], ["single", "consistent"]]

[tasks.mrpc]
train = "mrpc.csv"
test = "new.csv"
form = "calm"
evaluate = ["sample/mrpc", { split = "new.csv", variants = ["swap"] }]

[tasks.snli]
train = "snli.csv"
rows = 60
evaluate = ["sample/snli"]

[settings.single]
[settings.multi]
multi_task = true
[settings.consistent]
tasks = ["mrpc"]
variants = ["swap", "reverse"]
consistency = 1.0
[settings.started]
tasks = ["mrpc"]
start = "single/snli"
"""


@pytest.fixture
def here(unwaver: Any, tmp_path: Path) -> Any:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_encoder

    tiny_encoder.encoder(tmp_path / "base")
    tiny_encoder.pairs(tmp_path / "mrpc.csv", 60)
    tiny_encoder.pairs(tmp_path / "new.csv", 40, seed=9)
    tiny_encoder.nli(tmp_path / "snli.csv", 90)
    (tmp_path / "study.toml").write_text(STUDY)
    return unwaver


def test_a_study(here: Any, tmp_path: Path) -> None:
    done = here("study", "study.toml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "10 models" in done.stdout
    assert not (tmp_path / "study").exists()
    done = here("study", "study.toml", "--device", "cpu", "-q", timeout=600, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    shown = [line.rstrip() for line in done.stdout.splitlines() if not line.startswith(("Written", "Some seeds"))]
    assert max(map(len, shown)) <= 80
    for told in (
        "mrpc/symmetric",
        "consistent",
        "multi against single · this recipe: points, Welch's t over seeds",
        "multi against single · these models: points, same groups, seeds averaged",
        "consistency of recipes: █ better, ▒ worse, · no difference",
    ):
        assert told in done.stdout
    study = json.loads((tmp_path / "study" / "study.json").read_text())
    lines = {(x["setting"], x["task"], x["kind"], x["suite"]): x for x in study["lines"]}
    single = lines["single", "mrpc", "symmetric", "new"]
    scores = [
        json.loads(path.read_text())["scores"]
        for path in sorted((tmp_path / "study/runs/base/1/single/mrpc").glob("seed*/mrpc-1-*/scores.json"))
    ]
    taus = [s["value"] for some in scores for s in some if s["metric"] == "tau"]
    assert len(taus) == 2
    assert single["value"] == pytest.approx(np.mean(taus))
    assert single["sd"] == pytest.approx(np.std(taus, ddof=1))
    about = ("consistent", "mrpc", "new")
    test = next(t for t in study["tests"] if (t["second"]["setting"], t["task"], t["suite"]) == about)
    assert test["models"]["first"] == pytest.approx(single["value"]), "the same groups in both"
    assert test["models"]["groups"] == 12
    assert test["recipe"]["first"] == pytest.approx(single["value"])
    assert single["by_seed"] == dict(zip("01", taus, strict=True))
    assert test["recipe"]["seeds"] == [2, 2]
    assert {t["kind"] for t in study["tests"] if t["metric"] == "accuracy"} == {"test"}
    before = {
        p: p.stat().st_mtime_ns for p in (tmp_path / "study").rglob("*") if p.suffix in (".safetensors", ".sqlite")
    }
    again = here("study", "study.toml", "--device", "cpu", "--json", timeout=600)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == study
    assert before == {p: p.stat().st_mtime_ns for p in before}, "nothing is trained or asked again"
    about = json.loads((tmp_path / "study/models/base/1/started/mrpc/seed1/unwaver.json").read_text())
    assert about["base"].endswith("single/snli/seed{seed}")
    (tmp_path / "study.toml").write_text(STUDY.replace("limit = 12", "limit = 6\ntest_rows = 20"))
    other = here("study", "study.toml", "--device", "cpu", "--json", timeout=600)
    assert other.returncode == 0, other.stderr
    weights = {p: t for p, t in before.items() if p.suffix == ".safetensors"}
    assert weights == {p: p.stat().st_mtime_ns for p in weights}, "another limit trains nothing again"
    assert {t["models"]["groups"] for t in json.loads(other.stdout)["tests"] if t["suite"] == "new"} == {6}


WITH_BASE = """
bases = ["base"]
seeds = 2
limit = 4
epochs = 1
base_accuracy = true
[tasks.mrpc]
evaluate = ["becel/mrpc/semantic", "becel/mrpc/symmetric", "calm/mrpc/reverse"]
[settings.single]
"""


def test_accuracy_on_the_split_that_a_set_was_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the study was done without it before: the run asks what is missing."""
    pytest.importorskip("transformers")
    import paper_data
    import tiny_encoder

    monkeypatch.chdir(tmp_path)
    tiny_encoder.encoder(tmp_path / "base")
    paper_data.becel(tmp_path / "data")
    for text in (WITH_BASE.replace("base_accuracy = true\n", ""), WITH_BASE):
        (tmp_path / "s.toml").write_text(text)
        plan = read_plan(tmp_path / "s.toml")
        models = work(plan, Path("study"), Console(), data_dir="data", device="cpu")
        lines = {x.kind: x for x in lines_of(models)}
    assert set(lines) == {"semantic", "symmetric_seen", "reverse"}, "a base split is no line of its own"
    runs = [read_scores(run / "scores.json") for model in models for run in model.runs]
    f1 = [s.value for scores in runs for s in scores if (s.metric, s.kind) == ("macro_f1", "base_test")]
    assert lines["semantic"].base_f1 == pytest.approx(np.mean(f1))
    assert lines["semantic"].base_f1_sd == pytest.approx(np.std(f1, ddof=1))
    assert lines["symmetric_seen"].base_accuracy is not None
    assert lines["reverse"].base_accuracy is None
    (_, (header, *_)), *_ = study_tables(Findings(list(lines.values()), [], [], []), plan)
    assert header[4:7] == ["acc.", "base acc.", "base F1"]


def test_workers_make_the_same_study(here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one process gets as many threads as each of two workers: with those, training is the same to the bit."""
    threads = max(1, (os.cpu_count() or 1) // 2)
    head, _, rest = STUDY.partition("compare =")
    task = rest[rest.index("[tasks.mrpc]") : rest.index("[tasks.snli]")]
    (tmp_path / "study.toml").write_text(head + task + "[settings.single]")
    common = ("study", "study.toml", "--device", "cpu", "--json")
    found = [
        here(*common, "--out", f"with{n}", "--workers", n, timeout=600, env={"OMP_NUM_THREADS": str(threads)})
        for n in (1, 2)
    ]
    assert [done.returncode for done in found] == [0, 0], found[1].stderr
    one, two = (json.loads(done.stdout) for done in found)
    assert len(one["lines"]) > 3
    assert [x["setting"] for x in one["lines"]] == [x["setting"] for x in two["lines"]]
    assert [x["value"] for x in one["lines"]] == pytest.approx(
        [x["value"] for x in two["lines"]], rel=1e-9, abs=1e-9
    )
    for n in (1, 2):
        summary = json.loads((tmp_path / f"with{n}/models/base/1/single/mrpc/summary.json").read_text())
        assert [s["seed"] for s in summary["seeds"]] == [0, 1]
    (tmp_path / "study.toml").write_text((tmp_path / "study.toml").read_text().replace("seeds = 2", "seeds = 3"))
    monkeypatch.chdir(tmp_path)
    assert started(tmp_path, monkeypatch) == [2], "no process for what is finished"
    assert started(tmp_path, monkeypatch) == []


def started(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the models for which a study that goes on starts a process."""
    from unwaver.study import work as module

    seeds: list[int] = []

    def side_by_side(do: Any, calls: Any, workers: int, done: Any) -> None:
        for call in calls:
            seeds.append(call[2])
            do(*call)
            done(call)

    monkeypatch.setattr(module, "side_by_side", side_by_side)
    plan = read_plan(place / "study.toml")
    models = work(plan, Path("with2"), Console(), data_dir=None, device="cpu", workers=2)
    assert [m.seed for m in models] == [0, 1, 2]
    return seeds


@pytest.mark.parametrize(
    ("change", "told", "hint"),
    [
        (("seeds = 2", "seeds = 0"), '"seeds": found 0, expected a whole number of 1 or more', ""),
        (("seeds = 2", "sedes = 2"), 'expected a table without "sedes"', "did you mean seeds"),
        (('["single", "multi"]', '["single", "mutli"]'), "there is no setting mutli", "did you mean multi"),
        (('["single", "multi"]', '["single", "multi@0.5"]'), "at no fraction", "single@0.25"),
        (("[tasks.snli]", "[tasks.snil]"), "unknown task 'snil'", "did you mean snli"),
        (('start = "single/snli"', 'start = "single/rte"'), "names no model", "single/TASK"),
        (('bases = ["base"]', ""), 'expected a table with "bases"', "docs/train.md"),
        (("rows = 60", 'rows = "many"'), 'found "many", expected a whole number', ""),
        (("rows = 60", "rows = 0"), '"tasks.snli.rows": found 0', ""),
        (("limit = 12", "limit = 0"), '"limit": found 0', ""),
        (("limit = 12", "base_accuracy = true"), "nothing in this study has a base split", "becel/snli"),
        (("limit = 12", "base_accuracy = 1"), '"base_accuracy": found 1, expected true or false', ""),
        (("epochs = 3", 'epochs = "two"'), '"epochs": found "two", expected a whole number', ""),
        (("lr = 0.003", 'lr = "1e-4"'), '"lr": found "1e-4", expected a number', ""),
        (("lr = 0.003", "lr = nan"), '"lr": found NaN, expected numbers that are finite', ""),
        (("lr = 0.003", 'recipe = "bcel"'), "recipe: found 'bcel'", "did you mean becel"),
        (("consistency = 1.0", 'consistency = "high"'), '"settings.consistent.consistency": found "high"', ""),
        (
            ("consistency = 1.0", 'adversarial = "synonyms"'),
            "adversarial: found 'synonyms'",
            "did you mean synonym",
        ),
        (('form = "calm"', 'form = "clam"'), "unknown form 'clam'", "did you mean calm"),
        (('start = "single/snli"', "start = 3"), '"settings.started.start": found 3, expected a text', ""),
        (("[settings.single]", "[[settings.single]]"), '"settings.single": found [{}], expected a table', ""),
        (('split = "new.csv", ', ""), "needs split and variants", "swap"),
        (("bases", "bases ="), "no TOML", ""),
    ],
)
def test_a_wrong_plan_is_told(tmp_path: Path, change: tuple[str, str], told: str, hint: str) -> None:
    from unwaver.errors import UnwaverError

    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(*change))
    with pytest.raises(UnwaverError) as error:
        read_plan(file)
    assert told in str(error.value)
    assert hint in str(error.value.hint)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"sample/snli"', '"becel/snil"'), "snil"),
        (('variants = ["swap", "reverse"]', 'variants = ["swop"]'), "swop"),
        (('form = "calm"', 'form = "plain"'), "reverse is a variant of CALM's form"),
        (("consistency = 1.0", 'adversarial = "synonym"'), "needs an encoder"),
        (('bases = ["base"]', 'bases = ["bsae"]'), "bsae"),
        (
            ('["sample/snli"]', '["sample/snli", "sample/snli/semantic"]'),
            "sample/snli/semantic would be measured twice",
        ),
        (('split = "new.csv", variants = ["swap"]', 'split = "new.csv", variants = ["sawp"]'), "sawp"),
        (('split = "new.csv", variants = ["swap"]', 'split = "nwe.csv", variants = ["swap"]'), "nwe.csv"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_trained(
    here: Any, tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace(*change))
    done = here("study", "study.toml", "--device", "cpu", "-q")
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert not (tmp_path / "study" / "models").exists()


def test_names_of_suites_are_tasks_too(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('bases = ["x"]\n[tasks."calm/mnli"]\nrows = 9\ntest = "dev"\n[settings.single]\n')
    (job,) = read_plan(file).jobs(tmp_path / "out", None, None)
    assert job.setup.rows == {"mnli": 9}
    assert job.setup.test_split == {"mnli": "dev"}


def test_tasks_by_path_and_by_the_name_of_a_suite(here: Any, tmp_path: Path) -> None:
    """Their models have folders of their own, and splits of theirs are asked as the task they are."""
    import tiny_encoder

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "own.toml").write_text(tiny_encoder.OWN_TASK)
    rows = "".join(
        f'{{"premise": "the man runs {n}", "hypothesis": "a dog sleeps", "update": "it is {("new", "old")[n % 2]}", '
        f'"label": "{("weakener", "strengthener")[n % 2]}"}}\n'
        for n in range(30)
    )
    (tmp_path / "delta.jsonl").write_text(rows)
    head = 'bases = ["base"]\nlimit = 4\nlr = 0.003\nbatch = 8\nepochs = 1\nlength = 40\n[settings.single]\n'
    swap = 'train = "mrpc.csv"\nevaluate = [{ split = "new.csv", variants = ["swap"] }]\n'
    delta = 'train = "delta.jsonl"\nevaluate = [{ split = "delta.jsonl", variants = ["surface_case"] }]\n'
    absolute = tmp_path / "sub" / "own.toml"
    for name, task, rest in (
        ("a", "sub/own.toml", swap),
        ("b", absolute, swap),
        ("c", "paranlu/snli", delta),
    ):
        (tmp_path / f"{name}.toml").write_text(f'{head}[tasks."{task}"]\n{rest}')
        done = here("study", f"{name}.toml", "--device", "cpu", "--json", "-q", timeout=600)
        assert done.returncode == 0, done.stderr
        (line,) = json.loads(done.stdout)["lines"]
        assert line["task"] == ("delta-snli" if name == "c" else "dup")
        assert absolute.read_text() == tiny_encoder.OWN_TASK, "a task file is no folder"


def plan_of(tmp_path: Path, head: str, settings: str = "[settings.single]\n") -> StudyPlan:
    file = tmp_path / "s.toml"
    file.write_text(f"{head}\n[tasks.mrpc]\n[tasks.snli]\n{settings}")
    return read_plan(file)


def test_rho_leaves_out_models_that_write(tmp_path: Path) -> None:
    def line(base: str, task: str, value: float, suite: str = "becel") -> SeedMean:
        about = (base, "single", 1.0, suite, task, "negational", "tau", "low")
        return SeedMean(*about, value, None, None, None, 1, 9, 0, False)

    lines = [line("a", "mrpc", 0.6), line("a", "snli", 0.2), line("b", "mrpc", 0.4), line("b", "snli", 0.1)]
    lines += [line("t5", "mrpc", 0.1), line("t5", "snli", 0.1), line("a", "mrpc", 0.9, suite="test")]
    found = {r["base"]: r["rho"] for r in rho_of(lines, plan_of(tmp_path, 'bases = ["a", "b", "t5"]'), {"t5"})}
    assert found["a"] == pytest.approx(2.0)
    assert found["b"] is None, "does not apply to the best"


def test_tables_of_several_bases_say_which(tmp_path: Path) -> None:
    """And seeds without a value count neither as groups nor as seeds."""
    plan = plan_of(tmp_path, 'bases = ["a", "b"]\nseeds = 3\nfractions = [0.5, 1]')

    def line(base: str, task: str, value: float, fraction: float) -> SeedMean:
        about = (base, "single", fraction, "becel", task, "negational", "tau", "low")
        return SeedMean(*about, value, 0.1, 0.5, 0.1, 2, 7, 0, False, constant=1)

    lines = [
        line(base, task, value, fraction)
        for fraction in (0.5, 1.0)
        for base, task, value in (("a", "mrpc", 0.6), ("a", "snli", 0.2), ("b", "mrpc", 0.4), ("b", "snli", 0.1))
    ]
    found = Findings(lines, [], [], list(rho_of(lines, plan)))
    shown = dict(study_tables(found, plan))
    assert list(shown)[:2] == ["mean (s.d.) over seeds, in % · a", "mean (s.d.) over seeds, in % · b"]
    first = shown["mean (s.d.) over seeds, in % · a"][1]
    assert first == ["mrpc/negational", "tau ↓", "single", "60.0 (10.0)", "50.0 (10.0)", "2", "7", "0"]
    rows = shown["ρ of negational τ against SNLI"][1:]
    assert len({tuple(row[:3]) for row in rows}) == len(rows) == 4
    assert ["a", "single@0.5", "mrpc", "60.0", "20.0", "40.0", "2.00"] in rows
    (remark,) = study_remarks(found, plan)
    assert "mrpc (single@0.5 · a)" in remark


def test_the_page_of_results_has_the_tables_of_its_study() -> None:
    """Each once; studies/results.json is the study.json of the run that the page tells of."""
    root = Path(__file__).parents[2]
    found = from_document(json.loads((root / "studies" / "results.json").read_text()))
    made = study_markdown(found, read_plan(root / "studies" / "results.toml"))
    page = (root / "docs" / "results.md").read_text()
    assert page.count(made.strip()) == 1
    for title in [line for line in made.splitlines() if line.startswith("**")]:
        assert page.count(title) == 1, title


def test_no_study(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such study"):
        read_plan(tmp_path / "none.toml")


def test_variants_by_task_and_fractions(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = STUDY.replace('variants = ["swap", "reverse"]', 'variants = { mrpc = ["swap"] }').replace(
        "seeds = 2", "fractions = [0.5, 1]"
    )
    file.write_text(text.replace('compare = [["single", "multi"]', 'compare = [["single@0.5", "single"]'))
    plan = read_plan(file)
    jobs = list(plan.jobs(tmp_path / "out", None, None))
    assert len(jobs) == 2 * 5
    chosen = [j.setup.variants for j in jobs if j.condition.setting == "consistent"]
    assert chosen == [{"mrpc": ("swap",)}, {"mrpc": ("swap",)}]
    (first, *_) = plan.compare
    assert [(side.setting, side.fraction) for side in (first.first, first.second)] == [
        ("single", 0.5),
        ("single", 1.0),
    ]
    assert jobs[-1].condition.setting == "started", "what starts from others comes last"


def test_a_setting_with_fractions_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    less = '[settings.less]\ntasks = ["mrpc"]\nfractions = [0.25, 0.5]\n'
    file.write_text(STUDY.replace('compare = [["single", "multi"]', 'compare = [["less@0.25", "single"]') + less)
    plan = read_plan(file)
    jobs = [job for job in plan.jobs(tmp_path / "out", None, None) if job.condition.setting == "less"]
    assert [(job.tasks, job.setup.fraction) for job in jobs] == [(("mrpc",), 0.25), (("mrpc",), 0.5)]
    assert plan.fractions == [1.0, 0.5, 0.25]
    (first, *_) = plan.compare
    assert [(side.setting, side.fraction) for side in (first.first, first.second)] == [
        ("less", 0.25),
        ("single", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[settings.less]\nfractions = [0, 1]\n",
            '"settings.less.fractions.0": found 0, expected a number above 0 and at most 1',
        ),
        ("[settings.less]\nfractions = [true]\n", '"settings.less.fractions.0": found true'),
        ("[settings.less]\nfractions = []\n", '"settings.less.fractions": found [], expected a list of 1 or more'),
        (
            '[settings.less]\ntasks = ["mrpc"]\nfractions = [0.5]\nstart = "single/mrpc"\n',
            "settings.less.start: single is not trained on the fraction 0.5",
        ),
    ],
)
def test_wrong_fractions_are_told(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(STUDY + text)
    with pytest.raises(DataError) as error:
        read_plan(file)
    assert told in str(error.value)
    assert error.value.hint
