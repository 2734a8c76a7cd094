"""Bars and verdicts: exact limits against SciPy, hand-worked cases, files for CI."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from test_paired_runs import write

import unwaver
from unwaver.bars import parse_bar
from unwaver.errors import UsageError
from unwaver.meaning import is_known
from unwaver.verdicts.checks import Check, GateOutcome, worst
from unwaver.verdicts.gate_files import junit, markdown
from unwaver.verdicts.gates import gate
from unwaver.verdicts.placed_bars import PlacedBar


def at(where: str, text: str) -> PlacedBar:
    return PlacedBar(parse_bar(text), where)


def checks_of(path: Path, *bars: Any, baseline: Path | None = None, **options: Any) -> list[Check]:
    return list(gate(path, bars, baseline=baseline, **options).checks)


def upper(hits: int, n: int) -> float:
    return float(binomtest(hits, n, alternative="less").proportion_ci(0.95).high)


def lower(hits: int, n: int) -> float:
    return float(binomtest(hits, n, alternative="greater").proportion_ci(0.95).low)


@pytest.mark.parametrize(
    ("broken", "n", "verdict"),
    [(0, 28, "undecided"), (0, 29, "pass"), (9, 40, "fail"), (7, 40, "undecided"), (3, 90, "pass")],
)
def test_max_tau(tmp_path: Path, broken: int, n: int, verdict: str) -> None:
    """Bar 10 %: 29 groups without a broken one are the fewest that pass, as 0.9²⁹ < 0.05."""
    (check,) = checks_of(write(tmp_path / "a.jsonl", "x" * broken + "o" * (n - broken)), "tau<=0.1")
    assert check.verdict == verdict
    assert (check.low, check.high) == pytest.approx((lower(broken, n), upper(broken, n)))
    assert verdict == ("pass" if upper(broken, n) <= 0.1 else "fail" if lower(broken, n) > 0.1 else "undecided")
    assert (check.counted, check.accuracy) == (n, 1.0)


def test_min_is_the_mirror(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 60, wrong="w" * 3)
    found = {x: checks_of(path, f"accuracy>={x}")[0].verdict for x in (0.8, 0.94, 0.99)}
    assert found == {0.8: "pass", 0.94: "undecided", 0.99: "fail"}


@pytest.mark.parametrize(("broken", "n"), [(0, 10), (2, 40), (6, 30), (1, 12)])
def test_the_number_of_further_groups_is_right(tmp_path: Path, broken: int, n: int) -> None:
    """With that many more groups, and the same share of broken ones, the verdict is there; with fewer it is not."""
    (check,) = checks_of(write(tmp_path / "a.jsonl", "x" * broken + "o" * (n - broken)), "tau<=0.1")
    assert check.verdict == "undecided"
    assert check.further_groups is not None
    total = n + check.further_groups
    if broken == 0:
        assert upper(0, total) <= 0.1 < upper(0, total - 1)
        return
    step = n // math.gcd(broken, n)  # numbers of groups of which the same share is a whole number
    above, below = step * math.ceil(total / step), step * ((total - 1) // step)
    limit, decided = (upper, True) if broken / n < 0.1 else (lower, False)
    assert (limit(above * broken // n, above) <= 0.1) is decided
    assert (limit(below * broken // n, below) <= 0.1) is not decided


def test_no_number_decides_at_the_bar(tmp_path: Path) -> None:
    (check,) = checks_of(write(tmp_path / "a.jsonl", "x" + "o" * 9), "tau<=0.1")
    assert (check.verdict, check.further_groups) == ("undecided", None)


def test_clusters_make_it_less_sure(tmp_path: Path) -> None:
    """40 groups in 40 clusters pass, in 10 they do not: nothing is known of the clusters that were not seen."""
    alone, shared = (write(tmp_path / f"{n}.jsonl", "o" * 40, cluster=n) for n in (1, 4))
    assert checks_of(alone, "tau<=0.1")[0].verdict == "pass"
    (check,) = checks_of(shared, "tau<=0.1")
    assert (check.verdict, check.clusters) == ("undecided", 10)
    assert check.further_groups == 4 * 19  # 29 clusters of 4


def test_few_clusters_decide_nothing(tmp_path: Path) -> None:
    (check,) = checks_of(write(tmp_path / "a.jsonl", "xo" * 20, cluster=4), "tau<=0.1")
    assert (check.verdict, check.interval, check.clusters) == ("undecided", "t", 10)
    assert "too few" in check.reason


def test_a_missing_metric_fails(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 40)
    passed, missing = checks_of(path, "tau<=0.1", "P_C>=0.85")
    assert (passed.verdict, missing.verdict) == ("pass", "fail")
    assert "nothing here has P_C" in missing.reason
    assert worst([passed, missing]) == "fail"
    (elsewhere,) = checks_of(path, at("becel/snli", "tau<=0.1"))
    assert (elsewhere.verdict, "nothing here is becel/snli" in elsewhere.reason) == ("fail", True)
    (of_other,) = checks_of(path, at("own", "r_r@5<=0.1"))
    assert (of_other.verdict, of_other.task) == ("fail", "own")


def test_a_metric_without_a_value_fails(tmp_path: Path) -> None:
    """Conditioned on right originals, and none is right."""
    path = write(tmp_path / "a.jsonl", "o" * 40, wrong="w" * 40)
    (check,) = checks_of(path, "tau_conditioned<=0.1")
    assert (check.verdict, check.value, check.not_applicable) == ("fail", None, 40)


def test_missing_answers_do_not_pass(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 60)
    frame = pl.read_ndjson(path).with_columns(
        status=pl.when(pl.col("group") == "g7").then(pl.lit("failed")).otherwise(pl.lit("answered"))
    )
    frame.write_ndjson(path)
    (check,) = checks_of(path, "tau<=0.1")
    assert (check.verdict, check.missing) == ("undecided", 1)
    (check,) = checks_of(path, "tau>=0.1")  # a fail stays one
    assert check.verdict == "fail"


def test_the_bar_that_names_more_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "x" * 10 + "o" * 50, suite="s", task="t")
    loose, strict = at("*/*/semantic", "tau<=0.5"), at("s/t", "tau<=0.01")
    everywhere = "tau<=0.02"
    assert [c.bar for c in checks_of(path, everywhere, loose)] == ["tau <= 0.5"]
    assert [c.bar for c in checks_of(path, loose, strict)] == ["tau <= 0.01"]
    assert [c.verdict for c in checks_of(path, loose)] == ["pass"]


def test_a_drop_against_the_baseline(tmp_path: Path) -> None:
    old, same = write(tmp_path / "old.jsonl", "x" * 10 + "o" * 290), tmp_path / "old.jsonl"
    worse = write(tmp_path / "worse.jsonl", "x" * 70 + "o" * 230)
    drop = "drop(tau)<=0.02"
    (check,) = checks_of(same, drop, baseline=old)
    assert (check.verdict, check.baseline, check.value) == ("pass", 10 / 300, 10 / 300)
    assert check.high == pytest.approx(1 - 0.05 ** (1 / 300))  # as much as unseen groups could do
    (check,) = checks_of(worse, drop, baseline=old)
    assert (check.verdict, check.value) == ("fail", 70 / 300)
    assert check.low is not None
    assert 0.02 < check.low < 0.2 < (check.high or 0)
    (check,) = checks_of(worse, "drop(tau)<=0.22", baseline=old)
    assert check.verdict == "undecided"
    assert check.further_groups is not None
    (check,) = checks_of(old, drop, baseline=worse)  # it got better
    assert check.verdict == "pass"


def test_a_drop_of_what_is_better_high(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", "o" * 300)
    worse = write(tmp_path / "worse.jsonl", "o" * 300, wrong="w" * 60)
    (check,) = checks_of(worse, "drop(accuracy)<=0.02", baseline=old)
    assert (check.verdict, check.value, check.baseline) == ("fail", 0.8, 1.0)


def test_the_verdicts_keep_their_level(tmp_path: Path) -> None:
    """τ exactly at the bar, 200 groups a run, summed over all outcomes: neither verdict has more than 5 %."""
    from scipy.stats import binom

    chance = binom.pmf(np.arange(201), 200, 0.1)
    passes = np.array([upper(hits, 200) <= 0.1 for hits in range(201)])
    fails = np.array([lower(hits, 200) > 0.1 for hits in range(201)])
    assert chance[passes].sum() <= 0.05
    assert chance[fails].sum() <= 0.05
    most = int(np.flatnonzero(passes)[-1])
    for hits, verdict in ((most, "pass"), (most + 1, "undecided"), (int(np.flatnonzero(fails)[0]), "fail")):
        path = write(tmp_path / f"{hits}.jsonl", "x" * hits + "o" * (200 - hits))
        assert checks_of(path, "tau<=0.1")[0].verdict == verdict


# --- metrics that are not there -----------------------------------------------------------------------------


def test_a_metric_that_exists_nowhere_is_bad_usage(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 40)
    for name, meant in (("tua", "tau"), ("Tau", "tau"), ("acuracy", "accuracy"), ("Cons_lexx", "Cons_lex")):
        for where in ("*", "own"):
            with pytest.raises(UsageError, match=f"unknown metric '{name}'") as raised:
                checks_of(path, "tau<=0.1", at(where, f"{name}<=0.1"))
            assert f"did you mean {meant}" in str(raised.value.hint)
    with pytest.raises(UsageError, match="unknown metric"):
        checks_of(path, "drop(tua)<=0.1", baseline=path)
    with pytest.raises(UsageError, match="lies between -1 and 1"):
        checks_of(path, "drop(tau)<=2", baseline=path)


def test_every_metric_of_unwaver_is_known() -> None:
    """Their names are written in the metrics' own files: those that are plain texts must all be known."""
    for module in (Path(unwaver.__file__).parent / "metrics").glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Metric":
                name = node.args[0]
                assert not isinstance(name, ast.Constant) or is_known(name.value), (module, name.value)
    for name in ("C_S@0.9", "r_r@12", "Cons_bidirectional@0.5", "Cons_judge_questions", "Cons_exact_joint"):
        assert is_known(name)
    assert not is_known("Cons_judges")
    assert not is_known("tau<")


def test_bars_are_fractions(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies between 0 and 1"):
        checks_of(write(tmp_path / "a.jsonl", "xo"), "tau<=10")


# --- from Python --------------------------------------------------------------------------------------------


def test_from_python(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.jsonl", "o" * 80), write(tmp_path / "bad.jsonl", "x" * 40 + "o" * 40)
    met = unwaver.gate(good, bars=["tau<=0.10", unwaver.Bar("accuracy", ">=", 0.9)])
    assert (met.verdict, met.is_met, bool(met)) == ("pass", True, True)
    assert [check.bar for check in met.checks] == ["tau <= 0.1", "accuracy >= 0.9"]
    missed = unwaver.gate(str(bad), "tau<=0.10")
    assert (missed.verdict, bool(missed)) == ("fail", False)
    assert "tau <= 0.1: tau is 50.0 %" in str(missed)
    assert missed.document()["checks"][0]["value"] == 0.5
    assert not unwaver.gate(bad, ["drop(tau)<=0.02"], baseline=good)
    few = write(tmp_path / "few.jsonl", "o" * 8)
    assert [bool(unwaver.gate(few, ["tau<=0.1"], allow_undecided=allowed)) for allowed in (False, True)] == [0, 1]


def test_a_file_of_bars_has_its_alpha(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 29)
    (tmp_path / "bars.toml").write_text('alpha = 0.01\nbars = ["tau<=0.10"]\n')
    for given in (tmp_path / "bars.toml", str(tmp_path / "bars.toml"), [tmp_path / "bars.toml"]):
        assert (gate(path, given).verdict, gate(path, given).alpha) == ("undecided", 0.01)
        assert gate(path, given, alpha=0.05).verdict == "pass"


def test_a_result_that_was_saved_can_be_gated(tmp_path: Path) -> None:
    result = unwaver.run("sample/snli/semantic", "fake/constant", out=str(tmp_path / "r"), limit=5)
    assert unwaver.gate(result, ["tau<=0.9"], allow_undecided=True)
    assert unwaver.gate(result, ["drop<=0.9"], baseline=result, allow_undecided=True)
    without = unwaver.Result(result.scores)  # scores alone decide nothing
    with pytest.raises(UsageError, match="its answers cannot be read"):
        unwaver.gate(without, ["tau<=0.9"])


def test_the_leading_metric_has_a_bar_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 40)
    (check,) = checks_of(path, "*<=0.1")
    assert (check.metric, check.bar, check.verdict) == ("tau", "tau <= 0.1", "pass")
    (check,) = checks_of(path, at("own", "*<=0.1"))
    assert (check.bar, check.where) == ("tau <= 0.1", "own")
    (check,) = checks_of(path, "drop<=0.1", baseline=path)
    assert (check.metric, check.bar) == ("tau", "drop(tau) <= 0.1")


# --- files for CI -------------------------------------------------------------------------------------------


def test_junit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "o" * 40, model='<&"\x00\x1b[31m\ufffe')
    checks = checks_of(path, "tau<=0.1", "tau_conditioned<=0.05", "accuracy>=1.0")
    assert [c.verdict for c in checks] == ["pass", "undecided", "undecided"]
    suite = ElementTree.fromstring(junit(GateOutcome(tuple(checks)))).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "2", "0")
    cases = suite.findall("testcase")
    assert [len(case) for case in cases] == [0, 1, 1]
    assert cases[0].get("classname") == "own.own.semantic"
    assert "more group" in str(cases[1][0].get("message"))
    allowed = ElementTree.fromstring(junit(GateOutcome(tuple(checks), allow_undecided=True)))
    assert (allowed.get("failures"), allowed.get("skipped")) == ("0", "2")


def test_markdown_is_not_markup(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "x" * 40, model="a|b <img src=x onerror=alert(1)> [c](d) `e`\n| f |")
    text = markdown(gate(path, ["tau<=0.1"]))
    assert "❌ fail" in text.splitlines()[0]
    (row,) = [line for line in text.splitlines() if "onerror" in line]
    assert row.count("|") == 10
    assert not set("<>`[") & set(row)


# --- the command line ---------------------------------------------------------------------------------------


def test_command(unwaver: Any, tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", "o" * 80)
    write(tmp_path / "few.jsonl", "o" * 8)
    write(tmp_path / "bad.jsonl", "x" * 40 + "o" * 40)
    good = unwaver("gate", "good.jsonl", "--max", "tau=0.10", "--min", "accuracy=0.9")
    assert (good.returncode, good.stdout.splitlines()[-2]) == (0, "pass")
    few = unwaver("gate", "few.jsonl", "--max", "tau=0.10")
    assert (few.returncode, "about 21 more groups would decide" in few.stdout) == (1, True)
    assert unwaver("gate", "few.jsonl", "--max", "tau=0.10", "--allow-undecided").returncode == 0
    files = ("--junit", "gate.xml", "--markdown", "gate.md")
    bad = unwaver("gate", "bad.jsonl", "--max", "tau=0.10", "--allow-undecided", "--json", *files)
    assert bad.returncode == 1
    document = json.loads(bad.stdout)
    assert (document["version"], document["verdict"], document["checks"][0]["value"]) == (1, "fail", 0.5)
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    assert (tmp_path / "gate.md").read_text().startswith("## unwaver gate: ❌ fail")
    drop = unwaver("gate", "bad.jsonl", "--baseline", "good.jsonl", "--max-drop", "0.02")
    assert (drop.returncode, "drop(tau) <= 0.02" in drop.stdout) == (1, True)
    (tmp_path / "bars.toml").write_text('["own/own/semantic"]\nmax = {tau = 0.6}\n')
    several = unwaver("gate", "good.jsonl", "--bar", "tau<=0.10", "--bar", "accuracy >= 90 %", "--json")
    assert [c["bar"] for c in json.loads(several.stdout)["checks"]] == ["tau <= 0.1", "accuracy >= 0.9"]
    short = unwaver("gate", "good.jsonl", "--max", "tau=0.10", "--min", "accuracy=0.9", "--json")
    assert (several.returncode, several.stdout) == (0, short.stdout)
    drops = [
        ("--bar", "drop(tau)<=0.02"),
        ("--bar", "drop<=2 %"),
        ("--max-drop", "tau=0.02"),
        ("--max-drop", "0.02"),
    ]
    same = {unwaver("gate", "bad.jsonl", "--baseline", "good.jsonl", *d, "--json").stdout for d in drops}
    assert len(same) == 1
    by_file = unwaver("gate", "bad.jsonl", "--bars", "bars.toml", "--max", "tau=0.1", "--json")
    assert [c["bar"] for c in json.loads(by_file.stdout)["checks"]] == ["tau <= 0.6"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("a.jsonl",), "there are no bars"),
        (("gone", "--max", "tau=0.1"), "there is no such file"),
        (("a.jsonl", "--max", "tau"), "expected METRIC=NUMBER"),
        (("a.jsonl", "--bar", "tau"), "--bar 'tau' is not a valid bar: use tau<=0.10 or tau>=0.10"),
        (("a.jsonl", "--bar", "tau=0.2"), "--bar 'tau=0.2' is not a valid bar: use tau<=0.20 or tau>=0.20"),
        (("a.jsonl", "--bar", "tua<=0.2"), "unknown metric 'tua'"),
        (("a.jsonl", "--bar", "tau<=10"), "lies between 0 and 1"),
        (("a.jsonl", "--bar", "drop(tau)<=0.1"), "--baseline is missing"),
        (("a.jsonl", "--bar", "tau<=0.1", "--baseline", "a.jsonl"), "--max-drop is missing"),
        (("a.jsonl", "--max", "tau=10"), "lies between 0 and 1"),
        (("a.jsonl", "--max", "tau=0.1", "--alpha", "5"), "alpha is 5"),
        (("a.jsonl", "--max-drop", "0.1"), "--baseline is missing"),
        (("a.jsonl", "--max", "tau=0.1", "--baseline", "a.jsonl"), "--max-drop is missing"),
        (("a.jsonl", "--baseline", "b.jsonl", "--max-drop", "0.1"), "3 and 2 groups"),
        (("a.jsonl", "--bars", "gone.toml"), "there is no such file"),
        (("a.jsonl", "--max", "tau=0.1", "--junit", "no/such/folder/x.xml"), "cannot be written"),
    ],
)
def test_what_goes_wrong_is_told(unwaver: Any, tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    write(tmp_path / "a.jsonl", "xo")
    write(tmp_path / "b.jsonl", "xox")
    done = unwaver("gate", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) >= 2  # and what to do


@pytest.mark.parametrize("right", ["r", "w"])
def test_nothing_measured_is_no_pass(unwaver: Any, tmp_path: Path, right: str) -> None:
    """One judged answer for each problem: it agrees with itself, whatever it is."""
    rows = [
        {"group": n, "kind": "paraphrase", "expect": "bucket", "role": "variant", "label": right, "gold": "r"}
        for n in range(30)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for more in ([], ["--allow-undecided"]):
        for bar in ("P_C=0.9", "P_C_pairs=0.1", "Cons_lex=0.1"):
            done = unwaver("gate", path, "--min", bar, "--json", *more)
            assert done.returncode == 1, done.stdout
            (check,) = json.loads(done.stdout)["checks"]
            assert (check["verdict"], check["value"]) == ("fail", None)
            assert "nothing was measured" in check["reason"]
    shown = unwaver("score", path).stdout
    assert "nothing was measured" in " ".join(shown.split())
    assert "P_C" not in shown.split("relation")[1].split("nothing was measured")[0]


def test_few_units_have_no_interval_and_decide_nothing(tmp_path: Path) -> None:
    (check,) = checks_of(write(tmp_path / "a.jsonl", "xo" * 8, cluster=4), "tau<=0.1")
    assert (check.verdict, check.low, check.clusters) == ("undecided", None, 4)
    assert "4 independent units are too few" in check.reason
