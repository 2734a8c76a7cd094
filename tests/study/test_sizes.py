"""Bases and sizes: ρ by size, shares, tests paired over models, and CALM's claims from its own table."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy_stats

from unwaver.errors import UnwaverError
from unwaver.stats.seeds import sample_of
from unwaver.study.compared import compared
from unwaver.study.findings import Findings
from unwaver.study.lines import SeedMean
from unwaver.study.picture import shares_figure
from unwaver.study.plan import StudyPlan, read_plan
from unwaver.study.sizes import across_models, rho, rho_of, shares_of
from unwaver.study.tables import study_tables

PLAN = """
bases = ["a", "A", "b", "B", "c"]
seeds = 5
compare = [{ sizes = ["base", "large"] }, { bases = ["a", "b"], setting = "single" }, { tasks = ["rte", "mrpc"] }]
[families.one]
base = "a"
large = "A"
[families.two]
base = "b"
large = "B"
[families.three]
base = "c"
[tasks.mrpc]
[tasks.rte]
[tasks.snli]
[settings.single]
[settings.multi]
multi_task = true
[settings.variants]
tasks = ["mrpc"]
variants = ["swap"]
"""


def plan_of(tmp_path: Path, text: str = PLAN) -> StudyPlan:
    (tmp_path / "s.toml").write_text(text)
    return read_plan(tmp_path / "s.toml")


def line(
    base: str,
    task: str,
    values: float | list[float],
    *,
    setting: str = "single",
    kind: str = "negational",
    metric: str = "tau",
) -> SeedMean:
    several = values if isinstance(values, list) else [values]
    sample = sample_of(several)
    about = (base, setting, 1.0, "becel", task, kind, metric, "low" if metric == "tau" else "high")
    by_seed = {str(n): v for n, v in enumerate(several)}
    return SeedMean(*about, sample.mean, sample.sd, 0.5, None, sample.n, 9, 0, False, by_seed=by_seed)


def test_comparisons_of_a_plan(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    found = [(c.first.base, c.second.base, c.first.setting) for c in plan.compare]
    settings = ("single", "multi", "variants")
    assert found == [
        *(("a", "A", setting) for setting in settings),
        *(("b", "B", setting) for setting in settings),
        ("a", "b", "single"),
    ]
    assert [(t.first, t.second, t.alpha) for t in plan.compare_tasks] == [("rte", "mrpc", 0.1)] * 3
    assert [plan.size_of(base) for base in plan.bases] == ["base", "large", "base", "large", "base"]


@pytest.mark.parametrize(
    ("change", "told", "hint"),
    [
        (('base = "c"', 'base = "d"'), "d is not among the bases", ""),
        (('base = "c"', 'base = "a"'), "a is named twice", ""),
        (('[families.three]\nbase = "c"\n', ""), "c has no size", "add it to a family"),
        (('base = "c"', "base = 3"), '"families.three.base": found 3, expected a text', ""),
        (('{ sizes = ["base", "large"] }', '{ sizes = ["base", "lrage"] }'), "there is no size lrage", "large"),
        (('{ bases = ["a", "b"],', '{ bases = ["a", "x"],'), "there is no base x", ""),
        (('setting = "single"', 'setting = "sngle"'), "there is no setting sngle", "single"),
        (('{ tasks = ["rte", "mrpc"] }', '{ tasks = ["rte", "wic"] }'), "wic is not a task of this study", ""),
        (
            ('{ tasks = ["rte", "mrpc"] }', '{ tasks = ["rte", "mrpc"], alpha = 2 }'),
            'alpha": found 2, expected a number above 0 and below 1',
            "",
        ),
        (
            ('{ tasks = ["rte", "mrpc"] }', '{ tasks = ["rte", "mrpc"], paired = true }'),
            "unknown key 'paired'",
            "",
        ),
        (
            ('{ tasks = ["rte", "mrpc"] }', '{ tasks = ["rte", "mrpc"], bases = ["a", "b"] }'),
            "expected two settings, bases, sizes or tasks",
            "",
        ),
        (('base = "a"\n', 'tiny = "a"\n'), "", ""),
    ],
)
def test_wrong_plans(tmp_path: Path, change: tuple[str, str], told: str, hint: str) -> None:
    text = PLAN.replace(*change)
    if not told:
        text, told = text.replace('base = "b"\n', 'tiny = "b"\n'), "no family has both base and large"
    with pytest.raises(UnwaverError) as error:
        plan_of(tmp_path, text)
    assert told in str(error.value)
    assert error.value.hint
    assert hint in str(error.value.hint)


def test_sizes_without_families_are_told(tmp_path: Path) -> None:
    text = 'bases = ["a"]\ncompare = [{ sizes = ["base", "large"] }]\n[tasks.mrpc]\n[settings.single]\n'
    with pytest.raises(UnwaverError, match="there is no size base") as error:
        plan_of(tmp_path, text)
    assert "[families.NAME]" in str(error.value.hint)


def test_rho_holds_models_against_the_best_of_their_size(tmp_path: Path) -> None:
    """τ* of base is .5 (b), of large .2 (A): single-task models only, on the task as it is, that write no text."""
    values = {"a": 0.8, "A": 0.2, "b": 0.5, "B": 0.4, "c": 0.1}
    lines = [line(base, "mrpc", value) for base, value in values.items()]
    lines += [line(base, "snli", 0.1) for base in values]
    lines += [line("a", "mrpc", 0.3, setting="multi"), line("a", "snli", 0.1, setting="multi")]
    lines += [line("b", "mrpc", 0.7, setting="multi"), line("b", "snli", 0.1, setting="multi")]
    lines += [line("b", "mrpc", 0.05, setting="variants")]
    found = {(r["base"], r["setting"]): r for r in rho_of(lines, plan_of(tmp_path), {"c"})}
    assert {key: r["best"] for key, r in found.items()} == {
        **{(base, "single"): 0.2 if base.isupper() else 0.5 for base in values},
        ("a", "multi"): 0.5,
        ("b", "multi"): 0.5,
    }
    assert found["a", "single"]["rho"] == pytest.approx(rho(0.8, 0.1, 0.5))
    assert found["B", "single"]["rho"] == pytest.approx((0.4 - 0.1) / (0.4 - 0.2))
    assert found["b", "multi"]["rho"] == pytest.approx((0.7 - 0.1) / (0.7 - 0.5))
    for best in (("b", "single"), ("A", "single"), ("c", "single"), ("a", "multi")):
        assert found[best]["rho"] is None
    assert {r["size"] for r in found.values()} == {"base", "large"}


def of_sizes() -> list[SeedMean]:
    """Large is better on mrpc in both families, worse on rte in one; snli is the same."""
    near = [0.50, 0.51, 0.52, 0.49, 0.48]
    less, more = ([v + shift for v in near] for shift in (-0.3, 0.3))
    values = {"mrpc": (near, less, near, less), "rte": (near, near, near, more), "snli": (near, near, near, near)}
    return [
        line(base, task, several[n])
        for task, several in values.items()
        for n, base in enumerate(("a", "A", "b", "B"))
    ] + [line("c", "mrpc", near)]


def test_shares_by_family_and_relation(tmp_path: Path) -> None:
    plan, lines = plan_of(tmp_path), of_sizes()
    tests = compared(plan.compare, lines, [])
    found = Findings(lines, tests, list(shares_of(tests, plan)), [], list(across_models(lines, plan)))
    tables = dict(study_tables(found, plan))
    (shares,) = (rows for title, rows in tables.items() if title.endswith("each p < 0.05"))
    assert [row[:5] for row in shares[1:]] == [
        ["large against base · one · single", "3", "1", "0", "2"],
        ["large against base · two · single", "3", "1", "1", "1"],
        ["b against a · single", "3", "0", "0", "3"],
        ["large against base · all · single", "6", "2", "1", "3"],
        ["large against base · negational · single", "6", "2", "1", "3"],
    ]
    assert shares[4][5] == "███▒▒·····"
    assert "large against base · two · single · this recipe: points, Welch's t over seeds" in tables


def test_the_bar_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    from unwaver.reports.pictures import bytes_of

    plan, lines = plan_of(tmp_path), of_sizes()
    tests = compared(plan.compare, lines, [])
    figure = shares_figure(Findings(lines, tests, list(shares_of(tests, plan)), []), plan)
    drawn = bytes_of(figure, "svg").decode()
    ET.fromstring(drawn)
    for text in ("large against base · all · single: better 2 of 6", "worse 1 of 6", "no difference 3 of 6"):
        assert text in drawn


# --- CALM -------------------------------------------------------------------------------------------------------

# Table 1: C_R and C_S of MNLI, QNLI, RTE, QQP, MRPC
CALM = {
    "roberta-base": (61.2, 96.1, 65.3, 95.6, 52.1, 91.0, 97.3, 97.3, 94.9, 96.3),
    "roberta-large": (65.5, 96.9, 64.2, 97.8, 54.4, 90.6, 96.8, 98.2, 94.6, 93.3),
    "electra-base": (62.3, 93.4, 56.7, 93.4, 52.4, 84.4, 96.9, 96.5, 93.1, 90.9),
    "electra-large": (63.2, 95.2, 52.4, 96.4, 57.9, 94.2, 97.3, 93.4, 93.9, 96.6),
    "gpt2-base": (46.6, 83.8, 49.0, 89.8, 64.6, 43.7, 92.8, 92.0, 91.0, 54.7),
    "gpt2-large": (56.8, 91.4, 51.8, 93.7, 39.9, 66.5, 93.8, 95.1, 89.4, 79.9),
    "bart-base": (54.3, 96.1, 51.6, 97.1, 54.2, 79.4, 96.8, 97.6, 97.1, 94.3),
    "t5-base": (60.3, 3.2, 87.4, 0.0, 82.1, 0.0, 97.4, 54.9, 96.4, 0.0),
    "t5-large": (85.7, 73.5, 94.5, 48.5, 87.1, 0.0, 97.7, 21.4, 97.5, 0.0),
}
TASKS = ("mnli", "qnli", "rte", "qqp", "mrpc")
PAIRS = (("mnli", "rte"), ("qnli", "rte"), ("qqp", "mrpc"))


def calm_lines() -> list[SeedMean]:
    return [
        line(model, task, values[2 * n + which] / 100, kind=kind, metric=metric)
        for model, values in CALM.items()
        for n, task in enumerate(TASKS)
        for which, (kind, metric) in enumerate((("reverse", "C_R"), ("signal", "C_S")))
    ]


def calm_plan(tmp_path: Path) -> StudyPlan:
    """T5's sizes have names of their own: the paper compares those of RoBERTa, ELECTRA and GPT2."""
    bases = ", ".join(f'"{base}"' for base in CALM)
    pairs = ", ".join(f'{{ tasks = ["{first}", "{second}"] }}' for first, second in PAIRS)
    families: dict[str, list[str]] = {}
    for base in CALM:
        name, _, size = base.partition("-")
        families.setdefault(name, []).append(f'{"t5-" if name == "t5" else ""}{size} = "{base}"')
    text = f'bases = [{bases}]\ncompare = [{pairs}, {{ sizes = ["base", "large"] }}]\n[settings.single]\n'
    text += "".join(f"[families.{name}]\n" + "\n".join(sizes) + "\n" for name, sizes in families.items())
    return plan_of(tmp_path, text + "".join(f"[tasks.{task}]\n" for task in TASKS))


def test_claims_of_calm_from_its_own_table(tmp_path: Path) -> None:
    found = {(a.first, a.second, a.metric): a for a in across_models(calm_lines(), calm_plan(tmp_path))}
    p = {key: round(a.found.p or -1, 3) for key, a in found.items()}
    assert p == {
        ("mnli", "rte", "C_R"): 0.785,
        ("mnli", "rte", "C_S"): 0.035,
        ("qnli", "rte", "C_R"): 0.346,
        ("qnli", "rte", "C_S"): 0.019,
        ("qqp", "mrpc", "C_R"): 0.004,
        ("qqp", "mrpc", "C_S"): 0.042,
        ("base", "large", "C_R"): 0.885,
        ("base", "large", "C_S"): 0.026,
    }
    assert {a.pairs for a in found.values()} == {9, 15}
    assert found["base", "large", "C_S"].verdict == "better"
    assert found["qqp", "mrpc", "C_S"].verdict == "worse"
    assert found["mnli", "rte", "C_R"].verdict == "no difference"
    assert found["base", "large", "C_S"].found.difference == pytest.approx(0.0535, rel=0.01)
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text()
    for a in found.values():
        points = f"{100 * a.found.difference:+.1f}".replace("-", "−")
        assert f"{points}, {a.found.p:.3f}".replace(" 0.", " .") in page


def test_pairs_over_models_against_scipy(tmp_path: Path) -> None:
    """Twenty lines of plain Python and SciPy: the table, its columns, and a paired t-test."""
    for a in across_models(calm_lines(), calm_plan(tmp_path)):
        column = 0 if a.metric == "C_R" else 1
        if a.first in TASKS:
            first, second = (
                [values[2 * TASKS.index(t) + column] for values in CALM.values()] for t in (a.first, a.second)
            )
        else:
            families = ("roberta", "electra", "gpt2")
            first, second = (
                [CALM[f"{family}-{size}"][2 * n + column] for family in families for n in range(5)]
                for size in (a.first, a.second)
            )
        theirs = scipy_stats.ttest_rel(second, first)
        assert a.found.p == pytest.approx(theirs.pvalue)
        assert a.found.difference == pytest.approx((sum(second) - sum(first)) / len(first) / 100)


def test_one_model_is_no_test(tmp_path: Path) -> None:
    lines = [x for x in calm_lines() if x.base == "bart-base"]
    found = list(across_models(lines, calm_plan(tmp_path)))
    assert {a.verdict for a in found} == {"not tested"}
    assert {a.pairs for a in found} == {1}


# --- a whole one ------------------------------------------------------------------------------------------------

STUDY = """
bases = ["small", "large"]
seeds = 5
draw_by_seed = true
paired = true
lr = 0.003
batch = 16
epochs = 1
length = 24
compare = [{ sizes = ["base", "large"] }, ["single", "multi"]]

[families.tiny]
base = "small"
large = "large"

[tasks.mrpc]
train = "mrpc.csv"
rows = 60
evaluate = ["sample/mrpc"]

[tasks.snli]
train = "snli.csv"
rows = 60
evaluate = ["sample/snli/negational"]

[settings.single]
[settings.multi]
multi_task = true
"""


def test_two_sizes_five_seeds_two_tasks(unwaver: Any, tmp_path: Path) -> None:
    """One file, one command: mean (s.d.), both tests, ρ by size, and the bar of better, worse and no difference."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_encoder

    tiny_encoder.encoder(tmp_path / "small", layers=1)
    tiny_encoder.encoder(tmp_path / "large", layers=2)
    tiny_encoder.pairs(tmp_path / "mrpc.csv", 80)
    tiny_encoder.nli(tmp_path / "snli.csv", 90)
    (tmp_path / "study.toml").write_text(STUDY)
    done = unwaver("study", "study.toml", "--device", "cpu", "-q", timeout=600)
    assert done.returncode == 0, done.stderr
    study = json.loads((tmp_path / "study" / "study.json").read_text())
    assert {len(x["by_seed"]) for x in study["lines"]} == {5}
    for told in (
        "mean (s.d.) over seeds, in % · small",
        "mean (s.d.) over seeds, in % · large",
        "large against base · tiny · single · this recipe: points, paired t over seeds",
        "large against base · tiny · single · these models: points, same groups, seeds averaged",
        "large against base · all · single",
        "█ better, ▒ worse, · no difference",
        "ρ of negational τ against SNLI",
        "paired over models",
    ):
        assert told in done.stdout, told
    assert {(r["size"], r["base"]) for r in study["rho"]} == {("base", "small"), ("large", "large")}
    check_study(study, tmp_path)
    ET.fromstring((tmp_path / "study" / "shares.svg").read_text())


def check_study(study: Any, place: Path) -> None:
    """The tests over seeds, from the scores of each run by plain Python and SciPy; ρ by its formula."""
    runs: dict[tuple[str, ...], dict[str, float]] = {}
    for path in (place / "study" / "runs").rglob("scores.json"):
        base, _, setting, *_ = path.relative_to(place / "study" / "runs").parts
        seed = next(part for part in path.parts if part.startswith("seed"))
        for score in json.loads(path.read_text())["scores"]:
            if score["metric"] == "tau" and score["given"] is None and score["value"] is not None:
                case = (base, setting, score["suite"], score["task"], score["kind"])
                runs.setdefault(case, {}).setdefault(seed, score["value"])
    assert len(study["tests"]) == 4 * 4, "four relations; two sizes by two settings, two settings by two sizes"
    for test in study["tests"]:
        case = (test["suite"], test["task"], test["kind"])
        one, other = (
            [value for _, value in sorted(runs[test[side]["base"], test[side]["setting"], *case].items())]
            for side in ("first", "second")
        )
        assert len(one) == len(other) == 5
        assert test["recipe"]["difference"] == pytest.approx((sum(other) - sum(one)) / 5, rel=1e-4, abs=1e-9)
        if len({round(b - a, 12) for a, b in zip(one, other, strict=True)}) > 1:
            assert test["recipe"]["p"] == pytest.approx(scipy_stats.ttest_rel(other, one).pvalue)
        assert test["models"]["groups"] > 0
    taus = {key: sum(values.values()) / 5 for key, values in runs.items() if key[-1] == "negational"}
    for r in study["rho"]:
        tau, snli = (taus[r["base"], r["setting"], "sample", task, "negational"] for task in ("mrpc", "snli"))
        best = taus[r["base"], "single", "sample", "mrpc", "negational"]
        assert (r["tau"], r["tau_snli"], r["best"]) == pytest.approx((tau, snli, best))
        assert r["rho"] == (pytest.approx((tau - snli) / (tau - best)) if tau > best else None)
    tests = [t for t in study["tests"] if t["first"]["base"] != t["second"]["base"]]
    for setting in ("single", "multi"):
        (share,) = (
            s
            for s in study["shares"]
            if "size" in s["first"] and "kind" not in s and s["first"]["setting"] == setting
        )
        some = [t for t in tests if t["first"]["setting"] == setting]
        assert share["tests"] == len(some) == sum(share["raw"].values()) == 4
        significant = [t for t in some if t["recipe"]["p"] is not None and t["recipe"]["p"] < 0.05]
        assert share["raw"]["better"] == sum(t["recipe"]["difference"] < 0 for t in significant)
        assert share["raw"]["worse"] == sum(t["recipe"]["difference"] > 0 for t in significant)
