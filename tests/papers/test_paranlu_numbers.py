"""Table 4 of the paper from the published predictions, and Table 2 from the paraphrases."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest

from unwaver.errors import DataError
from unwaver.logs import paranlu as log
from unwaver.metrics.score import score_frame
from unwaver.suites import paranlu as suite
from unwaver.types import Score

KEYS = {
    "A_O": "A_original",
    "A_T": "A_test",
    "A_par": "A_paraphrase",
    "P_C": "P_C",
    "P_C_distinct_pairs": "P_C_pairs",
    "A_par_c": "A_corrected_published",
    "P_C_c": "P_C_corrected_published",
    "A_par_c_norm": "A_corrected",
    "P_C_c_norm": "P_C_corrected",
    "mass": "weight_mass",
    "VAP": "VAP",
    "Var_R": "Var_R",
    "PVAP": "PVAP",
}
MODELS = {"bow": "full_input_lexical", "roberta": "roberta-large"}
TASKS = ("anli", "snli", "atomic", "social")


@dataclass
class Options:
    test: Path | None = None


@pytest.fixture(scope="session")
def reference() -> dict[str, Any]:
    folder = os.environ.get("UNWAVER_REFERENCE")
    if not folder or not (Path(folder) / "paranlu_table4.json").is_file():
        pytest.skip("UNWAVER_REFERENCE is not set to a folder with paranlu_table4.json")
    found: dict[str, Any] = json.loads((Path(folder) / "paranlu_table4.json").read_text())
    return found


def files(data: Path, model: str, task: str) -> tuple[Path, Path]:
    path = next((data / "paranlu" / "predictions").glob(f"{task}_human_*{MODELS[model]}.json.gz"))
    return path, path.with_name(path.name.replace("_human_", "_test_set_"))


def scores(path: Path, test: Path | None = None) -> dict[str, Score]:
    return {s.metric: s for s in score_frame(log.read(path, Options(test)))}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TASKS)
def test_table_4(data: Path, reference: dict[str, Any], model: str, task: str) -> None:
    found = scores(*files(data, model, task))
    expected = reference["cells"][f"{model}/{task}"]
    for key, metric in KEYS.items():
        assert found[metric].value == pytest.approx(expected["recomputed"][key], abs=1e-9), metric
    for key, percent in expected["published_percent"].items():
        assert 100 * found[KEYS[key]].value == pytest.approx(percent, abs=0.1), key  # type: ignore[operator]
    p_c = found["P_C"]
    assert (p_c.suite, p_c.task, p_c.kind) == ("paranlu", task, "paraphrase")
    assert p_c.groups == p_c.counted == expected["recomputed"]["n_buckets"]
    assert found["A_test"].counted == expected["recomputed"]["n_test"]
    assert found["A_test"].interval == "exact"
    assert ("identical" in p_c.flags) == (f"{model}/{task}" == "bow/anli")


def test_pair_form_is_lower_by_what_the_methods_say(data: Path) -> None:
    gaps = {}
    for task in TASKS:
        found = scores(*files(data, "roberta", task))
        gaps[task] = 100 * (found["P_C"].value - found["P_C_pairs"].value)  # type: ignore[operator]
    assert all(2.6 <= gap <= 5.1 for gap in gaps.values()), gaps


def test_without_a_test_file_there_is_nothing_corrected(data: Path) -> None:
    path, _ = files(data, "roberta", "snli")
    found = scores(path)
    assert not {"A_test", "A_corrected", "weight_mass"} & set(found)
    assert found["P_C_pairs"].not_applicable == 1  # a bucket of one paraphrase
    assert found["P_C"].model == "d-snli-roberta-large"


def test_files_are_known_by_their_looks(data: Path, tmp_path: Path) -> None:
    path, test = files(data, "bow", "social")
    plain = tmp_path / "renamed.json"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    (tmp_path / "cut.json.gz").write_bytes(path.read_bytes()[:40_000])
    (tmp_path / "other.json").write_text('{"a": 1}')
    assert log.looks_like(path)
    assert log.looks_like(test)
    assert log.looks_like(plain)
    assert log.looks_like(tmp_path / "cut.json.gz")
    assert not log.looks_like(tmp_path / "other.json")
    assert not log.looks_like(tmp_path / "absent.json")
    assert not log.looks_like(data / "paranlu" / "social_paraphrases_human.json.gz")
    assert log.read(plain, Options())["model"][0] == "renamed"


BUCKET = {
    "original_prediction": 1,
    "original_confidence": [0.2, 0.8],
    "gold_label": 1,
    "bucket_confidences": [{"prediction": 0, "confidence": [0.7, 0.3]}],
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"snli.train.1": {**BUCKET, "gold_label": 2}}, 'gold_label": found 2, expected 0 or 1'),
        ({"snli.train.1": {**BUCKET, "original_confidence": [0.5]}}, "found [0.5], expected a list of 2 numbers"),
        (
            {"snli.train.1": {**BUCKET, "bucket_confidences": [{}]}},
            'bucket_confidences.0": found {}, expected an object with "prediction"',
        ),
        ({"snli.train.1": {**BUCKET, "bucket_confidences": None}}, "expected a list"),
        ({"snli.train.1": {"original_prediction": 1}}, 'expected an object with "original_confidence"'),
        ({"snli.train.1": BUCKET, "social.train.1": BUCKET}, 'found "social.train.1" among problems of snli'),
        ({"mine.1": BUCKET}, "expected one of ParaNLU"),
        ([BUCKET], "expected an object of problems"),
        ({}, "expected problems by id"),
    ],
)
def test_bad_files(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content, indent=1))
    with pytest.raises(DataError) as caught:
        log.read(path, Options())
    assert message in str(caught.value)
    assert caught.value.file == str(path)
    assert caught.value.line is not None
    assert caught.value.hint


def test_a_cut_file_and_a_test_set_of_another_task(data: Path, tmp_path: Path) -> None:
    path, _ = files(data, "bow", "snli")
    _, test = files(data, "bow", "social")
    with pytest.raises(DataError, match="among problems of snli"):
        log.read(path, Options(test))
    text = gzip.decompress(path.read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(text[:5000])
    with pytest.raises(DataError, match="broken JSON"):
        log.read(cut, Options())
    with pytest.raises(DataError, match="expected a list of predictions"):
        log.read(path, Options(path))


@pytest.mark.parametrize("model", MODELS)
def test_the_command(unwaver: Any, data: Path, reference: dict[str, Any], model: str) -> None:
    path, test = files(data, model, "snli")
    done = unwaver("score", path, "--test", test, "--weights", "published", "--json")
    assert done.returncode == 0, done.stderr
    found = {s["metric"]: s for s in json.loads(done.stdout)["scores"]}
    for key, metric in KEYS.items():
        assert found[metric]["value"] == pytest.approx(
            reference["cells"][f"{model}/snli"]["recomputed"][key], abs=1e-9
        )
    assert {(s["suite"], s["task"], s["kind"]) for s in found.values()} == {("paranlu", "snli", "paraphrase")}


# --- the suites ---------------------------------------------------------------------------------------------

TABLE_2 = {
    "anli": (2098, 8.4, 1.2),
    "snli": (1980, 7.9, 1.4),
    "atomic": (1869, 7.5, 1.6),
    "social": (1835, 7.3, 1.8),
}


@pytest.mark.parametrize("task", TASKS)
def test_table_2(data: Path, task: str) -> None:
    groups = list(suite.suite(data).groups(task, "paraphrase"))
    sizes = [len(g.items) - 1 for g in groups]
    assert len(groups) == 250
    assert (sum(sizes), round(mean(sizes), 1), round(pstdev(sizes), 1)) == TABLE_2[task]
    for group in groups:
        original, *paraphrases = group.items
        assert original.role == "original"
        assert {p.role for p in paraphrases} == {"variant"}
        assert {p.accepted for p in group.items} == {original.accepted}
        assert len(original.accepted) == 1


def test_1000_problems_and_7782_paraphrases(data: Path) -> None:
    groups = [g for task in TASKS for g in suite.suite(data).groups(task, "paraphrase")]
    assert (len(groups), sum(len(g.items) - 1 for g in groups)) == (1000, 7782)
    assert len({i.id for g in groups for i in g.items}) == 8782


def test_gold_of_the_suite_is_that_of_the_predictions(data: Path) -> None:
    for task in TASKS:
        path, _ = files(data, "roberta", task)
        frame = log.read(path, Options()).unique("group", keep="first", maintain_order=True)
        groups = suite.suite(data).groups(task, "paraphrase")
        gold = {g.id.removeprefix(f"paranlu/{task}/paraphrase/"): list(g.items[0].accepted) for g in groups}
        assert gold == dict(zip(frame["group"], frame["gold"].to_list(), strict=True))
