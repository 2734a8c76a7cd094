"""Files in the form of promptfoo's own schema (src/types/schemas/import.ts, src/types/index.ts: OutputFile,
EvaluateSummaryV3, EvaluateResult). promptfoo itself is a package of npm and too heavy to run here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from counting import Answer, counted

import unwaver
from unwaver.errors import DataError

PROMPTS = ("Answer: {{q}}", "Please answer {{q}}")
SAID = {("1", 0): "Paris", ("1", 1): "Paris.", ("2", 0): "Rome", ("2", 1): "Rome"}


def result(test: int, prompt: int, output: Any, success: bool, **more: Any) -> dict[str, Any]:
    question = str(test)
    return {
        "cost": 0,
        "gradingResult": {"pass": success, "score": float(success), "reason": "", "componentResults": []},
        "id": f"r{test}{prompt}",
        "latencyMs": 4,
        "namedScores": {"tone": 0.5},
        "prompt": {"raw": PROMPTS[prompt].replace("{{q}}", question), "label": PROMPTS[prompt]},
        "promptId": f"p{prompt}",
        "promptIdx": prompt,
        "provider": {"id": "openai:gpt", "label": ""},
        "response": {"output": output, "tokenUsage": {}},
        "score": float(success),
        "success": success,
        "testCase": {"vars": {"q": question}, "assert": [{"type": "equals"}], "metadata": {"topic": "cities"}},
        "testIdx": test,
        "vars": {"q": question},
        "failureReason": 0 if success else 1,
        **more,
    }


def document(results: list[Any], version: int = 3) -> dict[str, Any]:
    summary = {
        "version": version,
        "timestamp": "2026-01-01T00:00:00Z",
        "prompts": [],
        "results": results,
        "stats": {},
    }
    return {
        "evalId": "eval-abc-2026-01-01",
        "results": summary,
        "config": {"description": "capitals", "prompts": list(PROMPTS)},
        "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.118.0"},
    }


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


@pytest.fixture
def results() -> list[dict[str, Any]]:
    return [result(t, p, SAID[str(t), p], SAID[str(t), p] in ("Paris", "Rome")) for t in (1, 2) for p in (0, 1)]


def test_prompts_are_the_wordings_of_a_test(results: list[Any], tmp_path: Path) -> None:
    found = unwaver.score(written(tmp_path / "out.json", document(results)))
    answers: list[Answer] = [
        (r["vars"]["q"], r["promptId"], 0, r["response"]["output"], float(r["success"])) for r in results
    ]
    expected = counted(answers)
    lead = found.find("P_C")
    assert (lead.suite, lead.task, lead.kind, lead.model) == ("promptfoo", "capitals", "paraphrase", "openai:gpt")
    for name in ("P_C", "P_C_pairs", "Cons_lex", "tau"):
        assert found.find(name).value == pytest.approx(expected[name])


def test_other_forms_of_the_same(results: list[Any], tmp_path: Path) -> None:
    whole = unwaver.score(written(tmp_path / "out.json", document(results)))
    summary = unwaver.score(written(tmp_path / "summary.json", document(results)["results"]))
    lines = tmp_path / "out.jsonl"
    lines.write_text("".join(json.dumps(r) + "\n" for r in results))
    for other in (summary, unwaver.score(lines)):
        assert [s.value for s in other] == [s.value for s in whole]


def test_repeats_and_failed_calls(results: list[Any], tmp_path: Path) -> None:
    again = [{**r, "testIdx": r["testIdx"] + 2} for r in results]
    found = unwaver.score(written(tmp_path / "out.json", document(results + again)))
    assert found.find("Cons_lex_repeat").value == 1.0
    assert found.find("P_C").groups == 2
    failed = [*results[:3], result(2, 1, None, False, error="timeout", failureReason=2)]
    lead = unwaver.score(written(tmp_path / "failed.json", document(failed))).find("P_C")
    assert (lead.failed, lead.counted) == (1, 1)


def test_a_test_without_assertions_says_nothing_of_right_and_wrong(results: list[Any], tmp_path: Path) -> None:
    for r in results:
        r["gradingResult"] = {"pass": True, "score": 1, "reason": "No assertions"}
    found = unwaver.score(written(tmp_path / "out.json", document(results)))
    assert found.find("P_C").value is None
    assert found.find("Cons_lex").value == 0.5
    assert found.leading()[0].metric == "Cons_lex"
    assert "not known" in str(found)


def test_buckets_and_named_scores(results: list[Any], tmp_path: Path) -> None:
    path = written(tmp_path / "out.json", document(results))
    assert unwaver.score(path, bucket="testCase.metadata.topic").find("Cons_lex").groups == 1
    assert unwaver.score(path, metric_key="tone").find("A_bucket").value == 0.0
    assert unwaver.score(path, metric_key="score").find("P_C").value == unwaver.score(path).find("P_C").value


def test_structured_outputs_are_compared_as_a_whole(results: list[Any], tmp_path: Path) -> None:
    for r in results:
        r["response"]["output"] = {"city": r["response"]["output"].strip(".")}
    assert unwaver.score(written(tmp_path / "out.json", document(results))).find("Cons_lex").value == 1.0


@pytest.mark.parametrize(
    ("damage", "said", "line"),
    [
        (lambda text: text[: len(text) // 2], "broken JSON", None),
        (lambda text: text.replace('"vars"', '"variables"'), 'expected an object with "vars"', None),
        (
            lambda text: '{"evalId": "x", "results": {"version": 3, "results": 7}}',
            '"results.results": found 7, expected a list',
            1,
        ),
        (lambda text: '{"evalId": "x", "results": []}', "no answers", None),
    ],
)
def test_damaged_files(results: list[Any], tmp_path: Path, damage: Any, said: str, line: int | None) -> None:
    path = tmp_path / "out.json"
    path.write_text(damage(json.dumps(document(results), indent=1)))
    with pytest.raises(DataError) as e:
        unwaver.score(path)
    assert said in e.value.message
    assert e.value.file == str(path)
    assert line is None or e.value.line == line


def test_stop_reasons(results: list[Any], tmp_path: Path) -> None:
    results[1]["response"]["finishReason"] = "length"
    results[2]["response"]["finishReason"] = "stop"
    path = written(tmp_path / "out.json", document(results))
    score = unwaver.score(path).find("P_C")
    assert (score.groups, score.counted, score.cut, score.refused) == (2, 1, 1, 0)
    assert unwaver.score(path, cut="keep").find("P_C").counted == 2
    results[2]["response"] |= {"output": "I can't help with that.", "isRefusal": True}
    results[1]["response"]["finishReason"] = "content_filter"
    score = unwaver.score(written(path, document(results))).find("P_C")
    assert (score.counted, score.cut, score.refused) == (0, 0, 2)


def test_a_metric_that_only_some_tests_have(tmp_path: Path) -> None:
    results = [result(t, p, SAID[str(t), p], True) for t in (1, 2) for p in (0, 1)]
    for each in results[:2]:
        each["namedScores"] = {"facts": 1.0}
    path = written(tmp_path / "out.json", document(results))
    score = unwaver.score(path, metric_key="facts").find("P_C")
    assert (score.counted, score.not_applicable, score.value) == (1, 1, 1.0)
    with pytest.raises(DataError, match='no field "fcts"'):
        unwaver.score(path, metric_key="fcts")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("out.yaml", "evalId: eval-abc\nresults:\n  version: 3\n"),
        ("out.yml", "results:\n  version: 3\n  timestamp: '2026'\n"),
        (
            "out.csv",
            'q,"[openai:gpt] Answer: {{q}}","[openai:gpt] Please answer {{q}}"\n1,[PASS] Paris,[PASS] Paris\n',
        ),
    ],
)
def test_other_outputs_are_named(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match="this is promptfoo's") as raised:
        unwaver.score(path)
    assert "promptfoo eval --output results.json" in str(raised.value.hint)
