"""The suites of ParaNLU: what is asked, solved examples, and what is said of bad files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.errors import DataError, UsageError
from unwaver.suites import paranlu
from unwaver.tasks import segments_of, task_named
from unwaver.tasks.prompts import prompt_of

ORIGINAL = {"premise": "It rains.", "hypothesis": "Ann is wet.", "update": "She has an umbrella.", "label": 0}
PROBLEM = {"original_example": ORIGINAL, "update_paraphrase": "Ann holds an umbrella."}


def written(folder: Path, content: object, task: str = "snli") -> Path:
    (folder / "paranlu").mkdir(exist_ok=True)
    path = folder / "paranlu" / f"{task}_paraphrases_human.json"
    path.write_text(json.dumps(content, indent=1))
    return path


def test_a_bucket_of_an_original_and_its_paraphrases(tmp_path: Path) -> None:
    written(tmp_path, {"snli.train.7": [PROBLEM, {**PROBLEM, "update_paraphrase": "She is under an umbrella."}]})
    (group,) = paranlu.suite(tmp_path).groups("snli", "paraphrase")
    assert (group.id, group.suite, group.task) == ("paranlu/snli/paraphrase/snli.train.7", "paranlu", "snli")
    assert (group.kind, group.expect) == ("paraphrase", "bucket")
    assert [(i.role, i.fields["update"]) for i in group.items] == [
        ("original", "She has an umbrella."),
        ("variant", "Ann holds an umbrella."),
        ("variant", "She is under an umbrella."),
    ]
    assert {(i.task, i.fields["premise"], i.choices, i.accepted) for i in group.items} == {
        ("delta-snli", "It rains.", ("weakener", "strengthener"), ("weakener",))
    }


def test_the_fixed_texts_come_first(tmp_path: Path) -> None:
    written(tmp_path, {"snli.train.7": [PROBLEM]})
    (group,) = paranlu.suite(tmp_path).groups("snli", "paraphrase")
    form = task_named("delta-snli").form
    assert segments_of(group.items[1], form) == ("It rains. Ann is wet.", "Ann holds an umbrella.")
    prompts = [prompt_of(item, form) for item in group.items]
    assert all(p.startswith("Premise: It rains.\nHypothesis: Ann is wet.\nUpdate: ") for p in prompts)


def test_abduction_is_a_choice_between_two(tmp_path: Path) -> None:
    texts = {"obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D."}
    problem = {"original_example": {**texts, "label": 2}, "hyp1_paraphrase": "E.", "hyp2_paraphrase": "F."}
    written(tmp_path, {"anli.test.1": [problem]}, "anli")
    (group,) = paranlu.suite(tmp_path).groups("anli", "paraphrase")
    assert group.items[1].fields == {**texts, "hyp1": "E.", "hyp2": "F."}
    assert (group.items[1].choices, group.items[1].accepted) == (("1", "2"), ("2",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected paraphrases by id"),
        ({"snli.train.1": []}, "expected a list of paraphrases"),
        ({"snli.train.1": ["x"]}, "expected a paraphrase"),
        ({"snli.train.1": [{**PROBLEM, "update_paraphrase": " "}]}, '"update_paraphrase" is " ", expected a text'),
        ({"snli.train.1": [{"original_example": {**ORIGINAL, "premise": None}}]}, '"premise" is null'),
        (
            {"snli.train.1": [{**PROBLEM, "original_example": {**ORIGINAL, "label": 2}}]},
            '"label" is 2, expected 0 or 1',
        ),
    ],
)
def test_bad_files(tmp_path: Path, content: Any, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError) as caught:
        list(paranlu.suite(tmp_path).groups("snli", "paraphrase"))
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line is None) == (str(path), False)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="paranlu/social_paraphrases_human"):
        paranlu.suite(tmp_path).groups("social", "paraphrase")
    with pytest.raises(DataError, match="defeasible_nli/atomic_train"):
        list(paranlu.suite(tmp_path).examples("atomic"))
    with pytest.raises(UsageError, match="no task sick"):
        paranlu.suite(tmp_path).groups("sick", "paraphrase")


def test_examples_of_every_task(data: Path) -> None:
    suite = paranlu.suite(data)
    counts = {task: sum(1 for _ in suite.examples(task)) for task in suite.cases}
    assert counts == {"anli": 1532, "snli": 1785, "atomic": 3840, "social": 8341}
    for task in suite.cases:
        item = next(suite.examples(task))
        assert (item.task, tuple(item.fields)) == (paranlu.TASKS[task], task_named(paranlu.TASKS[task]).fields)
        assert item.accepted[0] in item.choices


def test_a_run_and_its_folder(data: Path, tmp_path: Path) -> None:
    """Beside becel/snli, another task of the same name; solved examples are of the right task."""
    names = ["paranlu/snli", "becel/snli/semantic"]
    result = unwaver.run(names, "fake/random", limit=4, shots=2, data_dir=str(data), out=str(tmp_path / "run"))
    assert result.find("P_C", suite="paranlu").groups == 4
    assert result.find("tau", suite="becel").groups == 4
    again = unwaver.score(tmp_path / "run")
    assert again.find("P_C") == result.find("P_C")
    repeated = unwaver.run(str(tmp_path / "run" / "groups.jsonl"), "fake/random", out=str(tmp_path / "again"))
    assert repeated.find("P_C").value == result.find("P_C").value


def test_a_map_of_labels_that_one_of_two_suites_needs(
    data: Path, nli_model: Path, tmp_path: Path, call: Any
) -> None:
    """An NLI classifier on becel/snli, which has its labels, beside becel/rte and paranlu/snli, which need a map."""
    labels = {"neutral": "weakener", "contradiction": "weakener", "entailment": "strengthener"}
    maps = [f"{label}={other}" for label, other in labels.items()]
    maps += [f"{label}=not_entailment" for label in ("neutral", "contradiction")]
    given = [word for text in maps for word in ("--map", text)]
    suites = ("becel/snli/semantic", "becel/rte/semantic", "paranlu/snli")
    command = ("run", *suites, "--model", f"hf/{nli_model}", "--limit", "2", "--out", "r", "--no-report", "--json")
    code, _, err = call(*command, *given[:6], "--data-dir", str(data))
    assert code == 2  # nothing says what rte's labels are
    assert "do not match those of rte (entailment, not_entailment)" in err
    code, out, err = call(*command, *given, "--data-dir", str(data))
    assert code == 0, err
    assert {(s["suite"], s["task"]) for s in json.loads(out)["scores"]} >= {
        ("becel", "snli"),
        ("becel", "rte"),
        ("paranlu", "snli"),
    }
