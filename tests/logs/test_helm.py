"""Run folders in the form of HELM's own data classes (benchmark/runner.py, adaptation/request_state.py,
scenarios/scenario.py, metrics/metric.py), which it writes with `asdict_without_nones` and an indent of 2.
HELM itself needs more packages than all the rest together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError

TYPOS = {"name": "typos", "robustness": True, "fairness": False, "computed_on": "perturbed", "prob": 0.1}
DIALECT = {"name": "dialect", "robustness": False, "fairness": True, "computed_on": "perturbed"}


def state(id: str, text: str, perturbation: Any = None, trial: int = 0, **more: Any) -> dict[str, Any]:
    references = [
        {"output": {"text": "Paris"}, "tags": ["correct"]},
        {"output": {"text": "Rome"}, "tags": []},
    ]
    instance = {"input": {"text": f"question {id}"}, "references": references, "split": "test", "id": id}
    if perturbation:
        instance["perturbation"] = perturbation
    return {
        "instance": instance,
        "train_trial_index": trial,
        "output_mapping": {"A": "Paris", "B": "Rome"},
        "request": {"model": "me/model", "prompt": "…"},
        "result": {"success": True, "completions": [{"text": f" {text}\n", "logprob": -1.0, "tokens": []}]},
        "num_train_instances": 5,
        "prompt_truncated": False,
        **more,
    }


def folder(place: Path, states: list[Any], stats: list[Any] | None = None) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    spec = {"method": "multiple_choice_joint", "model": "me/model"}
    (place / "scenario_state.json").write_text(
        json.dumps({"adapter_spec": spec, "request_states": states}, indent=2)
    )
    (place / "run_spec.json").write_text(json.dumps({"name": "capitals:k=5,model=me_model", "groups": []}))
    if stats is not None:
        (place / "per_instance_stats.json").write_text(json.dumps(stats, indent=2))
    return place


STATES = [
    state("id1", "A"),
    state("id1", "A", TYPOS),
    state("id1", "B", DIALECT),
    state("id2", "A"),
    state("id2", "A", TYPOS),
    state("id2", "A", DIALECT),
]


def stat(id: str, perturbation: Any, **means: float) -> dict[str, Any]:
    stats = [{"name": {"name": n, "split": "test"}, "count": 1, "sum": m, "mean": m} for n, m in means.items()]
    entry = {"instance_id": id, "train_trial_index": 0, "stats": stats}
    return entry if perturbation is None else {**entry, "perturbation": perturbation}


def test_perturbed_instances_are_variants_of_the_original(tmp_path: Path) -> None:
    result = unwaver.score(folder(tmp_path / "run", STATES))
    lead = result.find("P_C")
    assert (lead.suite, lead.task, lead.kind, lead.model) == ("helm", "capitals:k=5", "paraphrase", "me/model")
    assert lead.value == pytest.approx((0.5 + 1) / 2)  # θ = ½ and 1: the original is not in its bucket
    assert result.find("A_original").value == 1.0
    assert result.find("tau").value == pytest.approx((0.5 + 0) / 2)  # against the original
    assert result.find("Cons_lex").value == pytest.approx((2 / 6 + 1) / 2)  # where it is one of the wordings


def test_its_own_metric_wins_over_the_references(tmp_path: Path) -> None:
    stats = [
        stat(s["instance"]["id"], s["instance"].get("perturbation"), exact_match=0.0, quasi_exact_match=1.0)
        for s in STATES
    ]
    place = folder(tmp_path / "run", STATES, stats)
    assert unwaver.score(place).find("A_paraphrase").value == 0.0
    assert unwaver.score(place, metric_key="quasi_exact_match").find("A_paraphrase").value == 1.0
    with pytest.raises(DataError, match="no metric") as e:
        unwaver.score(place, metric_key="exact_mach")
    assert "exact_match" in str(e.value.hint)


def test_trials_and_completions_are_replicates(tmp_path: Path) -> None:
    states = [{**s, "train_trial_index": t} for s in STATES for t in (0, 1)]
    result = unwaver.score(folder(tmp_path / "run", states))
    assert result.find("Cons_lex_repeat").value == 1.0
    several = state("id1", "A")
    several["result"]["completions"].append({"text": "B", "logprob": -2.0, "tokens": []})
    result = unwaver.score(folder(tmp_path / "several", [several]))
    assert {s.kind for s in result} == {"repeat"}
    assert result.find("Cons_lex_repeat").value == 0.0


def test_repeats_without_perturbations_have_their_consistency(tmp_path: Path) -> None:
    answers = {"id1": "AAB", "id2": "AAA"}
    states = [state(id, text, trial=n) for id, texts in answers.items() for n, text in enumerate(texts)]
    result = unwaver.score(folder(tmp_path / "run", states))
    repeats = result.find("P_C_repeats", kind="repeat")
    assert repeats.counted == 2
    assert repeats.value == pytest.approx(1 - 2 * (2 / 9 * 3 / 2) / 2)
    lead = result.find("P_C", kind="repeat")
    assert (lead.counted, lead.not_applicable) == (2, 0)


def test_one_request_for_each_reference(tmp_path: Path) -> None:
    states = [
        state("id1", "…", None, reference_index=n, request_mode=m)
        for n in (0, 1)
        for m in ("original", "calibration")
    ]
    place = folder(tmp_path / "run", states, [stat("id1", None, exact_match=0.0, predicted_index=1)])
    result = unwaver.score(place)
    assert (result.find("A_original").value, result.find("P_C").groups) == (0.0, 1)
    with pytest.raises(DataError, match="found no answers"):
        unwaver.score(folder(tmp_path / "without", states))


def test_failed_requests(tmp_path: Path) -> None:
    failed = {**state("id1", "", TYPOS), "result": {"success": False, "completions": [], "error": "x"}}
    lead = unwaver.score(folder(tmp_path / "run", [*STATES[:1], failed, *STATES[3:]])).find("P_C")
    assert (lead.failed, lead.counted) == (1, 1)


def test_a_folder_of_runs(tmp_path: Path) -> None:
    folder(tmp_path / "runs" / "a", STATES)
    other = folder(tmp_path / "runs" / "b", STATES)
    (other / "run_spec.json").write_text(json.dumps({"name": "other:model=me_model"}))
    assert {s.task for s in unwaver.score(tmp_path / "runs")} == {"capitals:k=5", "other"}


def test_damaged_runs(tmp_path: Path) -> None:
    place = folder(tmp_path / "run", STATES)
    path = place / "scenario_state.json"
    text = path.read_text()
    for damaged, said, line in (
        (text[:-200], "broken JSON", None),
        (
            text.replace('"id": "id2"', '"name": "id2"', 1),
            '"instance": found',
            text[: text.index('"id2"')].count("\n"),
        ),
        ('{"adapter_spec": {}, "request_states": {}}', '"request_states": found', 1),
        ("[]", "expected one JSON object", 1),
    ):
        path.write_text(damaged)
        with pytest.raises(DataError) as e:
            unwaver.score(place)
        assert said in e.value.message
        assert e.value.file == str(path)
        assert line is None or abs(int(e.value.line or 0) - line) < 25
    path.write_text(text)
    (place / "per_instance_stats.json").write_text('[{"instance_id": 3}]')
    with pytest.raises(DataError, match='expected an object with "stats"'):
        unwaver.score(place)


def finished(text: str, reason: Any, **more: Any) -> dict[str, Any]:
    """The result of a request whose text ended for this reason."""
    return {"success": True, "completions": [{"text": text, "logprob": -1.0, "finish_reason": reason}], **more}


def test_stop_reasons(tmp_path: Path) -> None:
    """A letter that is in the mapping counts, cut or not; any other text that was cut does not."""
    length, refused = {"reason": "length"}, {"reason": "content_filter"}
    states = [
        state("read", "A", result=finished("A", length)),
        state("read", "A", TYPOS, result=finished(" A", {"reason": "max_tokens"})),
        state("cut", "A"),
        state("cut", "A", TYPOS, result=finished("The capital of France, whi", length)),
        state("refused", "A"),
        state("refused", "A", TYPOS, result=finished("", refused)),
        state("whole", "A", result=finished("A", {"reason": "stop"})),
        state("whole", "B", TYPOS, result=finished("B", None)),
    ]
    result = unwaver.score(folder(tmp_path / "run", states))
    score = result.find("Cons_lex")
    assert (score.groups, score.counted, score.cut, score.refused, score.cut_read) == (4, 2, 1, 1, 1)
    assert score.value == 0.5
    assert unwaver.score(tmp_path / "run", cut="keep").find("Cons_lex").counted == 3


def test_references_that_were_scored_are_not_cut(tmp_path: Path) -> None:
    """Each reference is a request of its own that writes nothing, so that its reason is always length."""
    states = [
        state("id1", "", perturbation, reference_index=n, result=finished("Paris", {"reason": "length"}))
        for perturbation in (None, TYPOS)
        for n in range(2)
    ]
    stats = [
        {"instance_id": "id1", **({"perturbation": p} if p else {}), "train_trial_index": 0,
         "stats": [{"name": {"name": "predicted_index"}, "mean": 1.0}]}
        for p in (None, TYPOS)
    ]  # fmt: skip
    score = unwaver.score(folder(tmp_path / "run", states, stats)).find("Cons_lex")
    assert (score.value, score.cut, score.cut_read) == (1.0, 0, 0)
