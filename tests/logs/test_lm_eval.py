"""Logs that lm-eval wrote (run_lm_eval.py), against a direct count of their lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from counting import Answer, counted

import unwaver
from unwaver.errors import DataError, UsageError


@pytest.fixture(scope="session")
def logs(made_by: Any) -> Path:
    return made_by("run_lm_eval")


def samples(folder: Path, task: str) -> Path:
    (found,) = folder.rglob(f"samples_{task}_*.jsonl")
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def chosen(line: dict[str, Any]) -> str:
    """The most probable choice, as lm-eval's acc takes it."""
    scores = [float(r[0]) for r in line["filtered_resps"]]
    return str(line["doc"]["choices"][scores.index(max(scores))])


def agree(result: Any, expected: dict[str, float | None], *names: str, **fields: Any) -> None:
    for name in names:
        assert result.find(name, **fields).value == pytest.approx(expected[name], abs=1e-12), name


def test_multiple_choice(logs: Path) -> None:
    path = samples(logs / "first", "even")
    answers: list[Answer] = [
        (line["doc"]["problem"], line["doc"]["id"], 0, chosen(line), line["acc"]) for line in lines(path)
    ]
    result = unwaver.score(path, bucket="doc.problem")
    found = result.find("P_C")
    assert (found.suite, found.task, found.kind, found.groups) == ("lm-eval", "even", "paraphrase", 6)
    assert found.model == str(logs / "model")
    agree(result, counted(answers), "P_C", "P_C_pairs", "A_bucket", "Cons_lex", "tau")
    assert result.find("A_paraphrase").value == pytest.approx(found.accuracy)
    assert 0 < result.find("A_paraphrase").value < 1, "a set where nothing is right tests nothing"
    by_regex = unwaver.score(path, bucket_regex="^(p[0-9]+)-")
    assert [s.value for s in by_regex] == [s.value for s in result]


def test_its_own_accuracy_comes_out(logs: Path) -> None:
    """The number in results_*.json, for each metric that it has."""
    (results,) = (logs / "first").rglob("results_*.json")
    told = json.loads(results.read_text())["results"]["even"]
    for metric in ("acc", "acc_norm"):
        result = unwaver.score(samples(logs / "first", "even"), metric_key=metric)
        assert result.find("A_paraphrase").value == pytest.approx(told[f"{metric},none"])


def test_two_prompts_of_one_task_are_wordings(logs: Path) -> None:
    answers: list[Answer] = [
        (str(line["doc_id"]), line["prompt_hash"], 0, chosen(line), line["acc"])
        for folder in ("first", "second")
        for line in lines(samples(logs / folder, "even"))
    ]
    result = unwaver.score([samples(logs / "first", "even"), logs / "second"])
    assert result.find("P_C").groups == 24
    agree(result, counted(answers), "P_C", "P_C_pairs", "Cons_lex", "tau", kind="paraphrase")


def test_the_same_prompt_again_is_a_repeat(logs: Path) -> None:
    result = unwaver.score([samples(logs / "first", "even"), logs / "again"])
    assert {s.kind for s in result} == {"repeat"}
    assert result.find("Cons_lex_repeat").value == 1.0  # the model is deterministic
    assert result.find("Cons_lex").value is None
    both = unwaver.score([samples(logs / "first", "even"), logs / "second", logs / "again"])
    assert both.find("Cons_lex_repeat").value == 1.0
    assert both.find("Cons_lex").value < 1.0


def test_repeats_inside_a_sample(logs: Path) -> None:
    path = samples(logs / "first", "say")
    of_all = [line for line in lines(path) if line["filter"] == "all"]
    answers: list[Answer] = [
        (line["doc"]["problem"], line["doc"]["id"], n, answer.strip() or None, None)
        for line in of_all
        for n, answer in enumerate(line["filtered_resps"][0])
    ]
    result = unwaver.score(path, filter="all", bucket="doc.problem")
    agree(result, counted(answers), "Cons_lex", "Cons_lex_repeat", "tau")
    assert 0 < result.find("Cons_lex_repeat").value < 1
    assert result.find("P_C").value is None
    assert "not known" in str(result.run["notes"])
    # the filter take_first leaves all of them in resps, and judges the first
    first = unwaver.score(path, filter="first", bucket="doc.problem")
    judged = [line["exact_match"] for line in lines(path) if line["filter"] == "first"]
    assert first.find("A_paraphrase").value == pytest.approx(sum(judged) / len(judged))
    raw: list[Answer] = [
        (line["doc"]["problem"], line["doc"]["id"], n, answer.strip() or None, None)
        for line in of_all
        for n, answer in enumerate(line["resps"][0])
    ]
    agree(first, counted(raw), "Cons_lex", "Cons_lex_repeat")


def test_gold_may_be_named(logs: Path) -> None:
    path = samples(logs / "first", "say")
    answers = [a.strip() for line in lines(path) if line["filter"] == "all" for a in line["filtered_resps"][0]]
    result = unwaver.score(path, filter="all", gold="doc.problem")
    assert result.find("A_paraphrase").value == pytest.approx(sum(a == "p0" for a in answers) / len(answers))


def test_without_a_choice_of_filter_the_first_is_taken_and_said(logs: Path) -> None:
    result = unwaver.score(samples(logs / "first", "say"))
    assert "filter first" in result.run["notes"]["lm-eval"][0]
    with pytest.raises(DataError, match='no filter "firts"; found: first, all'):
        unwaver.score(samples(logs / "first", "say"), filter="firts")


def test_a_metric_that_is_not_there(logs: Path) -> None:
    with pytest.raises(UsageError, match="no metric 'accc'; found: acc, acc_norm") as e:
        unwaver.score(samples(logs / "first", "even"), metric_key="accc")
    assert e.value.hint == "did you mean acc or acc_norm?"


def test_a_folder_of_tasks_and_one_name_for_them(logs: Path) -> None:
    result = unwaver.score(logs / "first")
    assert {s.task for s in result} == {"even", "say"}
    merged = unwaver.score([samples(logs / "first", "even"), logs / "second"], task="both", bucket="doc.problem")
    assert {(s.task, s.groups) for s in merged} == {("both", 6)}


def test_nothing_belongs_together(logs: Path) -> None:
    result = unwaver.score(samples(logs / "second", "even"))
    assert "every bucket has one answer" in str(result.run["notes"])
    assert result.find("Cons_lex").value is None
    assert result.find("A_bucket").value is not None


def test_logs_with_fewer_fields(logs: Path, tmp_path: Path) -> None:
    """Made from a real log by leaving fields out, not written by an older lm-eval."""
    old = tmp_path / "samples_even_2024-01-01T00-00-00.jsonl"
    gone = ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash")
    with old.open("w") as file:
        for line in lines(samples(logs / "first", "even")):
            kept = {k: v for k, v in line.items() if k not in gone}
            kept["arguments"] = [list(a.values()) for a in line["arguments"].values()]
            file.write(json.dumps(kept) + "\n")
    new = unwaver.score(samples(logs / "first", "even"), bucket="doc.problem")
    assert [s.value for s in unwaver.score(old, bucket="doc.problem")] == [s.value for s in new]


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_logs(logs: Path, tmp_path: Path, packed: bool) -> None:
    text = samples(logs / "first", "even").read_text(encoding="utf-8")
    last = text.count("\n")
    cases = {
        text[:-300]: (last, "broken JSON"),
        text + '{"prompt": "a table of others"}\n': (last + 1, 'no column "doc_id"; found: "prompt"'),
        text.replace('"filtered_resps": [[', '"filtered_resps": [["?"], [', 1): (1, "expected [log-likelihood"),
        text.replace('"arguments": {', '"arguments": [], "was": {', 1): (1, "expected the requests"),
    }
    for damaged, (line, said) in cases.items():
        path = tmp_path / ("samples_even.jsonl.gz" if packed else "samples_even.jsonl")
        path.write_bytes(gzip.compress(damaged.encode()) if packed else damaged.encode())
        with pytest.raises(DataError) as e:
            unwaver.score(path)
        assert said in e.value.message
        assert (e.value.file, e.value.line) == (str(path), line)
        assert e.value.hint


def test_cut_gzip(logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "samples_even.jsonl.gz"
    path.write_bytes(gzip.compress(samples(logs / "first", "even").read_bytes())[:-500])
    with pytest.raises(DataError, match="broken gzip"):
        unwaver.score(path)


def line(**changes: Any) -> dict[str, Any]:
    """As lm-eval writes it: a document with two choices."""
    arguments = {f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {c}"} for n, c in enumerate(("yes", "no"))}
    return {
        "doc_id": 0,
        "doc": {"q": "Q"},
        "target": "1",
        "arguments": arguments,
        "resps": [[["-2.0", "False"]], [["-1.0", "False"]]],
        "filtered_resps": [["-2.0", "False"], ["-1.0", "False"]],
        "filter": "none",
        **changes,
    }


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_without_a_metric_the_target_decides(tmp_path: Path) -> None:
    path = written(tmp_path / "samples_x.jsonl", line(bypass=999, metrics=["bypass"]))
    assert unwaver.score(path).find("A_bucket").value == 1.0


def test_one_continuation_is_judged_but_no_answer(tmp_path: Path) -> None:
    one = {"arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " yes"}}, "filtered_resps": [["-2.0", "True"]]}
    rows = [
        line(**one, acc=acc, metrics=["acc"], doc={"b": 1, "n": n}, doc_id=n) for n, acc in enumerate((1.0, 0.0))
    ]
    result = unwaver.score(written(tmp_path / "samples_x.jsonl", *rows), bucket="doc.b")
    assert result.find("P_C_pairs").value == 0.0
    assert (result.find("Cons_lex").value, result.find("P_C").unreadable) == (None, 0)
    assert "no answers" in str(result.run["notes"])


def test_choices_with_one_text_are_told_by_their_number(tmp_path: Path) -> None:
    arguments = {f"gen_args_{n}": {"arg_0": q, "arg_1": " end"} for n, q in enumerate(("Q1", "Q2"))}
    rows = [line(arguments=arguments, acc=1.0, metrics=["acc"], doc_id=n, doc={"b": 1}) for n in range(2)]
    assert (
        unwaver.score(written(tmp_path / "samples_x.jsonl", *rows), bucket="doc.b").find("Cons_lex").value == 1.0
    )


def test_rolling_likelihoods_are_no_answers(tmp_path: Path) -> None:
    row = line(arguments={"gen_args_0": {"arg_0": "A text."}}, filtered_resps=["-123.4"], word_perplexity=[-1, 2])
    with pytest.raises(DataError, match="rolling log-likelihood") as e:
        unwaver.score(written(tmp_path / "samples_x.jsonl", row))
    assert e.value.line == 1


def test_partial_credit_is_wrong_and_said(tmp_path: Path) -> None:
    generated = {"arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": []}}}, "filtered_resps": ["a"]}
    rows = [line(**generated, f1=f1, metrics=["f1"], doc_id=n) for n, f1 in enumerate((1.0, 0.4))]
    result = unwaver.score(written(tmp_path / "samples_x.jsonl", *rows), metric_key="f1")
    assert result.find("A_bucket").value == 0.5
    assert result.run["notes"]["lm-eval"] == ["1 answer has partial credit (f1): counted as wrong"]


def lettered(n: int, choices: list[str], right: str, form: str = "{}. ") -> dict[str, Any]:
    """A document whose prompt gives its choices letters; the most probable letter is that of the right one."""
    letters = [form.format("ABCD"[i]).strip() for i in range(len(choices))]
    shots = "Q: shot\nA. Rome\nB. Paris\nC. Bern\n\n"
    prompt = shots + "Q\n" + "\n".join(f"{a} {c}" for a, c in zip(letters, choices, strict=True)) + "\nAnswer:"
    names = [letter.rstrip(".") for letter in letters]
    scores = [["-1.0" if c == right else "-2.0", "False"] for c in choices]
    return line(
        doc_id=n,
        doc={"b": 1, "choices": choices},
        target=names[choices.index(right)],
        arguments={f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" {a}"} for i, a in enumerate(names)},
        resps=[[score] for score in scores],
        filtered_resps=scores,
    )


ORDERS = (["Rome", "Paris", "Bern"], ["Paris", "Bern", "Rome"], ["Bern", "Rome", "Paris"])


@pytest.mark.parametrize("form", ["{}. ", "({}) "])
def test_letters_are_compared_by_the_choices_they_stand_for(tmp_path: Path, form: str) -> None:
    rows = [lettered(n, order, "Paris", form) for n, order in enumerate(ORDERS)]
    result = unwaver.score(written(tmp_path / "samples_x.jsonl", *rows), bucket="doc.b")
    assert result.find("Cons_lex").value == 1.0
    assert result.find("A_bucket").value == 1.0, "the target is a letter, too"


def test_letters_that_a_model_writes(tmp_path: Path) -> None:
    rows = []
    for n, order in enumerate(ORDERS):
        row = lettered(n, order, "Paris", "({}) ")
        prompt, said = row["arguments"]["gen_args_0"]["arg_0"], row["target"]
        arguments = {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}}
        rows.append({**row, "arguments": arguments, "resps": [[said]], "filtered_resps": [said]})
    result = unwaver.score(written(tmp_path / "samples_x.jsonl", *rows), bucket="doc.b")
    assert result.find("Cons_lex").value == 1.0
