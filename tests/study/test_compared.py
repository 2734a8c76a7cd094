"""Tests between sides at two levels: what follows for a recipe, and what is not tested."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats as scipy_stats

from unwaver.errors import UnwaverError
from unwaver.stats.seeds import sample_of, welch
from unwaver.study.compared import Compared, GroupTest, group_test, judged, seed_test
from unwaver.study.findings import Findings, from_document
from unwaver.study.lines import SeedMean
from unwaver.study.plan import read_plan
from unwaver.study.sides import Side
from unwaver.study.sizes import shares_of
from unwaver.study.tables import bar_of, study_remarks, study_tables

ROOT = Path(__file__).parents[2]
FIRST, SECOND = Side("b", "single", 1.0), Side("b", "multi", 1.0)
PLAN = """
bases = ["b"]
seeds = 3
compare = [["single", "multi"]]
[tasks.mrpc]
[tasks.snli]
[settings.single]
[settings.multi]
multi_task = true
"""


def of(first: list[float], second: list[float], metric: str = "tau", p: float = 0.5) -> Compared:
    kind = "test" if metric == "accuracy" else "semantic"
    groups = GroupTest(0.0, 0.0, 0.0, None, None, p, 9, 9)
    return Compared(
        FIRST, SECOND, "becel", "mrpc", kind, metric, welch(sample_of(first), sample_of(second)), groups
    )


def test_verdicts_follow_the_seeds_after_holm() -> None:
    """Groups alone give none: p = 1e-9 of these models, with seeds that disagree."""
    low, high = [0.10, 0.11, 0.12], [0.50, 0.51, 0.52]
    tests = [of(low, high), of(high, low), of([0.1, 0.9, 0.5], [0.4, 0.8, 0.9], p=1e-9), of([0.1], high)]
    found = judged(tests)
    assert [t.verdict for t in found] == ["worse", "better", "no difference", "not tested"]
    assert found[2].models is not None
    assert found[2].models.p_holm == pytest.approx(4e-9)
    p = [t.recipe.p for t in found]
    assert p[0] is not None
    assert found[0].p_holm == pytest.approx(3 * p[0]), "over the three that can be tested"
    assert found[3].p_holm is None
    many = judged([of(low, [0.14, 0.15, 0.16])] + [of(low, low)] * 72)
    assert many[0].raw_verdict == "worse"
    assert many[0].verdict == "no difference", "one of 73"


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ([0.700, 0.701, 0.702], "non-inferior"),
        ([0.60, 0.61, 0.62], "worse"),
        ([0.80, 0.81, 0.82], "better"),
        ([0.60, 0.70, 0.80], "no difference"),
        ([0.70], "not tested"),
    ],
)
def test_accuracy_may_be_non_inferior(second: list[float], verdict: str) -> None:
    (found,) = judged([of([0.700, 0.702, 0.704], second, "accuracy")])
    assert found.verdict == verdict


def line(side: Side, by_seed: dict[str, float]) -> SeedMean:
    sample = sample_of(by_seed.values())
    about = (side.base, side.setting, side.fraction, "becel", "mrpc", "semantic", "tau", "low")
    return SeedMean(*about, sample.mean, sample.sd, 0.5, None, sample.n, 9, 0, False, by_seed=by_seed)


def test_pairs_of_seeds_are_by_their_numbers() -> None:
    """Order and missing seeds do not matter; what seeds share makes the paired test the sharper one."""
    first = line(FIRST, {"0": 0.10, "1": 0.50, "2": 0.90, "3": 0.3})
    second = line(SECOND, {"2": 0.95, "0": 0.16, "1": 0.54})
    one, two = (seed_test(first, second, paired=paired) for paired in (True, False))
    assert one is not None
    assert two is not None
    assert one.p == pytest.approx(scipy_stats.ttest_rel([0.16, 0.54, 0.95], [0.10, 0.50, 0.90]).pvalue)
    assert one.seeds == (3, 3)
    assert two.p == pytest.approx(
        scipy_stats.ttest_ind([0.16, 0.54, 0.95], [0.10, 0.50, 0.90, 0.3], equal_var=False).pvalue
    )
    assert two.seeds == (4, 3)
    assert seed_test(first, replace(second, value=None)) is None


def test_groups_that_share_items_are_tested_by_item() -> None:
    """Forty groups in a chain are one cluster, but made of forty-one items."""
    first = {f"g{n}": ((f"i{n}", f"i{n + 1}"), [1.0, float(n % 2)]) for n in range(40)}
    second = {f"g{n}": ((f"i{n}", f"i{n + 1}"), [0.0, 0.0]) for n in range(40)}
    found = group_test(first, second)
    assert found is not None
    assert (found.clusters, found.groups) == (41, 40)
    assert found.low is not None
    assert found.p < 0.001


def test_bars() -> None:
    counts = {"better": 1, "worse": 1, "no difference": 2, "not tested": 0}
    assert bar_of(counts, 4, 8) == "██▒▒····"
    assert bar_of({**counts, "no difference": 0, "not tested": 2}, 4, 8) == "██▒▒    "
    assert bar_of(dict.fromkeys(counts, 0), 0, 4) == "    "
    assert bar_of({"better": 1, "worse": 1, "no difference": 1, "not tested": 0}, 3) == "███▒▒▒▒···"


def test_what_is_not_tested_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PLAN)
    plan = read_plan(tmp_path / "s.toml")
    tests = judged([of([0.1], [0.2]), of([0.1] * 3, [0.2] * 3), of([0.1, 0.2, 0.4], [0.2, 0.1, 0.3])])
    found = Findings([], tests, list(shares_of(tests, plan)), [])
    assert study_remarks(found, plan) == [
        "1 of 3 tests of recipes are not possible: a side has one seed; set seeds = 3 or more",
        "1 of 3 tests of recipes are not possible: on both sides all seeds have the same value",
    ]
    tables = dict(study_tables(found, plan))
    shares = tables["consistency of recipes: █ better, ▒ worse, · no difference; Holm over 1 tests"]
    assert shares[0] == ["side", "tests", "better", "worse", "no difference", "not tested", "bar"]
    assert shares[1][:6] == ["multi against single", "3", "0", "0", "1", "2"]
    (rows,) = (rows for title, rows in tables.items() if "this recipe" in title)
    assert [row[3:] for row in rows[1:3]] == [
        ["–", "–", "–", "1", "not tested"],
        ["–", "–", "–", "3", "not tested"],
    ]
    again = from_document(json.loads(json.dumps(found.document())))
    assert again == found


def test_the_study_of_the_page() -> None:
    """Three to five seeds show six differences of 73 recipes; negational MRPC with pairs is not one of them."""
    found = from_document(json.loads((ROOT / "studies" / "results.json").read_text()))
    shown = [(t.second.setting, t.task, t.kind, t.verdict) for t in found.tests if t.p_holm and t.p_holm < 0.05]
    assert shown == [
        ("multi", "mnli", "reverse", "worse"),
        ("multi", "wic", "semantic", "worse"),
        ("consistent", "rte", "test", "worse"),
        ("consistent", "snli", "transitive", "better"),
        ("single", "snli", "semantic", "worse"),
        ("single", "snli", "symmetric", "worse"),
    ]
    five = {(x.setting, x.task) for x in found.lines if x.seeds == 5}
    assert five >= {(s, t) for s in ("single", "multi", "consistent") for t in ("snli", "mrpc", "rte")}
    assert judged(found.tests) == found.tests, "verdicts follow from the p beside them"
    for test in found.tests:
        one, other = (
            next(
                x
                for x in found.lines
                if (x.side, x.case) == (side, (test.suite, test.task, test.kind, test.metric))
            )
            for side in (test.first, test.second)
        )
        theirs = scipy_stats.ttest_ind_from_stats(
            other.value, other.sd, other.seeds, one.value, one.sd, one.seeds, equal_var=False
        )
        assert test.recipe.p == pytest.approx(theirs.pvalue)
        assert test.recipe.seeds == (one.seeds, other.seeds)


# --- plans ----------------------------------------------------------------------------------------------------


def test_seeds_by_setting_and_task(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = PLAN.replace("[settings.single]", "[settings.single]\nseeds = { mrpc = 5 }")
    file.write_text(text.replace("multi_task = true", "multi_task = true\nseeds = 4"))
    jobs = list(read_plan(file).jobs(tmp_path, None, None))
    assert [(job.condition.setting, job.tasks, job.seeds) for job in jobs] == [
        ("single", ("mrpc",), 5),
        ("single", ("snli",), 3),
        ("multi", ("mrpc", "snli"), 4),
    ]


@pytest.mark.parametrize(
    ("change", "told", "hint"),
    [
        (("multi_task = true", "multi_task = true\nseeds = { mrpc = 5 }"), "one model has all tasks", "seeds = 5"),
        (("[settings.single]", "[settings.single]\nseeds = { rte = 5 }"), "rte is not a task of this setting", ""),
        (
            ("[settings.single]", "[settings.single]\nseeds = 0"),
            '"settings.single.seeds": found 0, expected a whole number of 1 or more',
            "",
        ),
        (("[settings.single]", "[settings.single]\nseeds = 2.5"), "found 2.5, expected a whole number", ""),
        (("seeds = 3", "seeds = 3\npaired = true"), "same training rows", "draw_by_seed = true"),
        (
            ('[["single", "multi"]]', '[{ settings = ["single", "multi"], paired = true }]'),
            "same training rows",
            "draw_by_seed = true",
        ),
        (("seeds = 3", 'seeds = 3\npaired = "yes"'), '"paired": found "yes", expected true or false', ""),
        (("seeds = 3", "seeds = 3\ndraw_by_seed = 1"), '"draw_by_seed": found 1, expected true or false', ""),
        (('bases = ["b"]', 'bases = ["b", "b"]'), "b is named twice", ""),
        (('bases = ["b"]', 'bases = ["x/b", "x-b"]'), "x/b is named twice", "- and / count as the same"),
        (('["single", "multi"]', '["single", "single"]'), "single is compared with itself", ""),
        (
            ('["single", "multi"]', '{ setings = ["single", "multi"] }'),
            'expected a table without "setings"',
            "settings",
        ),
        (('["single", "multi"]', '["single"]'), "expected a list of 2 texts", ""),
        (
            (
                "[settings.single]",
                '[settings.late]\nseeds = 5\ntasks = ["mrpc"]\nstart = "single/snli"\n[settings.single]',
            ),
            "single/snli has 3 seeds, late 5",
            "at most 3 seeds",
        ),
    ],
)
def test_wrong_plans(tmp_path: Path, change: tuple[str, str], told: str, hint: str) -> None:
    (tmp_path / "s.toml").write_text(PLAN.replace(*change))
    with pytest.raises(UnwaverError) as error:
        read_plan(tmp_path / "s.toml")
    assert told in str(error.value)
    assert hint in str(error.value.hint)
    assert error.value.hint


def test_paired_where_seeds_draw_their_rows(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(PLAN.replace("seeds = 3", "seeds = 3\ndraw_by_seed = true\npaired = true"))
    assert [c.paired for c in read_plan(file).compare] == [True]
    file.write_text(
        PLAN.replace("seeds = 3", "seeds = 3\ndraw_by_seed = true").replace(
            '[["single", "multi"]]', '[["single", "multi"], { settings = ["multi", "single"], paired = true }]'
        )
    )
    assert [c.paired for c in read_plan(file).compare] == [False, True]
