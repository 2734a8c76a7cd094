"""A result on a terminal: the verdict in the words of the report, families of relations, tables of 80 columns."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import unwaver
from unwaver.reports.families import table_of_families
from unwaver.reports.terminal import MOST_LINES, print_result
from unwaver.reports.verdict import headline, lines, verdicts
from unwaver.result import Result
from unwaver.types import Score

Call = Callable[..., tuple[int, str, str]]


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\u00a0", " "))


def score(task: str, kind: str, value: float | None, metric: str = "tau", better: Any = "low") -> Score:
    low, high = (None, None) if value is None else (max(0.0, value - 0.1), min(1.0, value + 0.1))
    return Score(
        "s", task, kind, metric, value, low, high, 20, 20, 0, 0, 0, 0, 0, 0.5, "model", "label", better=better
    )


def printed(result: Result, width: int = 80, full: bool = False) -> str:
    out = io.StringIO()
    print_result(result, Console(file=out, width=width, color_system=None, highlight=False), full=full)
    return out.getvalue()


# --- the verdict --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "score"])
def test_it_ends_with_the_sentences_of_the_report(call: Call, verb: str, tmp_path: Path) -> None:
    run = ("run", "sample/snli", "--model", "fake/random", "--out", "r", "--no-report")
    code, out, err = call(*run)
    assert code == 0, err
    if verb == "score":
        code, out, err = call("score", "r")
    result = unwaver.score("r")
    said = flat(out)
    table, _, after = said.partition("inconsistency (tau):")
    assert headline(verdicts(result)) in after
    for verdict in verdicts(result):
        if verdict.level != "none":
            assert flat(f"{verdict.subject}: {verdict.said}.") in after
    assert after.index(headline(verdicts(result))) < after.index("Run folder:")
    assert table


def test_not_with_json(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("run", "sample/snli", "--model", "fake/random", "--out", "r", "--json")
    assert code == 0
    assert json.loads(out)["scores"]
    assert "were measured" not in out


def test_texts_are_left_out_of_a_report_only(call: Call, tmp_path: Path) -> None:
    run = ("run", "sample/snli/semantic", "--model", "fake/random", "--out", "r", "--without-texts")
    assert "--without-texts has no effect" in call(*run, "--no-report")[2]


def test_one_answer_to_everything_is_said_once(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("run", "sample/snli", "--model", "fake/constant", "--out", "r", "--no-report")
    assert code == 0
    assert flat(out).count("gives the same answer") == 1


def test_many_sentences_are_folded() -> None:
    result = Result([score(f"task{n}", "semantic", 0.5) for n in range(20)])
    short = lines(result)
    assert short[-1] == ("", "and 14 more: --full shows them")
    assert len(lines(result, full=True)) == 21


def test_several_models_have_a_headline_each(call: Call, tmp_path: Path) -> None:
    models = ("--model", "fake/random", "--model", "fake/keyword")
    _, out, _ = call("run", "sample/snli", *models, "--out", "r", "--no-report")
    assert "fake/random – " in flat(out)
    assert "fake/keyword – " in flat(out)


# --- many lines ---------------------------------------------------------------------------------------------


def becel_like() -> Result:
    kinds = ("semantic", "negational", "symmetric", "additive")
    return Result([score(f"task{n}", kind, n / 10) for n in range(6) for kind in kinds])


def test_families_come_first() -> None:
    said = printed(becel_like())
    assert "semantic" in said
    assert "task5" in said  # the worst of its family
    assert "task3/semantic" not in said
    assert "24 relations by family; --full shows every line" in said
    assert len(said.splitlines()) < 12
    full = printed(becel_like(), full=True)
    assert "task3/semantic" in full
    assert "--full" not in full


def test_a_family_has_the_mean_and_its_worst() -> None:
    scores = [score("a", "semantic", 0.1), score("b", "semantic", 0.5), score("c", "semantic", None)]
    scores += [score("a", "reverse", 0.9, "C_R", "high"), score("b", "reverse", 0.6, "C_R", "high")]
    header, semantic, reverse = table_of_families(scores)
    assert header[:4] == ["family", "metric", "rel.", "mean %"]
    assert semantic == ["semantic", "tau ↓", "2 of 3", "30.0", "b", "50.0", "40.0 – 60.0", "60", "0"]
    assert reverse[:6] == ["reverse", "C_R ↑", "2", "75.0", "b", "60.0"]


def test_kinds_of_ones_own_that_make_no_family_are_lines() -> None:
    result = Result([score("own", f"kind{n}", 0.2) for n in range(MOST_LINES + 5)])
    said = printed(result)
    assert f"own/kind{MOST_LINES + 4}" in said
    assert "rel." not in said


def test_few_lines_are_all_shown() -> None:
    result = Result([score(f"t{n}", "semantic", 0.2) for n in range(MOST_LINES)])
    assert "t3/semantic" in printed(result)


def test_the_numbers_beside_are_left_out_first(call: Call, tmp_path: Path) -> None:
    questions = [
        {"id": f"{kind}{n}", "kind": kind, "items": [{"text": f"Who is {n}?"}, {"text": f"Tell me who {n} is"}]}
        for n in range(5)
        for kind in ("semantic", "symmetric", "semantic_b")
    ]
    Path("texts.jsonl").write_text("\n".join(map(json.dumps, questions)))
    run = ("run", "texts.jsonl", "--model", "fake/random", "--replicates", "2", "--out", "r", "--no-report")
    code, out, err = call(*run)
    assert code == 0, err
    assert "more numbers; --full shows every line" in out
    assert len(re.findall(r"Cons_exact ↑", out)) == 0
    assert len(re.findall(r"Cons_exact ↑", call(*run, "--full")[1])) == 3
    document = json.loads(call("score", "r", "--json")[1])
    assert {"Cons_exact", "majority_share"} <= {s["metric"] for s in document["scores"]}


@pytest.mark.parametrize("width", [80, 100, 60])
def test_tables_fit(width: int) -> None:
    tasks = ("frequently_asked_questions", "q")
    metrics = ("tau", "Cons_normalised", "Cons_normalised_repeat", "Cons_normalised_gap")
    scores = [
        score(task, kind, 0.25, metric, "low" if metric == "tau" else "high")
        for task in tasks
        for kind in ("surface_punctuation", "semantic")
        for metric in metrics
    ]
    for full in (True, False):
        said = printed(Result(scores), width=width, full=full)
        table = [line for line in said.splitlines() if "25.0" in line]
        assert table
        assert max(map(len, said.splitlines())) <= max(width, 62)
        assert all("15.0 – 35.0" in line for line in table)  # no number is cut


def test_a_free_text_run_fits_80_columns(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Path("questions.csv").write_text(
        "question\nWhat is the capital of France, please?\nWho wrote the play Hamlet?\n"
    )
    for option in ((), ("--full",)):
        run = ("run", "questions.csv", "--model", "fake/random", "--out", "r", "--no-report", *option)
        code, out, err = call(*run)
        assert code == 0, err
        table = [line for line in out.splitlines() if re.search(r"[↓↑─]", line)]
        assert table
        assert max(map(len, table)) <= 80
