"""Files that no reader is for, runs that did not finish, and notes that name their file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError
from unwaver.reports.remarks import remarks


@pytest.mark.parametrize("names", [("testCases", "metricsData"), ("test_cases", "actual_output")])
def test_a_result_of_deepeval_is_named_and_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "test_run.json"
    path.write_text(json.dumps({names[0]: [{"name": "a", "input": "x", names[1]: []}]}))
    with pytest.raises(DataError, match="a result of DeepEval, which unwaver does not read") as e:
        unwaver.score(path)
    assert "bucket, variant, answer" in str(e.value.hint)


def test_a_run_of_helm_that_did_not_finish_is_named(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "mmlu"
    run.mkdir(parents=True)
    (run / "run_spec.json").write_text("{}")
    for place in (run, tmp_path):
        with pytest.raises(DataError, match="this run of HELM did not finish") as e:
            unwaver.score(place)
        assert "helm-run" in str(e.value.hint)


def test_a_folder_of_json_logs_of_inspect_is_a_log(tmp_path: Path) -> None:
    from unwaver.logs import format_of, is_log_folder

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text('{"version": 2, "status": "success", "eval": {}}')
    assert format_of(tmp_path / "logs") == "inspect"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.json").write_text("{}")
    assert not is_log_folder(tmp_path / "other")


def _samples(folder: Path, task: str, answer: str, score: float) -> Path:
    records: list[dict[str, Any]] = [
        {"doc_id": n, "doc": {"q": n // 2}, "target": "x", "arguments": [[f"p{n}", {}]], "resps": [[answer]],
         "filtered_resps": [answer], "filter": "none", "metrics": ["exact_match"], "exact_match": score}
        for n in range(4)
    ]  # fmt: skip
    path = folder / f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_notes_on_several_files_name_the_file(tmp_path: Path) -> None:
    paths = [_samples(tmp_path, task, "x", 0.5) for task in ("a", "b")]
    for given in (tmp_path, paths):
        told = "\n".join(remarks(unwaver.score(given, bucket="doc.q", metric_key="exact_match")))
        for path in paths:
            assert f"{path.name}: 4 answers have partial credit" in told
    (alone,) = (
        line
        for line in remarks(unwaver.score(paths[0], bucket="doc.q", metric_key="exact_match"))
        if "partial" in line
    )
    assert paths[0].name not in alone


def test_a_log_of_empty_answers_is_not_said_to_hold_none(tmp_path: Path) -> None:
    path = _samples(tmp_path, "a", "", 0.0)
    told = " ".join(remarks(unwaver.score(path, bucket="doc.q")))
    assert "holds no answers" not in told
    assert "every answer in the log is empty" in told


def test_no_number_is_printed_where_no_group_is_left(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("group,kind,role,label,gold\na,semantic,original,,x\na,semantic,variant,,x\n")
    told = " ".join(remarks(unwaver.score(path)))
    assert "– %" not in told
    assert "no group is left for tau" in told
