"""Judged pairs: how they are read, and the validation of agreement functions on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import spearmanr

from unwaver.agree import Pair
from unwaver.agree.comparison import check_same_question, parse_agreement
from unwaver.agree.human_pairs import JudgedPair, JudgedPairs, _corrected, mean_of_directions, read_pairs
from unwaver.answers.given import complete
from unwaver.console import Console
from unwaver.errors import DataError, UsageError
from unwaver.metrics.block import block_of

ROWS = [
    {"question": "Who wrote Hamlet?", "a": "Shakespeare", "b": "It was Shakespeare", "label": 1},
    {"question": "Who wrote Hamlet?", "a": "Shakespeare", "b": "Ann", "label": 0},
    {"question": "What is 2 + 2?", "a": "It is 4", "b": "4", "label": 1},
    {"question": "What is 2 + 2?", "a": "It is 4", "b": "It is 5", "label": 0},
    {"question": "Where is Oslo?", "a": "in Norway", "b": "in Norway", "label": 1},
    {"question": "Where is Oslo?", "a": "in Norway", "b": "in Sweden", "label": 0},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def values(path: Path, agreement: str) -> list[float | None]:
    judged, found = read_pairs(path), parse_agreement(agreement)
    return [mean_of_directions(several) for several in judged.compared(found, lambda _: {}, Console())]


def test_values_of_pairs(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", ROWS)
    assert values(path, "exact") == [0, 0, 0, 0, 1, 0]
    assert values(path, "rouge1") == pytest.approx([0.5, 0, 0.5, 2 / 3, 1, 0.5])
    assert values(path, "numeric") == [None, None, 1, 0, None, None], "no number, be the texts the same or not"


def test_both_directions_are_averaged_and_the_best_alternative_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [{**ROWS[0], "b": ["a b c d", "Shakespeare wrote"]}, ROWS[1]])
    bleu = parse_agreement("bleu")
    assert bleu.compare is not None
    from unwaver.agree import Pair

    asked = [("Shakespeare", "Shakespeare wrote"), ("Shakespeare wrote", "Shakespeare")]
    both = bleu.compare([Pair("", a, b) for a, b in asked])
    assert values(path, "bleu")[0] == pytest.approx(sum(v or 0 for v in both) / 2)
    assert values(path, "exact") == [0, 0]
    assert values(written(tmp_path / "q.jsonl", [{**ROWS[0], "b": ["x", "Shakespeare"]}]), "exact") == [1]


def test_each_direction_is_held_against_the_label() -> None:
    """Of 100 pairs that are the same 60 entail both ways and 40 one way; a run of these very pairs has 50 % to people.

    A run counts both directions, .40 of them: sensitivity must be that of directions too.
    """
    entail = parse_agreement("entail=hf/x")
    pairs, told, rows = [], {}, []
    for n in range(200):
        question, same, both = f"q{n}", n % 2 == 0, n // 2 % 10 < 6
        there, back = (0.9, 0.9 if both else 0.08) if same else (0.02, 0.02)
        pairs.append(JudgedPair(question, "a", ("b",), float(same), question))
        told |= {Pair(question, "a", "b"): there, Pair(question, "b", "a"): back}
        rows += [(question, "original", "a", [None, there]), (question, "variant", "b", [back, None])]
    frame = complete(
        [{"group": g, "kind": "semantic", "role": role, "label": label} for g, role, label, _ in rows]
    ).with_columns(pl.Series("agree_entail@0.5", [v for *_, v in rows], dtype=pl.List(pl.Float64)))
    judged = JudgedPairs(pairs)
    found = _corrected(block_of(frame), entail, 0.5, judged.values(entail, told), judged, 0.5, 0)
    assert found["seen"] == pytest.approx(0.4)
    assert found["corrected"] == pytest.approx(0.5)
    assert found["judged_pairs"] == 200


def test_a_row_without_a_label(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [ROWS[0], {k: v for k, v in ROWS[1].items() if k != "label"}])
    with pytest.raises(DataError, match='column "label"'):
        read_pairs(path)


def test_an_agreement_is_named_once(unwaver: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", ROWS)
    done = unwaver("agreement", "validate", "--pairs", path, "--agree", "rouge1@0.4", "--agree", "rouge1@0.9")
    assert done.returncode == 2
    assert "rouge1 is named twice" in done.stderr


def test_a_rubric_may_hold_commas_and_an_at() -> None:
    found = parse_agreement("judge=openai/x,rubric=Are {a} and {b} the same, Yes or No? Write to me@home, please.")
    assert found.model == "openai/x"
    assert found.threshold == parse_agreement("judge=openai/x").threshold
    local = parse_agreement("judge=openai/x,base_url=http://localhost:8000/v1,rubric={a} is {b}@0.7")
    assert local.options["base_url"] == "http://localhost:8000/v1", "a judge may have a server of its own"
    assert local.threshold == 0.7
    with pytest.raises(UsageError, match="neither the agreement judge nor openai/x has an option 'base_ulr'"):
        parse_agreement("judge=openai/x,base_ulr=http://localhost:8000/v1")
    with pytest.raises(UsageError, match=r"@0\.9 comes last") as error:
        parse_agreement("bertscore=/nowhere@0.9,layer=5")
    assert error.value.hint == "--agree bertscore=/nowhere,option=value@0.9"
    barred = parse_agreement("judge=openai/x,rubric={a} or {b}, is it one?@0.7")
    assert barred.threshold == 0.7


def test_names_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prompt,answer1,answer2,verdict,who\nWhy?,x,y,yes,q1\nWhy?,x, ,no,q1\n")
    judged = read_pairs(path, {"label": "verdict", "cluster": "who"})
    assert judged.empty == 1
    [pair] = judged.pairs
    assert (pair.question, pair.a, pair.b, pair.label, pair.cluster) == ("Why?", "x", ("y",), 1.0, "q1")
    with pytest.raises(DataError, match='there is no column "label"'):
        read_pairs(path)
    with pytest.raises(DataError, match='no column "vredict"') as found:
        read_pairs(path, {"label": "vredict"})
    assert "verdict" in found.value.hint
    with pytest.raises(UsageError, match="labl") as wrong:
        read_pairs(path, {"labl": "verdict"})
    assert "label" in wrong.value.hint


@pytest.mark.parametrize("label", ["maybe", "nan", "inf", ""])
def test_a_label_that_is_none(tmp_path: Path, label: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"a,b,label\nx,y,1\nx,z,{label}\n")
    with pytest.raises(DataError, match='column "label"') as found:
        read_pairs(path)
    assert found.value.line == 3


def test_accuracy_of_a_pair_is_the_mean_of_its_answers(tmp_path: Path) -> None:
    known = {"true": "The earth is round; It is round", "false": ["It is flat.", "The earth is a disc."]}
    rows = [{"a": "It is round.", "b": "It is flat.", "label": 0, **known}, {"a": "x", "b": "y", "label": 1}]
    assert read_pairs(written(tmp_path / "p.jsonl", rows)).accuracies() == {"accuracy_rouge1": [0.5, None]}
    only = [{"a": "Oslo it is", "b": "Oslo", "label": 1, "true": ["Oslo"]}]
    assert read_pairs(written(tmp_path / "q.jsonl", only)).accuracies() == {"accuracy_contains": [1.0]}


def test_the_published_pairs(data: Path) -> None:
    """157 rows, three of them with an empty output, about 20 questions."""
    judged = read_pairs(data / "truthfulqa_paraphrases" / "truthfulQA_pp_conscore.csv")
    assert (len(judged.pairs), judged.empty) == (154, 3)
    assert len({pair.cluster for pair in judged.pairs}) == 20
    assert {pair.label for pair in judged.pairs} == {0.0, 1.0}


def test_validate_on_the_command_line(unwaver: Any, tmp_path: Path) -> None:
    from sklearn.metrics import cohen_kappa_score, roc_auc_score

    path = written(tmp_path / "pairs.jsonl", ROWS)
    done = unwaver("agreement", "validate", "--pairs", path, "--json", "--plot", "m.svg")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["pairs"], found["clusters"], found["same"], found["empty"]) == (6, 3, 3, 0)
    people = [row["label"] for row in ROWS]
    for name in ("exact", "rouge1"):
        seen, entry = values(path, name), found["agreements"][name]
        assert entry["spearman"]["value"] == pytest.approx(spearmanr(seen, people).statistic)
        assert entry["auc"]["value"] == pytest.approx(roc_auc_score(people, seen))
        said = [v is not None and v >= entry["threshold"] for v in seen]
        assert entry["kappa"] == pytest.approx(cohen_kappa_score(people, said))
        assert sum(entry["confusion"][c] for c in entry["confusion"] if c.count("_") == 1) == 6
    assert found["agreements"]["numeric"]["unknown"] == 4
    assert found["spearman"]["names"][-1] == "people"
    assert "<svg" in (tmp_path / "m.svg").read_text()
    shown = unwaver("agreement", "validate", "--pairs", path, "--agree", "rouge1@0.6")
    assert shown.returncode == 0
    assert "6 pairs of 3 questions, people judged 3 of them equivalent" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


def test_the_consistency_of_a_run_as_people_would_see_it(unwaver: Any, tmp_path: Path) -> None:
    """rouge1 calls 3 of 4 judged pairs the same that are, and 1 of 4 that is not: sensitivity = specificity = 3/4.
    A run where a share s of the pairs agrees has (s + 3/4 - 1) / (3/4 + 3/4 - 1)."""
    judged = [
        {"question": f"q{n}", "a": "x y", "b": "x z" if agree else "u v", "label": same}
        for n, (agree, same) in enumerate(20 * [(1, 1), (1, 1), (1, 1), (0, 1), (1, 0), (0, 0), (0, 0), (0, 0)])
    ]
    path = written(tmp_path / "pairs.jsonl", judged)
    asked = [
        {"items": [{"text": f"{name} {n}? {again}"} for n in range(2)]}
        for name in ("one", "two", "three", "four", "five")
        for again in range(6)
    ]
    written(tmp_path / "own.jsonl", asked)
    (tmp_path / "said.py").write_text(
        "SAID = {'one': 'x y', 'two': 'x y', 'three': 'x y'}\n\n"
        "def answer(items):\n"
        "    words = [item['prompt'].split() for item in items]\n"
        "    return [('x z' if w[0] in SAID else 'u v') if w[1] == '1?' else 'x y' for w in words]\n"
    )
    run = unwaver(
        "run", "own.jsonl", "--model", "python/said:answer", "--agree", "rouge1", "--out", "run", "--json"
    )
    assert run.returncode == 0, run.stderr
    done = unwaver("agreement", "validate", "--pairs", path, "--agree", "rouge1", "--run", "run", "--json")
    assert done.returncode == 0, done.stderr
    [line] = json.loads(done.stdout)["corrected"]
    assert line["seen"] == pytest.approx(0.6)
    assert line["corrected"] == pytest.approx((0.6 + 0.75 - 1) / 0.5)
    assert line["low"] <= line["corrected"] <= line["high"]
    assert (line["questions"], line["judged_pairs"]) == (30, 160)
    assert (line["reason"], line["warning"]) == ("", "")
    useless = [{**row, "label": 1 - row["label"]} for row in judged]
    done = unwaver(
        "agreement", "validate", "--pairs", written(tmp_path / "u.jsonl", useless), "--agree", "rouge1",
        "--run", "run", "--json",
    )  # fmt: skip
    [line] = json.loads(done.stdout)["corrected"]
    assert line["corrected"] is None
    assert "sensitivity + specificity is 50.0 %" in line["reason"]
    few = unwaver(
        "agreement", "validate", "--pairs", written(tmp_path / "f.jsonl", judged[:8]), "--agree", "rouge1", "--run", "run"
    )  # fmt: skip
    assert "own/own/semantic, rouge1: its interval is" in few.stdout.replace("\n", " ")
    done = unwaver("agreement", "validate", "--pairs", path, "--agree", "exact", "--run", "run")
    assert done.returncode == 2
    assert "none of these agreements was used in the run" in done.stderr


def test_a_model_is_asked_once(unwaver: Any, tmp_path: Path, nli_model: Path) -> None:
    path = written(tmp_path / "pairs.jsonl", ROWS)
    command = [
        "agreement",
        "validate",
        "--pairs",
        path,
        "--agree",
        f"entail=hf/{nli_model}",
        "--device",
        "cpu",
        "--json",
    ]
    first = unwaver(*command)
    assert first.returncode == 0, first.stderr
    entry = json.loads(first.stdout)["agreements"]["entail"]
    assert entry["pairs"] == 6
    assert entry["auc"]["value"] > 0.8
    import sqlite3

    with sqlite3.connect(tmp_path / "pairs.jsonl.sqlite") as db:
        # five pairs of distinct texts in both directions; identical texts never reach a model
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (10,)
    assert unwaver(*command).stdout == first.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agree", "rogue1"], "unknown agreement 'rogue1'"),
        (["--agree", "entail"], "the agreement entail asks a model"),
        (["--cut", "7"], "all labels are below 7"),
        (["--plot", "m.doc"], "unknown picture format"),
        (["--run", "nowhere"], "there is no such file or folder"),
        (["--column", "label"], "--column"),
    ],
)
def test_mistakes_are_told(unwaver: Any, tmp_path: Path, options: list[str], said: str) -> None:
    written(tmp_path / "pairs.jsonl", ROWS)
    done = unwaver("agreement", "validate", "--pairs", "pairs.jsonl", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file_and_a_typo_in_the_verb(unwaver: Any) -> None:
    done = unwaver("agreement", "validate", "--pairs", "none.csv")
    assert done.returncode == 2
    assert "none.csv" in done.stderr
    assert unwaver("agreement", "validat", "--pairs", "none.csv").returncode == 2


def test_values_of_another_model_are_not_taken_for_those_of_a_run(tmp_path: Path) -> None:
    run, rubric = ["entail=hf/A@0.7", "judge=openai/x,rubric={a} or {b}?"], "judge=openai/x,rubric={b} or {a}?"
    for text in ("entail=hf/A", "entail=hf/A@0.2", "contradict=hf/B", run[1], "rouge1"):
        check_same_question(parse_agreement(text), run, tmp_path)
    for text in ("entail=hf/B", rubric):
        with pytest.raises(UsageError, match="this run was compared by") as error:
            check_same_question(parse_agreement(text), run, tmp_path)
        assert "run the command of the run again" in str(error.value.hint)
